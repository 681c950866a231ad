"""The state of a client: READY and GUILD_CREATE, with every later event applied, and the comparison of two states.

Client libraries maintain their cache in this way. The state changes only by events and their direct consequences: a deleted role
is removed from members, and the objects of a channel that becomes invisible are removed.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from hubbub.protocol.enums import ChannelType, EventStatus
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.permissions import Permissions, base_permissions, can_see_thread, channel_permissions

OBJECT_LISTS = ("channels", "roles", "threads", "stage_instances", "guild_scheduled_events")
"""Lists of a guild whose objects are stored by their ID."""
FORUM_TYPES = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
UNREPORTED_FIELDS = ("message_count", "total_message_sent")
"""Counters of a thread; no event carries each of their changes."""


class ClientState:
    """The state of one session."""

    def __init__(self, frames: Iterable[Mapping[str, Any]]) -> None:
        self.user: dict[str, Any] = {}
        self.guilds: dict[str, dict[str, Any]] = {}
        self.private_channels: dict[str, dict[str, Any]] = {}
        self.unknown_last_message_channels: set[str] = set()
        """IDs of the channels whose last message may have been deleted: no event carries the ID of the message before it."""
        for frame in frames:
            self.apply(frame["t"], frame["d"])

    @property
    def user_id(self) -> str:
        """ID of the current user."""
        return str(self.user["id"])

    def apply(self, name: str, payload: Any) -> None:
        """Change the state as the event says. Ignore an event that no method of this class handles."""
        if name == "SESSIONS_REPLACE":
            # The list of sessions is transient, like presences: READY does not contain it.
            return
        payload_copy = deepcopy(payload)
        if name in ("READY", "USER_UPDATE", "GUILD_CREATE", "GUILD_DELETE"):
            getattr(self, name.lower())(payload_copy)
        elif payload_copy.get("guild_id", payload_copy["id"] if name == "GUILD_UPDATE" else None) is None:
            if (handler := getattr(self, f"private_{name.lower()}", None)) is not None:
                handler(payload_copy)
        elif (
            guild := self.guilds.get(payload_copy["id"] if name == "GUILD_UPDATE" else payload_copy["guild_id"])
        ) is not None:
            visible_before = self._visible_keys(guild)
            if (handler := getattr(self, name.lower(), None)) is not None:
                handler(guild, payload_copy)
            # Only objects that were visible before are removed. When two changes follow closely, the event of the first may
            # already contain objects that the second makes visible, before the event of the second arrives.
            for list_name, object_id in visible_before - self._visible_keys(guild):
                guild[list_name].pop(object_id, None)

    # Current user

    def ready(self, payload: Any) -> None:
        """Replace the current user and the private channels."""
        self.user = payload["user"]
        self.private_channels = {channel["id"]: channel for channel in payload["private_channels"]}

    def user_update(self, payload: Any) -> None:
        self.user |= payload

    # Guilds

    def guild_create(self, payload: Any) -> None:
        """Add a complete guild."""
        guild = dict(payload)
        # Only a GUILD_CREATE at start-up has this key (spec/gateway.md#4.4).
        guild.pop("unavailable", None)
        for list_name in OBJECT_LISTS:
            guild[list_name] = {entry["id"]: entry for entry in payload[list_name]}
        guild["members"] = {entry["user"]["id"]: entry for entry in payload["members"]}
        guild["voice_states"] = {entry["user_id"]: entry for entry in payload["voice_states"]}
        guild["presences"] = {entry["user"]["id"]: entry for entry in payload["presences"]}
        self.guilds[payload["id"]] = guild

    def guild_delete(self, payload: Any) -> None:
        self.guilds.pop(payload["id"], None)

    def guild_update(self, guild: Any, payload: Any) -> None:
        """Update the guild's own fields and replace its roles."""
        guild |= payload | {"roles": {role["id"]: role for role in payload["roles"]}}

    # Roles

    def guild_role_create(self, guild: Any, payload: Any) -> None:
        """Add or update a role."""
        guild["roles"][payload["role"]["id"]] = payload["role"]

    guild_role_update = guild_role_create

    def guild_role_delete(self, guild: Any, payload: Any) -> None:
        """Remove a role, also from members."""
        guild["roles"].pop(payload["role_id"], None)
        for member in guild["members"].values():
            member["roles"] = [role for role in member["roles"] if role != payload["role_id"]]

    # Expressions

    def guild_emojis_update(self, guild: Any, payload: Any) -> None:
        """Replace all emojis."""
        guild["emojis"] = payload["emojis"]

    def guild_stickers_update(self, guild: Any, payload: Any) -> None:
        """Replace all stickers."""
        guild["stickers"] = payload["stickers"]

    def guild_soundboard_sounds_update(self, guild: Any, payload: Any) -> None:
        """Replace all soundboard sounds."""
        guild["soundboard_sounds"] = payload["soundboard_sounds"]

    def guild_soundboard_sound_create(self, guild: Any, payload: Any) -> None:
        """Add or update a soundboard sound."""
        other_sounds = [sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != payload["sound_id"]]
        guild["soundboard_sounds"] = sorted([*other_sounds, payload], key=lambda sound: int(sound["sound_id"]))

    guild_soundboard_sound_update = guild_soundboard_sound_create

    def guild_soundboard_sound_delete(self, guild: Any, payload: Any) -> None:
        guild["soundboard_sounds"] = [
            sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != payload["sound_id"]
        ]

    # Members

    def guild_member_add(self, guild: Any, payload: Any) -> None:
        guild["members"][payload["user"]["id"]] = _omit_keys(payload, "guild_id")
        guild["member_count"] += 1

    def guild_member_update(self, guild: Any, payload: Any) -> None:
        """Update the fields that the event carries."""
        guild["members"].setdefault(payload["user"]["id"], {}).update(_omit_keys(payload, "guild_id"))

    def guild_member_remove(self, guild: Any, payload: Any) -> None:
        guild["members"].pop(payload["user"]["id"], None)
        guild["presences"].pop(payload["user"]["id"], None)
        guild["member_count"] -= 1

    def presence_update(self, guild: Any, payload: Any) -> None:
        """Replace a member's presence, or remove it if the member is offline."""
        if payload["status"] == "offline":
            guild["presences"].pop(payload["user"]["id"], None)
        else:
            guild["presences"][payload["user"]["id"]] = _omit_keys(payload, "guild_id")

    def voice_state_update(self, guild: Any, payload: Any) -> None:
        """Update, move or remove a voice state."""
        if payload["channel_id"] is None:
            guild["voice_states"].pop(payload["user_id"], None)
        else:
            guild["voice_states"][payload["user_id"]] = _omit_keys(payload, "guild_id")

    # Stage instances and scheduled events

    def stage_instance_create(self, guild: Any, payload: Any) -> None:
        """Add or update a stage instance."""
        guild["stage_instances"][payload["id"]] = payload

    stage_instance_update = stage_instance_create

    def stage_instance_delete(self, guild: Any, payload: Any) -> None:
        guild["stage_instances"].pop(payload["id"], None)

    def guild_scheduled_event_create(self, guild: Any, payload: Any) -> None:
        """Add or update a scheduled event, or remove one that is completed or canceled."""
        guild["guild_scheduled_events"][payload["id"]] = payload
        if payload["status"] > EventStatus.ACTIVE:
            del guild["guild_scheduled_events"][payload["id"]]

    guild_scheduled_event_update = guild_scheduled_event_create

    def guild_scheduled_event_delete(self, guild: Any, payload: Any) -> None:
        guild["guild_scheduled_events"].pop(payload["id"], None)

    def guild_scheduled_event_exception_create(self, guild: Any, payload: Any) -> None:
        """Add or replace an exception of a recurring event."""
        if (event := guild["guild_scheduled_events"].get(payload["event_id"])) is not None:
            other_exceptions = [
                exception
                for exception in event["guild_scheduled_event_exceptions"]
                if exception["event_exception_id"] != payload["event_exception_id"]
            ]
            exceptions = sorted(
                [*other_exceptions, _omit_keys(payload, "guild_id")],
                key=lambda exception: int(exception["event_exception_id"]),
            )
            guild["guild_scheduled_events"][payload["event_id"]] = event | {
                "guild_scheduled_event_exceptions": exceptions
            }

    # Channels

    def channel_create(self, guild: Any, payload: Any) -> None:
        """Add or update a channel."""
        guild["channels"][payload["id"]] = payload

    channel_update = channel_create

    def channel_delete(self, guild: Any, payload: Any) -> None:
        """Remove a channel; `apply` removes the objects in it."""
        guild["channels"].pop(payload["id"], None)

    def channel_pins_update(self, guild: Any, payload: Any) -> None:
        """Update the last pin."""
        if (channel := _find_channel(guild, payload["channel_id"])) is not None:
            channel["last_pin_timestamp"] = payload["last_pin_timestamp"]

    def message_create(self, guild: Any, payload: Any) -> None:
        """Update the last message."""
        if (channel := _find_channel(guild, payload["channel_id"])) is not None:
            channel["last_message_id"] = payload["id"]

    def message_delete(self, guild: Any, payload: Any) -> None:
        """Mark the channel's last message as unknown: it may be the deleted message."""
        self.unknown_last_message_channels.add(payload["channel_id"])

    # Threads

    def thread_create(self, guild: Any, payload: Any) -> None:
        """Add a thread that is new or became visible."""
        thread = _omit_keys(payload, "newly_created")
        parent = guild["channels"].get(payload["parent_id"])
        if payload.get("newly_created") and parent is not None and parent["type"] in FORUM_TYPES:
            # A forum's last message is its last post.
            parent["last_message_id"] = payload["id"]
        previous_thread = guild["threads"].get(payload["id"], {})
        guild["threads"][payload["id"]] = (
            {"member": previous_thread["member"]} if "member" in previous_thread else {}
        ) | thread

    def thread_update(self, guild: Any, payload: Any) -> None:
        """Update a thread, or remove an archived one."""
        if payload["thread_metadata"]["archived"]:
            guild["threads"].pop(payload["id"], None)
        else:
            self.thread_create(guild, payload)

    def thread_delete(self, guild: Any, payload: Any) -> None:
        """Remove a thread, and mark its parent's last message as unknown: the thread may be the last post of a forum."""
        guild["threads"].pop(payload["id"], None)
        self.unknown_last_message_channels.add(payload["parent_id"])

    def thread_list_sync(self, guild: Any, payload: Any) -> None:
        """Replace all threads of some channels."""
        for thread in list(guild["threads"].values()):
            if thread["parent_id"] in payload["channel_ids"]:
                del guild["threads"][thread["id"]]
        for thread in payload["threads"]:
            guild["threads"][thread["id"]] = dict(thread)
        for member in payload["members"]:
            guild["threads"][member["id"]]["member"] = member

    def thread_member_update(self, guild: Any, payload: Any) -> None:
        """Update the current user's thread membership."""
        if payload["id"] in guild["threads"]:
            guild["threads"][payload["id"]]["member"] = _omit_keys(payload, "guild_id")

    def thread_members_update(self, guild: Any, payload: Any) -> None:
        """Update a thread's number of members, and the current user's thread membership if it changed."""
        if (thread := guild["threads"].get(payload["id"])) is None:
            return
        thread["member_count"] = payload["member_count"]
        for added_member in payload.get("added_members", ()):
            if added_member["user_id"] == self.user_id:
                thread["member"] = added_member
        if self.user_id in payload.get("removed_member_ids", ()):
            thread.pop("member", None)

    # Private channels

    def private_channel_create(self, payload: Any) -> None:
        """Add or update a private channel."""
        self.private_channels[payload["id"]] = payload

    private_channel_update = private_channel_create

    def private_channel_delete(self, payload: Any) -> None:
        self.private_channels.pop(payload["id"], None)

    def private_channel_recipient_add(self, payload: Any) -> None:
        """Add or replace a recipient of a group."""
        if (channel := self.private_channels.get(payload["channel_id"])) is not None:
            self.private_channel_recipient_remove(payload)
            channel["recipients"].append(payload["user"])

    def private_channel_recipient_remove(self, payload: Any) -> None:
        """Remove a recipient from a group."""
        if (channel := self.private_channels.get(payload["channel_id"])) is not None:
            channel["recipients"] = [
                recipient for recipient in channel["recipients"] if recipient["id"] != payload["user"]["id"]
            ]

    def private_message_create(self, payload: Any) -> None:
        """Update the last message."""
        if payload["channel_id"] in self.private_channels:
            self.private_channels[payload["channel_id"]]["last_message_id"] = payload["id"]

    def private_channel_pins_update(self, payload: Any) -> None:
        """Update the last pin."""
        if payload["channel_id"] in self.private_channels:
            self.private_channels[payload["channel_id"]]["last_pin_timestamp"] = payload["last_pin_timestamp"]

    # Consequences of permissions

    def compute_permissions(self, guild: Any, channel_id: str) -> int:
        """Return the current user's permissions in a channel; 0 if the channel or the member is unknown or hidden."""
        channel, member = guild["channels"].get(channel_id), guild["members"].get(self.user_id)
        if channel is None or member is None or channel["flags"] & ChannelFlags.CHANNEL_OBFUSCATED:
            return 0
        # Client libraries ignore roles that they do not know: between a late event and the repeated deletion of a role.
        permissions_by_role_id = {
            role_id: int(guild["roles"][role_id]["permissions"])
            for role_id in [guild["id"], *member["roles"]]
            if role_id in guild["roles"]
        }
        base = base_permissions(
            guild["owner_id"] == self.user_id, permissions_by_role_id.pop(guild["id"]), permissions_by_role_id.values()
        )
        overwrites = {
            overwrite["id"]: (int(overwrite["allow"]), int(overwrite["deny"]))
            for overwrite in channel["permission_overwrites"]
        }
        role_overwrites = [overwrites[role_id] for role_id in member["roles"] if role_id in overwrites]
        return channel_permissions(base, overwrites.get(guild["id"]), role_overwrites, overwrites.get(self.user_id))

    def _visible_keys(self, guild: Any) -> set[tuple[str, str]]:
        """Return the visible threads, and the other objects in visible channels, as name of the part and ID."""
        keys: set[tuple[str, str]] = set()
        for object_id, thread in guild["threads"].items():
            is_private = thread["type"] == ChannelType.PRIVATE_THREAD
            permissions = self.compute_permissions(guild, thread["parent_id"])
            if can_see_thread(permissions, is_private=is_private, is_member="member" in thread):
                keys.add(("threads", object_id))
        for list_name in ("voice_states", "stage_instances", "guild_scheduled_events"):
            for object_id, listed_object in guild[list_name].items():
                if self.compute_permissions(guild, listed_object["channel_id"]) & Permissions.VIEW_CHANNEL:
                    keys.add((list_name, object_id))
        return keys

    # Comparison

    def snapshot(self) -> dict[str, Any]:
        """Return the state as values that can be compared, without the parts that events do not keep up to date."""
        return {
            "user": self.user,
            "private": {
                object_id: self._channel_snapshot(channel) for object_id, channel in self.private_channels.items()
            },
            "guilds": {object_id: self._guild_snapshot(guild) for object_id, guild in self.guilds.items()},
        }

    def _guild_snapshot(self, guild: dict[str, Any]) -> dict[str, Any]:
        snapshot = dict(guild)
        snapshot["channels"] = {
            object_id: self._channel_snapshot(channel) for object_id, channel in guild["channels"].items()
        }
        for object_id, channel in snapshot["channels"].items():
            if not self.compute_permissions(guild, object_id) & Permissions.VIEW_CHANNEL:
                # Messages and pins of an invisible channel cause no events.
                channel |= {"last_message_id": None, "last_pin_timestamp": None}
        snapshot["threads"] = {
            object_id: self._channel_snapshot(thread) for object_id, thread in guild["threads"].items()
        }
        snapshot["members"] = {
            object_id: member | {"roles": sorted(member["roles"])} for object_id, member in guild["members"].items()
        }
        # The member of a voice state is also among the guild members.
        snapshot["voice_states"] = {
            object_id: _omit_keys(state, "member") for object_id, state in guild["voice_states"].items()
        }
        # A user receives no presence of their own (spec/gateway.md#5.1).
        snapshot["presences"] = _omit_keys(guild["presences"], self.user_id)
        return snapshot

    def _channel_snapshot(self, channel: dict[str, Any]) -> dict[str, Any]:
        snapshot = _omit_keys(
            channel,
            *UNREPORTED_FIELDS,
            "guild_id",
            *(["last_message_id"] if channel["id"] in self.unknown_last_message_channels else []),
        )
        if "permission_overwrites" in snapshot:
            snapshot["permission_overwrites"] = {entry["id"]: entry for entry in snapshot["permission_overwrites"]}
        if "recipients" in snapshot:
            # spec/gateway.md#10: user changes are published through guilds, so the users of private channels alone stay as
            # they were.
            snapshot["recipients"] = sorted(entry["id"] for entry in snapshot["recipients"])
        if "member" in snapshot:
            # The IDs of a thread member are present or absent depending on the event, so they are left out.
            snapshot["member"] = {key: snapshot["member"][key] for key in ("join_timestamp", "flags")}
        return snapshot


def find_differences(updated: Any, fresh: Any, path: str = "$") -> list[str]:
    """Describe the differences between a state updated by events and a fresh one, for a failure message."""
    if isinstance(updated, dict) and isinstance(fresh, dict):
        lines = []
        for key in sorted({*updated, *fresh}, key=str):
            if key not in updated or key not in fresh:
                lines.append(
                    f"{path}.{key}: {'only fresh' if key not in updated else 'only updated'}: {(updated | fresh)[key]}"
                )
            else:
                lines += find_differences(updated[key], fresh[key], f"{path}.{key}")
        return lines
    return [] if updated == fresh else [f"{path}: updated {updated!r}, fresh {fresh!r}"]


def _find_channel(guild: Any, channel_id: str) -> Any | None:
    return guild["channels"].get(channel_id) or guild["threads"].get(channel_id)


def _omit_keys(payload: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in payload.items() if key not in keys}
