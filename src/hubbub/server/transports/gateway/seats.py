"""Seats: the state of a session within one guild."""

import asyncio
from typing import Final

from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.gateway_queries import MemberState
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.context import GuildArrival
from hubbub.server.transports.gateway.session import GatewaySession
from hubbub.server.transports.gateway.standings import MemberStanding

MOMENTARY_EVENT_PREFIXES: Final = (
    "APPLICATION_COMMAND_",
    "AUTO_MODERATION_",
    "GUILD_AUDIT_LOG_",
    "GUILD_BAN_",
    "GUILD_INTEGRATIONS_",
    "GUILD_JOIN_REQUEST_",
    "INTEGRATION_",
    "INTERACTION_",
    "INVITE_",
    "MESSAGE_",
    "TYPING_",
    "VOICE_CHANNEL_EFFECT_",
    "WEBHOOKS_",
)
"""Prefixes of events whose content GUILD_CREATE does not contain; a session must receive them from READY on."""


class Seat:
    """The state of a session within a guild."""

    __slots__ = (
        "is_admitted",
        "arrival",
        "backlog",
        "is_removed",
        "is_joining",
        "moderated_channels",
        "opened",
        "opened_at",
        "is_read",
        "session",
        "snapshot",
        "standing",
        "visible_channels",
    )

    def __init__(self, session: GatewaySession, *, is_joining: bool) -> None:
        self.session = session
        self.is_joining = is_joining
        """Whether the user is joining the guild now, rather than the session starting."""
        self.is_admitted = False
        """Whether the bus subscription is active, so that GUILD_CREATE may be read."""
        self.is_read = False
        """Whether `arrival` was read."""
        self.arrival: GuildArrival | None = None
        self.backlog: list[Dispatch] | None = []
        """Events received before GUILD_CREATE was sent; None afterwards."""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.opened_at = 0.0
        self.snapshot: Snapshot | None = None
        """The store snapshot of GUILD_CREATE: events that it covers are not sent again. None once it expired."""
        self.standing: MemberStanding | None = None
        """The member's permissions, or None while the user is not a member."""
        self.visible_channels: frozenset[int] = frozenset()
        """Ids of the channels that the session was informed it can view."""
        self.moderated_channels: frozenset[int] = frozenset()
        """Ids of the channels whose private threads were all sent to the session."""
        self.is_removed = False

    def needs_event(self, dispatch: Dispatch) -> bool:
        """Return whether the session still needs an event, because GUILD_CREATE does not contain it."""
        if self.snapshot is None or not dispatch.stamp or not self.snapshot.covers(dispatch.stamp):
            return True
        return dispatch.event.startswith(MOMENTARY_EVENT_PREFIXES) and self.session.needs_event(dispatch)


class SeatedMember:
    """A member of the guild with at least one session on this node."""

    __slots__ = ("seats", "snapshot", "state")

    def __init__(self, state: MemberState | None, snapshot: Snapshot) -> None:
        self.state = state
        self.snapshot = snapshot
        self.seats: list[Seat] = []
