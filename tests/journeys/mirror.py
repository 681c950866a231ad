"""What a client remembers: READY and GUILD_CREATE, and every event since laid over them.

This is what client libraries do, written down once: nothing is guessed that no event says, except what follows from it (a role that
is deleted is gone from members; a channel that one can no longer see takes its threads along).
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.permissions import Permissions, base_permissions, can_see_thread, channel_permissions

BY_ID = ("channels", "roles", "threads", "stage_instances", "guild_scheduled_events")
FORUMS = (ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA)
UNTOLD = ("message_count", "total_message_sent")
"""What a thread counts; no event tells each change of it."""


class Mirror:
    """One session's picture of the world."""

    def __init__(self, frames: Iterable[Mapping[str, Any]]) -> None:
        self.user: dict[str, Any] = {}
        self.guilds: dict[str, dict[str, Any]] = {}
        self.private: dict[str, dict[str, Any]] = {}
        self.blurred: set[str] = set()
        """Channels whose last message was deleted: which one was before it, no event says."""
        for frame in frames:
            self.apply(frame["t"], frame["d"])

    @property
    def me(self) -> str:
        """The own user's id."""
        return str(self.user["id"])

    def apply(self, name: str, payload: Any) -> None:
        """Lay one event over the picture."""
        if name == "SESSIONS_REPLACE":
            # Of the moment, like presences: READY has nothing of it.
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
            # Only what was in sight goes out of it: where changes follow each other closely, what the second brings into sight
            # may be told with the first, before the event that says why.
            for part, id in seen - self._seen(guild):
                guild[part].pop(id, None)

    # Oneself

    def ready(self, d: Any) -> None:
        """The beginning."""
        self.user = d["user"]
        self.private = {channel["id"]: channel for channel in d["private_channels"]}

    def user_update(self, d: Any) -> None:
        """One's own user."""
        self.user |= d

    # Guilds

    def guild_create(self, d: Any) -> None:
        """A guild, whole."""
        guild = dict(d)
        # Only start-up has this key (gateway.md 4.4).
        guild.pop("unavailable", None)
        for part in BY_ID:
            guild[part] = {each["id"]: each for each in d[part]}
        guild["members"] = {each["user"]["id"]: each for each in d["members"]}
        guild["voice_states"] = {each["user_id"]: each for each in d["voice_states"]}
        guild["presences"] = {each["user"]["id"]: each for each in d["presences"]}
        self.guilds[d["id"]] = guild

    def guild_delete(self, d: Any) -> None:
        """One left, or was made to."""
        self.guilds.pop(d["id"], None)

    def guild_update(self, guild: Any, d: Any) -> None:
        """The guild's own fields."""
        guild |= d | {"roles": {role["id"]: role for role in d["roles"]}}

    # Roles

    def guild_role_create(self, guild: Any, d: Any) -> None:
        """A new role, or a changed one."""
        guild["roles"][d["role"]["id"]] = d["role"]

    guild_role_update = guild_role_create

    def guild_role_delete(self, guild: Any, d: Any) -> None:
        """The role is gone, from members too."""
        guild["roles"].pop(d["role_id"], None)
        for member in guild["members"].values():
            member["roles"] = [role for role in member["roles"] if role != d["role_id"]]

    # Expressions

    def guild_emojis_update(self, guild: Any, d: Any) -> None:
        """All emoji."""
        guild["emojis"] = d["emojis"]

    def guild_stickers_update(self, guild: Any, d: Any) -> None:
        """All stickers."""
        guild["stickers"] = d["stickers"]

    def guild_soundboard_sounds_update(self, guild: Any, d: Any) -> None:
        """All sounds."""
        guild["soundboard_sounds"] = d["soundboard_sounds"]

    def guild_soundboard_sound_create(self, guild: Any, d: Any) -> None:
        """A new sound, or a changed one."""
        others = [sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != d["sound_id"]]
        guild["soundboard_sounds"] = sorted([*others, d], key=lambda sound: int(sound["sound_id"]))

    guild_soundboard_sound_update = guild_soundboard_sound_create

    def guild_soundboard_sound_delete(self, guild: Any, d: Any) -> None:
        """A sound is gone."""
        guild["soundboard_sounds"] = [
            sound for sound in guild["soundboard_sounds"] if sound["sound_id"] != d["sound_id"]
        ]

    # Members

    def guild_member_add(self, guild: Any, d: Any) -> None:
        """One more."""
        guild["members"][d["user"]["id"]] = _without(d, "guild_id")
        guild["member_count"] += 1

    def guild_member_update(self, guild: Any, d: Any) -> None:
        """What the event names."""
        guild["members"].setdefault(d["user"]["id"], {}).update(_without(d, "guild_id"))

    def guild_member_remove(self, guild: Any, d: Any) -> None:
        """One fewer."""
        guild["members"].pop(d["user"]["id"], None)
        guild["presences"].pop(d["user"]["id"], None)
        guild["member_count"] -= 1

    def presence_update(self, guild: Any, d: Any) -> None:
        """Somebody came, went or does something else."""
        if d["status"] == "offline":
            guild["presences"].pop(d["user"]["id"], None)
        else:
            guild["presences"][d["user"]["id"]] = _without(d, "guild_id")

    def voice_state_update(self, guild: Any, d: Any) -> None:
        """Somebody joined, moved or left."""
        if d["channel_id"] is None:
            guild["voice_states"].pop(d["user_id"], None)
        else:
            guild["voice_states"][d["user_id"]] = _without(d, "guild_id")

    # Stages and plans

    def stage_instance_create(self, guild: Any, d: Any) -> None:
        """A stage that is live, or live with another topic."""
        guild["stage_instances"][d["id"]] = d

    stage_instance_update = stage_instance_create

    def stage_instance_delete(self, guild: Any, d: Any) -> None:
        """It closed."""
        guild["stage_instances"].pop(d["id"], None)

    def guild_scheduled_event_create(self, guild: Any, d: Any) -> None:
        """A plan, or a changed one; what is over is put away."""
        guild["guild_scheduled_events"][d["id"]] = d
        if d["status"] > 2:
            del guild["guild_scheduled_events"][d["id"]]

    guild_scheduled_event_update = guild_scheduled_event_create

    def guild_scheduled_event_delete(self, guild: Any, d: Any) -> None:
        """It was taken back."""
        guild["guild_scheduled_events"].pop(d["id"], None)

    def guild_scheduled_event_exception_create(self, guild: Any, d: Any) -> None:
        """One occurrence differs."""
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
        """A new channel, or a changed one."""
        guild["channels"][d["id"]] = d

    channel_update = channel_create

    def channel_delete(self, guild: Any, d: Any) -> None:
        """The channel is gone, and its threads with it."""
        guild["channels"].pop(d["id"], None)

    def channel_pins_update(self, guild: Any, d: Any) -> None:
        """The last pin."""
        if (channel := _channel(guild, d["channel_id"])) is not None:
            channel["last_pin_timestamp"] = d["last_pin_timestamp"]

    def message_create(self, guild: Any, d: Any) -> None:
        """The last message."""
        if (channel := _channel(guild, d["channel_id"])) is not None:
            channel["last_message_id"] = d["id"]

    def message_delete(self, guild: Any, d: Any) -> None:
        """If it was the last, then who knows."""
        self.blurred.add(d["channel_id"])

    # Threads

    def thread_create(self, guild: Any, d: Any) -> None:
        """A thread that is new, or that one came to."""
        thread = _without(d, "newly_created")
        parent = guild["channels"].get(d["parent_id"])
        if d.get("newly_created") and parent is not None and parent["type"] in FORUMS:
            # A forum's last message is its last post.
            parent["last_message_id"] = d["id"]
        before = guild["threads"].get(d["id"], {})
        guild["threads"][d["id"]] = ({"member": before["member"]} if "member" in before else {}) | thread

    def thread_update(self, guild: Any, d: Any) -> None:
        """A changed thread; an archived one is put away."""
        if d["thread_metadata"]["archived"]:
            guild["threads"].pop(d["id"], None)
        else:
            self.thread_create(guild, d)

    def thread_delete(self, guild: Any, d: Any) -> None:
        """The thread is gone; if it was a forum's last post, then who knows."""
        guild["threads"].pop(d["id"], None)
        self.blurred.add(d["parent_id"])

    def thread_list_sync(self, guild: Any, d: Any) -> None:
        """All threads of some channels."""
        for thread in list(guild["threads"].values()):
            if thread["parent_id"] in d["channel_ids"]:
                del guild["threads"][thread["id"]]
        for thread in d["threads"]:
            guild["threads"][thread["id"]] = dict(thread)
        for member in d["members"]:
            guild["threads"][member["id"]]["member"] = member

    def thread_member_update(self, guild: Any, d: Any) -> None:
        """One's own membership."""
        if d["id"] in guild["threads"]:
            guild["threads"][d["id"]]["member"] = _without(d, "guild_id")

    def thread_members_update(self, guild: Any, d: Any) -> None:
        """Who came and went."""
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
        """A conversation."""
        self.private[d["id"]] = d

    private_channel_update = private_channel_create

    def private_channel_delete(self, d: Any) -> None:
        """It is closed."""
        self.private.pop(d["id"], None)

    def private_channel_recipient_add(self, d: Any) -> None:
        """Somebody came to a group."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["recipients"].append(d["user"])

    def private_channel_recipient_remove(self, d: Any) -> None:
        """Somebody left a group."""
        if (channel := self.private.get(d["channel_id"])) is not None:
            channel["recipients"] = [each for each in channel["recipients"] if each["id"] != d["user"]["id"]]

    def private_message_create(self, d: Any) -> None:
        """The last message."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["last_message_id"] = d["id"]

    def private_channel_pins_update(self, d: Any) -> None:
        """The last pin."""
        if d["channel_id"] in self.private:
            self.private[d["channel_id"]]["last_pin_timestamp"] = d["last_pin_timestamp"]

    # What follows from permissions

    def permissions(self, guild: Any, channel_id: str) -> int:
        """One's own in a channel, as far as one was told."""
        channel, me = guild["channels"].get(channel_id), guild["members"].get(self.me)
        if channel is None or me is None or channel["flags"] & ChannelFlags.CHANNEL_OBFUSCATED:
            return 0
        roles = {role: int(guild["roles"][role]["permissions"]) for role in [guild["id"], *me["roles"]]}
        base = base_permissions(guild["owner_id"] == self.me, roles.pop(guild["id"]), roles.values())
        said = {each["id"]: (int(each["allow"]), int(each["deny"])) for each in channel["permission_overwrites"]}
        worn = [said[role] for role in me["roles"] if role in said]
        return channel_permissions(base, said.get(guild["id"]), worn, said.get(self.me))

    def _seen(self, guild: Any) -> set[tuple[str, str]]:
        """What is in channels that one may see, as part and id."""
        seen: set[tuple[str, str]] = set()
        for id, thread in guild["threads"].items():
            private = thread["type"] == ChannelType.PRIVATE_THREAD
            bits = self.permissions(guild, thread["parent_id"])
            if can_see_thread(bits, private=private, joined="member" in thread):
                seen.add(("threads", id))
        for part in ("voice_states", "stage_instances", "guild_scheduled_events"):
            for id, each in guild[part].items():
                if self.permissions(guild, each["channel_id"]) & Permissions.VIEW_CHANNEL:
                    seen.add((part, id))
        return seen

    # For comparing

    def picture(self) -> dict[str, Any]:
        """All of it, in an order of its own and without what is not promised."""
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
                # What is said and pinned there, one is not told.
                channel |= {"last_message_id": None, "last_pin_timestamp": None}
        shown["threads"] = {id: self._channel(thread) for id, thread in guild["threads"].items()}
        shown["members"] = {id: member | {"roles": sorted(member["roles"])} for id, member in guild["members"].items()}
        # Its member stands among the members.
        shown["voice_states"] = {id: _without(state, "member") for id, state in guild["voice_states"].items()}
        # Nobody is told of themselves (gateway.md 5.1).
        shown["presences"] = _without(guild["presences"], self.me)
        return shown

    def _channel(self, channel: dict[str, Any]) -> dict[str, Any]:
        shown = _without(channel, *UNTOLD, "guild_id", *(["last_message_id"] if channel["id"] in self.blurred else []))
        if "permission_overwrites" in shown:
            shown["permission_overwrites"] = {each["id"]: each for each in shown["permission_overwrites"]}
        if "recipients" in shown:
            # gateway.md 10: that a user changed is told through guilds, so those one only writes with stay as they were.
            shown["recipients"] = sorted(each["id"] for each in shown["recipients"])
        if "member" in shown:
            # GUILD_CREATE leaves out the ids, THREAD_MEMBERS_UPDATE adds who it is.
            shown["member"] = {key: shown["member"][key] for key in ("join_timestamp", "flags")}
        return shown


def differences(ours: Any, theirs: Any, at: str = "$") -> list[str]:
    """Where two pictures differ, for the reader of a failure."""
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
