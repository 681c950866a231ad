"""Who is online: every session's presence, joined into one per user, known to every node."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

HERE = ""
"""The node that a session of this process is on."""


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """A user's presence as others see it."""

    user_id: int
    status: str
    """online, idle or dnd; an invisible user has no presence."""
    activities: list[Any]
    client_status: dict[str, str]


class SessionPresence(msgspec.Struct, frozen=True, kw_only=True):
    """What one session says of its user."""

    user_id: int
    session_id: str
    device: str
    """desktop, mobile, web or vr."""
    status: str
    activities: list[Any]
    node: str = HERE
    """Where the session is connected."""


class Presences:
    """The presences of all connected users. Only what is not offline is kept."""

    def __init__(self) -> None:
        self._by_user: dict[int, Presence] = {}
        self._by_session: dict[int, dict[str, SessionPresence]] = {}
        """In the order of their last updates."""
        self.on_change: Callable[[int, Presence | None], None] = lambda user_id, presence: None
        """Called when what others see of a user changed."""

    def find(self, user_id: int) -> Presence | None:
        """A user's presence, or None when offline (or invisible)."""
        return self._by_user.get(user_id)

    def __iter__(self) -> Iterator[Presence]:
        # A copy, since reads run on other threads than updates.
        return iter(list(self._by_user.values()))

    def __len__(self) -> int:
        return len(self._by_user)

    def has(self, user_id: int, session_id: str) -> bool:
        """Whether a user has this very session."""
        return session_id in self._by_session.get(user_id, ())

    def connected(self, user_id: int, *, besides: str = "") -> bool:
        """Whether a user has any session, seen or not, besides this one."""
        return any(session_id != besides for session_id in list(self._by_session.get(user_id, ())))

    def sessions(self, node: str = HERE) -> list[SessionPresence]:
        """What the sessions of a node say."""
        return [said for sessions in self._by_session.values() for said in sessions.values() if said.node == node]

    def put(
        self, user_id: int, session_id: str, device: str, status: str, activities: list[Any], node: str = HERE
    ) -> bool:
        """A session's own presence; answers whether what others see changed."""
        sessions = self._by_session.setdefault(user_id, {})
        # The latest update stands last.
        sessions.pop(session_id, None)
        sessions[session_id] = SessionPresence(
            user_id=user_id, session_id=session_id, device=device, status=status, activities=activities, node=node
        )
        return self._join(user_id)

    def drop(self, user_id: int, session_id: str) -> bool:
        """A session ended; answers whether what others see changed."""
        sessions = self._by_session.get(user_id)
        if not sessions or sessions.pop(session_id, None) is None:
            return False
        if not sessions:
            del self._by_session[user_id]
        return self._join(user_id)

    def drop_node(self, node: str) -> list[int]:
        """A node is gone, and its sessions with it; answers the users of whom others now see something else."""
        return [said.user_id for said in self.sessions(node) if self.drop(said.user_id, said.session_id)]

    def _join(self, user_id: int) -> bool:
        before = self._by_user.get(user_id)
        said = self._by_session.get(user_id, {}).values()
        shown = [one for one in said if one.status not in ("invisible", "offline")]
        if not shown:
            self._by_user.pop(user_id, None)
        else:
            # Several sessions of one user: the latest update wins (gateway.md 8).
            latest = shown[-1]
            self._by_user[user_id] = Presence(
                user_id=user_id,
                status=latest.status,
                activities=latest.activities,
                client_status={one.device: one.status for one in shown},
            )
        after = self._by_user.get(user_id)
        if after == before:
            return False
        self.on_change(user_id, after)
        return True
