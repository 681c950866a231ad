"""Cached state of the user's gateway session: users, relationships, presences, guilds, channels and voice states.

IDs are strings.
"""

from collections.abc import Callable
from typing import Any, Final

from hubbub.protocol.resources.channels import (
    CHANNEL_CREATE,
    CHANNEL_DELETE,
    CHANNEL_UPDATE,
    THREAD_CREATE,
    THREAD_DELETE,
    THREAD_UPDATE,
)
from hubbub.protocol.resources.gateway import READY
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE, GUILD_UPDATE
from hubbub.protocol.resources.members import GUILD_MEMBER_ADD, GUILD_MEMBER_UPDATE
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.protocol.resources.presence import PRESENCE_UPDATE, SESSIONS_REPLACE
from hubbub.protocol.resources.relationships import RELATIONSHIP_ADD, RELATIONSHIP_REMOVE, RELATIONSHIP_UPDATE
from hubbub.protocol.resources.roles import GUILD_ROLE_CREATE, GUILD_ROLE_DELETE, GUILD_ROLE_UPDATE
from hubbub.protocol.resources.users import USER_UPDATE
from hubbub.protocol.resources.voice_states import VOICE_STATE_UPDATE

JsonObject = dict[str, Any]
"""A JSON object of the gateway."""


class SessionState:
    """State of a gateway session: READY contains the initial state, and later events update it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Remove everything, because READY of a new session contains the whole state."""
        self.user: JsonObject = {}
        self.session_id = ""
        self.guilds: dict[str, JsonObject] = {}
        """Guilds from GUILD_CREATE, without their channels, threads, members, presences and voice states."""
        self.pending_guilds: set[str] = set()
        """IDs of guilds that are loading or unavailable: their GUILD_CREATE has not arrived yet."""
        self.channels: dict[str, JsonObject] = {}
        self.members: dict[str, JsonObject] = {}
        """The user's own member object by guild ID."""
        self.users: dict[str, JsonObject] = {}
        self.relationships: dict[str, JsonObject] = {}
        self.presences: dict[str, JsonObject] = {}
        """Presences of friends by user ID."""
        self.voice_states: dict[tuple[str, str], JsonObject] = {}
        """Voice states by guild ID (empty for a private channel) and user ID."""
        self.nicks: dict[tuple[str, str], str | None] = {}
        """Nicknames by guild ID and user ID; None for a member without a nickname."""
        self.sessions: list[JsonObject] = []
        """All gateway sessions of the user, including those of games and other clients."""

    @property
    def user_id(self) -> str:
        """ID of the signed-in user; empty before READY."""
        return str(self.user.get("id", ""))

    def display_name_of(self, user: JsonObject) -> str:
        return str(user.get("global_name") or user.get("username") or "")

    def find_voice_channel(self) -> JsonObject | None:
        """Return the voice channel that the user is in with any client, or None."""
        for (_, user_id), voice_state in self.voice_states.items():
            if user_id == self.user_id:
                return self.channels.get(str(voice_state.get("channel_id")))
        return None

    def list_voice_states(self, channel_id: str) -> list[JsonObject]:
        """Return the voice states of the users in a voice channel."""
        return [
            voice_state for voice_state in self.voice_states.values() if voice_state.get("channel_id") == channel_id
        ]

    def find_activity(self, user_id: str, application_id: str, party_id: str | None = None) -> JsonObject | None:
        """Return a friend's activity of an application, or None; `party_id` requires that the activity has this party."""
        for activity in self.presences.get(user_id, {}).get("activities", []):
            if activity.get("application_id") == application_id:
                if party_id is None or (activity.get("party") or {}).get("id") == party_id:
                    return dict(activity)
        return None

    def is_chat_visible(self) -> bool:
        """Return whether a game already displays the user's messages (decisions/0046)."""
        return any(session.get("showing_chat") for session in self.sessions)

    # Events

    def handle_event(self, event: str, payload: Any) -> None:
        """Update the state from a gateway event; unknown events are ignored."""
        if event == SESSIONS_REPLACE.name and isinstance(payload, list):
            self.sessions = payload
            return
        handler = _HANDLERS.get(event)
        if handler is not None and isinstance(payload, dict):
            handler(self, payload)

    def _on_ready(self, payload: JsonObject) -> None:
        self.reset()
        self.user, self.session_id = payload["user"], payload["session_id"]
        self._store_user(self.user)
        self.pending_guilds = {guild["id"] for guild in payload.get("guilds", [])}
        for channel in payload.get("private_channels", []):
            self._on_channel_create(channel)
        for relationship in payload.get("relationships", []):
            self._on_relationship_add(relationship)
        for presence in payload.get("presences", []):
            self._on_presence_update(presence)

    def _on_user_update(self, payload: JsonObject) -> None:
        self.user = {**self.user, **payload}
        self._store_user(self.user)

    def _store_user(self, user: JsonObject | None) -> None:
        if user and user.get("username"):
            self.users[user["id"]] = user

    def _on_guild_create(self, payload: JsonObject) -> None:
        guild_id = payload["id"]
        self._remove_guild(guild_id)
        self.pending_guilds.discard(guild_id)
        if payload.get("unavailable"):
            self.pending_guilds.add(guild_id)
            return
        omitted_fields = ("channels", "threads", "members", "presences", "voice_states")
        self.guilds[guild_id] = {key: value for key, value in payload.items() if key not in omitted_fields}
        for channel in [*payload.get("channels", []), *payload.get("threads", [])]:
            self._on_channel_create({**channel, "guild_id": guild_id})
        for member in payload.get("members", []):
            self._store_member(guild_id, member)
        for voice_state in payload.get("voice_states", []):
            self._on_voice_state_update({**voice_state, "guild_id": guild_id})

    def _on_guild_update(self, payload: JsonObject) -> None:
        if payload["id"] in self.guilds:
            self.guilds[payload["id"]] |= payload

    def _on_guild_delete(self, payload: JsonObject) -> None:
        self._remove_guild(payload["id"])
        if payload.get("unavailable"):
            self.pending_guilds.add(payload["id"])

    def _remove_guild(self, guild_id: str) -> None:
        self.guilds.pop(guild_id, None)
        self.pending_guilds.discard(guild_id)
        self.members.pop(guild_id, None)
        for channel_id in [key for key, channel in self.channels.items() if channel.get("guild_id") == guild_id]:
            del self.channels[channel_id]
        for other_guild_id, user_id in list(self.voice_states):
            if other_guild_id == guild_id:
                del self.voice_states[guild_id, user_id]
        for other_guild_id, user_id in list(self.nicks):
            if other_guild_id == guild_id:
                del self.nicks[guild_id, user_id]

    def _on_guild_role_create(self, payload: JsonObject) -> None:
        guild = self.guilds.get(payload["guild_id"])
        if guild is not None:
            other_roles = [role for role in guild.get("roles", []) if role["id"] != payload["role"]["id"]]
            guild["roles"] = [*other_roles, payload["role"]]

    def _on_guild_role_delete(self, payload: JsonObject) -> None:
        guild = self.guilds.get(payload["guild_id"])
        if guild is not None:
            guild["roles"] = [role for role in guild.get("roles", []) if role["id"] != payload["role_id"]]

    def _on_guild_member_update(self, payload: JsonObject) -> None:
        self._store_member(payload["guild_id"], payload)

    def _store_member(self, guild_id: str, member: JsonObject) -> None:
        user = member.get("user") or {}
        self._store_user(user)
        if user.get("id") == self.user_id:
            self.members[guild_id] = member
        if user.get("id"):
            self.nicks[guild_id, user["id"]] = member.get("nick")

    def _on_channel_create(self, payload: JsonObject) -> None:
        self.channels[payload["id"]] = payload
        for user in payload.get("recipients", []):
            self._store_user(user)

    def _on_channel_delete(self, payload: JsonObject) -> None:
        self.channels.pop(payload["id"], None)

    def _on_relationship_add(self, payload: JsonObject) -> None:
        self._store_user(payload.get("user"))
        relationship = self.relationships.get(payload["id"], {})
        self.relationships[payload["id"]] = {**relationship, **payload}

    def _on_relationship_remove(self, payload: JsonObject) -> None:
        self.relationships.pop(payload["id"], None)
        self.presences.pop(payload["id"], None)

    def _on_presence_update(self, payload: JsonObject) -> None:
        # Presences of guild members arrive as well, but are not needed.
        if not payload.get("guild_id"):
            self._store_user(payload.get("user"))
            self.presences[payload["user"]["id"]] = payload

    def _on_voice_state_update(self, payload: JsonObject) -> None:
        guild_id = str(payload.get("guild_id") or "")
        member = payload.get("member")
        if member:
            self._store_member(guild_id, member)
        if payload.get("channel_id") is None:
            self.voice_states.pop((guild_id, payload["user_id"]), None)
        else:
            self.voice_states[guild_id, payload["user_id"]] = payload

    def _on_message_create(self, payload: JsonObject) -> None:
        if not payload.get("webhook_id"):
            self._store_user(payload.get("author"))


