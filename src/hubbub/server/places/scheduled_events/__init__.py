"""Scheduled events of guilds."""

from typing import Any, Final

from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.slices import Slice
from hubbub.server.places.audit_log import AuditLogRead
from hubbub.server.places.channels import ChannelsDeleted
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.invites import InviteResolved
from hubbub.server.places.members import MemberRemoved
from hubbub.server.places.scheduled_events import actions, routes, store, views
from hubbub.server.places.scheduled_events.jobs import JOBS
from hubbub.server.places.scheduled_events.store import EventRow, find_many
from hubbub.server.places.scheduled_events.views import scheduled_events
from hubbub.server.places.stage_instances import StageInstanceClosed, StageInstanceOpened
from hubbub.server.places.voice_states import VoiceChannelChanged

AUDITED: Final = range(AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE, AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE + 1)


def _guild(call: Call, view: GuildView) -> dict[str, Any]:
    rows = store.list_open(call.tx, view.guild.id)
    visible = [row for row in rows if row.channel_id is None or row.channel_id in view.visible]
    return {"guild_scheduled_events": views.scheduled_events(call.tx, visible)}


def _audit_log(call: Call, signal: AuditLogRead) -> None:
    """Add the scheduled events that a page of the audit log refers to."""
    event_ids = {
        entry.target_id
        for entry in signal.log.audit_log_entries
        if entry.action_type in AUDITED and entry.target_id is not None
    }
    rows = store.find_many(call.tx, signal.guild_id, sorted(event_ids))
    signal.log.guild_scheduled_events = views.scheduled_events(call.tx, rows)


def _invite(call: Call, signal: InviteResolved) -> None:
    """Add the scheduled event of an invite.

    An event in another channel is left out, since it may be hidden from users with the invite code (decisions/0055)."""
    invite = signal.invite
    row = store.find(call.tx, signal.event_id)
    if row is None or row.is_finished or row.guild_id != invite.guild_id:
        return
    if row.channel_id is None or (invite.channel is not None and row.channel_id == invite.channel.id):
        (invite.guild_scheduled_event,) = views.scheduled_events(call.tx, [row])


SLICE = Slice(
    name="scheduled_events",
    modules=(routes,),
    jobs=JOBS,
    listeners={
        AuditLogRead: _audit_log,
        ChannelsDeleted: actions.forget_channels,
        GuildDeleted: actions.forget_guild,
        InviteResolved: _invite,
        MemberRemoved: actions.forget_member,
        StageInstanceClosed: actions.end_with_stage,
        StageInstanceOpened: actions.start_with_stage,
        VoiceChannelChanged: actions.on_voice_channel_changed,
    },
    guild=_guild,
)

__all__ = ["SLICE", "EventRow", "find_many", "scheduled_events"]
