"""Saying, changing and removing: write, tell, publish. The only file here that emits."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction, ChannelType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.members import PartialMember
from hubbub.server.core import access as core_access
from hubbub.server.core import audit
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import members, users
from hubbub.server.resources.bans import MemberBanned
from hubbub.server.resources.messages import drafts, jobs, mentions, readers, references, rows, rules, store, views
from hubbub.server.resources.messages.facts import (
    MessageChanged,
    MessageCreated,
    MessageCrossposted,
    MessageDrafted,
    MessageFilled,
    MessagePinned,
    MessagesDeleted,
)
from hubbub.server.resources.messages.mentions import NOBODY, Mentions
from hubbub.server.resources.messages.records import Author, Extra, FromGame, MessageRow, Response

DELETIONS_COUNTED_MS: Final = 5 * 60_000
"""Deletions of one author's messages in one channel within this are one audit log entry (http.md 3.4)."""
CARRIED_FLAGS: Final = MessageFlags.SUPPRESS_EMBEDS | MessageFlags.IS_COMPONENTS_V2
"""Flags that a crosspost shares with what it is a copy of."""
EPHEMERAL_MS: Final = 15 * 60_000
"""How long a message is kept that only some know of: as long as its app can change it (decisions/0030)."""
BULK_EVENT_MAX: Final = 100
"""How many ids one MESSAGE_DELETE_BULK carries."""


# Saying


def send(call: Call, access: ChannelAccess, author: Author, body: wire.CreateMessage) -> wire.Message | msgspec.Raw:
    """Say something where the caller may speak; a repeated nonce gives the earlier message back.

    What was encoded for the event is given as it is, so that the answer costs no second encoding."""
    nonce = rows.nonce_of(body)
    message_id = call.new_id(MessageId)
    if nonce is not None and rows.is_enforced(call, body):
        earlier = rows.said_before(call, access, str(nonce), message_id)
        if earlier is not None:
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
) -> "Kept":
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
        _ask(call, access, author, message_id, words)
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
        return _keep_answer(call, access, rows.answered(row, author, response), author, response, response.person)
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
    return _keep(call, access, row, around, named, author, plain=plain, nonce=nonce)


def _ask(
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
) -> wire.Message:
    """Keep and publish what the platform says of somebody's deed."""
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
    )
    around = views.Around(call)
    around.users[author.user.id] = users.user(author.user)
    return _keep(call, channel, row, around, named, author)[0]


def copy(
    call: Call, channel: ChannelRef, source: MessageRow, author: Author, reference: wire.MessageReference
) -> wire.Message:
    """Keep and publish what was said elsewhere: a crosspost. Its users are mentioned, roles and @everyone of there are not."""
    named = Mentions(users=tuple(views.mentions(source)))
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
    return _keep(call, channel, rows.spoken(row, author), around, named, author)[0]


Kept = tuple[wire.Message, bytes | None]
"""A new message, and its JSON where the event was made of it."""


