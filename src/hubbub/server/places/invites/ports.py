"""Ports of the invites slice: group invites, and the scheduled event of an invite."""

from hubbub.protocol.resources.invites import Invite
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def add_to_group(call: Call, channel_id: int, user_id: int) -> None:
    """Add a user who accepted a group invite to the group `channel_id`, or raise if the user cannot join."""


@port
def find_scheduled_event(call: Call, invite: Invite, event_id: int) -> ScheduledEvent | None:
    """Return a scheduled event of the invite's guild that the invite may include, or None."""
