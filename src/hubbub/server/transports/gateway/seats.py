"""Places of sessions in a guild."""

import asyncio

from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.realtime import MemberState
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.standing import Standing
from hubbub.server.transports.gateway.world import Arrival


class Seat:
    """A session's place in a guild."""

    __slots__ = ("arrival", "backlog", "gone", "joins", "opened", "opened_at", "session", "snapshot", "standing", "visible")

    def __init__(self, session: Session, *, joins: bool) -> None:
        self.session = session
        self.joins = joins
        """Whether the user just joined the guild, rather than the session just began."""
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
        self.gone = False

    def missed(self, dispatch: Dispatch) -> bool:
        """Whether an event happened after GUILD_CREATE was read."""
        return self.snapshot is None or not dispatch.stamp or not self.snapshot.covers(dispatch.stamp)


class SeatedMember:
    """A connected member of the guild."""

    __slots__ = ("seats", "snapshot", "state")

    def __init__(self, state: MemberState | None, snapshot: Snapshot) -> None:
        self.state = state
        self.snapshot = snapshot
        self.seats: list[Seat] = []
