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
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources import users
from hubbub.server.resources.messages import columns, drafts, mentions, references, rows, rules, store, views
from hubbub.server.resources.messages.actions import Kept, keep, keep_answer
from hubbub.server.resources.messages.facts import MessageDrafted
from hubbub.server.resources.messages.mentions import NOBODY, Mentions
from hubbub.server.resources.messages.records import Author, Extra, FromGame, MessageRow, Response

CARRIED_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.IS_COMPONENTS_V2
"""Flags that a crosspost copies from its source."""


def send(call: Call, access: ChannelAccess, author: Author, body: wire.CreateMessage) -> wire.Message | msgspec.Raw:
    """Create a message for a caller who may send here; a repeated nonce returns the earlier message.

    The JSON encoded for the event is reused for the response if possible."""
    nonce = rows.nonce_of(body)
    message_id = call.new_id(MessageId)
    if nonce is not None and rows.is_enforced(call, body):
        channel = access.channel
        found = rows.said_before(
            call, channel.id, str(nonce), message_id, lambda id: store.find(call.tx, channel.id, id)
        )
        if found is not None:
            view = views.message(call, found, guild_id=channel.guild_id)
            view.nonce = nonce
            return view
    is_slowed = rules.is_slowed(call, access)
    if is_slowed:
        rules.require_patience(call, access)
    created, encoded = _create(call, access, body, author, kind=0, message_id=message_id, nonce=nonce)
    if is_slowed:
        store.spoke(call.tx, access.channel.id, call.user_id, call.now)
    return created if encoded is None else msgspec.Raw(encoded)


def create(
    call: Call,
    access: ChannelAccess,
    body: wire.CreateFirstMessage,
    *,
    kind: int = 0,
    message_id: MessageId | None = None,
    author: Author | None = None,
    response: Response | None = None,
    game: FromGame | None = None,
) -> wire.Message:
    """Create and publish a message; the caller checks `rules.require_send` first.

    `response` marks an interaction response, `game` a message that an application sends for its user."""
    if author is None:
        author = rules.require_author(call, access.channel)
    if message_id is None:
        message_id = call.new_id(MessageId)
    return _create(
        call,
        access,
        body,
        author,
        kind=kind,
        message_id=message_id,
        response=response,
        game=game,
    )[0]


def _create(
    call: Call,
    access: ChannelAccess,
    body: wire.CreateFirstMessage,
    author: Author,
    *,
    kind: int,
    message_id: MessageId,
    nonce: int | str | None = None,
    response: Response | None = None,
    game: FromGame | None = None,
) -> Kept:
    channel = access.channel
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
        draft = drafts.read(call, access, author, body)
        content, flags = draft.content, draft.flags
    else:
        # The common case: content only.
        draft = None
        content, flags = drafts.clean(body.content or None), 0
        if body.allowed_mentions:
            form = errors.FormErrors()
            mentions.check(body.allowed_mentions, form)
            form.raise_if_any()
    resolved = references.refer(call, access, reference) if reference else None
    may_be_empty = (response is not None and response.silent) or (game is not None and game.activity is not None)
    if (resolved is None or resolved.snapshot is None) and not may_be_empty:
        if draft is None:
            if not content:
                raise errors.EMPTY_MESSAGE()
        elif draft.empty:
            raise errors.EMPTY_MESSAGE()
    replied_id = None if resolved is None or resolved.replied is None else resolved.replied.author_id
    if "@" in content or replied_id is not None or flags & MessageFlags.IS_COMPONENTS_V2:
        texts = (content,) if draft is None else draft.texts()
        mentioned = mentions.read(call, access, texts, body.allowed_mentions, replied_id)
    else:
        mentioned = NOBODY
    if author.moderated or channel.linked_lobby is not None:
        moderated_texts = [content] if draft is None else list(draft.words())
        if resolved is not None and resolved.snapshot is not None:
            moderated_texts.append(resolved.snapshot.content)
        ask(call, access, author, message_id, moderated_texts)
    tts = bool(isinstance(body, wire.CreateMessage) and body.tts and access.can(Permissions.SEND_TTS_MESSAGES))
    row = MessageRow(
        channel.id,
        message_id or call.new_id(MessageId),
        author.user.id,
        resolved.kind if resolved else kind,
        flags,
        content,
    )
    is_plain = (
        draft is None
        and resolved is None
        and mentioned is NOBODY
        and not tts
        and not channel.is_thread
        and author.webhook_id is None
        and game is None
    )
    if (
        response is not None
        and response.person is not None
        and _is_plain_response(response)
        and author.known
        and draft is None
        and resolved is None
        and mentioned is NOBODY
        and not tts
        and channel.guild_id is not None
        and not channel.is_thread
    ):
        return keep_answer(call, access, rows.answered(row, author, response), author, response, response.person)
    if not is_plain:
        row = rows.spoken(rows.filled(call, channel, row, draft, resolved, mentioned, tts), author)
    if game is not None:
        row = rows.played(row, game)
    if response is not None:
        row = rows.answering(row, response)
    related = views.Around(call)
    related.users[author.user.id] = users.user(author.user)
    if resolved is not None and resolved.replied is not None:
        related.referenced[resolved.replied.channel_id, resolved.replied.id] = resolved.replied
    return keep(call, access, row, related, mentioned, author, plain=is_plain, nonce=nonce)


