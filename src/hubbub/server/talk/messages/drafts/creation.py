"""Create messages from request bodies, and crossposts; `actions.py` stores and publishes them."""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import link_rules
from hubbub.server.core.call import Call
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelAccess, ChannelRef
from hubbub.server.talk.messages import actions, ports, rules, store, views
from hubbub.server.talk.messages.content import json_columns, mentions, rows
from hubbub.server.talk.messages.content.mentions import NO_MENTIONS, Mentions
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    ExtraFields,
    InteractionResponse,
    MessageRow,
)
from hubbub.server.talk.messages.content.rows import NewMessage
from hubbub.server.talk.messages.drafts import nonces, resolution, validation
from hubbub.server.talk.messages.ports import MessageDraft

__all__ = ["CROSSPOST_FLAGS", "create", "create_crosspost"]
"""The interface for other slices."""

CROSSPOST_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.IS_COMPONENTS_V2
"""Flags that a crosspost copies from its source."""


def send(
    call: Call, channel_access: ChannelAccess, author: Author, body: wire.CreateMessage
) -> wire.Message | msgspec.Raw:
    """Create a message for a caller who may send in the channel; a repeated nonce returns the earlier message.

    The JSON encoded for the event is reused for the response if possible."""
    nonce = nonces.parse_nonce(body)
    message_id = call.new_id(MessageId)
    channel = channel_access.channel
    existing_row = nonces.claim_nonce(
        call, channel.id, body, message_id, lambda existing_id: store.find(call.tx, channel.id, existing_id)
    )
    if existing_row is not None:
        view = views.message(call, existing_row, guild_id=channel.guild_id)
        view.nonce = UNSET if nonce is None else nonce
        return view
    has_slowmode = rules.is_slowmode_applied(call, channel_access)
    if has_slowmode:
        rules.require_slowmode_elapsed(call, channel_access)
    view, view_json = _create(call, channel_access, body, author, message_id, nonce=nonce)
    if has_slowmode:
        channels.usage.record_slow_mode_use(call.tx, channel.id, call.user_id, "message", call.now_ms)
    return view if view_json is None else msgspec.Raw(view_json)


def create(
    call: Call,
    channel_access: ChannelAccess,
    body: wire.CreateMessageContent,
    *,
    message_id: MessageId | None = None,
    author: Author | None = None,
    response: InteractionResponse | None = None,
    origin: ApplicationOrigin | None = None,
) -> wire.Message:
    """Create and publish a message; the calling code must have checked that the author may send it.

    `response` marks an interaction response, `origin` a message that an application sends for its user. Without
    `author`, the caller is the author."""
    if author is None:
        author = rules.require_author(call, channel_access.channel)
    if message_id is None:
        message_id = call.new_id(MessageId)
    return _create(call, channel_access, body, author, message_id, response=response, origin=origin).view


def _create(
    call: Call,
    channel_access: ChannelAccess,
    body: wire.CreateMessageContent,
    author: Author,
    message_id: MessageId,
    *,
    nonce: int | str | None = None,
    response: InteractionResponse | None = None,
    origin: ApplicationOrigin | None = None,
) -> actions.CreatedMessage:
    channel = channel_access.channel
    draft = validation.validate_create(call, channel_access, author, body)
    reference, is_tts = None, False
    if isinstance(body, wire.CreateMessage):
        if body.message_reference:
            reference = resolution.resolve_reference(call, channel_access, body.message_reference)
        is_tts = bool(body.tts and channel_access.can(Permissions.SEND_TTS_MESSAGES))
    snapshot = None if reference is None else reference.snapshot
    may_be_empty = (
        snapshot is not None
        or (response is not None and response.may_be_empty)
        or (origin is not None and origin.activity is not None)
    )
    if draft.is_empty and not may_be_empty:
        raise errors.EMPTY_MESSAGE()
    replied_row = None if reference is None else reference.replied_row
    notified_mentions = NO_MENTIONS
    if "@" in draft.content or replied_row is not None or draft.flags & MessageFlags.IS_COMPONENTS_V2:
        replied_author_id = None if replied_row is None else replied_row.author_id
        requested_mentions = mentions.parse_mentions(draft.mention_texts(), body.allowed_mentions, replied_author_id)
        notified_mentions = resolution.resolve_mentions(call, channel_access, requested_mentions)
    rules.require_links_allowed(call, author, draft.readable_texts())
    link_rules.require_allowed(call, draft.linked_texts())
    forwarded_texts = () if snapshot is None else (snapshot.content,)
    if forwarded_texts:
        link_rules.require_allowed(call, forwarded_texts)
    if author.moderation_rule_bits or channel.linked_lobby is not None:
        check_draft(call, channel_access, author, message_id, (*draft.readable_texts(), *forwarded_texts))
    webhook_author = None if author.webhook_id is None else author
    position = store.read_thread_position(call.tx, channel.id) if channel.is_thread else None
    extra = rows.build_extra(draft, position=position, webhook_author=webhook_author, origin=origin, response=response)
    row = rows.build_row(
        channel.id,
        message_id,
        author.user.id,
        draft,
        mentions=notified_mentions,
        reference=reference,
        is_tts=is_tts,
        extra=extra,
        webhook_author=webhook_author,
        origin=origin,
        response=response,
    )
    lobby_message_row = None if origin is None else origin.lobby_message_row
    # Building the view modifies a decoded poll, so the decoded fields are passed on only for plain drafts.
    new_message = NewMessage(
        row,
        author,
        notified_mentions,
        replied_row,
        response,
        nonce,
        extra if draft.is_plain else None,
        lobby_message_row,
    )
    return actions.create(call, channel_access, new_message)


def check_draft(
    call: Call,
    channel_access: ChannelAccess,
    author: Author,
    message_id: int,
    texts: Iterable[str],
    *,
    is_edited: bool = False,
) -> None:
    """Raise if moderation rejects the texts of a message (spec/http.md#3.10).

    Private channels, bots and webhooks are exempt."""
    if channel_access.guild is None or author.user.bot or author.webhook_id is not None:
        return
    text = "\n".join(filter(None, texts))
    ports.check_draft(
        call,
        MessageDraft(channel_access=channel_access, message_id=MessageId(message_id), text=text, is_edited=is_edited),
    )


def create_crosspost(
    call: Call, channel: ChannelRef, source_row: MessageRow, author: Author, reference: wire.MessageReference
) -> wire.Message:
    """Create and publish a copy of `source_row` in a following channel, with a reference to the source.

    User mentions are retained; role mentions and @everyone of the source guild are not."""
    resolution.mark_files_shared(call, source_row)
    extra = ExtraFields(author=rows.webhook_identity(author), has_shared_files=source_row.attachments is not None)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author.user.id,
        type=MessageType.DEFAULT,
        flags=source_row.flags & CROSSPOST_FLAGS | MessageFlags.IS_CROSSPOST,
        content=source_row.content,
        mentions=source_row.mentions,
        attachments=source_row.attachments,
        embeds=source_row.embeds,
        components=source_row.components,
        reference=rows.encode_json(reference),
        webhook_id=author.webhook_id,
        application_id=author.application_id,
        extra=rows.encode_extra(extra),
    )
    source_mentions = Mentions(users=tuple(json_columns.mentions(source_row)))
    return actions.create(call, channel, NewMessage(row, author, source_mentions)).view
