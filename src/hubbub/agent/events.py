"""Conversion of gateway events to RPC events for the connected programs (spec/rpc.md#9)."""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

from hubbub.agent import views
from hubbub.agent.account import VOICE_CHANNEL_SELECT_EVENT
from hubbub.agent.commands.authorization import close_revoked_connection
from hubbub.agent.context import AgentContext
from hubbub.protocol.enums import ActivityActionType, ChannelType, RelationshipType
from hubbub.protocol.resources.channels import CHANNEL_CREATE
from hubbub.protocol.resources.entitlements import ENTITLEMENT_CREATE, ENTITLEMENT_DELETE
from hubbub.protocol.resources.gateway import READY
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_UPDATE
from hubbub.protocol.resources.members import GUILD_MEMBER_UPDATE
from hubbub.protocol.resources.messages import MESSAGE_CREATE, MESSAGE_DELETE, MESSAGE_UPDATE
from hubbub.protocol.resources.oauth2 import OAUTH2_TOKEN_REVOKE
from hubbub.protocol.resources.presence import PRESENCE_UPDATE
from hubbub.protocol.resources.relationships import RELATIONSHIP_ADD, RELATIONSHIP_REMOVE, RELATIONSHIP_UPDATE
from hubbub.protocol.resources.users import USER_UPDATE
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE
from hubbub.protocol.rpc_names import RpcEvent

PRIVATE_CHANNEL_TYPES: Final = (ChannelType.DM, ChannelType.GROUP_DM)
"""Types of channels in which every message notifies the user."""


