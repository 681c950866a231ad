"""Threads and forum posts."""

from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places import audit_log, channels, members
from hubbub.server.talk import messages
from hubbub.server.talk.threads import edits, jobs, listeners, routes, views
from hubbub.server.talk.threads.actions import ARCHIVE_JOB
from hubbub.server.talk.threads.posts import create_without_member
from hubbub.server.talk.threads.signals import TitleDrafted

_THREAD_ACTIONS = (AuditLogAction.THREAD_CREATE, AuditLogAction.THREAD_UPDATE, AuditLogAction.THREAD_DELETE)


def _add_to_audit_log(call: Call, signal: audit_log.AuditLogRead) -> None:
    """Add the threads that a page of the audit log refers to, as far as they still exist."""
    entries = signal.log.audit_log_entries
    thread_ids = [
        entry.target_id for entry in entries if entry.action_type in _THREAD_ACTIONS and entry.target_id is not None
    ]
    if thread_ids:
        signal.log.threads += views.list_by_ids(call, signal.guild_id, thread_ids)


SLICE = Slice(
    name="threads",
    modules=(routes, edits),
    jobs={ARCHIVE_JOB: jobs.archive},
    listeners={
        audit_log.AuditLogRead: _add_to_audit_log,
        messages.MessageCreated: listeners.on_message_created,
        messages.MessagesDeleted: listeners.on_messages_deleted,
        channels.ChannelsDeleted: listeners.on_channels_deleted,
        members.MemberRemoved: listeners.on_member_removed,
    },
    guild=views.snapshot,
)

__all__ = ["SLICE", "TitleDrafted", "create_without_member"]
