"""Functions that build the objects of RPC responses and events from those of the gateway, which have more fields."""

from typing import Any, Final

from hubbub.agent.state import SessionState
from hubbub.agent.voice import VoiceSettings
from hubbub.protocol.enums import RelationshipType

JsonObject = dict[str, Any]
"""A JSON object of the gateway, of an RPC response or of an RPC event."""

USER_FIELDS: Final = ("id", "username", "discriminator", "global_name", "avatar")
VOICE_STATE_FIELDS: Final = ("mute", "deaf", "self_mute", "self_deaf", "suppress")
MESSAGE_FIELDS: Final = (
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


def user(payload: JsonObject) -> JsonObject:
    """Build a user object with the `premium_type` 0; `context.AgentContext.user_view` builds that of the signed-in user."""
    return {name: payload.get(name) for name in USER_FIELDS} | {
        "bot": bool(payload.get("bot")),
        "flags": payload.get("public_flags", 0),
        "premium_type": 0,
    }


def avatar_url(web_url: str, payload: JsonObject) -> str | None:
    """Return the URL of a user's avatar image; None for a default avatar."""
    if not payload.get("avatar"):
        return None
    return f"{web_url}/cdn/avatars/{payload['id']}/{payload['avatar']}.png"


def guild(web_url: str, payload: JsonObject) -> JsonObject:
    """Build a guild object; its `icon_url` is None for a guild without an icon."""
    icon = f"{web_url}/cdn/icons/{payload['id']}/{payload['icon']}.png" if payload.get("icon") else None
    return {"id": payload["id"], "name": payload.get("name", ""), "icon_url": icon}


def member(state: SessionState, guild_id: str) -> JsonObject:
    """Build the member object of the signed-in user in a guild."""
    member_payload = state.members.get(guild_id, {})
    return {
        "user_id": state.user_id,
        "guild_id": guild_id,
        "nick": member_payload.get("nick"),
        "avatar": member_payload.get("avatar") or state.user.get("avatar"),
        "roles": member_payload.get("roles", []),
    }


def relationship(state: SessionState, payload: JsonObject) -> JsonObject:
    """Build a relationship object with the presence of the other user, which is offline if unknown."""
    user_id = payload["id"]
    presence = state.presences.get(user_id, {})
    activities = presence.get("activities") or []
    return {
        "type": payload.get("type", 0),
        "user": user(payload.get("user") or state.users.get(user_id) or {"id": user_id}),
        "presence": {
            "status": presence.get("status", "offline"),
            "activity": activities[0] if activities else None,
        },
    }


def voice_state(state: SessionState, voice: VoiceSettings, payload: JsonObject) -> JsonObject:
    """Build the object of a user in a voice channel, with the volume, mute and pan that apply on this machine."""
    user_id, guild_id = payload["user_id"], str(payload.get("guild_id") or "")
    participant = state.users.get(user_id) or (payload.get("member") or {}).get("user") or {"id": user_id}
    local_settings = voice.get_user_settings(user_id)
    return {
        "voice_state": {name: bool(payload.get(name)) for name in VOICE_STATE_FIELDS},
        "user": user(participant),
        "nick": state.nicks.get((guild_id, user_id)) or state.display_name_of(participant),
        "volume": local_settings["volume"],
        "mute": local_settings["mute"],
        "pan": local_settings["pan"],
    }


def channel(state: SessionState, voice: VoiceSettings, payload: JsonObject, messages: list[JsonObject]) -> JsonObject:
    """Build a channel object with its voice states and messages."""
    return {
        "id": payload["id"],
        "name": payload.get("name")
        or ", ".join(state.display_name_of(recipient) for recipient in payload.get("recipients", [])),
        "type": payload["type"],
        "topic": payload.get("topic") or "",
        "bitrate": payload.get("bitrate") or 0,
        "user_limit": payload.get("user_limit") or 0,
        "guild_id": payload.get("guild_id"),
        "position": payload.get("position") or 0,
        "voice_states": [
            voice_state(state, voice, voice_payload) for voice_payload in state.list_voice_states(payload["id"])
        ],
        "messages": [message(state, message_payload) for message_payload in messages],
    }


def message(state: SessionState, payload: JsonObject) -> JsonObject:
    """Build a message object; a partial message without an author has no `author`, `nick` and `blocked`."""
    author = payload.get("author")
    view: JsonObject = {name: payload[name] for name in MESSAGE_FIELDS if name in payload}
    if author is not None:
        guild_id = str(payload.get("guild_id") or "")
        view |= {"author": user(author), "nick": state.nicks.get((guild_id, author["id"])), "blocked": False}
        view["blocked"] = state.relationships.get(author["id"], {}).get("type") == RelationshipType.BLOCKED
    return view
