"""Follow-up messages and changes of responses with the token of an interaction.

The URLs have the form of webhook URLs (spec/webhooks-and-interactions.md#3.1).
"""

from typing import Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId, Snowflake, UserId
from hubbub.protocol.resources import interactions
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.interaction_callbacks import CallbackMessage
from hubbub.protocol.resources.messages import Message
from hubbub.server.core.call import Actor, Call
from hubbub.server.places.standing import access
from hubbub.server.play.interactions import responders, responses, rules, store, views
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow, ResponseState
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow

_FOLLOW_UP_FLAGS: Final = MessageFlags.SETTABLE & ~MessageFlags.IS_VOICE_MESSAGE | MessageFlags.EPHEMERAL
"""Flags that follow-ups may set; only an initial response can be a voice message."""


class InteractionAuthor:
    """Author of the response messages of one interaction; implements `webhooks.WebhookAuthor`."""

    def __init__(self, row: InteractionRow, application: InteractionApplication) -> None:
        self._row = row
        self._application = application

    def create(self, call: Call, body: wire.ExecuteWebhook) -> Message:
        """Create a follow-up message.

        The username, avatar and thread options of webhooks do not apply."""
        message_body = CallbackMessage(
            content=body.content,
            embeds=body.embeds,
            allowed_mentions=body.allowed_mentions,
            components=body.components,
            attachments=body.attachments,
            poll=body.poll,
            tts=body.tts,
            flags=(body.flags or 0) & _FOLLOW_UP_FLAGS,
        )
        return _create_follow_up(call, self._row, self._application, message_body)

    def get(self, call: Call, message_id: MessageId) -> Message:
        """Return a response message; raise UNKNOWN_MESSAGE if the interaction has no such message."""
        return views.message(call, self._require_response(call, message_id), self._application, self._row.guild_id)

    def update(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Edit a response message."""
        return self._edit_or_complete(call, self._require_response(call, message_id), body)

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Delete a response message."""
        responses.response_messages.delete(call, self._row, self._application, self._require_response(call, message_id))

    def get_original(self, call: Call) -> Message:
        """Return the original response; raise UNKNOWN_MESSAGE if there is none."""
        return views.message(call, self._require_original(call), self._application, self._row.guild_id)

    def update_original(self, call: Call, body: wire.UpdateWebhookMessage) -> Message:
        """Edit the original response, or complete it if it was deferred."""
        return self._edit_or_complete(call, self._require_original(call), body)

    def delete_original(self, call: Call) -> None:
        """Delete the original response; raise UNKNOWN_MESSAGE if there is none."""
        responses.response_messages.delete(call, self._row, self._application, self._require_original(call))

    def _edit_or_complete(self, call: Call, message: MessageRow, body: wire.UpdateWebhookMessage) -> Message:
        """Edit a response message, or replace it if it is the placeholder of a deferred response."""
        if message.flags & MessageFlags.LOADING:
            message_body = CallbackMessage(
                content=body.content,
                embeds=body.embeds,
                allowed_mentions=body.allowed_mentions,
                components=body.components,
                attachments=body.attachments,
                poll=body.poll,
                flags=(body.flags or 0) & _FOLLOW_UP_FLAGS,
            )
            return responses.response_messages.complete_deferred(
                call, self._row, self._application, message, message_body
            )
        return responses.response_messages.edit(call, self._row, self._application, message, body)

    def _require_original(self, call: Call) -> MessageRow:
        message = responses.response_messages.find_original(call, self._row)
        if message is None:
            raise errors.UNKNOWN_MESSAGE()
        return message

    def _require_response(self, call: Call, message_id: int) -> MessageRow:
        """Return a response message of the interaction; raise UNKNOWN_MESSAGE for any other message."""
        row = rules.require_message(call, self._row.channel_id, message_id)
        interaction = messages.views.extra(row).interaction
        if message_id != self._row.original_id and (interaction is None or interaction.id != self._row.id):
            raise errors.UNKNOWN_MESSAGE()
        return row


def find_by_token(call: Call, application_id: int, token: str) -> InteractionAuthor | None:
    """Return the author for the interaction that a token belongs to, or None.

    The result is None if the token is invalid, expired or of another application, or if the interaction failed or has no
    initial response."""
    interaction_and_application = _find_acknowledged(call, application_id, token)
    return None if interaction_and_application is None else InteractionAuthor(*interaction_and_application)


def require_by_token(call: Call, application_id: int, token: str) -> InteractionAuthor:
    """Return the author for the interaction that a token belongs to; raise UNKNOWN_WEBHOOK if there is none."""
    author = find_by_token(call, application_id, token)
    if author is None:
        raise errors.UNKNOWN_WEBHOOK()
    return author


def _find_acknowledged(
    call: Call, application_id: int, token: str
) -> tuple[InteractionRow, InteractionApplication] | None:
    """Return an acknowledged interaction that accepts follow-ups, with its application, or None."""
    interaction_and_application = store.find_by_token(call.tx, token)
    if interaction_and_application is None:
        return None
    row, application = interaction_and_application
    if application.id != application_id or row.callback_type in (None, store.FAILED):
        return None
    return (row, application) if call.now_ms - row.created_ms <= interactions.TOKEN_LIFETIME_MS else None


def _create_follow_up(
    call: Call, row: InteractionRow, application: InteractionApplication, body: CallbackMessage
) -> Message:
    """Create a follow-up message.

    If the initial response was deferred and is still pending, the follow-up completes it."""
    state = store.decode_response_state(row)
    original_message = responses.response_messages.find_original(call, row)
    if original_message is not None and original_message.flags & MessageFlags.LOADING:
        return responses.response_messages.complete_deferred(call, row, application, original_message, body)
    _require_follow_up_allowed(call, row, state)
    store.increment_follow_ups(call.tx, row.id)
    state.ephemeral = state.ephemeral or _is_ephemeral_only_now(call, row, state.interaction_metadata.owners)
    state.interaction_metadata.name = None
    state.interaction_metadata.original_id = None if row.original_id is None else MessageId(row.original_id)
    state.message_type, state.replied_message_id = int(MessageType.DEFAULT), None
    # A follow-up replies to the original response, unless that is ephemeral.
    if original_message is not None and not original_message.is_ephemeral:
        state.message_type, state.replied_message_id = int(MessageType.REPLY), MessageId(original_message.id)
    response_result = responses.response_messages.create(
        call, row, state, responders.follow_up_responder(call, application, row), body
    )
    assert response_result.message is not None
    return response_result.message


def _require_follow_up_allowed(call: Call, row: InteractionRow, state: ResponseState) -> None:
    """Raise MAX_FOLLOW_UPS if a user-installed app may send no more (spec/webhooks-and-interactions.md#3.1)."""
    if (
        rules.GUILD_INSTALL in state.interaction_metadata.owners
        or row.follow_ups < interactions.USER_INSTALL_FOLLOW_UPS_MAX
    ):
        return
    # Before `EXTERNAL_APP_FOLLOW_UP_LIMIT`, there was no limit (spec/dated-changes.md#3).
    if changes.EXTERNAL_APP_FOLLOW_UP_LIMIT.is_active(call.now_ms):
        raise errors.MAX_FOLLOW_UPS()


def _is_ephemeral_only_now(call: Call, row: InteractionRow, owners: dict[str, Snowflake]) -> bool:
    """Return whether a follow-up must be ephemeral, given the invoking user's current permissions.

    These may have changed since the interaction was created, for example by a timeout."""
    if rules.GUILD_INSTALL in owners:
        return False
    invoker_call = call.acting_as(Actor(user_id=UserId(row.user_id), kind="user"))
    try:
        return rules.is_ephemeral_only(invoker_call, access.get_channel_standing(invoker_call, row.channel_id), owners)
    except errors.ApiError:
        # The user no longer has access to the channel.
        return True
