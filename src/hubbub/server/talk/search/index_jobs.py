"""Jobs and listeners that maintain the search index.

A guild is indexed only after its first search. Messages that exist by then are indexed in steps; later changes are
indexed by jobs that each process a batch. A search indexes pending changes itself, so it finds messages sent a moment
ago."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.channels import ChannelsDeleted
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.search import documents, store

BUILD: Final = "search.build"
CATCH_UP: Final = "search.catch_up"
FORGET: Final = "search.forget"

BATCH_SIZE: Final = 250
"""Number of messages indexed in one transaction, small enough not to block other writers for long."""
CHANNELS_PER_STEP_MAX: Final = 100
"""Maximum number of channels visited in one transaction."""
CATCH_UP_DELAY_MS: Final = 1000
"""Delay in milliseconds before a job indexes changes, so that they form a batch."""


class BuildJob(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes a guild's existing messages, with its progress."""

    guild_id: GuildId
    channel_id: ChannelId = ChannelId(0)
    after: MessageId = MessageId(0)
    """Id of the channel's last message that is indexed, or 0 to go on with the next channel."""


class CatchUpJob(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes a guild's pending changes."""

    guild_id: GuildId


class ForgetJob(msgspec.Struct, kw_only=True):
    """Payload of the job that removes the documents of deleted channels."""

    channel_ids: list[ChannelId]


# Listeners


def on_message_changed(
    call: Call, signal: messages.MessageCreated | messages.MessageChanged | messages.MessagePinned
) -> None:
    """Record that a message was created or changed."""
    row = signal.row
    if signal.channel.guild_id is not None and row.type in messages.USER_MESSAGE_TYPES:
        if store.record_change(call.tx, signal.channel.guild_id, row.channel_id, row.id):
            _schedule_catch_up(call, signal.channel.guild_id)


def on_messages_deleted(call: Call, signal: messages.MessagesDeleted) -> None:
    """Record that messages were deleted."""
    guild_id = signal.channel.guild_id
    if guild_id is None:
        return
    scheduled = True
    for row in signal.rows:
        if row.type in messages.USER_MESSAGE_TYPES and store.record_change(call.tx, guild_id, row.channel_id, row.id):
            scheduled = False
    if not scheduled:
        _schedule_catch_up(call, guild_id)


def on_channels_deleted(call: Call, signal: ChannelsDeleted) -> None:
    """Schedule the removal of the documents of deleted channels."""
    if signal.guild_id is not None:
        indexed = store.channels_with_documents(call.tx, signal.channel_ids)
        if indexed:
            call.tx.enqueue(FORGET, ForgetJob(channel_ids=[ChannelId(each) for each in indexed]))


def on_guild_deleted(call: Call, signal: GuildDeleted) -> None:
    """Delete the index state of a deleted guild."""
    store.delete_guild(call.tx, signal.guild_id)


def _schedule_catch_up(call: Call, guild_id: GuildId) -> None:
    store.set_pending(call.tx, guild_id, True)
    key = f"{CATCH_UP}:{int(guild_id)}"
    call.tx.enqueue(CATCH_UP, CatchUpJob(guild_id=guild_id), due_ms=call.now + CATCH_UP_DELAY_MS, key=key)


# Jobs


def start_build(call: Call, guild_id: GuildId) -> None:
    """Start indexing a guild, from its first message on."""
    if store.insert_guild(call.tx, guild_id):
        call.tx.enqueue(BUILD, BuildJob(guild_id=guild_id), key=f"{BUILD}:{int(guild_id)}")


def build(call: Call, job: Job) -> None:
    """Index some existing messages of a guild and reschedule the job while there are more."""
    following = build_step(call, job.decode(BuildJob))
    if following is not None:
        call.tx.enqueue(BUILD, following, key=job.key)


def build_step(call: Call, progress: BuildJob) -> BuildJob | None:
    """Index some existing messages.

    Returns where to continue, or None if all are indexed or the guild was deleted."""
    if not store.is_building(call.tx, progress.guild_id):
        return None
    rows: list[MessageRow] = []
    channel_id, after, done = int(progress.channel_id), int(progress.after), False
    for _ in range(CHANNELS_PER_STEP_MAX):
        if not after:
            following = store.next_channel(call.tx, progress.guild_id, channel_id)
            if following is None:
                done = True
                break
            channel_id = following
        remaining = BATCH_SIZE - len(rows)
        found = messages.list_after(call.tx, channel_id, after, remaining)
        rows += found
        # Rows come newest first. If the page is full, the channel may have more.
        after = found[0].id if len(found) == remaining else 0
        if len(rows) >= BATCH_SIZE:
            break
    _index(call, progress.guild_id, [row.id for row in rows], rows)
    if done:
        store.finish_build(call.tx, progress.guild_id)
        return None
    store.count_built(call.tx, progress.guild_id, len(rows))
    return BuildJob(guild_id=progress.guild_id, channel_id=ChannelId(channel_id), after=MessageId(after))


def catch_up(call: Call, job: Job) -> None:
    """Index pending changes and reschedule the job while there are more."""
    guild_id = job.decode(CatchUpJob).guild_id
    if index_changes(call, guild_id) == BATCH_SIZE:
        call.tx.enqueue(CATCH_UP, CatchUpJob(guild_id=guild_id), key=job.key)
    else:
        store.set_pending(call.tx, guild_id, False)


def index_changes(call: Call, guild_id: int) -> int:
    """Index a batch of changed messages and return its size."""
    changed = store.take_changes(call.tx, guild_id, BATCH_SIZE)
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
    channel_ids = job.decode(ForgetJob).channel_ids
    remaining = BATCH_SIZE
    while channel_ids and remaining > 0:
        removed = store.remove_of_channel(call.tx, channel_ids[0], remaining)
        remaining -= removed
        if remaining > 0:
            channel_ids = channel_ids[1:]
    if channel_ids:
        call.tx.enqueue(FORGET, ForgetJob(channel_ids=channel_ids))


def _index(call: Call, guild_id: int, ids: Sequence[int], rows: Iterable[MessageRow]) -> None:
    """Update the index for these message IDs.

    Ids without a row, and system messages, are removed from the index."""
    indexable = [row for row in rows if row.type in messages.USER_MESSAGE_TYPES]
    channels = _channels(call, guild_id, {row.channel_id for row in indexable})
    bots = store.filter_bots(call.tx, (row.author_id for row in indexable))
    replied = _find_replied_authors(call, indexable)
    new = [
        documents.build_document(row, channels[row.channel_id], bots, replied)
        for row in indexable
        if row.channel_id in channels
    ]
    store.replace(call.tx, ids, new)


def _channels(call: Call, guild_id: int, channel_ids: Iterable[int]) -> dict[int, ChannelRef]:
    """Return those of the channels that still exist in the guild."""
    found: dict[int, ChannelRef] = {}
    for channel_id in channel_ids:
        channel = access.find_channel(call.tx, channel_id)
        if channel is not None and channel.guild_id == guild_id:
            found[channel_id] = channel
    return found


def _find_replied_authors(call: Call, rows: Iterable[MessageRow]) -> dict[int, int]:
    """Return the authors of replied-to messages, by message ID."""
    wanted: dict[int, list[int]] = {}
    for row in rows:
        replied_id = documents.find_replied_id(row)
        if replied_id is not None:
            # spec/http.md#3.4: a reply refers to a message of the same channel.
            wanted.setdefault(row.channel_id, []).append(replied_id)
    return {
        found.id: found.author_id
        for channel_id, ids in wanted.items()
        for found in messages.find_many(call.tx, channel_id, ids).values()
    }
