"""Signaling of lobby calls over the gateway: opcodes 17 and 42, and two voice events (spec/sdk.md#13.4, spec/voice.md#1).

Opcode 17 replaces the list of calls that the client is in, so it is always sent with all of them. Opcode 42 reports an
unresponsive voice server.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from hubbub.protocol.shared_enums import GatewayOpcode
from hubbub.sdk.cache import CachedVoiceState
from hubbub.sdk.calls import CallState, VoiceTicket
from hubbub.sdk.core import Core
from hubbub.sdk.enums import CallStatus, ClientStatus
from hubbub.sdk.events import GatewayEventHandlers
from hubbub.sdk.gateway import Gateway

if TYPE_CHECKING:
    from hubbub.protocol.resources.lobby_calls import LobbyVoiceServer

LOBBY_VOICE_STATES: Final = GatewayOpcode.LOBBY_VOICE_STATES
"""Gateway opcode with the list of the client's calls."""
LOBBY_VOICE_SERVER_PING: Final = GatewayOpcode.LOBBY_VOICE_SERVER_PING
"""Gateway opcode that reports an unresponsive voice server."""
UPDATE_INTERVAL_SECONDS: Final = 1.0
"""Minimum interval in seconds between updates that `refresh` schedules, however often the game mutes and unmutes."""


