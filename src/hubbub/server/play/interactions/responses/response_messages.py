"""Messages that respond to an interaction: the original response and follow-ups."""

from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AllowedMentionType,
    MessageType,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.protocol.resources import interaction_callbacks
from hubbub.protocol.resources.messages import (
    AllowedMentions,
    CreateMessage,
    Message,
    MessageReference,
    UpdateMessage,
)
from hubbub.protocol.resources.webhooks import UpdateWebhookMessage
from hubbub.server.core.call import Call
from hubbub.server.places.standing import ChannelRef
from hubbub.server.play.interactions import responders, store
from hubbub.server.play.interactions.responders import Responder
from hubbub.server.play.interactions.store import (
    InteractionApplication,
    InteractionRow,
    ResponseState,
)
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.messages.content import InteractionResponse

_SETTABLE_FLAGS: Final = MessageFlags.SETTABLE


class ResponseResult(msgspec.Struct):
    """The effect of a response: a message, a launched activity, or neither."""

    message: Message | None = None
    """The message that the response created or updated, or None."""
    is_ephemeral: bool = False
    """Whether the message is ephemeral, so that only the invoking user and the app can see it."""
    activity_id: str | None = None
    """Instance ID of the activity that was launched, or None."""


def create(
    call: Call,
    row: InteractionRow,
    state: ResponseState,
    responder: Responder,
    body: interaction_callbacks.CallbackMessage,
    *,
    flags: int = 0,
) -> ResponseResult:
    """Create a response message, or the placeholder of a deferred one.

    `flags` are MessageFlags that the platform adds to those of the body."""
    channel_access, author = responder.channel_access, responder.author
    # Only the platform may set LOADING, the flag of a deferred response.
    message_flags = (body.flags or 0) & MessageFlags.EPHEMERAL | flags
    if state.ephemeral:
        message_flags |= MessageFlags.EPHEMERAL
    if not message_flags & MessageFlags.EPHEMERAL:
        responders.require_unlocked(channel_access)
    response = InteractionResponse(
        interaction=state.interaction_metadata,
        message_type=state.message_type,
        reference=_message_reference(channel_access.channel, state.replied_message_id),
        flags=message_flags,
        seen_by=(row.user_id, author.user.id) if author.is_bot_response else (row.user_id,),
        invoker=responder.invoker,
        invoker_role_ids=responder.invoker_role_ids,
    )
    message = messages.creation.create(
        call, channel_access, _create_message_body(body), author=author, response=response
    )
    return ResponseResult(message=message, is_ephemeral=bool(message_flags & MessageFlags.EPHEMERAL))


def create_premium_upsell(
    call: Call, row: InteractionRow, state: ResponseState, application: InteractionApplication
) -> ResponseResult:
    """Create the ephemeral response to a user who must purchase the feature first."""
    channel_access = responders.response_access(call, application, row)
    response = InteractionResponse(
        interaction=state.interaction_metadata,
        message_type=int(MessageType.INTERACTION_PREMIUM_UPSELL),
        flags=MessageFlags.EPHEMERAL,
        seen_by=_seen_by(row, application),
    )
    author = responders.author(call, application, row, channel_access.channel)
    return ResponseResult(
        message=messages.creation.create(call, channel_access, CreateMessage(), author=author, response=response),
        is_ephemeral=True,
    )


def edit(
    call: Call,
    row: InteractionRow,
    application: InteractionApplication,
    message: MessageRow,
    body: interaction_callbacks.CallbackMessage | UpdateWebhookMessage,
) -> Message:
    """Edit a response message, or the message whose component was used."""
    if body.poll:
        raise errors.POLL_CANNOT_EDIT()
    edit_body = _update_message_body(body)
    channel_access = responders.response_access(call, application, row)
    responders.require_editable(channel_access, message)
    if message.flags & MessageFlags.IS_VOICE_MESSAGE:
        raise errors.VOICE_MESSAGE_CANNOT_EDIT()
    if messages.views.extra(message).poll is not None:
        raise errors.POLL_CANNOT_EDIT()
    if not edit_body.allowed_mentions and (edit_body.content is not UNSET or edit_body.components is not UNSET):
        edit_body.allowed_mentions = _default_allowed_mentions()
    return messages.changes.edit(
        call, channel_access, responders.author(call, application, row, channel_access.channel), message, edit_body
    )


def complete_deferred(
    call: Call,
    row: InteractionRow,
    application: InteractionApplication,
    message: MessageRow,
    body: interaction_callbacks.CallbackMessage,
) -> Message:
    """Replace the placeholder of a deferred response with its content."""
    channel_access = responders.response_access(call, application, row)
    responders.require_editable(channel_access, message)
    return messages.changes.complete_deferred(
        call,
        channel_access,
        responders.author(call, application, row, channel_access.channel),
        message,
        _create_message_body(body),
    )


def delete(call: Call, row: InteractionRow, application: InteractionApplication, message: MessageRow) -> None:
    channel_access = responders.response_access(call, application, row)
    responders.require_unarchived(channel_access, message)
    messages.changes.delete(call, channel_access, message)
    if message.id == row.original_id:
        store.clear_original(call.tx, row.id)


def find_original(call: Call, row: InteractionRow) -> MessageRow | None:
    """Return the message that the initial response created or updated, or None."""
    if row.original_id is None:
        return None
    message = messages.history.find(call.tx, row.channel_id, row.original_id)
    return message or messages.history.find_ephemeral(call.tx, row.channel_id, row.original_id, call.now_ms)


def _create_message_body(body: interaction_callbacks.CallbackMessage) -> CreateMessage:
    return CreateMessage(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions or _default_allowed_mentions(),
        components=body.components,
        attachments=body.attachments,
        flags=(body.flags or 0) & _SETTABLE_FLAGS,
        poll=body.poll,
        tts=body.tts,
    )


def _update_message_body(body: interaction_callbacks.CallbackMessage | UpdateWebhookMessage) -> UpdateMessage:
    return UpdateMessage(
        content=body.content,
        embeds=body.embeds,
        flags=body.flags,
        allowed_mentions=body.allowed_mentions,
        components=body.components,
        attachments=body.attachments,
    )


def _default_allowed_mentions() -> AllowedMentions:
    """Return the default allowed mentions of responses: users only (spec/http.md#3.4)."""
    return AllowedMentions(parse=[AllowedMentionType.USERS])


def _message_reference(channel: ChannelRef, message_id: int | None) -> MessageReference | None:
    if message_id is None:
        return None
    return MessageReference(
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message_id),
        guild_id=UNSET if channel.guild_id is None else GuildId(channel.guild_id),
    )


def _seen_by(row: InteractionRow, application: InteractionApplication) -> tuple[int, ...]:
    return (row.user_id, *(() if application.bot_id is None else (int(application.bot_id),)))