_HANDLERS: Final[dict[str, Callable[[SessionState, JsonObject], None]]] = {
    event.name: handler
    for handler, events in (
        (SessionState._on_ready, (READY,)),
        (SessionState._on_user_update, (USER_UPDATE,)),
        (SessionState._on_guild_create, (GUILD_CREATE,)),
        (SessionState._on_guild_update, (GUILD_UPDATE,)),
        (SessionState._on_guild_delete, (GUILD_DELETE,)),
        (SessionState._on_guild_role_create, (GUILD_ROLE_CREATE, GUILD_ROLE_UPDATE)),
        (SessionState._on_guild_role_delete, (GUILD_ROLE_DELETE,)),
        (SessionState._on_guild_member_update, (GUILD_MEMBER_ADD, GUILD_MEMBER_UPDATE)),
        (SessionState._on_channel_create, (CHANNEL_CREATE, CHANNEL_UPDATE, THREAD_CREATE, THREAD_UPDATE)),
        (SessionState._on_channel_delete, (CHANNEL_DELETE, THREAD_DELETE)),
        (SessionState._on_relationship_add, (RELATIONSHIP_ADD, RELATIONSHIP_UPDATE)),
        (SessionState._on_relationship_remove, (RELATIONSHIP_REMOVE,)),
        (SessionState._on_presence_update, (PRESENCE_UPDATE,)),
        (SessionState._on_voice_state_update, (VOICE_STATE_UPDATE,)),
        (SessionState._on_message_create, (MESSAGE_CREATE,)),
    )
    for event in events
}
"""Handlers by the name of the gateway event."""
