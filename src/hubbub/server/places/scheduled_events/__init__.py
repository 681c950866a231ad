"""Scheduled events of guilds."""

from collections.abc import Sequence
from typing import Any, Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.protocol.resources.invites import Invite
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.guilds.interface.creation import GuildImported
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.places.scheduled_events import actions, routes, store, views
from hubbub.server.places.scheduled_events.actions import delete_by_creator, export_data, start_with_stage
from hubbub.server.places.scheduled_events.archive import ARCHIVE
from hubbub.server.places.scheduled_events.jobs import JOBS
from hubbub.server.places.scheduled_events.store import EventRow, find_many
from hubbub.server.places.scheduled_events.views import scheduled_events
from hubbub.server.places.stage_instances import StageInstanceClosed
from hubbub.server.places.voice_states.signals import VoiceChannelChanged

AUDIT_LOG_ACTIONS: Final = range(
    AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE, AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE + 1
)
"""Audit log actions whose target is a scheduled event."""


def _guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the scheduled events of GUILD_CREATE that one viewer can see."""
    rows = store.list_open(call.tx, view.guild.id)
    visible_rows = [row for row in rows if row.channel_id is None or row.channel_id in view.visible]
    return {"guild_scheduled_events": views.scheduled_events(call.tx, visible_rows)}


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the scheduled events that audit log entries refer to."""
    event_ids = {
        entry.target_id for entry in entries if entry.action_type in AUDIT_LOG_ACTIONS and entry.target_id is not None
    }
    rows = store.find_many(call.tx, guild_id, sorted(event_ids))
    return ReferencedObjects(guild_scheduled_events=views.scheduled_events(call.tx, rows))


def find_for_invite(call: Call, invite: Invite, event_id: int) -> ScheduledEvent | None:
    """Return the scheduled event that an invite may show, or None.

    Finished events and events of other guilds are left out. An event in another channel than the channel of the invite is
    left out as well, because users with the invite code may not be able to see its channel (decisions/0055)."""
    row = store.find(call.tx, event_id)
    if row is None or row.is_finished or row.guild_id != invite.guild_id:
        return None
    if row.channel_id is None or (invite.channel is not None and row.channel_id == invite.channel.id):
        return views.scheduled_events(call.tx, [row])[0]
    return None


SLICE = Slice(
    name="scheduled_events",
    archive=ARCHIVE,
    modules=(routes,),
    jobs=JOBS,
    listeners={
        ChannelsDeleting: actions.on_channels_deleting,
        GuildDeleting: actions.on_guild_deleting,
        GuildImported: actions.on_guild_imported,
        MemberRemoved: actions.on_member_removed,
        StageInstanceClosed: actions.on_stage_instance_closed,
        VoiceChannelChanged: actions.on_voice_channel_changed,
    },
    guild=_guild_create_fields,
)

__all__ = [
    "SLICE",
    "EventRow",
    "delete_by_creator",
    "export_data",
    "find_for_invite",
    "find_many",
    "list_referenced",
    "scheduled_events",
    "start_with_stage",
]
