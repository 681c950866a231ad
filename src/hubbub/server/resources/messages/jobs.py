"""Timed work of the messages slice."""

from collections.abc import Sequence
from typing import Final

import msgspec

from hubbub.server.core import cdn_urls
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.work import Work
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.messages import columns, store
from hubbub.server.resources.messages.records import MessageRow

FORGET_CHANNEL: Final = "messages.forget_channel"
FORGET_FILES: Final = "messages.forget_files"
AT_ONCE: Final = 500
"""So many messages go in one transaction, so that a large channel holds nobody up."""
FILES_AT_ONCE: Final = 100
"""So many files go in one job."""
GRACE_MS: Final = cdn_urls.VALID_SECONDS * 1000
"""How long files outlive their message: as long as the addresses that were given out are good."""


class ForgetChannel(msgspec.Struct, kw_only=True):
    """Which channel's messages to remove."""

    channel_id: int


class ForgetFiles(msgspec.Struct, kw_only=True):
    """Which attachments' files to remove."""

    attachment_ids: list[int]


def channels_deleted(call: Call, fact: ChannelsDeleted) -> None:
    """What was said in a channel that is gone can no longer be reached; it is removed bit by bit."""
    for channel_id in fact.channel_ids:
        call.tx.enqueue(FORGET_CHANNEL, ForgetChannel(channel_id=channel_id))


def forget_channel(call: Call, job: Job) -> None:
    """Remove some messages of a channel that is gone, and come back while there are more."""
    wanted = job.decode(ForgetChannel)
    gone = store.delete_of_channel(call.tx, wanted.channel_id, AT_ONCE)
    messages_gone(call, gone)
    if len(gone) == AT_ONCE:
        call.tx.enqueue(FORGET_CHANNEL, wanted)


def messages_gone(call: Call, rows: Sequence[MessageRow]) -> None:
    """Have the files of removed messages removed too, in a while; not those that a forward or a crosspost shows."""
    files = [
        int(file.id)
        for row in rows
        if row.attachments is not None and not columns.extra(row).shared
        for file in columns.attachments(row)
    ]
    for start in range(0, len(files), FILES_AT_ONCE):
        some = ForgetFiles(attachment_ids=files[start : start + FILES_AT_ONCE])
        call.tx.enqueue(FORGET_FILES, some, due_ms=call.now + GRACE_MS)


async def forget_files(work: Work, job: Job) -> None:
    """Remove files whose messages are gone; doing it twice does no harm."""
    for attachment_id in job.decode(ForgetFiles).attachment_ids:
        await work.files.delete(cdn_urls.attachment_key(attachment_id))
