"""Create user and system messages; `actions.py` stores and publishes them."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import MessageId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelAccess, ChannelRef
from hubbub.server.talk.messages import nonces, ports, resolution, rules, store, validation, views
from hubbub.server.talk.messages.actions import CreatedMessage, store_and_publish, store_and_publish_response
from hubbub.server.talk.messages.content import drafts, json_columns, mentions, rows
from hubbub.server.talk.messages.content.mentions import NO_MENTIONS, Mentions
from hubbub.server.talk.messages.content.records import (
    ApplicationOrigin,
    Author,
    Extra,
    InteractionResponse,
    MessageRow,
)
from hubbub.server.talk.messages.ports import MessageDraft

CROSSPOST_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.IS_COMPONENTS_V2
"""Flags that a crosspost copies from its source."""


def send(
    call: Call, channel_access: ChannelAccess, author: Author, body: wire.CreateMessage
) -> wire.Message | msgspec.Raw:
    """Create a message for a caller who may send in the channel; a repeated nonce returns the earlier message.

    The JSON encoded for the event is reused for the response if possible."""
    nonce = nonces.parse_nonce(body)
    message_id = call.new_id(MessageId)
    if nonce is not None and nonces.is_nonce_enforced(call, body):
        channel = channel_access.channel
        existing_row = nonces.find_by_nonce(
            call, channel.id, str(nonce), message_id, lambda existing_id: store.find(call.tx, channel.id, existing_id)
        )
        if existing_row is not None:
            view = views.message(call, existing_row, guild_id=channel.guild_id)
            view.nonce = nonce
            return view
    has_slowmode = rules.is_slowmode_applied(call, channel_access)
    if has_slowmode:
        rules.require_slowmode_elapsed(call, channel_access)
    created, encoded = _create(
        call, channel_access, body, author, message_type=MessageType.DEFAULT, message_id=message_id, nonce=nonce
    )
    if has_slowmode:
        channels.record_use(call.tx, channel_access.channel.id, call.user_id, "message", call.now_ms)
    return created if encoded is None else msgspec.Raw(encoded)


def create(
    call: Call,
    channel_access: ChannelAccess,
    body: wire.CreateMessageContent,
    *,
    message_type: int = 0,
    message_id: MessageId | None = None,
    author: Author | None = None,
    response: InteractionResponse | None = None,
    origin: ApplicationOrigin | None = None,
) -> wire.Message:
    """Create and publish a message; the caller checks `rules.require_send` first.

    `response` marks an interaction response, `origin` a message that an application sends for its user. Without
    `author`, the caller is the author."""
    if author is None:
        author = rules.require_author(call, channel_access.channel)
    if message_id is None:
        message_id = call.new_id(MessageId)
    return _create(
        call,
        channel_access,
        body,
        author,
        message_type=message_type,
        message_id=message_id,
        response=response,
        origin=origin,
    )[0]


def _create(
    call: Call,
    channel_access: ChannelAccess,
    body: wire.CreateMessageContent,
    author: Author,
    *,
    message_type: int,
    message_id: MessageId,
    nonce: int | str | None = None,
    response: InteractionResponse | None = None,
    origin: ApplicationOrigin | None = None,
) -> CreatedMessage:
    channel = channel_access.channel
    reference = body.message_reference if isinstance(body, wire.CreateMessage) else None
    if (
        body.embeds
        or body.components
        or body.attachments
        or body.poll
        or body.flags
        or body.sticker_ids
        or body.shared_client_theme
        or call.files
    ):
        draft = validation.validate_create(call, channel_access, author, body)
        content, flags = draft.content, draft.flags
    else:
        # The common case: content only.
        draft = None
        content, flags = drafts.clean_content(body.content or None), 0
        if body.allowed_mentions:
            form = errors.FormErrors()
            mentions.check_allowed(body.allowed_mentions, form)
            form.raise_if_any()
    resolved_reference = resolution.resolve_reference(call, channel_access, reference) if reference else None
    may_be_empty = (response is not None and response.may_be_empty) or (
        origin is not None and origin.activity is not None
    )
    if (resolved_reference is None or resolved_reference.snapshot is None) and not may_be_empty:
        if draft is None:
            if not content:
                raise errors.EMPTY_MESSAGE()
        elif draft.is_empty:
            raise errors.EMPTY_MESSAGE()
    replied_author_id = (
        None
        if resolved_reference is None or resolved_reference.replied is None
        else resolved_reference.replied.author_id
    )
    if "@" in content or replied_author_id is not None or flags & MessageFlags.IS_COMPONENTS_V2:
        texts = (content,) if draft is None else draft.mention_texts()
        requested = mentions.find_mentions(texts, body.allowed_mentions, replied_author_id)
        mentioned = resolution.resolve_mentions(call, channel_access, requested)
    else:
        mentioned = NO_MENTIONS
    if author.moderated_bits or channel.linked_lobby is not None:
        moderated_texts = [content] if draft is None else list(draft.readable_texts())
        if resolved_reference is not None and resolved_reference.snapshot is not None:
            moderated_texts.append(resolved_reference.snapshot.content)
        check_draft(call, channel_access, author, message_id, moderated_texts)
    tts = bool(isinstance(body, wire.CreateMessage) and body.tts and channel_access.can(Permissions.SEND_TTS_MESSAGES))
    row = MessageRow(
        channel.id,
        message_id or call.new_id(MessageId),
        author.user.id,
        resolved_reference.message_type if resolved_reference else message_type,
        flags,
        content,
    )
    is_plain = (
        draft is None
        and resolved_reference is None
        and mentioned is NO_MENTIONS
        and not tts
        and not channel.is_thread
        and author.webhook_id is None
        and origin is None
    )
    if (
        response is not None
        and response.invoker is not None
        and _is_plain_response(response)
        and author.is_bot_response
        and draft is None
        and resolved_reference is None
        and mentioned is NO_MENTIONS
        and not tts
        and channel.guild_id is not None
        and not channel.is_thread
    ):
        return store_and_publish_response(
            call, channel_access, rows.plain_response(row, author, response), author, response, response.invoker
        )
    if not is_plain:
        position = store.find_thread_position(call.tx, channel.id) if channel.is_thread else None
        row = rows.with_webhook(rows.with_content(row, draft, resolved_reference, mentioned, tts, position), author)
    if origin is not None:
        row = rows.with_application(row, origin)
    if response is not None:
        row = rows.with_response(row, response)
    related = views.RelatedData(call)
    related.users[author.user.id] = users.user_view(author.user)
    if resolved_reference is not None and resolved_reference.replied is not None:
        related.referenced[resolved_reference.replied.channel_id, resolved_reference.replied.id] = (
            resolved_reference.replied
        )
    return store_and_publish(call, channel_access, row, related, mentioned, author, is_plain=is_plain, nonce=nonce)


def _is_plain_response(response: InteractionResponse) -> bool:
    """Return whether a response is public, responds to a command, and refers to no user but the invoking one."""
    interaction = response.interaction
    return (
        not response.flags
        and response.reference is None
        and interaction.name is not None
        and interaction.target_user_id is None
        and interaction.triggering is None
    )


def check_draft(
    call: Call,
    channel_access: ChannelAccess,
    author: Author,
    message_id: int,
    texts: Iterable[str],
    *,
    is_edited: bool = False,
) -> None:
    """Raise if moderation rejects the texts of a message; bots and webhooks are exempt (spec/http.md#3.10)."""
    if channel_access.guild is None or author.user.bot or author.webhook_id is not None:
        return
    text = "\n".join(filter(None, texts))
    ports.check_draft(
        call,
        MessageDraft(channel_access=channel_access, message_id=MessageId(message_id), text=text, is_edited=is_edited),
    )


def create_system_message(
    call: Call,
    channel: ChannelRef,
    message_type: int,
    author_id: int,
    *,
    content: str = "",
    mentions: Sequence[int] = (),
    mentions_everyone: bool = False,
    reference: wire.MessageReference | None = None,
    embeds: Sequence[Embed] = (),
    call_info: wire.MessageCall | None = None,
) -> wire.Message:
    """Create and publish a system message; `call_info` is the voice call that it announces.

    `mentions` are the IDs of the users that it mentions; `mentions_everyone` notifies all members."""
    author = rules.require_author(call, channel, author_id)
    mentioned = Mentions(users=tuple(UserId(user_id) for user_id in mentions), everyone=mentions_everyone)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author_id,
        type=int(message_type),
        flags=0,
        content=content,
        mention_everyone=int(mentions_everyone),
        mentions=rows.encode_json(list(mentioned.users)),
        reference=rows.encode_json(reference),
        embeds=rows.encode_json(list(embeds)),
        extra=None if call_info is None else rows.encode_extra(Extra(call=call_info)),
    )
    related = views.RelatedData(call)
    related.users[author.user.id] = users.user_view(author.user)
    return store_and_publish(call, channel, row, related, mentioned, author)[0]


def create_crosspost(
    call: Call, channel: ChannelRef, source: MessageRow, author: Author, reference: wire.MessageReference
) -> wire.Message:
    """Create and publish a copy of `source` in a following channel, with a reference to the source.

    User mentions are retained; role mentions and @everyone of the source guild are not."""
    mentioned = Mentions(users=tuple(json_columns.mentions(source)))
    resolution.mark_files_shared(call, source)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author.user.id,
        type=MessageType.DEFAULT,
        flags=source.flags & CROSSPOST_FLAGS | MessageFlags.IS_CROSSPOST,
        content=source.content,
        mentions=source.mentions,
        attachments=source.attachments,
        embeds=source.embeds,
        components=source.components,
        reference=rows.encode_json(reference),
        extra=None if source.attachments is None else rows.encode_json(Extra(shared=True)),
    )
    related = views.RelatedData(call)
    return store_and_publish(call, channel, rows.with_webhook(row, author), related, mentioned, author)[0]