def _keep(
    call: Call,
    where: ChannelAccess | ChannelRef,
    row: MessageRow,
    around: views.Around,
    named: Mentions,
    author: Author,
    *,
    plain: bool = False,
    nonce: int | str | None = None,
) -> Kept:
    """Write a new message, tell the others, publish it, show it."""
    if isinstance(where, ChannelRef):
        channel, standing = where, None
    else:
        channel, standing = where.channel, where.guild
    if row.ephemeral:
        store.insert_ephemeral(call.tx, row, call.now, call.now + EPHEMERAL_MS)
        around.load((row,))
        _emit(call, wire.MESSAGE_CREATE, channel, row, around, views.dispatched(around, channel, row), frozenset())
        return views.show(wire.Message, around, row), None
    asking, person = None if plain else views.asking(row), None
    if plain:
        store.insert_plain(call.tx, row)
    else:
        store.insert(call.tx, row)
        if asking is not None:
            person = store.find_author(call.tx, channel.guild_id, asking)
            around.know(author.user, *(() if person is None else (person.user,)))
        around.load((row,))
    call.tell(MessageCreated(channel=channel, row=row, mentions=named.users, mention_roles=named.roles))
    member: PartialMember | UnsetType = UNSET
    known: dict[int, PartialMember] | None = None
    if channel.guild_id is not None:
        if author.member is not None:
            if standing is not None and standing.user_id == author.user.id:
                roles = core_access.role_ids(standing)
            else:
                roles = list(members.find_roles(call.tx, channel.guild_id, (author.user.id,)).get(author.user.id, ()))
            member = members.partial_member(author.member, tuple(roles))
        if named.users:
            known = views.partial_members(call, channel.guild_id, named.users)
        if asking is not None and person is not None and person.member is not None:
            held = members.find_roles(call.tx, channel.guild_id, (asking,)).get(asking, ())
            known = {**(known or {}), asking: members.partial_member(person.member, held)}
    reading = readers.of(call, row, named.users)
    shown = views.show(wire.Message, around, row)
    if nonce is not None:
        shown.nonce = nonce
    if plain and channel.guild_id is not None:
        encoded = json.encode(shown)
        body = views.encoded_dispatch(encoded, channel, member)
        bare = _without_words(body, row)
        call.tx.emit(wire.MESSAGE_CREATE, body, audience(call, channel), redacted=bare, unredacted_for=reading)
        return shown, encoded
    payload = views.told_of(views.as_dispatched(shown), channel, row, member, known)
    _emit(call, wire.MESSAGE_CREATE, channel, row, around, payload, reading)
    if shown.referenced_message or shown.message_snapshots:
        # Who answers or carries a message does not read it by that.
        shown = views.as_read(around, row, shown, channel.guild_id)
    return shown, None


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


def _keep_answer(
    call: Call, access: ChannelAccess, row: MessageRow, author: Author, response: Response, person: Author
) -> Kept:
    """What `_keep` does, for an answer of words alone: all that it shows is known, so it is encoded once and nothing is read
    back from the row."""
    channel, asked = access.channel, response.interaction
    guild_id = access.guild_id
    store.insert_answer(call.tx, row)
    around = views.Around(call)
    around.know(author.user, person.user)
    call.tell(MessageCreated(channel=channel, row=row, mentions=(), mention_roles=()))
    shown = views.show(wire.Message, around, row, kept=Extra(interaction=asked))
    absent = {user.user.id for user in (author, person) if user.member is not None}
    standing = access.guild
    roles: dict[int, tuple[RoleId, ...]] = {}
    if standing is not None and standing.user_id in absent:
        roles[standing.user_id] = tuple(core_access.role_ids(standing))
        absent.discard(standing.user_id)
    if response.held is not None:
        roles[person.user.id] = response.held
        absent.discard(person.user.id)
    if absent:
        roles |= members.find_roles(call.tx, guild_id, absent)
    member: PartialMember | UnsetType = UNSET
    if author.member is not None:
        member = members.partial_member(author.member, roles.get(author.user.id, ()))
    if person.member is not None and shown.interaction:
        shown.interaction.member = members.partial_member(person.member, roles.get(person.user.id, ()))
    body = views.encoded_dispatch(json.encode(shown), channel, member)
    if shown.interaction:
        # Only what is told of it has the member.
        shown.interaction.member = UNSET
    bare, reading = _without_words(body, row), readers.of(call, row, ())
    call.tx.emit(wire.MESSAGE_CREATE, body, audience(call, channel), redacted=bare, unredacted_for=reading)
    return shown, None


# Changing


