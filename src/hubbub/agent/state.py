"""Cached state of the user's gateway session: users, relationships, presences, guilds, channels and voice states.

IDs are strings.
"""

from typing import Any

Data = dict[str, Any]
"""A JSON object of the gateway."""


class SessionState:
    """State of a gateway session: READY contains the initial state, and later events update it.

    The method `_guild_create` handles GUILD_CREATE; other events have corresponding methods."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Remove everything, because READY of a new session contains the whole state."""
        self.user: Data = {}
        self.session_id = ""
        self.guilds: dict[str, Data] = {}
        """Guilds from GUILD_CREATE, without their channels, threads, members, presences and voice states."""
        self.pending_guilds: set[str] = set()
        """IDs of guilds that are loading or unavailable: their GUILD_CREATE has not arrived yet."""
        self.channels: dict[str, Data] = {}
        self.members: dict[str, Data] = {}
        """The user's own member object by guild ID."""
        self.users: dict[str, Data] = {}
        self.relationships: dict[str, Data] = {}
        self.presences: dict[str, Data] = {}
        """Presences of friends by user ID."""
        self.voice_states: dict[tuple[str, str], Data] = {}
        """Voice states by guild ID (empty for a private channel) and user ID."""
        self.nicks: dict[tuple[str, str], str | None] = {}
        """Nicknames by guild ID and user ID; None for a member without a nickname."""
        self.sessions: list[Data] = []
        """All gateway sessions of the user, including those of games and other clients."""

    @property
    def user_id(self) -> str:
        """ID of the signed-in user; empty before READY."""
        return str(self.user.get("id", ""))

    def display_name_of(self, user: Data) -> str:
        return str(user.get("global_name") or user.get("username") or "")

    def find_voice_channel(self) -> Data | None:
        """Return the voice channel that the user is in with any client, or None."""
        for (_, user_id), voice_state in self.voice_states.items():
            if user_id == self.user_id:
                return self.channels.get(str(voice_state.get("channel_id")))
        return None

    def list_voice_states(self, channel_id: str) -> list[Data]:
        """Return the voice states of the users in a voice channel."""
        return [
            voice_state for voice_state in self.voice_states.values() if voice_state.get("channel_id") == channel_id
        ]

    def find_activity(self, user_id: str, application_id: str, party_id: str | None = None) -> Data | None:
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

    def handle_event(self, event: str, data: Any) -> None:
        """Update the state from a gateway event; unknown events are ignored."""
        if event == "SESSIONS_REPLACE" and isinstance(data, list):
            self.sessions = data
            return
        handler = getattr(self, f"_{event.lower()}", None)
        if handler is not None and isinstance(data, dict):
            handler(data)

    def _ready(self, data: Data) -> None:
        self.reset()
        self.user, self.session_id = data["user"], data["session_id"]
        self._store_user(self.user)
        self.pending_guilds = {guild["id"] for guild in data.get("guilds", [])}
        for channel in data.get("private_channels", []):
            self._channel_create(channel)
        for relationship in data.get("relationships", []):
            self._relationship_add(relationship)
        for presence in data.get("presences", []):
            self._presence_update(presence)

    def _user_update(self, data: Data) -> None:
        self.user = {**self.user, **data}
        self._store_user(self.user)

    def _store_user(self, user: Data | None) -> None:
        if user and user.get("username"):
            self.users[user["id"]] = user

    def _guild_create(self, data: Data) -> None:
        guild_id = data["id"]
        self._remove_guild(guild_id)
        self.pending_guilds.discard(guild_id)
        if data.get("unavailable"):
            self.pending_guilds.add(guild_id)
            return
        omitted_fields = ("channels", "threads", "members", "presences", "voice_states")
        self.guilds[guild_id] = {key: value for key, value in data.items() if key not in omitted_fields}
        for channel in [*data.get("channels", []), *data.get("threads", [])]:
            self._channel_create({**channel, "guild_id": guild_id})
        for member in data.get("members", []):
            self._store_member(guild_id, member)
        for voice_state in data.get("voice_states", []):
            self._voice_state_update({**voice_state, "guild_id": guild_id})

    def _guild_update(self, data: Data) -> None:
        if data["id"] in self.guilds:
            self.guilds[data["id"]] |= data

    def _guild_delete(self, data: Data) -> None:
        self._remove_guild(data["id"])
        if data.get("unavailable"):
            self.pending_guilds.add(data["id"])

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

    def _guild_role_create(self, data: Data) -> None:
        guild = self.guilds.get(data["guild_id"])
        if guild is not None:
            other_roles = [role for role in guild.get("roles", []) if role["id"] != data["role"]["id"]]
            guild["roles"] = [*other_roles, data["role"]]

    _guild_role_update = _guild_role_create

    def _guild_role_delete(self, data: Data) -> None:
        guild = self.guilds.get(data["guild_id"])
        if guild is not None:
            guild["roles"] = [role for role in guild.get("roles", []) if role["id"] != data["role_id"]]

    def _guild_member_update(self, data: Data) -> None:
        self._store_member(data["guild_id"], data)

    _guild_member_add = _guild_member_update

    def _store_member(self, guild_id: str, member: Data) -> None:
        user = member.get("user") or {}
        self._store_user(user)
        if user.get("id") == self.user_id:
            self.members[guild_id] = member
        if user.get("id"):
            self.nicks[guild_id, user["id"]] = member.get("nick")

    def _channel_create(self, data: Data) -> None:
        self.channels[data["id"]] = data
        for user in data.get("recipients", []):
            self._store_user(user)

    _channel_update = _thread_create = _thread_update = _channel_create

    def _channel_delete(self, data: Data) -> None:
        self.channels.pop(data["id"], None)

    _thread_delete = _channel_delete

    def _relationship_add(self, data: Data) -> None:
        self._store_user(data.get("user"))
        relationship = self.relationships.get(data["id"], {})
        self.relationships[data["id"]] = {**relationship, **data}

    _relationship_update = _relationship_add

    def _relationship_remove(self, data: Data) -> None:
        self.relationships.pop(data["id"], None)
        self.presences.pop(data["id"], None)

    def _presence_update(self, data: Data) -> None:
        # Presences of guild members arrive as well, but are not needed.
        if not data.get("guild_id"):
            self._store_user(data.get("user"))
            self.presences[data["user"]["id"]] = data

    def _voice_state_update(self, data: Data) -> None:
        guild_id = str(data.get("guild_id") or "")
        member = data.get("member")
        if member:
            self._store_member(guild_id, member)
        if data.get("channel_id") is None:
            self.voice_states.pop((guild_id, data["user_id"]), None)
        else:
            self.voice_states[guild_id, data["user_id"]] = data

    def _message_create(self, data: Data) -> None:
        if not data.get("webhook_id"):
            self._store_user(data.get("author"))
