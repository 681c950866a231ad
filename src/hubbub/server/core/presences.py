"""Presences: the status of every session, merged into one presence per user and known to every node.

A user has one presence for all viewers, and one for each family of applications whose games they play. Users who are
friends only in the games of a family see only the presence of that family (spec/sdk.md#9.3)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from hubbub.protocol.enums import ActivityType
from hubbub.protocol.ids import ApplicationId, GuildId, UserId

LOCAL_NODE = ""
"""The value of `SessionPresence.node` for sessions of this process."""
PLATFORM_VIEW: Final = 0
"""The view of all users outside a family, in place of a family ID."""
_PLATFORM_VIEW_ONLY: Final = frozenset({PLATFORM_VIEW})
ACTIVITIES_MAX: Final = 10
"""Maximum number of activities shown per user."""
HIDDEN_STATUSES: Final = frozenset({"invisible", "offline"})


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """A user's presence in the form that other users receive."""

    user_id: int
    status: str
    """online, idle or dnd; an invisible user has no presence."""
    activities: list[Any]
    client_status: dict[str, str]
    """Status by device: desktop, mobile, web or vr."""


class ActivitySecrets(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of an activity that presences do not show to other users."""

    application_id: int
    join: str | None = None
    """The secret with which other users join the activity; None if it has none."""
    button_urls: list[str] = []


class SessionPresence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The presence that one session reported. It is sent between nodes, including secrets, but never to a client."""

    user_id: int
    session_id: str
    device: str
    """desktop, mobile, web or vr."""
    status: str
    activities: list[Any]
    node: str = LOCAL_NODE
    """The node that the session is connected to."""
    move_count: int = 0
    """Number of times that the session moved to another node; a report with a lower number is outdated."""
    is_bot: bool = False
    application_id: int | None = None
    """The application of an OAuth2 session; None for other sessions."""
    family_id: int | None = None
    """The head of the family of `application_id`; None without an application."""
    secrets: list[ActivitySecrets] = []
    is_showing_chat: bool = False
    """Whether the session displays the user's messages."""
    is_active: bool = False
    """Whether the session reported that the user is at the keyboard (`afk` is false)."""


class _BotSessions:
    """The visible sessions of a bot, from which its presence follows without a walk over all of them.

    A bot has a session for each of its shards, so a walk for each of them would take quadratic time."""

    __slots__ = ("_by_device", "_visible")

    def __init__(self) -> None:
        self._visible: dict[str, SessionPresence] = {}
        """Visible sessions by ID, in the order of their last updates."""
        self._by_device: dict[str, dict[str, SessionPresence]] = {}
        """The same sessions by device."""

    def update(self, session: SessionPresence) -> None:
        """Add a session, or replace the presence that it reported before."""
        self.remove(session.session_id)
        if session.status not in HIDDEN_STATUSES:
            self._visible[session.session_id] = session
            self._by_device.setdefault(session.device, {})[session.session_id] = session

    def remove(self, session_id: str) -> None:
        """Remove a session; do nothing if it is not visible."""
        session = self._visible.pop(session_id, None)
        if session is not None:
            device_sessions = self._by_device[session.device]
            del device_sessions[session_id]
            if not device_sessions:
                del self._by_device[session.device]

    def merge(self, user_id: int) -> Presence | None:
        """Return what `_merge_sessions` returns for the visible sessions; None if there are none."""
        if not self._visible:
            return None
        latest_session = next(reversed(self._visible.values()))
        return Presence(
            user_id=user_id,
            status=latest_session.status,
            activities=latest_session.activities,
            client_status={
                device: next(reversed(sessions.values())).status for device, sessions in self._by_device.items()
            },
        )


class Presences:
    """The presences of all connected users; offline users are not stored."""

    def __init__(self) -> None:
        self._by_user: dict[int, Presence] = {}
        self._by_user_and_family: dict[tuple[int, int], Presence] = {}
        """Presences by user ID and family ID."""
        self._sessions_by_user: dict[int, dict[str, SessionPresence]] = {}
        """Session presences by user ID and session ID, in the order of their last updates."""
        self._bot_sessions: dict[int, _BotSessions] = {}
        """Visible sessions of the users all of whose sessions are sessions of a bot."""

    def find(self, user_id: int, *, family_id: int = PLATFORM_VIEW) -> Presence | None:
        """Return a user's presence, in general or in a family's games; None if offline or invisible."""
        if family_id:
            return self._by_user_and_family.get((user_id, family_id))
        return self._by_user.get(user_id)

    def __iter__(self) -> Iterator[Presence]:
        # Iterate over a copy, because reads run on other threads than updates.
        return iter(list(self._by_user.values()))

    def __len__(self) -> int:
        return len(self._by_user)

    def has(self, user_id: int, session_id: str) -> bool:
        """Return whether a user has this session, on any node."""
        return session_id in self._sessions_by_user.get(user_id, ())

    def is_connected(self, user_id: int, *, excluding: str = "") -> bool:
        """Return whether a user has any session, visible or not, other than `excluding`."""
        sessions = self._sessions_by_user.get(user_id, {})
        return len(sessions) > (excluding in sessions)

    def is_active(self, user_id: int) -> bool:
        """Return whether a user is at a client that shows messages, on any device, visible or not."""
        return any(
            session.is_showing_chat or (session.is_active and session.family_id is None)
            for session in list(self._sessions_by_user.get(user_id, {}).values())
        )

    def is_playing(self, user_id: int, family_id: int) -> bool:
        """Return whether a user has a session, visible or not, in a game of a family."""
        return any(session.family_id == family_id for session in list(self._sessions_by_user.get(user_id, {}).values()))

    def sessions(self, node: str = LOCAL_NODE) -> list[SessionPresence]:
        """Return the presences reported by the sessions of a node."""
        return [
            session
            for sessions in self._sessions_by_user.values()
            for session in sessions.values()
            if session.node == node
        ]

    def is_bot(self, user_id: int) -> bool:
        """Return whether a user is a bot with a session on any node."""
        return user_id in self._bot_sessions

    def session_count(self, user_id: int) -> int:
        """Return the number of a user's sessions, visible or not, on all nodes."""
        return len(self._sessions_by_user.get(user_id, ()))

    def sessions_of(self, user_id: int) -> list[SessionPresence]:
        """Return the presences reported by a user's sessions, the latest last."""
        return list(self._sessions_by_user.get(user_id, {}).values())

    def find_session(self, user_id: int, session_id: str) -> SessionPresence | None:
        """Return the presence reported by one session, or None."""
        return self._sessions_by_user.get(user_id, {}).get(session_id)

    def find_activity(self, user_id: int, session_id: str, application_id: int) -> dict[str, Any] | None:
        """Return a session's activity in an application in the form that other users receive, or None."""
        session = self.find_session(user_id, session_id)
        for activity in session.activities if session is not None else ():
            if int(activity.get("application_id", 0)) == application_id:
                return dict(activity)
        return None

    def join_secret(self, user_id: int, session_id: str, application_id: int) -> str | None:
        """Return the join secret of a session's activity in an application, or None."""
        secrets = self._find_secrets(user_id, session_id, application_id)
        return secrets.join if secrets is not None else None

    def button_urls(self, user_id: int, session_id: str, application_id: int) -> list[str]:
        """Return the button URLs of a session's activity in an application."""
        secrets = self._find_secrets(user_id, session_id, application_id)
        return list(secrets.button_urls) if secrets is not None else []

    def _find_secrets(self, user_id: int, session_id: str, application_id: int) -> ActivitySecrets | None:
        session = self.find_session(user_id, session_id)
        matching_secrets = (
            (secrets for secrets in session.secrets if secrets.application_id == application_id)
            if session is not None
            else iter(())
        )
        return next(matching_secrets, None)

    def update(self, session: SessionPresence) -> frozenset[int]:
        """Store a session's presence. Return the views that changed: `PLATFORM_VIEW` and family IDs."""
        sessions = self._sessions_by_user.setdefault(session.user_id, {})
        # The latest update is last.
        previous_session = sessions.pop(session.session_id, None)
        sessions[session.session_id] = session
        if session.is_bot and len(sessions) == 1:
            self._bot_sessions[session.user_id] = _BotSessions()
        if (bot_sessions := self._bot_sessions.get(session.user_id)) is not None:
            if session.is_bot and session.family_id is None:
                bot_sessions.update(session)
                return self._set_bot_presence(session.user_id, bot_sessions)
            del self._bot_sessions[session.user_id]
        return self._merge(
            session.user_id, (session.family_id, previous_session.family_id if previous_session is not None else None)
        )

    def remove(self, user_id: int, session_id: str) -> frozenset[int]:
        """Remove a session. Return the views that changed."""
        sessions = self._sessions_by_user.get(user_id)
        removed_session = sessions.pop(session_id, None) if sessions else None
        if sessions is None or removed_session is None:
            return frozenset()
        if not sessions:
            del self._sessions_by_user[user_id]
        if (bot_sessions := self._bot_sessions.get(user_id)) is not None:
            bot_sessions.remove(session_id)
            if not sessions:
                del self._bot_sessions[user_id]
            return self._set_bot_presence(user_id, bot_sessions)
        return self._merge(user_id, (removed_session.family_id,))

    def _set_bot_presence(self, user_id: int, bot_sessions: _BotSessions) -> frozenset[int]:
        """Store the presence of a bot. Return the views that changed."""
        has_changed = _replace_presence(self._by_user, user_id, bot_sessions.merge(user_id))
        return _PLATFORM_VIEW_ONLY if has_changed else frozenset()

    def remove_node(self, node: str) -> dict[int, frozenset[int]]:
        """Remove all sessions of a node. Return the users whose presence changed, with the views that changed."""
        views_by_user: dict[int, frozenset[int]] = {}
        for session in self.sessions(node):
            views_by_user[session.user_id] = views_by_user.get(session.user_id, frozenset()) | self.remove(
                session.user_id, session.session_id
            )
        return {user_id: views for user_id, views in views_by_user.items() if views}

    def _merge(self, user_id: int, family_ids: Iterable[int | None]) -> frozenset[int]:
        """Merge a user's sessions, also for `family_ids` that a session left. Return the views that changed."""
        visible_sessions: list[SessionPresence] = []
        own_sessions_are_visible: bool | None = None
        known_family_ids = {*family_ids}
        for session in list(self._sessions_by_user.get(user_id, {}).values()):
            is_visible = session.status not in HIDDEN_STATUSES
            if is_visible:
                visible_sessions.append(session)
            if session.family_id is None:
                own_sessions_are_visible = own_sessions_are_visible or is_visible
            else:
                known_family_ids.add(session.family_id)
        if own_sessions_are_visible is False:
            # A user who is invisible in the chat client is not shown by a game either (decisions/0040).
            visible_sessions = []
        changed_views = set()
        if _replace_presence(self._by_user, user_id, _merge_sessions(user_id, visible_sessions)):
            changed_views.add(PLATFORM_VIEW)
        # A client that becomes visible or invisible changes the presence in every family.
        for family_id in known_family_ids - {None}:
            assert family_id is not None
            family_sessions = [session for session in visible_sessions if session.family_id == family_id]
            if _replace_presence(
                self._by_user_and_family, (user_id, family_id), _merge_sessions(user_id, family_sessions)
            ):
                changed_views.add(family_id)
        return frozenset(changed_views)


def _replace_presence(presences: dict[Any, Presence], key: Any, presence: Presence | None) -> bool:
    """Store or remove a presence and return whether it changed."""
    previous_presence = presences.get(key)
    if presence is None:
        presences.pop(key, None)
    else:
        presences[key] = presence
    return presence != previous_presence


def _merge_sessions(user_id: int, sessions: list[SessionPresence]) -> Presence | None:
    """Merge the presences of several sessions, given in the order of their updates; return None without sessions."""
    if not sessions:
        return None
    # A game only reports that its player is online; the chat client's status takes precedence.
    latest_session = next((session for session in reversed(sessions) if session.family_id is None), sessions[-1])
    return Presence(
        user_id=user_id,
        status=latest_session.status,
        # All shards of a bot report the same presence, so the latest wins (spec/gateway.md#8).
        activities=latest_session.activities if latest_session.is_bot else _merge_activities(reversed(sessions)),
        client_status={session.device: session.status for session in sessions},
    )


def _merge_activities(sessions: Iterable[SessionPresence]) -> list[Any]:
    """Merge the activities of several sessions, those of the latest session first.

    One activity is listed per application and session, per type and name without an application, and one custom status."""
    activities: dict[Any, Any] = {}
    for session in sessions:
        for activity in session.activities:
            application_id = activity.get("application_id")
            key = (
                (activity["type"], activity["name"]) if application_id is None else (application_id, session.session_id)
            )
            activities.setdefault("custom" if activity["type"] == ActivityType.CUSTOM else key, activity)
    return list(activities.values())[:ACTIVITIES_MAX]


def presence_update(
    user_id: int, presence: Presence | None, *, guild_id: int | None = None, has_played_game: bool | None = None
) -> dict[str, Any]:
    """Build the payload of PRESENCE_UPDATE for a guild or a friend."""
    body: dict[str, Any] = {"user": {"id": UserId(user_id)}}
    if guild_id is not None:
        body["guild_id"] = GuildId(guild_id)
    body["status"] = "offline" if presence is None else presence.status
    body["activities"] = [] if presence is None else presence.activities
    body["client_status"] = {} if presence is None else presence.client_status
    if has_played_game is not None:
        body["has_played_game"] = has_played_game
    return body


def oauth2_presence_updates(
    user_id: int, presence: Presence | None, families: Iterable[int]
) -> dict[int, dict[str, Any]]:
    """Build the payloads of PRESENCE_UPDATE for OAuth2 sessions by family ID; key 0 is the default.

    In the payloads of `families`, whose games the user plays, `has_played_game` is true (spec/sdk.md#9.6)."""
    played_payload = presence_update(user_id, presence, has_played_game=True)
    return {0: presence_update(user_id, presence, has_played_game=False), **dict.fromkeys(families, played_payload)}


def session_list(sessions: Iterable[SessionPresence]) -> list[dict[str, Any]]:
    """Build the session list of SESSIONS_REPLACE for the user's own clients."""
    session_bodies = []
    for session in sessions:
        body: dict[str, Any] = {
            "session_id": session.session_id,
            "status": session.status,
            "activities": session.activities,
            "client_info": {"client": session.device},
            "showing_chat": session.is_showing_chat,
        }
        if session.application_id is not None:
            body["application_id"] = ApplicationId(session.application_id)
        session_bodies.append(body)
    return session_bodies
