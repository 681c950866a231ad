"""Who is online: every session's presence, joined into one per user, known to every node."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """A user's presence as others see it."""

    user_id: int
    status: str
    """online, idle or dnd; an invisible user has no presence."""
    activities: list[Any]
    client_status: dict[str, str]


class Presences:
    """The presences of all connected users. Only what is not offline is kept."""

    def __init__(self) -> None:
        self._by_user: dict[int, Presence] = {}
        self._by_session: dict[int, dict[str, tuple[int, str, str, list[Any]]]] = {}
        self._order = 0
        self.on_change: Callable[[int, Presence | None], None] = lambda user_id, presence: None
        """Called when what others see of a user changed."""

    def find(self, user_id: int) -> Presence | None:
        """A user's presence, or None when offline (or invisible)."""
        return self._by_user.get(user_id)

    def __iter__(self) -> Iterator[Presence]:
        return iter(self._by_user.values())

    def __len__(self) -> int:
        return len(self._by_user)

    def put(self, user_id: int, session_id: str, device: str, status: str, activities: list[Any]) -> bool:
        """A session's own presence; answers whether what others see changed."""
        self._order += 1
        self._by_session.setdefault(user_id, {})[session_id] = (self._order, device, status, activities)
        return self._join(user_id)

    def drop(self, user_id: int, session_id: str) -> bool:
        """A session ended; answers whether what others see changed."""
        sessions = self._by_session.get(user_id)
        if not sessions or sessions.pop(session_id, None) is None:
            return False
        if not sessions:
            del self._by_session[user_id]
        return self._join(user_id)

    def _join(self, user_id: int) -> bool:
        before = self._by_user.get(user_id)
        shown = sorted(s for s in self._by_session.get(user_id, {}).values() if s[2] not in ("invisible", "offline"))
        if not shown:
            self._by_user.pop(user_id, None)
        else:
            # Several sessions of one user: the latest update wins (decisions: presence).
            _, _, status, activities = shown[-1]
            self._by_user[user_id] = Presence(
                user_id=user_id,
                status=status,
                activities=activities,
                client_status={device: state for _, device, state, _ in shown},
            )
        after = self._by_user.get(user_id)
        if after == before:
            return False
        self.on_change(user_id, after)
        return True
