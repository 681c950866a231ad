"""Jobs of the messages slice: deletion of messages and files."""

from collections.abc import Sequence
from typing import Final

import msgspec

from hubbub.server.core import cdn_urls
from hubbub.server.core.batches import batches
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.work import Work
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.messages import columns, store
from hubbub.server.resources.messages.records import MessageRow

FORGET_CHANNEL: Final = "messages.forget_channel"
FORGET_FILES: Final = "messages.forget_files"
AT_ONCE: Final = 500
"""Number of messages deleted in one transaction, so that a large channel does not block other writes."""
FILES_AT_ONCE: Final = 100
"""Number of files deleted in one job."""
GRACE_MS: Final = cdn_urls.VALID_SECONDS * 1000
"""Time that files outlive their message: the validity of their signed URLs."""


class ForgetChannel(msgspec.Struct, kw_only=True):
    """Job payload: the channel to delete messages of."""

    channel_id: int


class ForgetFiles(msgspec.Struct, kw_only=True):
    """Job payload: the attachments to delete files of."""

    attachment_ids: list[int]


def channels_deleted(call: Call, signal: ChannelsDeleted) -> None:
    """Schedule the deletion of messages in deleted channels."""
    for channel_id in signal.channel_ids:
        call.tx.enqueue(FORGET_CHANNEL, ForgetChannel(channel_id=channel_id))


def forget_channel(call: Call, job: Job) -> None:
    """Delete a batch of messages of a deleted channel, and reschedule while there are more."""
    payload = job.decode(ForgetChannel)
    deleted = store.delete_of_channel(call.tx, payload.channel_id, AT_ONCE)
    messages_gone(call, deleted)
    if len(deleted) == AT_ONCE:
        call.tx.enqueue(FORGET_CHANNEL, payload)


def messages_gone(call: Call, rows: Sequence[MessageRow]) -> None:
    """Schedule the deletion of deleted messages' files, except files shared with a forward or a crosspost."""
    file_ids = [
        int(file.id)
        for row in rows
        if row.attachments is not None and not columns.extra(row).shared
        for file in columns.attachments(row)
    ]
    for batch in batches(file_ids, FILES_AT_ONCE):
        call.tx.enqueue(FORGET_FILES, ForgetFiles(attachment_ids=batch), due_ms=call.now + GRACE_MS)


async def forget_files(work: Work, job: Job) -> None:
    """Delete files of deleted messages; the job is idempotent."""
    for attachment_id in job.decode(ForgetFiles).attachment_ids:
        await work.files.delete(cdn_urls.attachment_key(attachment_id))