def edit(call: Call, access: ChannelAccess, author: Author, row: MessageRow, body: wire.UpdateMessage) -> wire.Message:
    """Change what a message of the caller's own says."""
    draft = drafts.edit(call, access, author, row, body)
    if draft.empty and row.snapshots is None:
        raise errors.EMPTY_MESSAGE()
    after = row._replace(
        content=draft.content,
        flags=draft.flags,
        attachments=rows.text(draft.files),
        embeds=rows.text(draft.embeds),
        components=rows.text(draft.components),
    )
    if body.content is not UNSET or body.components is not UNSET or body.allowed_mentions is not UNSET:
        named = mentions.read(call, access, draft.texts(), body.allowed_mentions, _still_replied(call, row, body))
        after = after._replace(
            mentions=rows.text(list(named.users)),
            mention_roles=rows.text(list(named.roles)),
            mention_everyone=int(named.everyone),
        )
    if after == row:
        return views.message(call, row, guild_id=access.channel.guild_id)
    if after != row._replace(flags=after.flags):
        if author.moderated:
            _ask(call, access, author, row.id, draft.words(), edited=True)
        rules.count_edit(call, row)
        # http.md 3.4: a change of flags alone is no edit that readers are told of.
        after = after._replace(edited_ms=call.now)
    return change(call, access.channel, after)


def fill(
    call: Call, access: ChannelAccess, author: Author, row: MessageRow, body: wire.CreateFirstMessage
) -> wire.Message:
    """Let an answer that was still being made say something, as if it were said only now."""
    draft = drafts.read(call, access, author, body)
    if draft.empty:
        raise errors.EMPTY_MESSAGE()
    named = mentions.read(call, access, draft.texts(), body.allowed_mentions)
    extra = views.extra(row)
    # dated-changes.md 3: until 4 September 2024 an answer that was promised could not become a poll.
    extra.poll = draft.poll if changes.POLL_IN_DEFERRED_EDIT.active(call.now) else None
    if row.ephemeral and extra.poll is not None:
        raise errors.POLL_INVALID_CHANNEL_TYPE()
    after = row._replace(
        flags=row.flags & ~MessageFlags.LOADING | draft.flags,
        content=draft.content,
        attachments=rows.text(draft.files),
        embeds=rows.text(draft.embeds),
        components=rows.text(draft.components),
        mentions=rows.text(list(named.users)),
        mention_roles=rows.text(list(named.roles)),
        mention_everyone=int(named.everyone),
        extra=rows.text(extra),
    )
    if not row.ephemeral:
        call.tell(MessageFilled(channel=access.channel, row=after))
    return change(call, access.channel, after)


def _still_replied(call: Call, row: MessageRow, body: wire.UpdateMessage) -> int | None:
    """Whom a reply keeps notifying through an edit: the author it answers, if it did and the edit does not say otherwise."""
    if row.type != MessageType.REPLY or row.reference is None:
        return None
    reference = json.decode(row.reference, wire.MessageReference)
    replied = store.find(call.tx, reference.channel_id, reference.message_id or 0)
    if replied is None:
        return None
    if not body.allowed_mentions and replied.author_id not in views.mentions(row):
        return None
    return replied.author_id


def suppress(call: Call, access: ChannelAccess, row: MessageRow, flags: int) -> wire.Message:
    """Hide or show the embeds of somebody's message."""
    wanted = row.flags & ~MessageFlags.SUPPRESS_EMBEDS | flags & MessageFlags.SUPPRESS_EMBEDS
    if wanted == row.flags:
        return views.message(call, row, guild_id=access.channel.guild_id)
    return change(call, access.channel, row._replace(flags=wanted))


def crosspost(call: Call, access: ChannelAccess, row: MessageRow) -> wire.Message:
    """Mark a message as published, for those who bring it to the channels that follow."""
    row = row._replace(flags=row.flags | MessageFlags.CROSSPOSTED)
    shown = change(call, access.channel, row)
    call.tell(MessageCrossposted(channel=access.channel, row=row))
    return shown


def set_flags(call: Call, channel: ChannelRef, message_id: int, on: int = 0, off: int = 0) -> wire.Message:
    """Set and clear flags of a message."""
    row = store.get(call.tx, channel.id, message_id)
    return change(call, channel, row._replace(flags=row.flags & ~off | on))


def set_pinned(call: Call, row: MessageRow, pinned_ms: int | None) -> wire.Message:
    """Pin a message (with the moment) or unpin it."""
    store.set_pinned(call.tx, row.channel_id, row.id, pinned_ms)
    channel = _channel_of(call, row)
    row = row._replace(pinned_ms=pinned_ms)
    call.tell(MessagePinned(channel=channel, row=row))
    return _changed(call, channel, row)


