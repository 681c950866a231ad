"""Jobs and listeners that maintain the search index.

A guild is indexed only after its first search. Messages that exist by then are indexed in steps; later changes are
indexed by jobs that each process a batch. A search indexes pending changes itself, so it finds messages sent a moment
ago."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.server.core.access import ChannelRef, find_channel
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources import messages
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.search import documents, store

BUILD: Final = "search.build"
CATCH_UP: Final = "search.catch_up"
FORGET: Final = "search.forget"

AT_ONCE: Final = 250
"""Number of messages indexed in one transaction, small enough not to block other writers for long."""
STEPS_AT_ONCE: Final = 100
"""Maximum number of channels visited in one transaction."""
DELAY_MS: Final = 1000
"""Delay in milliseconds before a job indexes changes, so that they form a batch."""


class Build(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes a guild's existing messages, with its progress."""

    guild_id: GuildId
    channel_id: ChannelId = ChannelId(0)
    after: MessageId = MessageId(0)
    """Id of the channel's last message that is indexed, or 0 to go on with the next channel."""


class CatchUp(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes a guild's pending changes."""

    guild_id: GuildId


class Forget(msgspec.Struct, kw_only=True):
    """Payload of the job that removes the documents of deleted channels."""

    channel_ids: list[ChannelId]


# Listeners


def hear_message(
    call: Call, signal: messages.MessageCreated | messages.MessageChanged | messages.MessagePinned
) -> None:
    """Record that a message was created or changed."""
    row = signal.row
    if signal.channel.guild_id is not None and row.type in messages.SAID:
        if store.note(call.tx, signal.channel.guild_id, row.channel_id, row.id):
            _schedule_catch_up(call, signal.channel.guild_id)


def hear_deletion(call: Call, signal: messages.MessagesDeleted) -> None:
    """Record that messages were deleted."""
    guild_id = signal.channel.guild_id
    if guild_id is None:
        return
    scheduled = True
    for row in signal.rows:
        if row.type in messages.SAID and store.note(call.tx, guild_id, row.channel_id, row.id):
            scheduled = False
    if not scheduled:
        _schedule_catch_up(call, guild_id)


def hear_channels_deleted(call: Call, signal: ChannelsDeleted) -> None:
    """Schedule the removal of the documents of deleted channels."""
    if signal.guild_id is not None:
        indexed = store.channels_with_documents(call.tx, signal.channel_ids)
        if indexed:
            call.tx.enqueue(FORGET, Forget(channel_ids=[ChannelId(each) for each in indexed]))


def hear_guild_deleted(call: Call, signal: GuildDeleted) -> None:
    """Delete the index state of a deleted guild."""
    store.forget_guild(call.tx, signal.guild_id)


def _schedule_catch_up(call: Call, guild_id: GuildId) -> None:
    store.set_pending(call.tx, guild_id, True)
    key = f"{CATCH_UP}:{int(guild_id)}"
    call.tx.enqueue(CATCH_UP, CatchUp(guild_id=guild_id), due_ms=call.now + DELAY_MS, key=key)


# Jobs


def begin(call: Call, guild_id: GuildId) -> None:
    """Start indexing a guild, from its first message on."""
    if store.begin(call.tx, guild_id):
        call.tx.enqueue(BUILD, Build(guild_id=guild_id), key=f"{BUILD}:{int(guild_id)}")


def build(call: Call, job: Job) -> None:
    """Index some existing messages of a guild and reschedule the job while there are more."""
    following = build_more(call, job.decode(Build))
    if following is not None:
        call.tx.enqueue(BUILD, following, key=job.key)


def build_more(call: Call, at: Build) -> Build | None:
    """Index some existing messages.

    Returns where to continue, or None if all are indexed or the guild was deleted."""
    if not store.is_building(call.tx, at.guild_id):
        return None
    rows: list[MessageRow] = []
    channel_id, after, done = int(at.channel_id), int(at.after), False
    for _ in range(STEPS_AT_ONCE):
        if not after:
            following = store.next_channel(call.tx, at.guild_id, channel_id)
            if following is None:
                done = True
                break
            channel_id = following
        remaining = AT_ONCE - len(rows)
        found = messages.following(call.tx, channel_id, after, remaining)
        rows += found
        # Rows come newest first. If the page is full, the channel may have more.
        after = found[0].id if len(found) == remaining else 0
        if len(rows) >= AT_ONCE:
            break
    _index(call, at.guild_id, [row.id for row in rows], rows)
    if done:
        store.finish(call.tx, at.guild_id)
        return None
    store.count_built(call.tx, at.guild_id, len(rows))
    return Build(guild_id=at.guild_id, channel_id=ChannelId(channel_id), after=MessageId(after))


def catch_up(call: Call, job: Job) -> None:
    """Index pending changes and reschedule the job while there are more."""
    guild_id = job.decode(CatchUp).guild_id
    if look_at_changes(call, guild_id) == AT_ONCE:
        call.tx.enqueue(CATCH_UP, CatchUp(guild_id=guild_id), key=job.key)
    else:
        store.set_pending(call.tx, guild_id, False)


def look_at_changes(call: Call, guild_id: int) -> int:
    """Index a batch of changed messages and return its size."""
    changed = store.take_changes(call.tx, guild_id, AT_ONCE)
    by_channel: dict[int, list[int]] = {}
    for channel_id, message_id in changed:
        by_channel.setdefault(channel_id, []).append(message_id)
    rows = [
        row for channel_id, ids in by_channel.items() for row in messages.find_many(call.tx, channel_id, ids).values()
    ]
    _index(call, guild_id, [message_id for _, message_id in changed], rows)
    return len(changed)


def forget(call: Call, job: Job) -> None:
    """Remove the documents of deleted channels and reschedule the job while there are more."""
    channel_ids = job.decode(Forget).channel_ids
    remaining = AT_ONCE
    while channel_ids and remaining > 0:
        removed = store.remove_of_channel(call.tx, channel_ids[0], remaining)
        remaining -= removed
        if remaining > 0:
            channel_ids = channel_ids[1:]
    if channel_ids:
        call.tx.enqueue(FORGET, Forget(channel_ids=channel_ids))


def _index(call: Call, guild_id: int, ids: Sequence[int], rows: Iterable[MessageRow]) -> None:
    """Update the index for these message ids.

    Ids without a row, and system messages, are removed from the index."""
    indexable = [row for row in rows if row.type in messages.SAID]
    channels = _channels(call, guild_id, {row.channel_id for row in indexable})
    bots = store.bots_among(call.tx, (row.author_id for row in indexable))
    replied = _find_replied_authors(call, indexable)
    new = [
        documents.document(row, channels[row.channel_id], bots, replied)
        for row in indexable
        if row.channel_id in channels
    ]
    store.replace(call.tx, ids, new)


def _channels(call: Call, guild_id: int, channel_ids: Iterable[int]) -> dict[int, ChannelRef]:
    """Return those of the channels that still exist in the guild."""
    found: dict[int, ChannelRef] = {}
    for channel_id in channel_ids:
        channel = find_channel(call.tx, channel_id)
        if channel is not None and channel.guild_id == guild_id:
            found[channel_id] = channel
    return found


def _find_replied_authors(call: Call, rows: Iterable[MessageRow]) -> dict[int, int]:
    """Return the authors of replied-to messages, by message id."""
    wanted: dict[int, list[int]] = {}
    for row in rows:
        replied_id = documents.replied_to(row)
        if replied_id is not None:
            # http.md 3.4: a reply refers to a message of the same channel.
            wanted.setdefault(row.channel_id, []).append(replied_id)
    return {
        found.id: found.author_id
        for channel_id, ids in wanted.items()
        for found in messages.find_many(call.tx, channel_id, ids).values()
    }
