"""What the gateway is told and tells of calls: opcode 17, and the two events of lobbies (sdk.md 13.4, voice.md 1).

Opcode 17 names all calls that we want to be in, and one that is left out is left: so it is always said whole."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import aiohttp

from hubbub.sdk.calls import CallState, Ticket
from hubbub.sdk.core import Core
from hubbub.sdk.enums import CallStatus, ClientStatus
from hubbub.sdk.events import Events
from hubbub.sdk.gateway import Gateway
from hubbub.sdk.payloads import VoiceServerPayload, VoiceStatePayload

LOBBY_VOICE_STATES: Final = 17
LOBBY_VOICE_SERVER_PING: Final = 42
EVERY_S: Final = 1.0
"""A game may mute and unmute as often as it likes: the gateway hears of it once in this time."""


class Signalling:
    """Keeps the gateway's idea of our calls and ours the same."""

    def __init__(self, core: Core, events: Events, gateway: Gateway, calls: Mapping[int, CallState]) -> None:
        self._core = core
        self._gateway = gateway
        self._calls = calls
        self._session_id = ""
        self._dirty = False
        self._in = False
        """Whether the gateway takes us for being in any call."""
        self._telling: asyncio.Task[None] | None = None
        events.voice_state = self._hear_state
        events.voice_server = self._hear_server
        events.lobby_gone = self._hear_gone
        core.watchers.append(self._hear_status)
        core.closers.append(self.close)

    async def close(self) -> None:
        """Say nothing more."""
        if self._telling is not None:
            self._telling.cancel()

    # What we say; on the network's thread

    def refresh(self) -> None:
        """Soon tell the gateway which calls we want, and how."""
        self._dirty = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())
            self._core.tasks.add(self._telling)
            self._telling.add_done_callback(self._core.tasks.discard)

    async def _tell(self) -> None:
        while self._dirty:
            self._dirty = False
            wanted = self._wanted()
            if wanted or self._in:
                await self._say(wanted)
                await asyncio.sleep(EVERY_S)

    async def leave(self, state: CallState) -> None:
        """Out of a call that is among ours no more."""
        await self._say([each for each in self._wanted() if each["lobby_id"] != str(state.lobby_id)])

    async def rejoin(self, state: CallState) -> None:
        """Out, and in again: that is how a new ticket is asked for."""
        state.ticket = None
        await self.leave(state)
        await self._say(self._wanted())

    async def ping(self, state: CallState) -> None:
        """A voice server does not answer: the gateway may know whether it is still there, and of another one."""
        await self._send(LOBBY_VOICE_SERVER_PING, {"lobby_id": str(state.lobby_id)})

    def _wanted(self) -> list[dict[str, Any]]:
        with self._core.lock:
            return [
                {"lobby_id": str(state.lobby_id), "self_mute": state.muted, "self_deaf": state.deaf}
                for state in self._calls.values()
                if state.wanted
            ]

    async def _say(self, wanted: list[dict[str, Any]]) -> None:
        self._in = bool(wanted)
        await self._send(LOBBY_VOICE_STATES, wanted)

    async def _send(self, op: int, data: Any) -> None:
        if self._core.status is not ClientStatus.READY:
            # A session that begins is not spoken to before it is there, and is told of calls then.
            return
        try:
            await self._gateway.send(op, data)
        except (ConnectionError, aiohttp.ClientError):
            # It is said again when there is a session.
            return

    # What we hear; on the network's thread, events under the client's lock

    def _hear_state(self, told: VoiceStatePayload, was: VoiceStatePayload | None) -> None:
        state = self._calls.get(told.lobby_id or 0)
        if state is None:
            return
        here = told.channel_id is not None
        if (was is not None) != here:
            state.fire("participant", told.user_id, here)
        elif was is not None and (was.self_mute, was.self_deaf) != (told.self_mute, told.self_deaf):
            state.fire("voice_state", told.user_id)
        if told.user_id == self._core.cache.me and self._session_id == self._gateway.session_id:
            self._hear_own(state, told, was)

    def _hear_own(self, state: CallState, told: VoiceStatePayload, was: VoiceStatePayload | None) -> None:
        """Put out or refused, or another device of ours took the call over. A session that begins tells of the one before it, and
        that is neither."""
        here = told.channel_id is not None
        if state.ticket is None:
            # Before we are let in, that we leave is of an earlier call; that we are not there, where we were not, is a refusal.
            if not here and was is None:
                self._expel(state)
        elif not here and state.status is CallStatus.RECONNECTING:
            # The voice server waited long enough for our line, which asks for another ticket when it gets there.
            return
        elif not here or told.session_id not in (None, state.ticket.session_id):
            self._expel(state)

    def _hear_server(self, told: VoiceServerPayload) -> None:
        state = self._calls.get(told.lobby_id or 0)
        if state is None or not state.wanted:
            return
        lobby = self._core.cache.lobbies.get(state.lobby_id)
        mine = lobby.voice_states.get(self._core.cache.me) if lobby else None
        state.ticket = None
        if told.endpoint:
            self._core.logs.hide(told.token)
            session_id = mine.session_id if mine is not None else None
            state.ticket = Ticket(told.endpoint, told.token, session_id or self._gateway.session_id)
        state.news.set()

    def _hear_gone(self, lobby_id: int) -> None:
        state = self._calls.get(lobby_id)
        if state is not None:
            self._expel(state)

    def _hear_status(self, status: ClientStatus) -> None:
        with self._core.lock:
            states = [state for state in self._calls.values() if state.wanted]
            if status is ClientStatus.DISCONNECTED:
                for state in states:
                    self._expel(state)
            elif status is ClientStatus.READY:
                if self._session_id != self._gateway.session_id:
                    # The calls of the session before are not this one's.
                    self._session_id = self._gateway.session_id
                    for state in states:
                        state.ticket = None
                for state in states:
                    state.news.set()
                if states:
                    self.refresh()

    def _expel(self, state: CallState) -> None:
        state.wanted = False
        state.expelled = True
        state.news.set()
