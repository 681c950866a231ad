"""The state of a client: READY and GUILD_CREATE, with every later event applied.

This is what client libraries do. Nothing is assumed that no event carries, except direct consequences: a deleted role
is removed from members, and a channel that becomes invisible takes its threads with it.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.permissions import Permissions, base_permissions, can_see_thread, channel_permissions

BY_ID = ("channels", "roles", "threads", "stage_instances", "guild_scheduled_events")
FORUMS = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
UNREPORTED_FIELDS = ("message_count", "total_message_sent")
"""Counters of a thread; no event carries each of their changes."""


class ClientState:
    """One session's state."""

    def __init__(self, frames: Iterable[Mapping[str, Any]]) -> None:
        self.user: dict[str, Any] = {}
        self.guilds: dict[str, dict[str, Any]] = {}
        self.private: dict[str, dict[str, Any]] = {}
        self.unknown_last_message: set[str] = set()
        """Channels whose last message was deleted: no event carries the id of the one before it."""
        for frame in frames:
            self.apply(frame["t"], frame["d"])

    @property
    def me(self) -> str:
        """The id of the current user."""
        return str(self.user["id"])

    def apply(self, name: str, payload: Any) -> None:
        """Apply one event."""
        if name == "SESSIONS_REPLACE":
            # Transient, like presences: READY does not contain it.
            return
        d = deepcopy(payload)
        if name in ("READY", "USER_UPDATE", "GUILD_CREATE", "GUILD_DELETE"):
            getattr(self, name.lower())(d)
        elif d.get("guild_id", d["id"] if name == "GUILD_UPDATE" else None) is None:
            if (step := getattr(self, f"private_{name.lower()}", None)) is not None:
                step(d)
        elif (guild := self.guilds.get(d["id"] if name == "GUILD_UPDATE" else d["guild_id"])) is not None:
            seen = self._seen(guild)
            if (step := getattr(self, name.lower(), None)) is not None:
                step(guild, d)
            # Remove only what was visible before. When changes follow closely, the event of the first may already carry
            # what the second makes visible, before the event that explains it.
            for part, id in seen - self._seen(guild):
                guild[part].pop(id, None)

    # Current user

    def ready(self, d: Any) -> None:
        """Start from READY."""
        self.user = d["user"]
        self.private = {channel["id"]: channel for channel in d["private_channels"]}

    def user_update(self, d: Any) -> None:
        """Update the current user."""
        self.user |= d

    # Guilds

    def guild_create(self, d: Any) -> None:
        """Add a complete guild."""
        guild = dict(d)
        # Only start-up has this key (spec/gateway.md#4.4).
        guild.pop("unavailable", None)
        for part in BY_ID:
            guild[part] = {each["id"]: each for each in d[part]}
        guild["members"] = {each["user"]["id"]: each for each in d["members"]}
        guild["voice_states"] = {each["user_id"]: each for each in d["voice_states"]}
        guild["presences"] = {each["user"]["id"]: each for each in d["presences"]}
        self.guilds[d["id"]] = guild

    def guild_delete(self, d: Any) -> None:
        """Remove a guild that the current user left."""
        self.guilds.pop(d["id"], None)

    def guild_update(self, guild: Any, d: Any) -> None:
        """Update the guild's own fields."""
        guild |= d | {"roles": {role["id"]: role for role in d["roles"]}}

    # Roles

    def guild_role_create(self, guild: Any, d: Any) -> None:
        """Add or update a role."""
        guild["roles"][d["role"]["id"]] = d["role"]

    guild_role_update = guild_role_create

    def guild_role_delete(self, guild: Any, d: Any) -> None:
        """Remove a role, also from members."""
        guild["roles"].pop(d["role_id"], None)
        for member in guild["members"].values():
            member["roles"] = [role for role in member["roles"] if role != d["role_id"]]

    # Expressions

    def guild_emojis_update(self, guild: Any, d: Any) -> None:
        """Replace all emojis."""
        guild["emojis"] = d["emojis"]

    def guild_stickers_update(self, guild: Any, d: Any) -> None:
        """Replace all stickers."""
        guild["stickers"] = d["stickers"]

    def guild_soundboard_sounds_update(self, guild: Any, d: Any) -> None:
        """Replace all soundboard sounds."""
        guild["soundboard_sounds"] = d["soundboard_sounds"]

    def guild_soundboard_sound_create(self, guild: Any, d: Any) -> None:
        """Add or update a soundboard sound."""
        others = [sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != d["sound_id"]]
        guild["soundboard_sounds"] = sorted([*others, d], key=lambda sound: int(sound["sound_id"]))

    guild_soundboard_sound_update = guild_soundboard_sound_create

    def guild_soundboard_sound_delete(self, guild: Any, d: Any) -> None:
        """Remove a soundboard sound."""
        guild["soundboard_sounds"] = [
            sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != d["sound_id"]
        ]

    # Members

    def guild_member_add(self, guild: Any, d: Any) -> None:
        """Add a member."""
        guild["members"][d["user"]["id"]] = _without(d, "guild_id")
        guild["member_count"] += 1

    def guild_member_update(self, guild: Any, d: Any) -> None:
        """Update the fields that the event carries."""
        guild["members"].setdefault(d["user"]["id"], {}).update(_without(d, "guild_id"))

    def guild_member_remove(self, guild: Any, d: Any) -> None:
        """Remove a member."""
        guild["members"].pop(d["user"]["id"], None)
        guild["presences"].pop(d["user"]["id"], None)
        guild["member_count"] -= 1

    def presence_update(self, guild: Any, d: Any) -> None:
        """Update a member's presence."""
        if d["status"] == "offline":
            guild["presences"].pop(d["user"]["id"], None)
        else:
            guild["presences"][d["user"]["id"]] = _without(d, "guild_id")

    def voice_state_update(self, guild: Any, d: Any) -> None:
        """Update, move or remove a voice state."""
        if d["channel_id"] is None:
            guild["voice_states"].pop(d["user_id"], None)
        else:
            guild["voice_states"][d["user_id"]] = _without(d, "guild_id")

    # Stage instances and scheduled events

    def stage_instance_create(self, guild: Any, d: Any) -> None:
        """Add or update a stage instance."""
        guild["stage_instances"][d["id"]] = d

    stage_instance_update = stage_instance_create

    def stage_instance_delete(self, guild: Any, d: Any) -> None:
        """Remove a stage instance."""
        guild["stage_instances"].pop(d["id"], None)

    def guild_scheduled_event_create(self, guild: Any, d: Any) -> None:
        """Add or update a scheduled event, or remove one that is over."""
        guild["guild_scheduled_events"][d["id"]] = d
        if d["status"] > 2:
            del guild["guild_scheduled_events"][d["id"]]

    guild_scheduled_event_update = guild_scheduled_event_create

    def guild_scheduled_event_delete(self, guild: Any, d: Any) -> None:
        """Remove a scheduled event."""
        guild["guild_scheduled_events"].pop(d["id"], None)

    def guild_scheduled_event_exception_create(self, guild: Any, d: Any) -> None:
        """Add an exception of a recurring event."""
        if (event := guild["guild_scheduled_events"].get(d["event_id"])) is not None:
            others = [
                each
                for each in event["guild_scheduled_event_exceptions"]
                if each["event_exception_id"] != d["event_exception_id"]
            ]
            exceptions = sorted([*others, _without(d, "guild_id")], key=lambda each: int(each["event_exception_id"]))
            guild["guild_scheduled_events"][d["event_id"]] = event | {"guild_scheduled_event_exceptions": exceptions}

    # Channels

    def channel_create(self, guild: Any, d: Any) -> None:
        """Add or update a channel."""
        guild["channels"][d["id"]] = d

    channel_update = channel_create

    def channel_delete(self, guild: Any, d: Any) -> None:
        """Remove a channel and its threads."""
        guild["channels"].pop(d["id"], None)

    def channel_pins_update(self, guild: Any, d: Any) -> None:
        """Update the last pin."""
        if (channel := _channel(guild, d["channel_id"])) is not None:
            channel["last_pin_timestamp"] = d["last_pin_timestamp"]

    def message_create(self, guild: Any, d: Any) -> None:
        """Update the last message."""
        if (channel := _channel(guild, d["channel_id"])) is not None:
            channel["last_message_id"] = d["id"]

    def message_delete(self, guild: Any, d: Any) -> None:
        """Mark the last message as unknown if it was deleted."""
        self.unknown_last_message.add(d["channel_id"])

    # Threads

    def thread_create(self, guild: Any, d: Any) -> None:
        """Add a thread that is new or became visible."""
        thread = _without(d, "newly_created")
        parent = guild["channels"].get(d["parent_id"])
        if d.get("newly_created") and parent is not None and parent["type"] in FORUMS:
            # A forum's last message is its last post.
            parent["last_message_id"] = d["id"]
        before = guild["threads"].get(d["id"], {})
        guild["threads"][d["id"]] = ({"member": before["member"]} if "member" in before else {}) | thread

    def thread_update(self, guild: Any, d: Any) -> None:
        """Update a thread, or remove an archived one."""
        if d["thread_metadata"]["archived"]:
            guild["threads"].pop(d["id"], None)
        else:
            self.thread_create(guild, d)

    def thread_delete(self, guild: Any, d: Any) -> None:
        """Remove a thread, and mark a forum's last message as unknown if it was that post."""
        guild["threads"].pop(d["id"], None)
        self.unknown_last_message.add(d["parent_id"])

    def thread_list_sync(self, guild: Any, d: Any) -> None:
        """Replace all threads of some channels."""
        for thread in list(guild["threads"].values()):
            if thread["parent_id"] in d["channel_ids"]:
                del guild["threads"][thread["id"]]
        for thread in d["threads"]:
            guild["threads"][thread["id"]] = dict(thread)
        for member in d["members"]:
            guild["threads"][member["id"]]["member"] = member

    def thread_member_update(self, guild: Any, d: Any) -> None:
        """Update the current user's thread membership."""
        if d["id"] in guild["threads"]:
            guild["threads"][d["id"]]["member"] = _without(d, "guild_id")

    def thread_members_update(self, guild: Any, d: Any) -> None:
        """Add and remove thread members."""
        if (thread := guild["threads"].get(d["id"])) is None:
            return
        thread["member_count"] = d["member_count"]
        for added in d.get("added_members", ()):
            if added["user_id"] == self.me:
                thread["member"] = added
        if self.me in d.get("removed_member_ids", ()):
            thread.pop("member", None)

    # Private channels

    def private_channel_create(self, d: Any) -> None:
        """Add or update a private channel."""
        self.private[d["id"]] = d

    private_channel_update = private_channel_create

    def private_channel_delete(self, d: Any) -> None:
        """Remove a private channel."""
        self.private.pop(d["id"], None)

    def private_channel_recipient_add(self, d: Any) -> None:
        """Add a recipient to a group."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["recipients"].append(d["user"])

    def private_channel_recipient_remove(self, d: Any) -> None:
        """Remove a recipient from a group."""
        if (channel := self.private.get(d["channel_id"])) is not None:
            channel["recipients"] = [each for each in channel["recipients"] if each["id"] != d["user"]["id"]]

    def private_message_create(self, d: Any) -> None:
        """Update the last message."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["last_message_id"] = d["id"]

    def private_channel_pins_update(self, d: Any) -> None:
        """Update the last pin."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["last_pin_timestamp"] = d["last_pin_timestamp"]

    # Consequences of permissions

    def permissions(self, guild: Any, channel_id: str) -> int:
        """Return the current user's permissions in a channel, as far as the state allows."""
        channel, me = guild["channels"].get(channel_id), guild["members"].get(self.me)
        if channel is None or me is None or channel["flags"] & ChannelFlags.CHANNEL_OBFUSCATED:
            return 0
        roles = {role: int(guild["roles"][role]["permissions"]) for role in [guild["id"], *me["roles"]]}
        base = base_permissions(guild["owner_id"] == self.me, roles.pop(guild["id"]), roles.values())
        overwrites = {each["id"]: (int(each["allow"]), int(each["deny"])) for each in channel["permission_overwrites"]}
        role_ids = [overwrites[role] for role in me["roles"] if role in overwrites]
        return channel_permissions(base, overwrites.get(guild["id"]), role_ids, overwrites.get(self.me))

    def _seen(self, guild: Any) -> set[tuple[str, str]]:
        """Return everything in visible channels, as part and id."""
        seen: set[tuple[str, str]] = set()
        for id, thread in guild["threads"].items():
            private = thread["type"] == ChannelType.PRIVATE_THREAD
            bits = self.permissions(guild, thread["parent_id"])
            if can_see_thread(bits, is_private=private, is_member="member" in thread):
                seen.add(("threads", id))
        for part in ("voice_states", "stage_instances", "guild_scheduled_events"):
            for id, each in guild[part].items():
                if self.permissions(guild, each["channel_id"]) & Permissions.VIEW_CHANNEL:
                    seen.add((part, id))
        return seen

    # Comparison

    def snapshot(self) -> dict[str, Any]:
        """Return the whole state in a fixed order, without unspecified parts."""
        return {
            "user": self.user,
            "private": {id: self._channel(channel) for id, channel in self.private.items()},
            "guilds": {id: self._guild(guild) for id, guild in self.guilds.items()},
        }

    def _guild(self, guild: dict[str, Any]) -> dict[str, Any]:
        shown = dict(guild)
        shown["channels"] = {id: self._channel(channel) for id, channel in guild["channels"].items()}
        for id, channel in shown["channels"].items():
            if not self.permissions(guild, id) & Permissions.VIEW_CHANNEL:
                # Messages and pins of these channels cause no events.
                channel |= {"last_message_id": None, "last_pin_timestamp": None}
        shown["threads"] = {id: self._channel(thread) for id, thread in guild["threads"].items()}
        shown["members"] = {id: member | {"roles": sorted(member["roles"])} for id, member in guild["members"].items()}
        # The thread's member is among the guild members.
        shown["voice_states"] = {id: _without(state, "member") for id, state in guild["voice_states"].items()}
        # A user receives no presence of their own (spec/gateway.md#5.1).
        shown["presences"] = _without(guild["presences"], self.me)
        return shown

    def _channel(self, channel: dict[str, Any]) -> dict[str, Any]:
        shown = _without(
            channel,
            *UNREPORTED_FIELDS,
            "guild_id",
            *(["last_message_id"] if channel["id"] in self.unknown_last_message else []),
        )
        if "permission_overwrites" in shown:
            shown["permission_overwrites"] = {each["id"]: each for each in shown["permission_overwrites"]}
        if "recipients" in shown:
            # spec/gateway.md#10: user changes are published through guilds, so the users of private channels alone stay as
            # they were.
            shown["recipients"] = sorted(each["id"] for each in shown["recipients"])
        if "member" in shown:
            # GUILD_CREATE omits the ids; THREAD_MEMBERS_UPDATE adds the member.
            shown["member"] = {key: shown["member"][key] for key in ("join_timestamp", "flags")}
        return shown


def differences(ours: Any, theirs: Any, at: str = "$") -> list[str]:
    """Describe the differences between two states for a failure message."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = []
        for key in sorted({*ours, *theirs}, key=str):
            if key not in ours or key not in theirs:
                found.append(
                    f"{at}.{key}: {'only fresh' if key not in ours else 'only remembered'}: {(ours | theirs)[key]}"
                )
            else:
                found += differences(ours[key], theirs[key], f"{at}.{key}")
        return found
    return [] if ours == theirs else [f"{at}: remembered {ours!r}, fresh {theirs!r}"]


def _channel(guild: Any, channel_id: str) -> Any:
    return guild["channels"].get(channel_id) or guild["threads"].get(channel_id)


def _without(d: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in d.items() if key not in keys}