def change(call: Call, channel: ChannelRef, row: MessageRow) -> wire.Message:
    """Keep a changed message, and publish it."""
    store.update(call.tx, row)
    if not row.ephemeral:
        call.tell(MessageChanged(channel=channel, row=row))
    return _changed(call, channel, row)


def _changed(call: Call, channel: ChannelRef, row: MessageRow) -> wire.Message:
    around = views.Around(call)
    around.load((row,))
    mentioned = views.mentions(row)
    known: dict[int, PartialMember] = {}
    if channel.guild_id is not None and not row.ephemeral:
        asking = views.asking(row)
        people = [row.author_id, *mentioned, *(() if asking is None else (asking,))]
        known = views.partial_members(call, channel.guild_id, people)
    payload = views.dispatched(around, channel, row, known.get(row.author_id, UNSET), known)
    # gateway.md 6: an update never speaks aloud.
    payload.tts = False
    _emit(call, wire.MESSAGE_UPDATE, channel, row, around, payload, readers.of(call, row, mentioned))
    return views.message(call, row, guild_id=channel.guild_id)


def _channel_of(call: Call, row: MessageRow) -> ChannelRef:
    known: ChannelAccess | None = call.access.get(("channel", row.channel_id))
    channel = core_access.find_channel(call.tx, row.channel_id) if known is None else known.channel
    if channel is None:
        raise errors.UNKNOWN_CHANNEL()
    return channel


# Removing


def delete(call: Call, access: ChannelAccess, row: MessageRow) -> None:
    """Remove a message; the audit log hears of a person who removes another's (http.md 3.4)."""
    channel = access.channel
    if row.ephemeral:
        store.delete_ephemeral(call.tx, row)
        gone = wire.MessageDeleted(id=MessageId(row.id), channel_id=ChannelId(channel.id))
        call.tx.emit(wire.MESSAGE_DELETE, gone, Audience.of_users(*views.extra(row).seen_by))
        return
    _remove(call, channel, (row,))
    actor = call.find_actor
    if channel.guild_id is not None and actor is not None and row.author_id != actor.user_id and not actor.is_bot:
        _log_deletion(call, channel.guild_id, channel, row.author_id)
    gone = wire.MessageDeleted(
        id=MessageId(row.id),
        channel_id=ChannelId(channel.id),
        guild_id=UNSET if channel.guild_id is None else channel.guild_id,
    )
    call.tx.emit(wire.MESSAGE_DELETE, gone, audience(call, channel))


def _log_deletion(call: Call, guild_id: int, channel: ChannelRef, author_id: int) -> None:
    since = Snowflake.at(call.now - DELETIONS_COUNTED_MS)
    entry = store.find_deletion(call.tx, guild_id, call.user_id, author_id, channel.id, since, call.reason)
    if entry is not None:
        store.count_deletion(call.tx, guild_id, entry[0], channel.id, entry[1] + 1)
        return
    audit.record(
        call,
        guild_id,
        AuditLogAction.MESSAGE_DELETE,
        target_id=author_id,
        options={"channel_id": int(channel.id), "count": 1},
    )


def bulk_delete(call: Call, access: ChannelAccess, message_ids: Iterable[int]) -> None:
    """Remove many messages of a channel together; those that are not there, or cannot go, are left out."""
    channel = access.channel
    found = store.find_many(call.tx, channel.id, message_ids)
    rows = [found[each] for each in sorted(found) if found[each].type not in wire.UNDELETABLE_TYPES]
    if not rows:
        return
    _delete_together(call, channel, rows)
    audit.record(
        call,
        access.guild_id,
        AuditLogAction.MESSAGE_BULK_DELETE,
        target_id=channel.id,
        options={"count": len(rows)},
    )