class EventForwarder:
    """Forwarder of gateway events to the subscribed programs, as RPC events."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._voice_states: dict[tuple[str, str], dict[str, Any]] = {}
        """Voice states before the next event, by guild ID (empty for a private channel) and user ID."""
        self._hostname: str | None = None
        """Host name of the voice server; None if it is unknown."""

    def handle(self, event: str, payload: Any) -> None:
        """Send the RPC events that correspond to a gateway event, which the session state must already include.

        `account.Account` also reports the event VOICE_CHANNEL_SELECT_EVENT, which the gateway does not have."""
        handler = _HANDLERS.get(event)
        if handler is not None:
            handler(self, payload)

    # Users

    def _on_ready(self, payload: Any) -> None:
        self._voice_states = dict(self._context.account.state.voice_states)

    def _on_user_update(self, payload: Any) -> None:
        self._context.publish(RpcEvent.CURRENT_USER_UPDATE, self._context.user_view)

    def _on_relationship_add(self, payload: Any) -> None:
        self._publish_relationship(payload["id"])

    def _on_relationship_remove(self, payload: Any) -> None:
        state = self._context.account.state
        user = state.users.get(payload["id"]) or {"id": payload["id"]}
        removed_view = {
            "type": int(RelationshipType.NONE),
            "user": views.user(user),
            "presence": {"status": "offline", "activity": None},
        }
        self._context.publish(RpcEvent.RELATIONSHIP_UPDATE, removed_view)

    def _on_presence_update(self, payload: Any) -> None:
        if not payload.get("guild_id"):
            self._publish_relationship(payload["user"]["id"])

    def _publish_relationship(self, user_id: str) -> None:
        relationship = self._context.account.state.relationships.get(user_id)
        if relationship is not None:
            self._context.publish(
                RpcEvent.RELATIONSHIP_UPDATE, views.relationship(self._context.account.state, relationship)
            )

    def _on_guild_member_update(self, payload: Any) -> None:
        state = self._context.account.state
        if payload["user"]["id"] == state.user_id:
            view = views.member(state, payload["guild_id"])
            self._context.publish(RpcEvent.CURRENT_GUILD_MEMBER_UPDATE, view, subscribed_id=payload["guild_id"])

    def _on_oauth2_token_revoke(self, payload: Any) -> None:
        for connection in list(self._context.connections):
            if connection.application_id == payload["application_id"] and connection.is_authenticated:
                close_revoked_connection(connection)

    # Guilds

    def _on_guild_create(self, payload: Any) -> None:
        state = self._context.account.state
        self._voice_states = {
            (guild_id, user_id): voice_state
            for (guild_id, user_id), voice_state in self._voice_states.items()
            if guild_id != payload["id"]
        } | {
            (guild_id, user_id): voice_state
            for (guild_id, user_id), voice_state in state.voice_states.items()
            if guild_id == payload["id"]
        }
        self._context.publish(RpcEvent.GUILD_CREATE, {"id": payload["id"], "name": payload.get("name", "")})
        self._on_guild_update(payload)

    def _on_guild_update(self, payload: Any) -> None:
        guild = self._context.account.state.guilds.get(payload["id"])
        if guild is not None:
            view = {"guild": views.guild(self._context.account.web_url, guild), "online": 0}
            self._context.publish(RpcEvent.GUILD_STATUS, view, subscribed_id=payload["id"])

    def _on_channel_create(self, payload: Any) -> None:
        view = {"id": payload["id"], "name": payload.get("name") or "", "type": payload["type"]}
        self._context.publish(RpcEvent.CHANNEL_CREATE, view)

    # Voice

    def _on_voice_channel_select(self, channel: Any) -> None:
        channel = channel or {}
        self._context.publish(
            RpcEvent.VOICE_CHANNEL_SELECT, {"channel_id": channel.get("id"), "guild_id": channel.get("guild_id")}
        )
        self._hostname = None
        self.publish_connection_status("AWAITING_ENDPOINT" if channel else "DISCONNECTED")

    def _on_voice_server_update(self, payload: Any) -> None:
        endpoint = payload.get("endpoint")
        self._hostname = urlsplit(f"//{endpoint}").hostname if endpoint else None
        # The voice client, if there is one, reports its further states.
        self.publish_connection_status("AWAITING_ENDPOINT")

    def publish_connection_status(self, state: str) -> None:
        """Publish the state of the voice connection."""
        status: dict[str, Any] = {
            "state": state,
            "hostname": self._hostname,
            "pings": [],
            "average_ping": 0,
            "last_ping": 0,
        }
        self._context.publish(RpcEvent.VOICE_CONNECTION_STATUS, status)

    def _on_voice_state_update(self, payload: Any) -> None:
        key = (str(payload.get("guild_id") or ""), payload["user_id"])
        previous_state, current_state = (
            self._voice_states.pop(key, None),
            payload if payload.get("channel_id") else None,
        )
        if current_state is not None:
            self._voice_states[key] = current_state
        has_left = previous_state is not None and (
            current_state is None or previous_state["channel_id"] != current_state["channel_id"]
        )
        if has_left and previous_state is not None:
            self._publish_voice_state(RpcEvent.VOICE_STATE_DELETE, previous_state)
        if current_state is not None:
            self._publish_voice_state(
                RpcEvent.VOICE_STATE_UPDATE
                if previous_state is not None and not has_left
                else RpcEvent.VOICE_STATE_CREATE,
                current_state,
            )

    def _publish_voice_state(self, event: RpcEvent, voice_state: dict[str, Any]) -> None:
        view = views.voice_state(self._context.account.state, self._context.voice, voice_state)
        self._context.publish(event, view, subscribed_id=voice_state["channel_id"])

    # Messages

    def _on_message_create(self, payload: Any) -> None:
        self._context.publish(
            RpcEvent.MESSAGE_CREATE, self._message_payload(payload), subscribed_id=payload["channel_id"]
        )
        if payload.get("author", {}).get("id") == self._context.account.state.user_id:
            return
        if payload.get("activity"):
            self._handle_activity_action(payload)
        else:
            self._publish_notification(payload)

    def _on_message_update(self, payload: Any) -> None:
        self._context.publish(
            RpcEvent.MESSAGE_UPDATE, self._message_payload(payload), subscribed_id=payload["channel_id"]
        )

    def _on_message_delete(self, payload: Any) -> None:
        self._context.invites.pop(payload["id"], None)
        view = {"channel_id": payload["channel_id"], "message": {"id": payload["id"]}}
        self._context.publish(RpcEvent.MESSAGE_DELETE, view, subscribed_id=payload["channel_id"])

    def _message_payload(self, message: Any) -> dict[str, Any]:
        return {"channel_id": message["channel_id"], "message": views.message(self._context.account.state, message)}

    def _publish_notification(self, message: Any) -> None:
        state = self._context.account.state
        if state.is_chat_visible():
            return
        channel = state.channels.get(message["channel_id"], {})
        is_mentioned = any(user.get("id") == state.user_id for user in message.get("mentions", []))
        if (
            channel.get("type") not in PRIVATE_CHANNEL_TYPES
            and not is_mentioned
            and not message.get("mention_everyone")
        ):
            return
        author = state.display_name_of(message.get("author", {}))
        channel_name = "" if channel.get("type") in PRIVATE_CHANNEL_TYPES else f" (#{channel.get('name', '')})"
        view = self._message_payload(message) | {
            "icon_url": views.avatar_url(self._context.account.web_url, message.get("author", {})),
            "title": f"{author}{channel_name}",
            "body": message.get("content", ""),
        }
        self._context.publish(RpcEvent.NOTIFICATION_CREATE, view)

    def _handle_activity_action(self, message: Any) -> None:
        """Store the activity invite or join request in a message, and publish it to the application's programs."""
        application_id = str((message.get("application") or {}).get("id") or message.get("application_id") or "")
        action, sender = message["activity"], message["author"]
        is_invite = action.get("type") == ActivityActionType.JOIN
        if not is_invite and action.get("type") != ActivityActionType.JOIN_REQUEST:
            return
        current_activity = self._context.account.state.find_activity(
            sender["id"], application_id, action.get("party_id")
        )
        activity = current_activity or {
            "session_id": action.get("session_id"),
            "application_id": application_id,
            "party": {"id": action.get("party_id")},
        }
        view = {
            "type": int(action["type"]),
            "user": views.user(sender),
            "activity": activity,
            "channel_id": message["channel_id"],
            "message_id": message["id"],
        }
        if is_invite:
            self._context.invites[message["id"]] = view | {
                "application_id": application_id,
                "application_name": (message.get("application") or {}).get("name", ""),
                "session_id": activity.get("session_id") or action.get("session_id"),
            }
        else:
            self._context.join_requests.add((application_id, sender["id"]))
        event = RpcEvent.ACTIVITY_INVITE if is_invite else RpcEvent.ACTIVITY_JOIN_REQUEST
        self._context.publish(event, view, application_id=application_id)

    # Entitlements

    def _on_entitlement_create(self, entitlement: Any) -> None:
        self._context.publish(
            RpcEvent.ENTITLEMENT_CREATE, {"entitlement": entitlement}, application_id=entitlement.get("application_id")
        )

    def _on_entitlement_delete(self, entitlement: Any) -> None:
        self._context.publish(
            RpcEvent.ENTITLEMENT_DELETE, {"entitlement": entitlement}, application_id=entitlement.get("application_id")
        )


