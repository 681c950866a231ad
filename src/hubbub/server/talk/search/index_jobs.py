"""Jobs and listeners that maintain the search index.

A guild or private channel is indexed only after its first search. Messages that exist by then are indexed in steps;
later changes are indexed by jobs that each process a batch. A search indexes a batch of pending changes before it runs,
so it usually also finds the newest messages."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from hubbub.protocol.enums import USER_MESSAGE_TYPES
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.identity.imports import ImportedMessageKey
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.search import documents, store

BUILD_JOB: Final = "search.build"
"""Kind of the job that indexes existing messages."""
CATCH_UP_JOB: Final = "search.catch_up"
"""Kind of the job that indexes pending changes."""
REMOVE_JOB: Final = "search.remove"
"""Kind of the job that removes the documents of deleted channels."""

BATCH_SIZE: Final = 250
"""Maximum number of messages indexed in one transaction, small enough not to block other writers for long."""
CHANNELS_PER_STEP_MAX: Final = 100
"""Maximum number of channels visited in one transaction."""
CATCH_UP_DELAY_MS: Final = 1000
"""Delay in milliseconds before a job indexes changes, so that they form a batch."""


class BuildProgress(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes existing messages, with its progress."""

    guild_id: GuildId
    """ID of the index: the guild, or the private channel."""
    channel_id: ChannelId = ChannelId(0)
    """ID of the channel that was indexed last, or 0 before the first channel."""
    after: MessageId = MessageId(0)
    """ID of the channel's last message that is indexed, or 0 to continue with the next channel."""


class CatchUpPayload(msgspec.Struct, kw_only=True):
    """Payload of the job that indexes pending changes."""

    guild_id: GuildId
    """ID of the index: the guild, or the private channel."""


class RemovalPayload(msgspec.Struct, kw_only=True):
    """Payload of the job that removes the documents of deleted channels."""

    channel_ids: list[ChannelId]


# Listeners


def on_message_changed(
    call: Call,
    signal: messages.signals.MessageCreated | messages.signals.MessageChanged | messages.signals.MessagePinned,
) -> None:
    """Record that a message was created, changed, pinned or unpinned, so that it is indexed again."""
    row = signal.row
    if row.type in USER_MESSAGE_TYPES:
        index_id = documents.index_id_of(signal.channel)
        if store.record_change(call.tx, index_id, row.channel_id, row.id):
            _schedule_catch_up(call, index_id)


