"""Keeping, changing and removing messages: write, tell, publish. The only file here that emits; what is said becomes a row in
`saying.py` and `editing.py`."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, Snowflake
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import messages as wire
from hubbub.protocol.resources.members import PartialMember
from hubbub.server.core import access as core_access
from hubbub.server.core import audit
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import members
from hubbub.server.resources.bans import MemberBanned
from hubbub.server.resources.messages import columns, jobs, readers, rules, store, views
from hubbub.server.resources.messages.facts import (
    MessageChanged,
    MessageCreated,
    MessagePinned,
    MessagesDeleted,
)
from hubbub.server.resources.messages.mentions import Mentions
from hubbub.server.resources.messages.records import Author, Extra, MessageRow, Response

DELETIONS_COUNTED_MS: Final = 5 * 60_000
"""Deletions of one author's messages in one channel within this are one audit log entry (http.md 3.4)."""
EPHEMERAL_MS: Final = 15 * 60_000
"""How long a message is kept that only some know of: as long as its app can change it (decisions/0030)."""
BULK_EVENT_MAX: Final = 100
"""How many ids one MESSAGE_DELETE_BULK carries."""


# Keeping


Kept = tuple[wire.Message, bytes | None]
"""A new message, and its JSON where the event was made of it."""


def keep(
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
    asking, person = None if plain else columns.asking(row), None
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


def keep_answer(
    call: Call, access: ChannelAccess, row: MessageRow, author: Author, response: Response, person: Author
) -> Kept:
    """What `keep` does, for an answer of words alone: all that it shows is known, so it is encoded once and nothing is read
    back from the row."""
    channel, asked = access.channel, response.interaction
    guild_id = access.guild_id
    store.insert_answer(call.tx, row)
    around = views.Around(call)
    around.users |= {each.user.id: views.encoded_user(each.user) for each in (author, person)}
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
        member = views.encoded_member(author.member, roles.get(author.user.id, ()))
    if person.member is not None and shown.interaction:
        shown.interaction.member = views.encoded_member(person.member, roles.get(person.user.id, ()))
    body = views.encoded_dispatch(json.encode(shown), channel, member)
    if shown.interaction:
        # Only what is told of it has the member.
        shown.interaction.member = UNSET
    bare, reading = _without_words(body, row), readers.of(call, row, ())
    call.tx.emit(wire.MESSAGE_CREATE, body, audience(call, channel), redacted=bare, unredacted_for=reading)
    return shown, None


# Changing


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
    mentioned = columns.mentions(row)
    known: dict[int, PartialMember] = {}
    if channel.guild_id is not None and not row.ephemeral:
        asking = columns.asking(row)
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
        call.tx.emit(wire.MESSAGE_DELETE, gone, Audience.of_users(*columns.extra(row).seen_by))
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
        call.tx.emit(event, payload, Audience.of_users(*columns.extra(row).seen_by))
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
    if channel.guild_id is None and row.extra is not None and (metadata := columns.extra(row).metadata):
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
