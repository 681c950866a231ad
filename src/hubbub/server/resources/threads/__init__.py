"""Threads and forum posts."""

from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources import audit_log, channels, members, messages
from hubbub.server.resources.threads import edits, jobs, listeners, routes, views
from hubbub.server.resources.threads.actions import ARCHIVE_JOB
from hubbub.server.resources.threads.facts import TitleDrafted
from hubbub.server.resources.threads.posts import create_unattended

_DEEDS = (AuditLogAction.THREAD_CREATE, AuditLogAction.THREAD_UPDATE, AuditLogAction.THREAD_DELETE)


def _name(call: Call, fact: audit_log.AuditLogRead) -> None:
    """The threads that a page of the log speaks of, as far as they are still there."""
    entries = fact.log.audit_log_entries
    named = [entry.target_id for entry in entries if entry.action_type in _DEEDS and entry.target_id is not None]
    if named:
        fact.log.threads += views.named(call, fact.guild_id, named)


SLICE = Slice(
    name="threads",
    modules=(routes, edits),
    jobs={ARCHIVE_JOB: jobs.archive},
    hears={
        audit_log.AuditLogRead: _name,
        messages.MessageCreated: listeners.hear_message,
        messages.MessagesDeleted: listeners.hear_deletion,
        channels.ChannelsDeleted: listeners.hear_channels_deleted,
        members.MemberRemoved: listeners.hear_member_removed,
    },
    guild=views.snapshot,
)

__all__ = ["SLICE", "TitleDrafted", "create_unattended"]
