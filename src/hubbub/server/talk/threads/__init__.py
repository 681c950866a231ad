"""Threads and forum posts."""

from collections.abc import Sequence

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.places import channels, guilds, members
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.talk import messages
from hubbub.server.talk.threads import jobs, listeners, ports, routes, views
from hubbub.server.talk.threads.actions import ARCHIVE_JOB, delete_by_owner, export_data
from hubbub.server.talk.threads.channel_edits import edits
from hubbub.server.talk.threads.channel_edits.posts import create_post_without_member
from hubbub.server.talk.threads.rules import require_capacity

_THREAD_ACTIONS = (AuditLogAction.THREAD_CREATE, AuditLogAction.THREAD_UPDATE, AuditLogAction.THREAD_DELETE)


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the existing threads that audit log entries refer to and that the caller can see."""
    thread_ids = [
        entry.target_id for entry in entries if entry.action_type in _THREAD_ACTIONS and entry.target_id is not None
    ]
    return ReferencedObjects(threads=views.list_by_ids(call, guild_id, thread_ids) if thread_ids else [])


SLICE = Slice(
    name="threads",
    modules=(routes, edits, ports),
    jobs={ARCHIVE_JOB: jobs.archive},
    listeners={
        messages.signals.MessageCreated: listeners.on_message_created,
        messages.signals.MessagesDeleted: listeners.on_messages_deleted,
        channels.signals.ChannelsDeleting: listeners.on_channels_deleting,
        guilds.creation.GuildImported: listeners.on_guild_imported,
        members.signals.MemberRemoved: listeners.on_member_removed,
    },
    guild=views.guild_create_fields,
)

__all__ = [
    "SLICE",
    "create_post_without_member",
    "delete_by_owner",
    "export_data",
    "list_referenced",
    "ports",
    "require_capacity",
]
