"""Rich presence, online status and launch commands (spec/sdk.md#10.2)."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from hubbub.protocol.activity_limits import PRESENCE_UPDATE_WINDOW_SECONDS, PRESENCE_UPDATES_MAX
from hubbub.protocol.rpc_names import RpcCommand
from hubbub.protocol.shared_enums import GatewayOpcode
from hubbub.sdk import resources
from hubbub.sdk.activities import Activity, to_wire, validation_errors
from hubbub.sdk.cache import CachedPresence
from hubbub.sdk.core import Core
from hubbub.sdk.drivers import Completion
from hubbub.sdk.enums import ClientStatus, StatusType
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.results import ClientResult, SdkError, validation_error
from hubbub.sdk.rpc import RpcClient
from hubbub.sdk.tolerant_models import convert

WIRE_STATUSES: Final = {
    StatusType.ONLINE: "online",
    StatusType.IDLE: "idle",
    StatusType.DND: "dnd",
    StatusType.INVISIBLE: "invisible",
}
"""Values on the wire of the online statuses that a game can set."""
SESSION_STATUSES: Final = frozenset(
    (
        ClientStatus.CONNECTING,
        ClientStatus.CONNECTED,
        ClientStatus.READY,
        ClientStatus.RECONNECTING,
        ClientStatus.HTTP_WAIT,
    )
)
"""Statuses with a current or upcoming session, which then sends the activity instead of the local chat client."""


class Presence:
    """Component of the client that publishes the activity and the status of the current user, and registers launch commands.

    `rpc` returns the RPC client of the client, which is created on first use."""

    def __init__(self, core: Core, gateway: Gateway, rpc: Callable[[], RpcClient]) -> None:
        self._core = core
        self._gateway = gateway
        self._rpc = rpc
        self.activity: Activity | None = None
        """The activity that the game set, or None; connecting clears it."""
        self._online_status = StatusType.ONLINE
        self._is_showing_chat = False
        self._is_shown_locally = False
        """Whether the chat client on this machine shows the activity."""
        self._shown_application_id = 0
        """Application ID under which the chat client shows the activity; that of the session may differ."""
        self._previous_client_status = ClientStatus.DISCONNECTED
        self._sent_at: deque[float] = deque(maxlen=PRESENCE_UPDATES_MAX)
        """Loop times of the last updates, oldest first."""
        self._revision = 0
        """Number of changes of the presence."""
        self._sent_revision = -1
        """Revision that was last sent; -1 if the presence must be sent again."""
        self._send_lock = asyncio.Lock()
        """Held while an update waits for the rate limit or is sent."""
        self.sleep: Callable[[float], Any] = asyncio.sleep
        """Function that waits for a number of seconds; tests replace it."""
        gateway.find_presence = self._presence_for_identify
        core.status_watchers.append(self._status_changed)

    def update_rich_presence(
        self, activity: Activity, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Set the activity of the current user that others see.

        The activity is sent through the session or, while the client is disconnected, through the chat client on this
        machine. At most 5 updates per 20 seconds are sent; of several that wait only the newest one is sent."""
        return self._core.run("UpdateRichPresence", callback, (), self._update_activity, activity.copy())

    def clear_rich_presence(self) -> None:
        """Remove the activity of the current user."""
        self._core.run_in_background(self._clear_activity)

    def set_online_status(
        self, status: StatusType, callback: Callable[[ClientResult], object] | None = None
    ) -> Completion[None]:
        """Set the online status of the current user: `ONLINE`, `IDLE`, `DND` or `INVISIBLE`."""
        return self._core.run_in_session("SetOnlineStatus", callback, (), self._set_online_status, status)

    def set_showing_chat(self, showing_chat: bool) -> None:
        """Set whether the game displays chat, so that the chat client does not notify about the same messages."""
        self._is_showing_chat = showing_chat
        self._revision += 1
        if self._core.status is ClientStatus.READY:
            self._core.run_in_background(self._send_presence)

    def register_launch_command(self, application_id: int, command: str) -> bool:
        """Register the shell command with which the chat client launches the game.

        An empty command is the command line of the current process. Return False if the command could not be registered."""
        from hubbub.sdk import launch_entries

        return launch_entries.register_command(application_id, command)

    def register_launch_steam_application(self, application_id: int, steam_app_id: int) -> bool:
        """Register a Steam app ID through which the chat client launches the game.

        Return False if it could not be registered."""
        from hubbub.sdk import launch_entries

        return launch_entries.register_steam(application_id, steam_app_id)

    # Implementation

    def _status_changed(self, status: ClientStatus) -> None:
        previous_status, self._previous_client_status = self._previous_client_status, status
        if status is ClientStatus.CONNECTING and previous_status is not ClientStatus.HTTP_WAIT:
            # Connecting clears the previous activity (spec/sdk.md#10.2), in the chat client as well.
            self.activity = None
            if self._is_shown_locally:
                self._core.run_in_background(self._clear_locally)
        elif status is ClientStatus.READY:
            has_changed = self._cache_own_presence(self._presence_payload())
            if self._sent_revision != self._revision:
                # A resumed session does not have the changes made while it was disconnected.
                self._core.run_in_background(self._send_presence)
                if has_changed:
                    self._core.emit("user_updated", self._core.cache.current_user_id)
        elif status is ClientStatus.DISCONNECTED:
            with self._core.lock:
                self._core.cache.presences.pop(self._core.cache.current_user_id, None)

    def _presence_payload(self) -> dict[str, Any]:
        """Return the current presence for the gateway."""
        activity = self.activity
        payload: dict[str, Any] = {
            "since": None,
            "status": WIRE_STATUSES[self._online_status],
            "afk": False,
            "activities": [] if activity is None else [to_wire(activity, self._core.application_id)],
        }
        if self._is_showing_chat:
            payload["showing_chat"] = True
        return payload

    def _presence_for_identify(self) -> dict[str, Any] | None:
        """Return the presence to send in Identify, or None if it is the default; it counts as sent."""
        self._sent_revision = self._revision
        if self.activity is None and self._online_status == StatusType.ONLINE and not self._is_showing_chat:
            return None
        return self._presence_payload()

    async def _update_activity(self, activity: Activity) -> None:
        error_message = next(validation_errors(activity), None)
        if error_message is not None:
            raise validation_error(error_message)
        await self._show_activity(activity)

    async def _show_activity(self, activity: Activity | None) -> None:
        """Show an activity, or none, through the session or through the chat client on this machine."""
        status = self._core.status
        if status in SESSION_STATUSES:
            self.activity = activity
            self._revision += 1
            if status is ClientStatus.READY:
                await self._send_presence()
            return
        activity_payload = (
            None if activity is None else to_wire(activity, self._core.application_id, for_chat_client=True)
        )
        client_id = self._core.application_id
        await self._rpc().command(
            RpcCommand.SET_ACTIVITY, {"pid": os.getpid(), "activity": activity_payload}, client_id=client_id
        )
        self._shown_application_id = client_id
        if self._core.status in SESSION_STATUSES:
            # The client started to connect meanwhile, which clears the previous activity.
            await self._clear_locally()
            return
        self.activity = activity
        self._is_shown_locally = activity is not None

    async def _clear_activity(self) -> None:
        try:
            await self._show_activity(None)
        except (SdkError, OSError) as error:
            # No chat client shows an activity, or the next session sends the new state.
            self._core.logs.info(f"Could not clear the presence: {error}")

    async def _clear_locally(self) -> None:
        """Remove the activity from the chat client on this machine; ignore errors."""
        self._is_shown_locally = False
        with contextlib.suppress(SdkError):
            args = {"pid": os.getpid(), "activity": None}
            await self._rpc().command(RpcCommand.SET_ACTIVITY, args, client_id=self._shown_application_id)

    async def _set_online_status(self, status: StatusType) -> None:
        if status not in WIRE_STATUSES:
            raise validation_error("Status must be Online, Idle, Dnd or Invisible")
        self._online_status = status
        self._revision += 1
        await self._send_presence()

    async def _send_presence(self) -> None:
        """Send the current presence within the rate limit; of several waiting calls only one sends, with the newest presence."""
        revision = self._revision
        async with self._send_lock:
            if self._sent_revision >= revision:
                return
            clock = asyncio.get_running_loop().time
            if (
                len(self._sent_at) == PRESENCE_UPDATES_MAX
                and (wait_seconds := self._sent_at[0] + PRESENCE_UPDATE_WINDOW_SECONDS - clock()) > 0
            ):
                await self.sleep(wait_seconds)
            self._sent_revision = self._revision
            self._sent_at.append(clock())
            payload = self._presence_payload()
            try:
                await self._gateway.send(GatewayOpcode.PRESENCE_UPDATE, payload)
            except OSError:
                self._sent_revision = -1
                raise
        if self._cache_own_presence(payload):
            self._core.emit("user_updated", self._core.cache.current_user_id)

    def _cache_own_presence(self, payload: dict[str, Any]) -> bool:
        """Cache the current user's own presence, which the platform does not send back; return whether it changed."""
        cache = self._core.cache
        activities = convert(payload["activities"], list[resources.presence.Activity])
        for activity in activities:
            # Other users see the application's name if the activity has none (spec/sdk.md#10.1).
            activity.name = activity.name or self._core.application_name
        with self._core.lock:
            return cache.store_presence(cache.current_user_id, CachedPresence(payload["status"], activities))