class CallSignaling:
    """Synchronization of the client's calls with the gateway, which also passes voice events to the calls.

    `calls` are the calls of the client by lobby ID; `voice.VoiceCalls` adds and removes them."""

    def __init__(
        self, core: Core, events: GatewayEventHandlers, gateway: Gateway, calls: Mapping[int, CallState]
    ) -> None:
        self._core = core
        self._gateway = gateway
        self._calls = calls
        self._session_id = ""
        """ID of the gateway session that was last ready; its tickets are valid."""
        self._needs_update = False
        """Whether the calls changed since the last update."""
        self._is_in_calls = False
        """Whether the last list of calls was not empty."""
        self._update_task: asyncio.Task[None] | None = None
        events.on_voice_state = self._voice_state_changed
        events.on_voice_server = self._voice_server_changed
        events.on_lobby_removed = self._lobby_removed
        core.status_watchers.append(self._status_changed)
        core.close_hooks.append(self.close)

    async def close(self) -> None:
        """Stop sending updates."""
        if self._update_task is not None:
            self._update_task.cancel()

    # Sending, on the network thread

    def refresh(self) -> None:
        """Schedule an update of the client's calls with their mute and deaf settings."""
        self._needs_update = True
        if self._update_task is None or self._update_task.done():
            self._update_task = asyncio.create_task(self._send_updates())
            self._core.tasks.add(self._update_task)
            self._update_task.add_done_callback(self._core.tasks.discard)

    async def _send_updates(self) -> None:
        while self._needs_update:
            self._needs_update = False
            calls = self._call_payloads()
            if calls or self._is_in_calls:
                await self._send_calls(calls)
                await asyncio.sleep(UPDATE_INTERVAL_SECONDS)

    async def leave(self, state: CallState) -> None:
        """Leave a call by sending the list of calls without it."""
        await self._send_calls([call for call in self._call_payloads() if call["lobby_id"] != str(state.lobby_id)])

    async def rejoin(self, state: CallState) -> None:
        """Leave and join a call, which makes the platform send a new ticket."""
        state.ticket = None
        await self.leave(state)
        await self._send_calls(self._call_payloads())

    async def ping(self, state: CallState) -> None:
        """Report an unresponsive voice server, so that the platform checks it and may assign another one."""
        await self._send(LOBBY_VOICE_SERVER_PING, {"lobby_id": str(state.lobby_id)})

    def _call_payloads(self) -> list[dict[str, Any]]:
        """Return the payloads of all calls that the client wants to be in."""
        with self._core.lock:
            return [
                {"lobby_id": str(state.lobby_id), "self_mute": state.muted, "self_deaf": state.deaf}
                for state in self._calls.values()
                if state.should_be_joined
            ]

    async def _send_calls(self, calls: list[dict[str, Any]]) -> None:
        self._is_in_calls = bool(calls)
        await self._send(LOBBY_VOICE_STATES, calls)

    async def _send(self, op: int, payload: Any) -> None:
        """Send a gateway frame; do nothing without a ready session."""
        if self._core.status is not ClientStatus.READY:
            # The calls are sent when the session becomes ready.
            return
        try:
            await self._gateway.send(op, payload)
        except (ConnectionError, aiohttp.ClientError):
            # The calls are sent again with the next session.
            return

    # Receiving, on the network thread; events arrive under the client's lock

    def _voice_state_changed(
        self,
        lobby_id: int,
        user_id: int,
        voice_state: CachedVoiceState | None,
        previous_voice_state: CachedVoiceState | None,
    ) -> None:
        state = self._calls.get(lobby_id)
        if state is None:
            return
        if voice_state is None or previous_voice_state is None:
            if voice_state is not previous_voice_state:
                state.emit("participant", user_id, voice_state is not None)
        elif (previous_voice_state.self_mute, previous_voice_state.self_deaf) != (
            voice_state.self_mute,
            voice_state.self_deaf,
        ):
            state.emit("voice_state", user_id)
        if user_id == self._core.cache.current_user_id and self._session_id == self._gateway.session_id:
            self._own_voice_state_changed(state, voice_state, previous_voice_state)

    def _own_voice_state_changed(
        self, state: CallState, voice_state: CachedVoiceState | None, previous_voice_state: CachedVoiceState | None
    ) -> None:
        """Expel the client if it was removed or rejected, or if another device of the user took the call over.

        The caller ignores events that arrive before a new session is ready, because they repeat the voice state of the
        previous session."""
        if state.ticket is None:
            # Without a ticket, leaving refers to an earlier call. Being absent without having been in the call is a
            # rejection.
            if voice_state is None and previous_voice_state is None:
                self._expel(state)
        elif voice_state is None and state.status is CallStatus.RECONNECTING:
            # The voice server timed the client out; the voice connection requests a new ticket itself.
            return
        elif voice_state is None or voice_state.session_id not in ("", state.ticket.session_id):
            self._expel(state)

    def _voice_server_changed(self, payload: "LobbyVoiceServer") -> None:
        state = self._calls.get(payload.lobby_id or 0)
        if state is None or not state.should_be_joined:
            return
        lobby = self._core.cache.lobbies.get(state.lobby_id)
        own_voice_state = lobby.voice_states.get(self._core.cache.current_user_id) if lobby else None
        state.ticket = None
        if payload.endpoint:
            token = payload.token or ""
            self._core.logs.add_secrets(token)
            session_id = own_voice_state.session_id if own_voice_state is not None else ""
            state.ticket = VoiceTicket(payload.endpoint, token, session_id or self._gateway.session_id)
        state.update_event.set()

    def _lobby_removed(self, lobby_id: int) -> None:
        state = self._calls.get(lobby_id)
        if state is not None:
            self._expel(state)

    def _status_changed(self, status: ClientStatus) -> None:
        with self._core.lock:
            states = [state for state in self._calls.values() if state.should_be_joined]
            if status is ClientStatus.DISCONNECTED:
                for state in states:
                    self._expel(state)
            elif status is ClientStatus.READY:
                if self._session_id != self._gateway.session_id:
                    # Tickets of the previous session are invalid.
                    self._session_id = self._gateway.session_id
                    for state in states:
                        state.ticket = None
                for state in states:
                    state.update_event.set()
                if states:
                    self.refresh()

    def _expel(self, state: CallState) -> None:
        """Mark a call as ended without the game having ended it; its voice connection then ends."""
        state.should_be_joined = False
        state.is_expelled = True
        state.update_event.set()
