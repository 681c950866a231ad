"""Jobs and listeners that copy published announcements to followers and keep the copies up to date, in batches.

All jobs for one message share a key, so they run in order, and an announcement with many followers does not block
others."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from hubbub.protocol.flags import MessageFlags
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.talk import messages
from hubbub.server.talk.messages.signals import MessageChanged, MessageCrossposted, MessagesDeleted
from hubbub.server.talk.webhooks import store
from hubbub.server.talk.webhooks.followers import copies

COPY_JOB: Final = "webhooks.copy"
"""Kind of the job that copies a published message to followers."""
UPDATE_JOB: Final = "webhooks.update"
"""Kind of the job that updates the copies of a published message."""


class Announcement(msgspec.Struct, kw_only=True):
    """Payload of the jobs for one published message."""

    channel_id: int
    message_id: int
    after: int = 0
    """ID of the last webhook or copy that was processed, or 0 at the start."""


def on_message_crossposted(call: Call, signal: MessageCrossposted) -> None:
    """Schedule the copies of a published message."""
    # Polls are not copied, since votes are counted in one channel only.
    if messages.views.extra(signal.row).poll is None:
        _enqueue(call, COPY_JOB, Announcement(channel_id=signal.row.channel_id, message_id=signal.row.id))


def on_message_changed(call: Call, signal: MessageChanged) -> None:
    """Schedule the update of a published message's copies."""
    if signal.row.flags & MessageFlags.CROSSPOSTED:
        _enqueue(call, UPDATE_JOB, Announcement(channel_id=signal.row.channel_id, message_id=signal.row.id))


def on_messages_deleted(call: Call, signal: MessagesDeleted) -> None:
    """Schedule the update of copies of deleted messages, and delete the records of deleted copies."""
    for row in signal.rows:
        if row.flags & MessageFlags.CROSSPOSTED:
            _enqueue(call, UPDATE_JOB, Announcement(channel_id=row.channel_id, message_id=row.id))
    copy_ids = [row.id for row in signal.rows if row.flags & MessageFlags.IS_CROSSPOST]
    if copy_ids:
        store.delete_crossposts_by_copy(call.tx, signal.channel.id, copy_ids)


def copy_announcement(call: Call, job: Job) -> None:
    """Copy a published message to a batch of followers and reschedule the job while there are more."""
    announcement = job.decode(Announcement)
    source_row = messages.history.find(call.tx, announcement.channel_id, announcement.message_id)
    if source_row is None:
        return
    last_webhook_id = copies.copy_to_followers(call, source_row, announcement.after)
    if last_webhook_id is not None:
        announcement.after = last_webhook_id
        _enqueue(call, COPY_JOB, announcement)


def update_announcement(call: Call, job: Job) -> None:
    """Update a batch of copies and reschedule the job while there are more."""
    announcement = job.decode(Announcement)
    last_copy_id = copies.update_copies(call, announcement.channel_id, announcement.message_id, announcement.after)
    if last_copy_id is not None:
        announcement.after = last_copy_id
        _enqueue(call, UPDATE_JOB, announcement)


def _enqueue(call: Call, job_kind: str, announcement: Announcement) -> None:
    call.tx.enqueue(job_kind, announcement, key=f"announcement-{int(announcement.message_id)}")


JOBS: Final[Mapping[str, Callable[[Call, Job], None]]] = {COPY_JOB: copy_announcement, UPDATE_JOB: update_announcement}
