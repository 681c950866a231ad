"""Conversion of gateway events to RPC events for the connected programs (rpc.md 9)."""

from typing import Any, Final
from urllib.parse import urlsplit

from hubbub.agent import views
from hubbub.agent.commands.authorizing import revoke
from hubbub.agent.desk import Desk
from hubbub.protocol.enums import ActivityActionType

DIRECT: Final = (1, 3)
"""Types of private channels, in which every message notifies the user."""


class Events:
    """Receives gateway events and sends RPC events to the subscribed programs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._voice: dict[tuple[str, str], dict[str, Any]] = {}
        self._connection = "DISCONNECTED"
        self._hostname: str | None = None

    def hear(self, event: str, data: Any) -> None:
        """Handle a gateway event; the state is already updated."""
        handler = getattr(self, f"_on_{event.lower().lstrip('_')}", None)
        if handler is not None:
            handler(data)

    # Users

    def _on_ready(self, data: Any) -> None:
        self._voice = dict(self._desk.account.state.voice_states)

    def _on_user_update(self, data: Any) -> None:
        self._desk.tell("CURRENT_USER_UPDATE", self._desk.user())

    def _on_relationship_add(self, data: Any) -> None:
        self._tell_relationship(data["id"])

    _on_relationship_update = _on_relationship_add

    def _on_relationship_remove(self, data: Any) -> None:
        state = self._desk.account.state
        user = state.users.get(data["id"]) or {"id": data["id"]}
        gone = {"type": 0, "user": views.user(user), "presence": {"status": "offline", "activity": None}}
        self._desk.tell("RELATIONSHIP_UPDATE", gone)

    def _on_presence_update(self, data: Any) -> None:
        if not data.get("guild_id"):
            self._tell_relationship(data["user"]["id"])

    def _tell_relationship(self, user_id: str) -> None:
        known = self._desk.account.state.relationships.get(user_id)
        if known is not None:
            self._desk.tell("RELATIONSHIP_UPDATE", views.relationship(self._desk.account.state, known))

    def _on_guild_member_update(self, data: Any) -> None:
        state = self._desk.account.state
        if data["user"]["id"] == state.user_id:
            shown = views.member(state, data["guild_id"])
            self._desk.tell("CURRENT_GUILD_MEMBER_UPDATE", shown, about=data["guild_id"])

    def _on_oauth2_token_revoke(self, data: Any) -> None:
        for link in list(self._desk.links):
            if link.application_id == data["application_id"] and link.is_authenticated:
                revoke(link)

    # Guilds

    def _on_guild_create(self, data: Any) -> None:
        state = self._desk.account.state
        for key in [key for key in self._voice if key[0] == data["id"]]:
            del self._voice[key]
        self._voice |= {key: value for key, value in state.voice_states.items() if key[0] == data["id"]}
        self._desk.tell("GUILD_CREATE", {"id": data["id"], "name": data.get("name", "")})
        self._on_guild_update(data)

    def _on_guild_update(self, data: Any) -> None:
        guild = self._desk.account.state.guilds.get(data["id"])
        if guild is not None:
            shown = {"guild": views.guild(self._desk.account.web, guild), "online": 0}
            self._desk.tell("GUILD_STATUS", shown, about=data["id"])

    def _on_channel_create(self, data: Any) -> None:
        shown = {"id": data["id"], "name": data.get("name") or "", "type": data["type"]}
        self._desk.tell("CHANNEL_CREATE", shown)

    # Voice

    def _on_voice_channel_select(self, channel: Any) -> None:
        channel = channel or {}
        self._desk.tell("VOICE_CHANNEL_SELECT", {"channel_id": channel.get("id"), "guild_id": channel.get("guild_id")})
        self._hostname = None
        self._become("AWAITING_ENDPOINT" if channel else "DISCONNECTED")

    def _on_voice_server_update(self, data: Any) -> None:
        endpoint = data.get("endpoint")
        self._hostname = urlsplit(f"//{endpoint}").hostname if endpoint else None
        # The agent transmits no audio, so the connection stays in this state.
        self._become("AWAITING_ENDPOINT")

    def _become(self, connection: str) -> None:
        self._connection = connection
        status: dict[str, Any] = {
            "state": connection,
            "hostname": self._hostname,
            "pings": [],
            "average_ping": 0,
            "last_ping": 0,
        }
        self._desk.tell("VOICE_CONNECTION_STATUS", status)

    def _on_voice_state_update(self, data: Any) -> None:
        key = (str(data.get("guild_id") or ""), data["user_id"])
        before, after = self._voice.pop(key, None), data if data.get("channel_id") else None
        if after is not None:
            self._voice[key] = after
        left = before is not None and (after is None or before["channel_id"] != after["channel_id"])
        if left and before is not None:
            self._tell_voice("VOICE_STATE_DELETE", before)
        if after is not None:
            self._tell_voice("VOICE_STATE_UPDATE" if before is not None and not left else "VOICE_STATE_CREATE", after)

    def _tell_voice(self, event: str, voice_state: dict[str, Any]) -> None:
        shown = views.voice_state(self._desk.account.state, self._desk.voice, voice_state)
        self._desk.tell(event, shown, about=voice_state["channel_id"])

    # Messages

    def _on_message_create(self, data: Any) -> None:
        self._desk.tell("MESSAGE_CREATE", self._message(data), about=data["channel_id"])
        if data.get("author", {}).get("id") == self._desk.account.state.user_id:
            return
        if data.get("activity"):
            self._invited(data)
        else:
            self._notify(data)

    def _on_message_update(self, data: Any) -> None:
        self._desk.tell("MESSAGE_UPDATE", self._message(data), about=data["channel_id"])

    def _on_message_delete(self, data: Any) -> None:
        self._desk.invites.pop(data["id"], None)
        shown = {"channel_id": data["channel_id"], "message": {"id": data["id"]}}
        self._desk.tell("MESSAGE_DELETE", shown, about=data["channel_id"])

    def _message(self, data: Any) -> dict[str, Any]:
        return {"channel_id": data["channel_id"], "message": views.message(self._desk.account.state, data)}

    def _notify(self, data: Any) -> None:
        state = self._desk.account.state
        if state.sees_messages():
            return
        channel = state.channels.get(data["channel_id"], {})
        mentioned = any(user.get("id") == state.user_id for user in data.get("mentions", []))
        if channel.get("type") not in DIRECT and not mentioned and not data.get("mention_everyone"):
            return
        author = state.name_of(data.get("author", {}))
        place = "" if channel.get("type") in DIRECT else f" (#{channel.get('name', '')})"
        shown = self._message(data) | {
            "icon_url": views.avatar_url(self._desk.account.web, data.get("author", {})),
            "title": f"{author}{place}",
            "body": data.get("content", ""),
        }
        self._desk.tell("NOTIFICATION_CREATE", shown)

    def _invited(self, data: Any) -> None:
        """Store and send an activity invite or a join request."""
        application_id = str((data.get("application") or {}).get("id") or data.get("application_id") or "")
        sent, sender = data["activity"], data["author"]
        joins = sent.get("type") == ActivityActionType.JOIN
        if not joins and sent.get("type") != ActivityActionType.JOIN_REQUEST:
            return
        known = self._desk.account.state.activity_of(sender["id"], application_id, sent.get("party_id"))
        activity = known or {
            "session_id": sent.get("session_id"),
            "application_id": application_id,
            "party": {"id": sent.get("party_id")},
        }
        shown = {
            "type": int(sent["type"]),
            "user": views.user(sender),
            "activity": activity,
            "channel_id": data["channel_id"],
            "message_id": data["id"],
        }
        if joins:
            self._desk.invites[data["id"]] = shown | {
                "application_id": application_id,
                "application": (data.get("application") or {}).get("name", ""),
                "session_id": activity.get("session_id") or sent.get("session_id"),
            }
        else:
            self._desk.requests.add((application_id, sender["id"]))
        event = "ACTIVITY_INVITE" if joins else "ACTIVITY_JOIN_REQUEST"
        self._desk.tell(event, shown, application_id=application_id)

    # Entitlements

    def _on_entitlement_create(self, data: Any) -> None:
        self._desk.tell("ENTITLEMENT_CREATE", {"entitlement": data}, application_id=data.get("application_id"))

    def _on_entitlement_delete(self, data: Any) -> None:
        self._desk.tell("ENTITLEMENT_DELETE", {"entitlement": data}, application_id=data.get("application_id"))
