"""Follow-up messages of interactions, sent through webhook-like URLs (spec/webhooks-and-interactions.md#3.1)."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.interactions import CallbackMessage
from hubbub.protocol.resources.messages import Message, UpdateMessage
from hubbub.server.core.call import Call
from hubbub.server.play.interactions import actions, invocations, related_views, rules
from hubbub.server.play.interactions.store import InteractionApplication, InteractionRow
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow

_FOLLOW_UP_FLAGS: Final = MessageFlags.SETTABLE & ~MessageFlags.IS_VOICE_MESSAGE | MessageFlags.EPHEMERAL
"""Flags that follow-ups may set; only an initial response can be a voice message."""


class InteractionToken:
    """Operations on response messages with the token of one interaction; implements `webhooks.WebhookAuthor`."""

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
        return actions.create_follow_up(call, self._row, self._application, message_body)

    def get(self, call: Call, message_id: MessageId) -> Message:
        """Return a response message."""
        return related_views.message(
            call, self._require_response(call, message_id), self._application, self._row.guild_id
        )

    def update(self, call: Call, message_id: MessageId, body: wire.UpdateWebhookMessage) -> Message:
        """Edit a response message."""
        return self._edit_or_complete(call, self._require_response(call, message_id), body)

    def delete(self, call: Call, message_id: MessageId) -> None:
        """Delete a response message."""
        actions.delete_message(call, self._row, self._application, self._require_response(call, message_id))

    def get_original(self, call: Call) -> Message:
        """Return the original response."""
        return related_views.message(call, self._require_original(call), self._application, self._row.guild_id)

    def update_original(self, call: Call, body: wire.UpdateWebhookMessage) -> Message:
        """Edit the original response, or complete it if it was deferred."""
        return self._edit_or_complete(call, self._require_original(call), body)

    def delete_original(self, call: Call) -> None:
        """Delete the original response."""
        actions.delete_message(call, self._row, self._application, self._require_original(call))

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
            return actions.complete_deferred(call, self._row, self._application, message, message_body)
        if body.poll:
            raise errors.POLL_CANNOT_EDIT()
        change = UpdateMessage(
            content=body.content,
            embeds=body.embeds,
            flags=body.flags,
            allowed_mentions=body.allowed_mentions,
            components=body.components,
            attachments=body.attachments,
        )
        return actions.update_message(call, self._row, self._application, message, change)

    def _require_original(self, call: Call) -> MessageRow:
        message = actions.find_original(call, self._row)
        if message is None:
            raise errors.UNKNOWN_MESSAGE()
        return message

    def _require_response(self, call: Call, message_id: int) -> MessageRow:
        """Return a response message of the token's interaction; raise UNKNOWN_MESSAGE for any other message."""
        row = invocations.require_message(call, self._row.channel_id, message_id)
        interaction = messages.views.extra(row).interaction
        if message_id != self._row.original_id and (interaction is None or interaction.id != self._row.id):
            raise errors.UNKNOWN_MESSAGE()
        return row


def find_by_token(call: Call, application_id: int, token: str) -> InteractionToken | None:
    """Return the interaction that a token belongs to, or None if the token is invalid or has expired."""
    interaction_and_application = rules.find_acknowledged(call, application_id, token)
    return None if interaction_and_application is None else InteractionToken(*interaction_and_application)


def require_by_token(call: Call, application_id: int, token: str) -> InteractionToken:
    """Return the interaction that a token belongs to; raise UNKNOWN_WEBHOOK if there is none."""
    token_owner = find_by_token(call, application_id, token)
    if token_owner is None:
        raise errors.UNKNOWN_WEBHOOK()
    return token_owner