def _is_plain_response(response: Response) -> bool:
    """Report whether a response is public, responds to a command, and refers to no user but the invoking one."""
    interaction = response.interaction
    return (
        not response.flags
        and response.reference is None
        and interaction.name is not None
        and interaction.target_user_id is None
        and interaction.triggering is None
    )


def ask(
    call: Call, access: ChannelAccess, author: Author, message_id: int, texts: Iterable[str], *, edited: bool = False
) -> None:
    """Signal a drafted message so that moderation can reject it; bots and webhooks are exempt (http.md 3.10)."""
    if access.guild is None or author.user.bot or author.webhook_id is not None:
        return
    text = "\n".join(filter(None, texts))
    call.tell(MessageDrafted(access=access, message_id=MessageId(message_id), text=text, edited=edited))


def system(
    call: Call,
    channel: ChannelRef,
    kind: int,
    author_id: int,
    *,
    content: str = "",
    mentions: Sequence[int] = (),
    everyone: bool = False,
    reference: wire.MessageReference | None = None,
    embeds: Sequence[Embed] = (),
    about: wire.MessageCall | None = None,
) -> wire.Message:
    """Create and publish a system message; `about` is the call that it announces."""
    author = rules.require_author(call, channel, author_id)
    mentioned = Mentions(users=tuple(UserId(each) for each in mentions), everyone=everyone)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author_id,
        type=int(kind),
        flags=0,
        content=content,
        mention_everyone=int(everyone),
        mentions=rows.text(list(mentioned.users)),
        reference=rows.text(reference),
        embeds=rows.text(list(embeds)),
        extra=None if about is None else rows.encode_extra(Extra(call=about)),
    )
    related = views.Around(call)
    related.users[author.user.id] = users.user(author.user)
    return keep(call, channel, row, related, mentioned, author)[0]


def copy(
    call: Call, channel: ChannelRef, source: MessageRow, author: Author, reference: wire.MessageReference
) -> wire.Message:
    """Create and publish a crosspost.

    User mentions are retained; role mentions and @everyone of the source guild are not."""
    mentioned = Mentions(users=tuple(columns.mentions(source)))
    references.share_files(call, source)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author.user.id,
        type=MessageType.DEFAULT,
        flags=source.flags & CARRIED_FLAGS | MessageFlags.IS_CROSSPOST,
        content=source.content,
        mentions=source.mentions,
        attachments=source.attachments,
        embeds=source.embeds,
        components=source.components,
        reference=rows.text(reference),
        extra=None if source.attachments is None else rows.text(Extra(shared=True)),
    )
    related = views.Around(call)
    return keep(call, channel, rows.spoken(row, author), related, mentioned, author)[0]
