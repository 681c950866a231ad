"""Builds the objects of the local RPC, which have fewer fields than those of the gateway."""

from typing import Any, Final

from hubbub.agent.state import State
from hubbub.agent.voice import Voice

Data = dict[str, Any]

USER: Final = ("id", "username", "discriminator", "global_name", "avatar")
VOICE: Final = ("mute", "deaf", "self_mute", "self_deaf", "suppress")
MESSAGE: Final = (
    "id",
    "content",
    "edited_timestamp",
    "timestamp",
    "tts",
    "mentions",
    "mention_everyone",
    "mention_roles",
    "embeds",
    "attachments",
    "type",
    "pinned",
)


def user(sent: Data) -> Data:
    """Build a user object."""
    return {name: sent.get(name) for name in USER} | {
        "bot": bool(sent.get("bot")),
        "flags": sent.get("public_flags", 0),
        "premium_type": sent.get("premium_type") or 0,
    }


def avatar_url(web: str, sent: Data) -> str | None:
    """Return the URL of a user's avatar image, or None."""
    if not sent.get("avatar"):
        return None
    return f"{web}/cdn/avatars/{sent['id']}/{sent['avatar']}.png"


def guild(web: str, sent: Data) -> Data:
    """Build a guild object."""
    icon = f"{web}/cdn/icons/{sent['id']}/{sent['icon']}.png" if sent.get("icon") else None
    return {"id": sent["id"], "name": sent.get("name", ""), "icon_url": icon}


def member(state: State, guild_id: str) -> Data:
    """Build the member object of the signed-in user in a guild."""
    known = state.members.get(guild_id, {})
    me = state.user
    return {
        "user_id": state.user_id,
        "guild_id": guild_id,
        "nick": known.get("nick"),
        "avatar": known.get("avatar") or me.get("avatar"),
        "roles": known.get("roles", []),
    }


def relationship(state: State, sent: Data) -> Data:
    """Build a relationship object with the user's presence, which is offline if unknown."""
    user_id = sent["id"]
    presence = state.presences.get(user_id, {})
    activities = presence.get("activities") or []
    return {
        "type": sent.get("type", 0),
        "user": user(sent.get("user") or state.users.get(user_id) or {"id": user_id}),
        "presence": {
            "status": presence.get("status", "offline"),
            "activity": activities[0] if activities else None,
        },
    }


def voice_state(state: State, voice: Voice, sent: Data) -> Data:
    """Build the object of a user in a voice channel, with the local volume, mute and pan."""
    user_id, guild_id = sent["user_id"], str(sent.get("guild_id") or "")
    participant = state.users.get(user_id) or (sent.get("member") or {}).get("user") or {"id": user_id}
    local = voice.of_user(user_id)
    return {
        "voice_state": {name: bool(sent.get(name)) for name in VOICE},
        "user": user(participant),
        "nick": state.nicks.get((guild_id, user_id)) or state.name_of(participant),
        "volume": local["volume"],
        "mute": local["mute"],
        "pan": local["pan"],
    }


def channel(state: State, voice: Voice, sent: Data, messages: list[Data]) -> Data:
    """Build a channel object with its voice states and messages."""
    return {
        "id": sent["id"],
        "name": sent.get("name") or ", ".join(state.name_of(each) for each in sent.get("recipients", [])),
        "type": sent["type"],
        "topic": sent.get("topic") or "",
        "bitrate": sent.get("bitrate") or 0,
        "user_limit": sent.get("user_limit") or 0,
        "guild_id": sent.get("guild_id"),
        "position": sent.get("position") or 0,
        "voice_states": [voice_state(state, voice, each) for each in state.in_voice(sent["id"])],
        "messages": [message(state, each) for each in messages],
    }


def message(state: State, sent: Data) -> Data:
    """Build a message object."""
    author = sent.get("author")
    shown: Data = {name: sent[name] for name in MESSAGE if name in sent}
    if author is not None:
        guild_id = str(sent.get("guild_id") or "")
        shown |= {"author": user(author), "nick": state.nicks.get((guild_id, author["id"])), "blocked": False}
        shown["blocked"] = state.relationships.get(author["id"], {}).get("type") == 2
    return shown
