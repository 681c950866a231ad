"""Signaling of lobby calls over the gateway: opcode 17 and the two voice events of lobbies (spec/sdk.md#13.4, spec/voice.md#1).

Opcode 17 replaces the list of calls that the client is in, so it is always sent with all of them.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from hubbub.sdk.calls import CallState, VoiceTicket
from hubbub.sdk.core import Core
from hubbub.sdk.enums import CallStatus, ClientStatus
from hubbub.sdk.events import Events
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.payloads import VoiceServerPayload, VoiceStatePayload

LOBBY_VOICE_STATES: Final = 17
LOBBY_VOICE_SERVER_PING: Final = 42
UPDATE_INTERVAL_SECONDS: Final = 1.0
"""Minimum interval between updates, however often the game mutes and unmutes."""


class CallSignaling:
    """Keeps the gateway's list of the client's calls up to date, and passes voice events to the calls."""

    def __init__(self, core: Core, events: Events, gateway: Gateway, calls: Mapping[int, CallState]) -> None:
        self._core = core
        self._gateway = gateway
        self._calls = calls
        self._session_id = ""
        self._dirty = False
        self._is_in_calls = False
        """Whether the last sent list of calls was not empty."""
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
        self._dirty = True
        if self._update_task is None or self._update_task.done():
            self._update_task = asyncio.create_task(self._send_updates())
            self._core.tasks.add(self._update_task)
            self._update_task.add_done_callback(self._core.tasks.discard)

    async def _send_updates(self) -> None:
        while self._dirty:
            self._dirty = False
            wanted = self._wanted()
            if wanted or self._is_in_calls:
                await self._send_calls(wanted)
                await asyncio.sleep(UPDATE_INTERVAL_SECONDS)

    async def leave(self, state: CallState) -> None:
        """Leave a call."""
        await self._send_calls([each for each in self._wanted() if each["lobby_id"] != str(state.lobby_id)])

    async def rejoin(self, state: CallState) -> None:
        """Leave and join a call, which makes the platform send a new ticket."""
        state.ticket = None
        await self.leave(state)
        await self._send_calls(self._wanted())

    async def ping(self, state: CallState) -> None:
        """Report an unresponsive voice server, so that the platform checks it and may assign another one."""
        await self._send(LOBBY_VOICE_SERVER_PING, {"lobby_id": str(state.lobby_id)})

    def _wanted(self) -> list[dict[str, Any]]:
        with self._core.lock:
            return [
                {"lobby_id": str(state.lobby_id), "self_mute": state.muted, "self_deaf": state.deaf}
                for state in self._calls.values()
                if state.is_wanted
            ]

    async def _send_calls(self, wanted: list[dict[str, Any]]) -> None:
        self._is_in_calls = bool(wanted)
        await self._send(LOBBY_VOICE_STATES, wanted)

    async def _send(self, op: int, data: Any) -> None:
        if self._core.status is not ClientStatus.READY:
            # The calls are sent when the session becomes ready.
            return
        try:
            await self._gateway.send(op, data)
        except (ConnectionError, aiohttp.ClientError):
            # The calls are sent again with the next session.
            return

    # Receiving, on the network thread; events arrive under the client's lock

    def _voice_state_changed(self, payload: VoiceStatePayload, previous: VoiceStatePayload | None) -> None:
        state = self._calls.get(payload.lobby_id or 0)
        if state is None:
            return
        here = payload.channel_id is not None
        if (previous is not None) != here:
            state.emit("participant", payload.user_id, here)
        elif previous is not None and (previous.self_mute, previous.self_deaf) != (
            payload.self_mute,
            payload.self_deaf,
        ):
            state.emit("voice_state", payload.user_id)
        if payload.user_id == self._core.cache.current_user_id and self._session_id == self._gateway.session_id:
            self._own_voice_state_changed(state, payload, previous)

    def _own_voice_state_changed(
        self, state: CallState, payload: VoiceStatePayload, previous: VoiceStatePayload | None
    ) -> None:
        """Expel the client if it was removed or rejected, or if another device of the user took the call over.

        A new session repeats the voice state of the previous one, which is none of these."""
        here = payload.channel_id is not None
        if state.ticket is None:
            # Without a ticket, leaving refers to an earlier call. Being absent without having been in the call is a
            # rejection.
            if not here and previous is None:
                self._expel(state)
        elif not here and state.status is CallStatus.RECONNECTING:
            # The voice server timed the client out; the voice connection requests a new ticket itself.
            return
        elif not here or payload.session_id not in (None, state.ticket.session_id):
            self._expel(state)

    def _voice_server_changed(self, payload: VoiceServerPayload) -> None:
        state = self._calls.get(payload.lobby_id or 0)
        if state is None or not state.is_wanted:
            return
        lobby = self._core.cache.lobbies.get(state.lobby_id)
        mine = lobby.voice_states.get(self._core.cache.current_user_id) if lobby else None
        state.ticket = None
        if payload.endpoint:
            self._core.logs.add_secrets(payload.token)
            session_id = mine.session_id if mine is not None else None
            state.ticket = VoiceTicket(payload.endpoint, payload.token, session_id or self._gateway.session_id)
        state.updated.set()

    def _lobby_removed(self, lobby_id: int) -> None:
        state = self._calls.get(lobby_id)
        if state is not None:
            self._expel(state)

    def _status_changed(self, status: ClientStatus) -> None:
        with self._core.lock:
            states = [state for state in self._calls.values() if state.is_wanted]
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
                    state.updated.set()
                if states:
                    self.refresh()

    def _expel(self, state: CallState) -> None:
        state.is_wanted = False
        state.is_expelled = True
        state.updated.set()
