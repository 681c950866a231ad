"""Activity invites and join requests (spec/sdk.md#10.5)."""

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent
from hubbub.protocol.shared_enums import ActivityActionType
from hubbub.sdk import resources
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ActivityActionTypes, ClientStatus
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.presence import Presence
from hubbub.sdk.records import ActivityInvite
from hubbub.sdk.results import ClientResult, validation_error
from hubbub.sdk.rpc import RpcClient
from hubbub.sdk.tolerant_models import value_or

if TYPE_CHECKING:
    from hubbub.protocol.resources.presence import Activity

ResultCallback = Callable[[ClientResult], object]
MESSAGES_SCOPE: Final = "dm_channels.messages.write"
"""Scope that allows text in an invite message."""
RETRY_DELAYS_SECONDS: Final = (0.1, 0.3, 0.9)
"""Delays between retries in seconds while the platform has not processed the sender's presence yet."""


class Invites:
    """Component of the client that sends and accepts activity invites and join requests.

    `rpc` returns the RPC client of the client, which is created on first use."""

    def __init__(
        self,
        core: Core,
        events: GatewayEventHandlers,
        gateway: Gateway,
        presence: Presence,
        rpc: Callable[[], RpcClient],
    ) -> None:
        self._core = core
        self._events = events
        self._gateway = gateway
        self._presence = presence
        self._rpc = rpc

    def send_activity_invite(
        self, user_id: int, content: str, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Invite a user to join the current user's game session.

        The current user's activity must be joinable: see `Activity.joinable`. `content` is the text of the invite message; a
        token without the scope for messages sends none. Without a session the chat client on this machine sends the invite."""
        return self._core.run("SendActivityInvite", callback, (), self._send_invite, user_id, content)

    def send_activity_join_request(self, user_id: int, callback: ResultCallback | None = None) -> Completion[None]:
        """Ask a user for an invite to their game session; the user must have a joinable activity of this game."""
        return self._core.run_in_session("SendActivityJoinRequest", callback, (), self._send_join_request, user_id)

    def send_activity_join_request_reply(
        self, invite: ActivityInvite, callback: ResultCallback | None = None
    ) -> Completion[None]:
        """Reply to a join request with an invite, which the requesting user then has to accept."""
        return self._core.run_in_session(
            "SendActivityJoinRequestReply", callback, (), self._reply_to_join_request, invite.copy()
        )

    def accept_activity_invite(
        self, invite: ActivityInvite, callback: Callable[[ClientResult, str], object] | None = None
    ) -> Completion[str]:
        """Accept an invite; completes with the current join secret of the host."""
        return self._core.run_in_session("AcceptActivityInvite", callback, ("",), self._accept_invite, invite.copy())

    def set_activity_invite_created_callback(self, callback: Callable[[ActivityInvite], object]) -> None:
        """Set the callback for received invites and join requests, and for invites accepted on another device."""
        self._core.set_callback("activity_invite_created", callback)

    def set_activity_invite_updated_callback(self, callback: Callable[[ActivityInvite], object]) -> None:
        """Set the callback for changes of `ActivityInvite.is_valid`."""
        self._core.set_callback("activity_invite_updated", callback)

    def set_activity_join_callback(self, callback: Callable[[str], object]) -> None:
        """Set the callback for invites that the player accepts in the chat client; it receives the join secret."""
        self._core.set_callback("activity_join", callback)
        self._subscribe_to_joins()

    def set_activity_join_with_application_callback(self, callback: Callable[[int, str], object]) -> None:
        """Set the callback for invites that the player accepts in the chat client.

        It receives the ID of the application that the invite is for, and the join secret."""
        self._core.set_callback("activity_join_with_application", callback)
        self._subscribe_to_joins()

    # Implementation

    def _subscribe_to_joins(self) -> None:
        self._core.run_in_background(lambda: self._rpc().subscribe(RpcEvent.ACTIVITY_JOIN, self._on_join))

    def _on_join(self, payload: Any) -> None:
        """Emit the payload of an ACTIVITY_JOIN event of the chat client; ignore an invalid payload."""
        if not isinstance(payload, dict) or not isinstance(secret := payload.get("secret"), str):
            return
        application_id_text = str(payload.get("application_id") or "")
        self._core.emit("activity_join", secret)
        self._core.emit(
            "activity_join_with_application",
            int(application_id_text) if application_id_text.isdecimal() else self._core.application_id,
            secret,
        )

    async def _send_invite(self, user_id: int, content: str) -> None:
        if self._core.status is not ClientStatus.READY:
            # Without a session the chat client on this machine sends the invite (since 1.1).
            args = {
                "user_id": str(user_id),
                "type": int(ActivityActionTypes.JOIN),
                "content": content,
                "pid": os.getpid(),
            }
            await self._rpc().command(RpcCommand.ACTIVITY_INVITE_USER, args)
            return
        activity = self._presence.activity
        if activity is None or not activity.joinable or activity.party is None:
            raise validation_error(
                "Your rich presence is not joinable; set a party, a join secret and supported platforms"
            )
        for wait_seconds in (*RETRY_DELAYS_SECONDS, None):
            try:
                return await self._post_invite(user_id, content, ActivityActionTypes.JOIN, activity.party.id)
            except ApiError as error:
                # The presence goes through the gateway and the invite over HTTP, so the platform may process the invite
                # first.
                if wait_seconds is None or error.kind is not errors.INVALID_ACTIVITY_ACTION:
                    raise
                await asyncio.sleep(wait_seconds)

    async def _send_join_request(self, user_id: int) -> None:
        core = self._core
        with core.lock:
            activity = core.cache.activity_of(user_id, frozenset({core.application_id}))
        if activity is None or not activity.party or not activity.party.id or not _is_joinable(activity):
            raise validation_error("The user has no joinable activity of this game")
        await self._post_invite(user_id, "", ActivityActionTypes.JOIN_REQUEST, activity.party.id)

    async def _reply_to_join_request(self, invite: ActivityInvite) -> None:
        if invite.type != ActivityActionTypes.JOIN_REQUEST:
            raise validation_error("The invite is not a join request")
        await self._send_invite(invite.sender_id, "")

    async def _post_invite(self, user_id: int, content: str, action_type: ActivityActionTypes, party_id: str) -> None:
        """Send the message of an invite or a join request for a party."""
        activity = resources.user_messages.SendActivity(
            type=ActivityActionType(action_type), session_id=self._gateway.session_id, party_id=party_id
        )
        body = resources.user_messages.SendUserMessage(
            application_id=ApplicationId(self._core.application_id), activity=activity
        )
        # A token with the presence scopes only may not send text (spec/sdk.md#10.5).
        if content and MESSAGES_SCOPE in self._core.scopes:
            body.content = content
        await self._core.request(resources.user_messages.SEND_USER_MESSAGE, body=body, user_id=user_id)

    async def _accept_invite(self, invite: ActivityInvite) -> str:
        if invite.type != ActivityActionTypes.JOIN:
            raise validation_error(
                "A join request cannot be accepted; reply to it with send_activity_join_request_reply()"
            )
        with self._core.lock:
            session_id = self._core.cache.session_id_of(invite.sender_id, invite.party_id) or invite.session_id
        if not session_id:
            raise validation_error("The sender is no longer in the activity of the invite")
        accepted_message_ids = self._events.accepted_message_ids
        is_first_attempt = invite.message_id not in accepted_message_ids
        # Record the invite before the request, because the event may arrive before the response.
        accepted_message_ids.add(invite.message_id)
        query = resources.user_messages.GetActivityJoinSecret()
        if invite.channel_id:
            query.channel_id = ChannelId(invite.channel_id)
        if invite.message_id:
            query.message_id = MessageId(invite.message_id)
        try:
            response = await self._core.call(
                resources.user_messages.GET_ACTIVITY_JOIN_SECRET,
                query=query,
                user_id=invite.sender_id,
                session_id=session_id,
                application_id=invite.application_id or self._core.application_id,
            )
        except BaseException:
            if is_first_attempt:
                # Another device may still accept the invite, which this client must then emit.
                accepted_message_ids.discard(invite.message_id)
            raise
        return response.secret


def _is_joinable(activity: "Activity") -> bool:
    """Return whether a user's activity is joinable (spec/sdk.md#10.3); its secret is not visible, only the flag for it."""
    party_size = (activity.party.size or []) if activity.party else []
    current_size, max_size = party_size[:2] if len(party_size) >= 2 else (0, 0)
    is_full = 0 < max_size <= current_size
    return not is_full and bool(value_or(activity.flags, ActivityFlags.JOIN) & ActivityFlags.JOIN)
