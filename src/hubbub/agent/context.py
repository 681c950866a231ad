"""State of an agent that command handlers and events share: account, connections, activities and voice settings."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from hubbub.agent.account import Account
from hubbub.agent.activities import Activities
from hubbub.agent.connections import ProgramConnection, Subscription
from hubbub.agent.consent import Consent
from hubbub.agent.game_launcher import GameLauncher
from hubbub.agent.processes import ProcessWatch
from hubbub.agent.voice import VoiceSettings
from hubbub.agent.voice_client import VoiceClient
from hubbub.protocol import rpc_scopes
from hubbub.protocol.enums import GatewayOpcode, Scope
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources.oauth2 import LIST_OAUTH2_AUTHORIZATIONS
from hubbub.protocol.rpc import RpcError
from hubbub.protocol.rpc_names import RpcEvent
from hubbub.protocol.rpc_scopes import PseudoScope
from hubbub.sdk.clock import Clock
from hubbub.sdk.daemon_threads import run_in_daemon_thread

log = logging.getLogger(__name__)

SOCIAL_LAYER_SCOPES: Final = frozenset((Scope.SDK_SOCIAL_LAYER.value, Scope.SDK_SOCIAL_LAYER_PRESENCE.value))
"""Scopes of the social layer; a game that has one of them is linked."""
OWN_USER_FIELDS: Final = ("id", "username", "discriminator", "global_name", "avatar", "avatar_decoration_data")
"""Fields of the signed-in user that are copied to the user object; `views.user` builds the objects of other users."""


class AgentContext:
    """The shared state of an agent."""

    def __init__(self, account: Account, consent: Consent, open_url: Callable[[str], Any], clock: Clock) -> None:
        self.account = account
        self.consent = consent
        self._open_url = open_url
        self.connections: Final[list[ProgramConnection]] = []
        self.activities: Final = Activities(account.publish_presence, clock)
        account.get_activities = self.activities.list_newest_first
        self.voice: Final = VoiceSettings(self._on_voice_settings_changed, self.apply_voice_settings)
        self.voice_client: VoiceClient | None = None
        """Audio of the voice channel; None if the agent transmits no audio."""
        self.join_requests: Final[set[tuple[str, str]]] = set()
        """Pending join requests, as pairs of application ID and user ID."""
        self.invites: Final[dict[str, dict[str, Any]]] = {}
        """Received activity invites by message ID, which the user may accept."""
        self.launcher: Final = GameLauncher(self._is_connected, self._publish_activity_join)
        self._process_watches: dict[tuple[ProgramConnection, int], ProcessWatch] = {}
        self._voice_tasks: set[asyncio.Task[None]] = set()
        self._push_to_talk_connection: ProgramConnection | None = None
        """Connection of the program that holds the push-to-talk key down; None if it is released."""

    def user_view(self, connection: ProgramConnection) -> dict[str, Any]:
        """Build the user object of the signed-in user for a program; `premium_type` is 0 without its scope."""
        user = self.account.state.user
        view = {name: user.get(name) for name in OWN_USER_FIELDS}
        can_see_premium = connection.application.premium_type_scope in connection.scopes
        premium_type = (user.get("premium_type") or 0) if can_see_premium else 0
        return view | {"bot": False, "flags": user.get("flags", 0), "premium_type": premium_type}

    async def open_page(self, path: str) -> None:
        """Open a page of the platform in the user's browser."""
        await run_in_daemon_thread(self._open_url, f"{self.account.web_url}{path}")

    # Activities

    def set_activity(self, connection: ProgramConnection, pid: int, activity: dict[str, Any] | None) -> None:
        """Set the activity of a process, or remove it with None, within the rate limit of its connection."""
        connection.pending_activities.pop(pid, None)
        connection.pending_activities[pid] = activity
        if activity is not None and (connection, pid) not in self._process_watches:
            self._process_watches[connection, pid] = ProcessWatch(pid, lambda: self._on_process_end(connection, pid))
        # `Agent.accept_handshake` sets the throttle of every connection.
        assert connection.activity_throttle is not None
        connection.activity_throttle.call()

    def publish_activities(self, connection: ProgramConnection) -> None:
        """Publish the pending activities of a connection."""
        pending_activities, connection.pending_activities = connection.pending_activities, {}
        for pid, activity in pending_activities.items():
            self.activities.put(connection, pid, activity)

    def clear_connection_state(self, connection: ProgramConnection) -> None:
        """Remove the activities and voice settings of a closed connection."""
        self.activities.remove(connection)
        for watched_connection, pid in list(self._process_watches):
            if watched_connection is connection:
                self._process_watches.pop((connection, pid)).cancel()
        self.voice.release(connection)
        if self._push_to_talk_connection is connection:
            self.set_push_to_talk(connection, False)

    def _on_process_end(self, connection: ProgramConnection, pid: int) -> None:
        self._process_watches.pop((connection, pid), None)
        connection.pending_activities.pop(pid, None)
        self.activities.remove(connection, pid)

    # Events

    def publish(
        self, event: RpcEvent, payload: Any, *, subscribed_id: str | None = None, application_id: str | None = None
    ) -> int:
        """Send an event to the connections that subscribed to it and have its scope; return their number.

        `payload` may also be a function that builds the payload for a connection.
        `subscribed_id` is the ID of the guild, channel or lobby of the event; subscriptions without an ID always match.
        `application_id` restricts the event to the programs of one application."""
        matching_subscriptions = {Subscription(event, None), Subscription(event, subscribed_id)}
        count = 0
        for connection in list(self.connections):
            if application_id is not None and connection.application_id != application_id:
                continue
            if not matching_subscriptions.isdisjoint(connection.subscriptions) and rpc_scopes.is_allowed(
                rpc_scopes.EVENT_SCOPES[event], connection.scopes
            ):
                connection.dispatch(event, payload(connection) if callable(payload) else payload)
                count += 1
        return count

    async def join_game(self, application_id: str, secret: str) -> bool:
        """Send a join secret to a game, launching it if needed; return False if it neither runs nor can be launched."""
        payload = {"secret": secret, "application_id": application_id}
        return bool(self._publish_activity_join(application_id, payload)) or await self.launcher.join_game(
            application_id, payload
        )

    def _publish_activity_join(self, application_id: str, payload: Any) -> int:
        return self.publish(RpcEvent.ACTIVITY_JOIN, payload, application_id=application_id)

    def _is_connected(self, application_id: str) -> bool:
        # A page of the platform connects in the name of the application, but is not its program.
        return any(
            connection.application_id == application_id and PseudoScope.PRIVATE not in connection.transport_scopes
            for connection in self.connections
        )

    async def request_authorization(self, application_id: str) -> int:
        """Ask a game to start the authorization, unless it is linked; return the number of programs that were asked."""
        if application_id in await self.fetch_linked_game_ids():
            return 0
        return self.publish(RpcEvent.AUTHORIZE_REQUEST, None, application_id=application_id)

    async def fetch_linked_game_ids(self) -> set[str]:
        """Return the IDs of the games that the user authorized for the social layer; empty if the request fails."""
        try:
            grants = await self.account.call(LIST_OAUTH2_AUTHORIZATIONS)
        except (ApiError, RpcError) as error:
            # The game may then request an authorization that already exists, which the platform handles.
            log.info("Could not list the linked games: %s", error)
            return set()
        return {
            str(grant.application.id)
            for grant in grants
            if grant.application and not SOCIAL_LAYER_SCOPES.isdisjoint(grant.scopes or ())
        }

    # Voice

    def apply_voice_settings(self) -> None:
        """Apply the voice settings to the audio of the voice channel."""
        if self.voice_client is not None:
            self.voice_client.apply_settings()

    def set_push_to_talk(self, connection: ProgramConnection, is_active: bool) -> None:
        """Press or release the push-to-talk key; it is also released when the program disconnects."""
        self._push_to_talk_connection = connection if is_active else None
        if self.voice_client is not None:
            self.voice_client.set_push_to_talk(is_active)

    async def refresh_devices(self) -> None:
        """Update the list of the machine's devices in the voice settings."""
        if self.voice_client is not None:
            await self.voice_client.refresh_devices()

    def publish_voice_settings(self) -> None:
        """Publish the voice settings to the programs."""
        settings = self.voice.get_settings()
        self.publish(RpcEvent.VOICE_SETTINGS_UPDATE, settings)
        self.publish(RpcEvent.VOICE_SETTINGS_UPDATE_2, settings)

    def publish_speaking(self, user_id: str, channel_id: str, is_speaking: bool) -> None:
        """Publish that a user in the voice channel starts or stops speaking."""
        event = RpcEvent.SPEAKING_START if is_speaking else RpcEvent.SPEAKING_STOP
        self.publish(event, {"user_id": user_id, "channel_id": channel_id}, subscribed_id=channel_id)

    def _on_voice_settings_changed(self, changed_settings: dict[str, Any]) -> None:
        self.apply_voice_settings()
        self.publish_voice_settings()
        channel = self.account.state.find_voice_channel()
        # A voice state from this session would take the call over from another client.
        is_own = self.voice_client is None or (channel is not None and self.voice_client.is_in(channel["id"]))
        if channel is not None and is_own and changed_settings.keys() & {"mute", "deaf"}:
            task = asyncio.get_running_loop().create_task(self._send_voice_state(channel))
            self._voice_tasks.add(task)
            task.add_done_callback(self._voice_tasks.discard)

    async def _send_voice_state(self, channel: dict[str, Any]) -> None:
        try:
            await self.set_voice_channel(channel)
        except RpcError:
            # There is no gateway session, so there is no voice state to update.
            return

    async def set_voice_channel(self, channel: dict[str, Any] | None, guild_id: str | None = None) -> None:
        """Move the user to a voice channel, or disconnect the user if `channel` is None.

        `guild_id` is needed only to disconnect. The user's mute and deaf settings are applied, and the agent carries the
        audio of the channel from now on."""
        if self.voice_client is not None:
            await (self.voice_client.leave() if channel is None else self.voice_client.join(channel))
        settings = self.voice.get_settings()
        await self.account.send(
            GatewayOpcode.VOICE_STATE_UPDATE,
            {
                "guild_id": guild_id if channel is None else channel.get("guild_id"),
                "channel_id": None if channel is None else channel["id"],
                "self_mute": settings["mute"],
                "self_deaf": settings["deaf"],
            },
        )

    async def leave_call(self) -> None:
        """Stop carrying the audio of the voice channel, because the platform did not move the user."""
        if self.voice_client is not None:
            await self.voice_client.leave()