_HANDLERS: Final[dict[str, Callable[[EventForwarder, Any], None]]] = {
    READY.name: EventForwarder._on_ready,
    USER_UPDATE.name: EventForwarder._on_user_update,
    RELATIONSHIP_ADD.name: EventForwarder._on_relationship_add,
    RELATIONSHIP_UPDATE.name: EventForwarder._on_relationship_add,
    RELATIONSHIP_REMOVE.name: EventForwarder._on_relationship_remove,
    PRESENCE_UPDATE.name: EventForwarder._on_presence_update,
    GUILD_MEMBER_UPDATE.name: EventForwarder._on_guild_member_update,
    OAUTH2_TOKEN_REVOKE.name: EventForwarder._on_oauth2_token_revoke,
    GUILD_CREATE.name: EventForwarder._on_guild_create,
    GUILD_UPDATE.name: EventForwarder._on_guild_update,
    CHANNEL_CREATE.name: EventForwarder._on_channel_create,
    VOICE_SERVER_UPDATE.name: EventForwarder._on_voice_server_update,
    VOICE_STATE_UPDATE.name: EventForwarder._on_voice_state_update,
    MESSAGE_CREATE.name: EventForwarder._on_message_create,
    MESSAGE_UPDATE.name: EventForwarder._on_message_update,
    MESSAGE_DELETE.name: EventForwarder._on_message_delete,
    ENTITLEMENT_CREATE.name: EventForwarder._on_entitlement_create,
    ENTITLEMENT_DELETE.name: EventForwarder._on_entitlement_delete,
    VOICE_CHANNEL_SELECT_EVENT: EventForwarder._on_voice_channel_select,
}
"""Handlers by the name of the gateway event."""
