"""From what somebody says, or the platform says of a deed, to a message that is kept (`actions.py`)."""

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
"""Flags that a crosspost shares with what it is a copy of."""


def send(call: Call, access: ChannelAccess, author: Author, body: wire.CreateMessage) -> wire.Message | msgspec.Raw:
    """Say something where the caller may speak; a repeated nonce gives the earlier message back.

    What was encoded for the event is given as it is, so that the answer costs no second encoding."""
    nonce = rows.nonce_of(body)
    message_id = call.new_id(MessageId)
    if nonce is not None and rows.is_enforced(call, body):
        place = access.channel
        found = rows.said_before(call, place.id, str(nonce), message_id, lambda id: store.find(call.tx, place.id, id))
        if found is not None:
            earlier = views.message(call, found, guild_id=place.guild_id)
            earlier.nonce = nonce
            return earlier
    slowed = rules.is_slowed(call, access)
    if slowed:
        rules.require_patience(call, access)
    shown, encoded = _create(call, access, body, author, kind=0, message_id=message_id, nonce=nonce)
    if slowed:
        store.spoke(call.tx, access.channel.id, call.user_id, call.now)
    return shown if encoded is None else msgspec.Raw(encoded)


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
    """Keep and publish what the caller says; whether they may speak here at all was asked before (`rules.require_send`).

    `response` says that it is an app's answer to an interaction, `game` that a game says it for its player."""
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
        # Words and nothing else, as nearly all messages are.
        draft = None
        content, flags = drafts.clean(body.content or None), 0
        if body.allowed_mentions:
            form = errors.FormErrors()
            mentions.check(body.allowed_mentions, form)
            form.raise_if_any()
    refers = references.refer(call, access, reference) if reference else None
    silent = (response is not None and response.silent) or (game is not None and game.activity is not None)
    if (refers is None or refers.snapshot is None) and not silent:
        if draft is None:
            if not content:
                raise errors.EMPTY_MESSAGE()
        elif draft.empty:
            raise errors.EMPTY_MESSAGE()
    replied_id = None if refers is None or refers.replied is None else refers.replied.author_id
    if "@" in content or replied_id is not None or flags & MessageFlags.IS_COMPONENTS_V2:
        texts = (content,) if draft is None else draft.texts()
        named = mentions.read(call, access, texts, body.allowed_mentions, replied_id)
    else:
        named = NOBODY
    if author.moderated or channel.linked_lobby is not None:
        words = [content] if draft is None else list(draft.words())
        if refers is not None and refers.snapshot is not None:
            words.append(refers.snapshot.content)
        ask(call, access, author, message_id, words)
    tts = bool(isinstance(body, wire.CreateMessage) and body.tts and access.can(Permissions.SEND_TTS_MESSAGES))
    row = MessageRow(
        channel.id,
        message_id or call.new_id(MessageId),
        author.user.id,
        refers.kind if refers else kind,
        flags,
        content,
    )
    plain = (
        draft is None
        and refers is None
        and named is NOBODY
        and not tts
        and not channel.is_thread
        and author.webhook_id is None
        and game is None
    )
    if (
        response is not None
        and response.person is not None
        and _is_bare(response)
        and author.known
        and draft is None
        and refers is None
        and named is NOBODY
        and not tts
        and channel.guild_id is not None
        and not channel.is_thread
    ):
        return keep_answer(call, access, rows.answered(row, author, response), author, response, response.person)
    if not plain:
        row = rows.spoken(rows.filled(call, channel, row, draft, refers, named, tts), author)
    if game is not None:
        row = rows.played(row, game)
    if response is not None:
        row = rows.answering(row, response)
    around = views.Around(call)
    around.users[author.user.id] = users.user(author.user)
    if refers is not None and refers.replied is not None:
        around.referenced[refers.replied.channel_id, refers.replied.id] = refers.replied
    return keep(call, access, row, around, named, author, plain=plain, nonce=nonce)


def _is_bare(response: Response) -> bool:
    """Whether an answer is to a command, for all to see, and names nobody but who ran it."""
    asked = response.interaction
    return (
        not response.flags
        and response.reference is None
        and asked.name is not None
        and asked.target_user_id is None
        and asked.triggering is None
    )


def ask(
    call: Call, access: ChannelAccess, author: Author, message_id: int, words: Iterable[str], *, edited: bool = False
) -> None:
    """Let those who moderate read what a person is about to say; bots and webhooks are not read (http.md 3.10)."""
    if access.guild is None or author.user.bot or author.webhook_id is not None:
        return
    text = "\n".join(filter(None, words))
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
    """Keep and publish what the platform says of somebody's deed; `about` is the call that they began."""
    author = rules.require_author(call, channel, author_id)
    named = Mentions(users=tuple(UserId(each) for each in mentions), everyone=everyone)
    row = MessageRow(
        channel_id=channel.id,
        id=call.new_id(MessageId),
        author_id=author_id,
        type=int(kind),
        flags=0,
        content=content,
        mention_everyone=int(everyone),
        mentions=rows.text(list(named.users)),
        reference=rows.text(reference),
        embeds=rows.text(list(embeds)),
        extra=None if about is None else rows.encode_extra(Extra(call=about)),
    )
    around = views.Around(call)
    around.users[author.user.id] = users.user(author.user)
    return keep(call, channel, row, around, named, author)[0]


def copy(
    call: Call, channel: ChannelRef, source: MessageRow, author: Author, reference: wire.MessageReference
) -> wire.Message:
    """Keep and publish what was said elsewhere: a crosspost. Its users are mentioned, roles and @everyone of there are not."""
    named = Mentions(users=tuple(columns.mentions(source)))
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
    around = views.Around(call)
    return keep(call, channel, rows.spoken(row, author), around, named, author)[0]
