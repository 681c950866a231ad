"""Places of sessions in a guild."""

import asyncio
from typing import Final

from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.realtime import MemberState
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.standing import Standing
from hubbub.server.transports.gateway.world import Arrival

MOMENTS: Final = (
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
"""How events begin that tell what happened, of which GUILD_CREATE holds nothing: they are owed from READY on."""


class Seat:
    """A session's place in a guild."""

    __slots__ = (
        "admitted",
        "arrival",
        "backlog",
        "gone",
        "joins",
        "moderated",
        "opened",
        "opened_at",
        "read",
        "session",
        "snapshot",
        "standing",
        "visible",
    )

    def __init__(self, session: Session, *, joins: bool) -> None:
        self.session = session
        self.joins = joins
        """Whether the user just joined the guild, rather than the session just began."""
        self.admitted = False
        """Whether the bus certainly brings the guild's events, so that GUILD_CREATE may be read."""
        self.read = False
        self.arrival: Arrival | None = None
        self.backlog: list[Dispatch] | None = []
        """Events that came while GUILD_CREATE was being made; None afterwards."""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.opened_at = 0.0
        self.snapshot: Snapshot | None = None
        """The moment GUILD_CREATE was read: events that it covers are not told again."""
        self.standing: Standing | None = None
        """None while the user is not a member."""
        self.visible: frozenset[int] = frozenset()
        """The channels that the session has been told it can see."""
        self.moderated: frozenset[int] = frozenset()
        """Those of which it has been told all private threads."""
        self.gone = False

    def missed(self, dispatch: Dispatch) -> bool:
        """Whether the session has yet to be told of an event: GUILD_CREATE does not have it."""
        if self.snapshot is None or not dispatch.stamp or not self.snapshot.covers(dispatch.stamp):
            return True
        return dispatch.event.startswith(MOMENTS) and self.session.missed(dispatch)


class SeatedMember:
    """A connected member of the guild."""

    __slots__ = ("seats", "snapshot", "state")

    def __init__(self, state: MemberState | None, snapshot: Snapshot) -> None:
        self.state = state
        self.snapshot = snapshot
        self.seats: list[Seat] = []
