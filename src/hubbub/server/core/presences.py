"""Who is online: every session's presence, joined into one per user, known to every node.

A user has one presence for everybody, and one more for each family of games they are in: the friends they have only there see
nothing but that (sdk.md 9.3)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from hubbub.protocol.ids import ApplicationId, GuildId, UserId

HERE = ""
"""The node that a session of this process is on."""
EVERYBODY: Final = 0
"""The view of a presence that is no game's."""
ACTIVITIES_MOST: Final = 10
"""Activities that are shown of one user."""
HIDDEN: Final = frozenset({"invisible", "offline"})


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """A user's presence as others see it."""

    user_id: int
    status: str
    """online, idle or dnd; an invisible user has no presence."""
    activities: list[Any]
    client_status: dict[str, str]


class Hidden(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a session said of an activity that others never see."""

    application_id: int
    join: str | None = None
    """The secret by which others join."""
    button_urls: list[str] = []


class SessionPresence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one session says of its user. It travels between nodes, secrets included, and never to a client."""

    user_id: int
    session_id: str
    device: str
    """desktop, mobile, web or vr."""
    status: str
    activities: list[Any]
    node: str = HERE
    """Where the session is connected."""
    bot: bool = False
    application_id: int | None = None
    """The game, where the session is one's."""
    family_id: int | None = None
    hidden: list[Hidden] = []
    showing_chat: bool = False
    """Whether the user sees their messages there."""

    @property
    def seen(self) -> bool:
        """Whether it lets others see its user."""
        return self.status not in HIDDEN


class Presences:
    """The presences of all connected users. Only what is not offline is kept."""

    def __init__(self) -> None:
        self._by_user: dict[int, Presence] = {}
        self._in_games: dict[tuple[int, int], Presence] = {}
        """By user and family."""
        self._by_session: dict[int, dict[str, SessionPresence]] = {}
        """In the order of their last updates."""

    def find(self, user_id: int, *, family_id: int = EVERYBODY) -> Presence | None:
        """A user's presence, or None when offline (or invisible): as everybody sees it, or as it is inside a family's games."""
        if family_id:
            return self._in_games.get((user_id, family_id))
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

    def playing(self, user_id: int, family_id: int) -> bool:
        """Whether a user has a session, seen or not, in a game of a family."""
        return any(said.family_id == family_id for said in list(self._by_session.get(user_id, {}).values()))

    def sessions(self, node: str = HERE) -> list[SessionPresence]:
        """What the sessions of a node say."""
        return [said for sessions in self._by_session.values() for said in sessions.values() if said.node == node]

    def sessions_of(self, user_id: int) -> list[SessionPresence]:
        """What each session of a user says, the latest last."""
        return list(self._by_session.get(user_id, {}).values())

    def session(self, user_id: int, session_id: str) -> SessionPresence | None:
        """What one session says, wherever it is."""
        return self._by_session.get(user_id, {}).get(session_id)

    def activity(self, user_id: int, session_id: str, application_id: int) -> dict[str, Any] | None:
        """What a user does in an application by what one session says, as others would see it."""
        said = self.session(user_id, session_id)
        for activity in said.activities if said is not None else ():
            if int(activity.get("application_id", 0)) == application_id:
                return dict(activity)
        return None

    def join_secret(self, user_id: int, session_id: str, application_id: int) -> str | None:
        """The secret by which others join what a session says its user does in an application."""
        hidden = self._hidden(user_id, session_id, application_id)
        return hidden.join if hidden is not None else None

    def button_urls(self, user_id: int, session_id: str, application_id: int) -> list[str]:
        """Where the buttons of an activity lead."""
        hidden = self._hidden(user_id, session_id, application_id)
        return list(hidden.button_urls) if hidden is not None else []

    def _hidden(self, user_id: int, session_id: str, application_id: int) -> Hidden | None:
        said = self.session(user_id, session_id)
        found = (
            (each for each in said.hidden if each.application_id == application_id) if said is not None else iter(())
        )
        return next(found, None)

    def put(self, said: SessionPresence) -> frozenset[int]:
        """A session's own presence; answers for whom something changed: EVERYBODY, or the family of games."""
        sessions = self._by_session.setdefault(said.user_id, {})
        # The latest update stands last.
        before = sessions.pop(said.session_id, None)
        sessions[said.session_id] = said
        return self._join(said.user_id, (said.family_id, before.family_id if before is not None else None))

    def drop(self, user_id: int, session_id: str) -> frozenset[int]:
        """A session ended; answers for whom something changed."""
        sessions = self._by_session.get(user_id)
        gone = sessions.pop(session_id, None) if sessions else None
        if sessions is None or gone is None:
            return frozenset()
        if not sessions:
            del self._by_session[user_id]
        return self._join(user_id, (gone.family_id,))

    def drop_node(self, node: str) -> dict[int, frozenset[int]]:
        """A node is gone, and its sessions with it; answers the users of whom others now see something else, and who does."""
        changed: dict[int, frozenset[int]] = {}
        for said in self.sessions(node):
            changed[said.user_id] = changed.get(said.user_id, frozenset()) | self.drop(said.user_id, said.session_id)
        return {user_id: views for user_id, views in changed.items() if views}

    def _join(self, user_id: int, families: Iterable[int | None]) -> frozenset[int]:
        said = list(self._by_session.get(user_id, {}).values())
        own = [one for one in said if one.family_id is None]
        # Who hides in the chat client is not shown by a game (decisions/0040).
        shown = [] if own and not any(one.seen for one in own) else [one for one in said if one.seen]
        changed = set()
        if _keep(self._by_user, user_id, _joined(user_id, shown)):
            changed.add(EVERYBODY)
        # A client that hides or shows itself changes what is seen in every game.
        for family_id in {*families, *(one.family_id for one in said)} - {None}:
            assert family_id is not None
            inside = [one for one in shown if one.family_id == family_id]
            if _keep(self._in_games, (user_id, family_id), _joined(user_id, inside)):
                changed.add(family_id)
        return frozenset(changed)


def _keep(kept: dict[Any, Presence], key: Any, presence: Presence | None) -> bool:
    before = kept.get(key)
    if presence is None:
        kept.pop(key, None)
    else:
        kept[key] = presence
    return presence != before


def _joined(user_id: int, shown: list[SessionPresence]) -> Presence | None:
    """One presence of what several sessions say, in the order of their updates."""
    if not shown:
        return None
    # A game says that its player is there; how, the chat client says, where there is one.
    latest = next((one for one in reversed(shown) if one.family_id is None), shown[-1])
    return Presence(
        user_id=user_id,
        status=latest.status,
        # Several shards of one bot say the same, so the latest wins (gateway.md 8).
        activities=latest.activities if latest.bot else _merged(reversed(shown)),
        client_status={one.device: one.status for one in shown},
    )


def _merged(said: Iterable[SessionPresence]) -> list[Any]:
    """The activities of several sessions, the latest session's first: one for each application of each session, and what
    belongs to no application once."""
    found: dict[Any, Any] = {}
    for one in said:
        for activity in one.activities:
            application_id = activity.get("application_id")
            key = (activity["type"], activity["name"]) if application_id is None else (application_id, one.session_id)
            found.setdefault("custom" if activity["type"] == 4 else key, activity)
    return list(found.values())[:ACTIVITIES_MOST]


def shown(
    user_id: int, presence: Presence | None, *, guild_id: int | None = None, has_played_game: bool | None = None
) -> dict[str, Any]:
    """A presence as PRESENCE_UPDATE tells it, to a guild or to a friend."""
    body: dict[str, Any] = {"user": {"id": UserId(user_id)}}
    if guild_id is not None:
        body["guild_id"] = GuildId(guild_id)
    body["status"] = "offline" if presence is None else presence.status
    body["activities"] = [] if presence is None else presence.activities
    body["client_status"] = {} if presence is None else presence.client_status
    if has_played_game is not None:
        body["has_played_game"] = has_played_game
    return body


def for_games(user_id: int, presence: Presence | None, families: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What OAuth2 sessions are told instead: whether the user plays a game of their family (sdk.md 9.6)."""
    played = shown(user_id, presence, has_played_game=True)
    return {0: shown(user_id, presence, has_played_game=False), **dict.fromkeys(families, played)}


def own(said: Iterable[SessionPresence]) -> list[dict[str, Any]]:
    """A person's sessions as SESSIONS_REPLACE tells their own clients."""
    told = []
    for one in said:
        body: dict[str, Any] = {
            "session_id": one.session_id,
            "status": one.status,
            "activities": one.activities,
            "client_info": {"client": one.device},
            "showing_chat": one.showing_chat,
        }
        if one.application_id is not None:
            body["application_id"] = ApplicationId(one.application_id)
        told.append(body)
    return told
