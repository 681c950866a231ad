"""Jobs that delete the messages of deleted channels and the files of messages, and the functions that schedule them."""

from collections.abc import Sequence
from typing import Final

import msgspec

from hubbub.protocol.resources.attachments import ATTACHMENT_URL_SECONDS
from hubbub.server.core import cdn_urls
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages import files, store
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow
from hubbub.server.talk.messages.files import store as file_store

DELETE_CHANNEL_MESSAGES_JOB: Final = "messages.delete_channel_messages"
"""Kind of the job that deletes the messages of a deleted channel."""
DELETE_FILES_JOB: Final = "messages.delete_files"
"""Kind of the job that deletes files of deleted messages and files that were removed from messages."""
MESSAGES_BATCH_SIZE: Final = 500
"""Number of messages deleted in one transaction, so that a large channel does not block other writes."""
FILES_BATCH_SIZE: Final = 100
"""Maximum number of files that one job deletes after the grace time."""
FILE_GRACE_MS: Final = ATTACHMENT_URL_SECONDS * 1000
"""Time in milliseconds from the deletion of a message to the deletion of its files: the validity of their signed URLs."""


class ChannelMessagesDeletion(msgspec.Struct, kw_only=True):
    """Payload of the job that deletes the messages of a deleted channel."""

    channel_id: int


class FilesDeletion(msgspec.Struct, kw_only=True):
    """Payload of the job that deletes the files of attachments."""

    attachment_ids: list[int]


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """Schedule the deletion of messages in deleted channels."""
    for channel_id in signal.channel_ids:
        call.tx.enqueue(DELETE_CHANNEL_MESSAGES_JOB, ChannelMessagesDeletion(channel_id=channel_id))


def delete_channel_messages(call: Call, job: Job) -> None:
    """Delete a batch of messages of a deleted channel, and reschedule while there are more."""
    payload = job.decode(ChannelMessagesDeletion)
    deleted_rows = store.delete_channel_messages(call.tx, payload.channel_id, MESSAGES_BATCH_SIZE)
    schedule_file_deletion(call, deleted_rows)
    if len(deleted_rows) == MESSAGES_BATCH_SIZE:
        call.tx.enqueue(DELETE_CHANNEL_MESSAGES_JOB, payload)


def schedule_file_deletion(call: Call, rows: Sequence[MessageRow]) -> None:
    """Schedule the deletion of deleted messages' files, except files shared with a forward or a crosspost."""
    file_ids = [
        int(file.id)
        for row in rows
        if row.attachments is not None and not json_columns.extra(row).has_shared_files
        for file in json_columns.attachments(row)
    ]
    _delete_files(call, file_ids)


def replace_files(call: Call, channel: ChannelRef, row: MessageRow) -> None:
    """Record the files of an edited message, and schedule the deletion of the files that the edit removed."""
    recorded_ids = file_store.list_ids(call.tx, channel.id, row.id)
    if row.attachments is None and not recorded_ids:
        return
    kept_ids = {int(file.id) for file in json_columns.attachments(row)}
    _delete_files(call, [file_id for file_id in recorded_ids if file_id not in kept_ids])
    if kept_ids - set(recorded_ids):
        files.record(call, channel, row)


def _delete_files(call: Call, file_ids: Sequence[int]) -> None:
    for batch in batches(file_ids, FILES_BATCH_SIZE):
        file_store.delete(call.tx, batch)
        call.tx.enqueue(DELETE_FILES_JOB, FilesDeletion(attachment_ids=batch), due_ms=call.now_ms + FILE_GRACE_MS)


def delete_files_now(call: Call, file_ids: Sequence[int]) -> None:
    """Schedule the deletion of files without the delay for signed URLs."""
    file_store.delete(call.tx, file_ids)
    call.tx.enqueue(DELETE_FILES_JOB, FilesDeletion(attachment_ids=list(file_ids)))


async def delete_files(operation: AsyncOperation, job: Job) -> None:
    """Delete the content of files that no message contains any more; the job is idempotent."""
    for attachment_id in job.decode(FilesDeletion).attachment_ids:
        await operation.files.delete(cdn_urls.attachment_key(attachment_id))