def reassign_messages(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Record that messages have another author or mention another user, so that they are indexed again."""
    if [key for key in keys if store.record_change(call.tx, guild_id, key.channel_id, key.message_id)]:
        _schedule_catch_up(call, GuildId(guild_id))


def on_messages_deleted(call: Call, signal: messages.signals.MessagesDeleted) -> None:
    """Record that messages were deleted, so that they are removed from the index."""
    index_id = documents.index_id_of(signal.channel)
    needs_job = False
    for row in signal.rows:
        if row.type in USER_MESSAGE_TYPES and store.record_change(call.tx, index_id, row.channel_id, row.id):
            needs_job = True
    if needs_job:
        _schedule_catch_up(call, index_id)


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """Schedule the removal of the documents of deleted channels, and delete the index state of private channels."""
    if signal.guild_id is None:
        for channel_id in signal.channel_ids:
            store.delete_index(call.tx, channel_id)
    indexed_ids = store.filter_indexed_channels(call.tx, signal.channel_ids)
    if indexed_ids:
        call.tx.enqueue(REMOVE_JOB, RemovalPayload(channel_ids=[ChannelId(channel_id) for channel_id in indexed_ids]))


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the index state of a deleted guild."""
    store.delete_index(call.tx, signal.guild_id)


def _schedule_catch_up(call: Call, index_id: int) -> None:
    store.set_pending(call.tx, index_id, True)
    key = f"{CATCH_UP_JOB}:{index_id}"
    call.tx.enqueue(
        CATCH_UP_JOB, CatchUpPayload(guild_id=GuildId(index_id)), due_ms=call.now_ms + CATCH_UP_DELAY_MS, key=key
    )


# Jobs


def start_build(call: Call, index_id: int) -> None:
    """Start building an index, from the first message on. Do nothing if the index exists."""
    if store.insert_index(call.tx, index_id):
        call.tx.enqueue(BUILD_JOB, BuildProgress(guild_id=GuildId(index_id)), key=f"{BUILD_JOB}:{index_id}")


def build_index(call: Call, job: Job) -> None:
    """Index a batch of existing messages and reschedule the job while there are more."""
    next_progress = build_step(call, job.decode(BuildProgress))
    if next_progress is not None:
        call.tx.enqueue(BUILD_JOB, next_progress, key=job.key)


def build_step(call: Call, progress: BuildProgress) -> BuildProgress | None:
    """Index a batch of existing messages, starting at `progress`.

    Return the progress to continue from, or None if all messages are indexed or the index was deleted."""
    if not store.is_building(call.tx, progress.guild_id):
        return None
    rows: list[MessageRow] = []
    channel_id, after_id, is_finished = int(progress.channel_id), int(progress.after), False
    for _ in range(CHANNELS_PER_STEP_MAX):
        if not after_id:
            next_channel_id = store.find_next_channel_id(call.tx, progress.guild_id, channel_id)
            if next_channel_id is None:
                is_finished = True
                break
            channel_id = next_channel_id
        page_size = BATCH_SIZE - len(rows)
        page_rows = messages.history.list_after(call.tx, channel_id, after_id, page_size)
        rows += page_rows
        # Rows come newest first. If the page is full, the channel may have more.
        after_id = page_rows[0].id if len(page_rows) == page_size else 0
        if len(rows) >= BATCH_SIZE:
            break
    _update_index(call, progress.guild_id, [row.id for row in rows], rows)
    if is_finished:
        store.finish_build(call.tx, progress.guild_id)
        return None
    store.add_indexed_count(call.tx, progress.guild_id, len(rows))
    return BuildProgress(guild_id=progress.guild_id, channel_id=ChannelId(channel_id), after=MessageId(after_id))


def index_pending_changes(call: Call, job: Job) -> None:
    """Index a batch of pending changes and reschedule the job while there may be more."""
    index_id = job.decode(CatchUpPayload).guild_id
    if index_changes(call, index_id) == BATCH_SIZE:
        call.tx.enqueue(CATCH_UP_JOB, CatchUpPayload(guild_id=GuildId(index_id)), key=job.key)
    else:
        store.set_pending(call.tx, index_id, False)


def index_changes(call: Call, index_id: int) -> int:
    """Index a batch of changed messages and return its size."""
    changes = store.take_changes(call.tx, index_id, BATCH_SIZE)
    message_ids_by_channel: dict[int, list[int]] = {}
    for channel_id, message_id in changes:
        message_ids_by_channel.setdefault(channel_id, []).append(message_id)
    rows = [
        row
        for channel_id, channel_message_ids in message_ids_by_channel.items()
        for row in messages.history.find_many(call.tx, channel_id, channel_message_ids).values()
    ]
    _update_index(call, index_id, [message_id for _, message_id in changes], rows)
    return len(changes)


def remove_channel_documents(call: Call, job: Job) -> None:
    """Remove a batch of documents of deleted channels and reschedule the job while there may be more."""
    channel_ids = job.decode(RemovalPayload).channel_ids
    remaining_count = BATCH_SIZE
    while channel_ids and remaining_count > 0:
        removed_count = store.delete_channel_documents(call.tx, channel_ids[0], remaining_count)
        remaining_count -= removed_count
        if remaining_count > 0:
            channel_ids = channel_ids[1:]
    if channel_ids:
        call.tx.enqueue(REMOVE_JOB, RemovalPayload(channel_ids=channel_ids))


def _update_index(call: Call, index_id: int, message_ids: Sequence[int], rows: Iterable[MessageRow]) -> None:
    """Update the index for messages.

    IDs without a row in `rows`, and system messages, are removed from the index."""
    indexable_rows = [row for row in rows if row.type in USER_MESSAGE_TYPES]
    channels_by_id = _find_channels(call, index_id, {row.channel_id for row in indexable_rows})
    bot_ids = store.filter_bots(call.tx, (row.author_id for row in indexable_rows))
    author_ids_by_message = _find_replied_author_ids(call, indexable_rows)
    new_documents = [
        documents.build_document(row, channels_by_id[row.channel_id], bot_ids, author_ids_by_message)
        for row in indexable_rows
        if row.channel_id in channels_by_id
    ]
    store.replace_documents(call.tx, message_ids, new_documents)


def _find_channels(call: Call, index_id: int, channel_ids: Iterable[int]) -> dict[int, ChannelRef]:
    """Return the channels of an index that still exist, by ID."""
    channels_by_id: dict[int, ChannelRef] = {}
    for channel_id in channel_ids:
        channel = access.find_channel(call.tx, channel_id)
        if channel is not None and documents.index_id_of(channel) == index_id:
            channels_by_id[channel_id] = channel
    return channels_by_id


def _find_replied_author_ids(call: Call, rows: Iterable[MessageRow]) -> dict[int, int]:
    """Return the author IDs of the messages that `rows` reply to, by message ID."""
    replied_ids_by_channel: dict[int, list[int]] = {}
    for row in rows:
        replied_id = documents.find_replied_id(row)
        if replied_id is not None:
            # spec/http.md#3.4: a reply refers to a message of the same channel.
            replied_ids_by_channel.setdefault(row.channel_id, []).append(replied_id)
    return {
        replied_row.id: replied_row.author_id
        for channel_id, replied_ids in replied_ids_by_channel.items()
        for replied_row in messages.history.find_many(call.tx, channel_id, replied_ids).values()
    }