def delete_of_user_since(call: Call, guild_id: int, user_id: int, since_ms: int) -> None:
    """Remove what somebody said in a guild since a moment."""
    since = Snowflake.at(since_ms)
    while rows := store.list_of_author(call.tx, guild_id, user_id, since, store.BATCH):
        by_channel: dict[int, list[MessageRow]] = {}
        for row in rows:
            by_channel.setdefault(row.channel_id, []).append(row)
        for group in by_channel.values():
            _delete_together(call, _channel_of(call, group[0]), group)
        if len(rows) < store.BATCH:
            return


def member_banned(call: Call, fact: MemberBanned) -> None:
    """A ban takes the latest messages with it, as far back as it says."""
    if fact.delete_message_seconds > 0:
        since_ms = call.now - fact.delete_message_seconds * 1000
        delete_of_user_since(call, fact.guild_id, fact.user_id, since_ms)


def _delete_together(call: Call, channel: ChannelRef, rows: Sequence[MessageRow]) -> None:
    _remove(call, channel, tuple(rows))
    to = audience(call, channel)
    for start in range(0, len(rows), BULK_EVENT_MAX):
        gone = wire.MessagesDeleted(
            ids=[MessageId(row.id) for row in rows[start : start + BULK_EVENT_MAX]],
            channel_id=ChannelId(channel.id),
            guild_id=UNSET if channel.guild_id is None else channel.guild_id,
        )
        call.tx.emit(wire.MESSAGE_DELETE_BULK, gone, to)


def _remove(call: Call, channel: ChannelRef, rows: tuple[MessageRow, ...]) -> None:
    store.delete(call.tx, channel.id, rows)
    jobs.messages_gone(call, rows)
    call.tell(MessagesDeleted(channel=channel, rows=rows))


# Publishing


def audience(call: Call, channel: ChannelRef) -> Audience:
    """Who hears what happens to a channel's messages."""
    if channel.guild_id is None:
        people = [user_id for user_id, _ in store.recipients(call.tx, channel.id)]
        # Who wants to hear less in games decided so of direct messages.
        heard = rules.heard_in_games(call, people) if channel.type == ChannelType.DM else {}
        return Audience.of_users(*people, games_of=heard)
    if channel.is_private_thread:
        return Audience(
            guild_id=channel.guild_id,
            channel_id=channel.ruling_id,
            members=frozenset(store.thread_member_ids(call.tx, channel.id)),
        )
    return Audience(guild_id=channel.guild_id, channel_id=channel.ruling_id)


def _emit(
    call: Call,
    event: Event[Any],
    channel: ChannelRef,
    row: MessageRow,
    around: views.Around,
    payload: wire.DispatchedMessage,
    reading: frozenset[int],
) -> None:
    """Publish a message with its bare twin for sessions that may not read the content; in private everybody reads it."""
    if row.ephemeral:
        call.tx.emit(event, payload, Audience.of_users(*views.extra(row).seen_by))
        return
    if channel.guild_id is not None and views.is_words_alone(payload):
        body = json.encode(payload)
        to = audience(call, channel)
        call.tx.emit(event, body, to, redacted=_without_words(body, row), unredacted_for=reading)
        return
    bare = None if channel.guild_id is None else views.redacted(payload)
    partly: readers.Partly = ()
    if bare is not None and (payload.referenced_message or payload.message_snapshots):
        reading, partly = readers.apart(call, row, around, payload, reading)
    games = None
    if channel.guild_id is None and row.extra is not None and (metadata := views.extra(row).metadata):
        games = {0: views.for_games(payload, metadata)}
    to = audience(call, channel)
    if to.games_of and payload.activity:
        # An invite is for the game.
        to = msgspec.structs.replace(to, games_of={})
    call.tx.emit(event, payload, to, redacted=bare, unredacted_for=reading, partly=partly, games=games)


def _without_words(body: bytes, row: MessageRow) -> msgspec.Raw:
    """The JSON of a message for who may not read its words, which come right after the type."""
    words = b'"content":' + json.encode(row.content)
    return msgspec.Raw(body.replace(words, b'"content":""', 1))
