"""Voice connection of one call: connects with a ticket and reconnects after a loss (spec/sdk.md#13.3, spec/voice.md#4 to 6).

It runs on the network loop. After a loss it first resumes, then identifies with the same ticket, then requests a new
ticket.
"""

import asyncio
import contextlib
import random
import socket
import ssl
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from typing import Final, Protocol

import aiohttp

from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import (
    DAVE_VERSION,
    ClientDisconnect,
    ClientsConnect,
    SessionDescription,
    Speaking,
    VoiceOpcode,
    VoiceReady,
)
from hubbub.sdk.calls import CallState, VoiceTicket
from hubbub.sdk.enums import CallError, CallStatus, LoggingSeverity
from hubbub.sdk.media import discovery
from hubbub.sdk.media.audio_stream import SPEAKERS_MAX, AudioStream
from hubbub.sdk.media.encryption import CallEncryption
from hubbub.sdk.media.engine import AudioEngine
from hubbub.sdk.media.mls_group import process_group_message
from hubbub.sdk.media.packets import SUPPORTED_MODES, PacketCodec
from hubbub.sdk.media.voice_socket import (
    LEAVE_CLOSE_CODE,
    UNRESPONSIVE_CLOSE_CODE,
    VoiceSocket,
    VoiceSocketClosed,
    decode_voice_payload,
)
from hubbub.sdk.tolerant_models import value_or

TICKET_TIMEOUT_SECONDS: Final = 30.0
"""Maximum time to wait for a ticket from the platform, in seconds (spec/sdk.md#20)."""
CONNECT_TIMEOUT_SECONDS: Final = 20.0
"""Maximum time from opening a connection to the status Connected, in seconds."""
RECONNECT_TIMEOUT_SECONDS: Final = 120.0
"""Maximum time that a call is reconnecting, in seconds."""
MOVE_TIMEOUT_SECONDS: Final = 5.0
"""Maximum time to wait for a new ticket after `VoiceCloseCode.DISCONNECTED`, in seconds."""
GROUP_TIMEOUT_SECONDS: Final = 5.0
"""Maximum time to wait for the encryption group before the status becomes Connected, in seconds; audio needs the group."""
SILENT_FRAMES_MAX: Final = 1000
"""Number of frames without a packet, 20 seconds, after which UDP counts as lost; the server sends a report every 5 seconds."""
CHECK_INTERVAL_SECONDS: Final = 1.0
"""Interval of the connection checks, in seconds."""
STABLE_AFTER_SECONDS: Final = 10.0
"""Time in seconds after which a connection counts as stable and its failure count is reset."""
RECONNECT_DELAY_MIN_SECONDS: Final = 0.25
RECONNECT_DELAY_MAX_SECONDS: Final = 8.0
SOCKET_CLOSE_TIMEOUT_SECONDS: Final = 0.25
"""Maximum time to wait for a connection to close before the next one is opened, in seconds."""
EXPELLED_CHECKS_MAX: Final = 2
"""Maximum number of connection checks during which the voice server may close the connection of a removed user itself."""
SECRET_KEY_BYTES: Final = 32
"""Length in bytes of the key of the transport encryption."""
SERVER_CLOSE_CODE_MIN: Final = 4000
"""Lowest close code of the voice protocol; lower codes are those of WebSocket."""
SPEAKING_INTERVAL_SECONDS: Final = 0.25
"""Minimum interval between Speaking messages in seconds; other clients detect speech from audio packets sooner."""
FINAL_CLOSE_CODES: Final = frozenset(
    (
        VoiceCloseCode.UNKNOWN_PROTOCOL,
        VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE,
        VoiceCloseCode.E2EE_REQUIRED,
        VoiceCloseCode.BAD_REQUEST,
        VoiceCloseCode.RATE_LIMITED,
        VoiceCloseCode.CALL_TERMINATED,
    )
)
"""Close codes after which the client does not reconnect."""
STALE_CLOSE_CODES: Final = frozenset(range(VoiceCloseCode.UNKNOWN_OPCODE, VoiceCloseCode.SERVER_NOT_FOUND + 1))
"""Close codes after which the session cannot be resumed; servers may send some that `VoiceCloseCode` does not list."""


class StartMode(Enum):
    """Way in which a connection is started."""

    RESUME = auto()
    """Resume the previous session."""
    IDENTIFY = auto()
    """Start a session with the current ticket."""
    REJOIN = auto()
    """Request a new ticket from the platform first."""


class CallEnded(Exception):
    """Raised when the call ends because of an error; `detail` is a close code, or 0."""

    def __init__(self, error: CallError, detail: int = 0) -> None:
        self.error, self.detail = error, detail
        super().__init__(f"{error.label} {detail}")


class CallGateway(Protocol):
    """Interface to the platform's gateway for a call."""

    async def rejoin(self, state: CallState) -> None:
        """Request a new ticket for the call."""

    async def ping(self, state: CallState) -> None:
        """Ask the platform to check whether the voice server of the call is still available."""


class VoiceConnection:
    """The connection of one call to its voice server.

    `user_id` is the current user. `post_to_loop` calls a function on the network loop from any thread, and `log` logs a
    message."""

    def __init__(
        self,
        state: CallState,
        user_id: int,
        engine: AudioEngine,
        http: aiohttp.ClientSession,
        tls: ssl.SSLContext | bool,
        call_gateway: CallGateway,
        post_to_loop: Callable[..., None],
        log: Callable[[str], None],
    ) -> None:
        self._state = state
        self._user_id = user_id
        self._engine = engine
        self._http = http
        self._tls = tls
        self._call_gateway = call_gateway
        self._post_to_loop = post_to_loop
        self._log = log
        self._socket: VoiceSocket | None = None
        self._seq = -1
        """Sequence number of the last message of the session; -1 before the first."""
        self._ready: VoiceReady | None = None
        """Payload of READY; None before the session has started."""
        self._stream: AudioStream | None = None
        """Audio stream of the session; None until the session key arrives."""
        self._udp: socket.socket | None = None
        """UDP socket until the stream takes it over."""
        self._encryption: CallEncryption | None = None
        self._other_user_ids: set[int] = set()
        """IDs of the other users in the call."""
        self._ssrcs: dict[int, int] = {}
        """User IDs by SSRC."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._was_connected = False
        """Whether the call has been connected at least once."""
        self._connected_at = 0.0
        """Loop time at which the current connection became Connected; 0 until then."""
        self._was_accepted = False
        """Whether the voice server accepted the current connection."""
        self._group_timer: asyncio.TimerHandle | None = None
        """Timer that stops waiting for the encryption group; None if the connection does not wait for it."""
        self._is_speaking = self._sent_speaking = False
        """Whether the current user speaks, and the value in the last Speaking message."""
        self._is_sending_speaking = False
        """Whether `_send_speaking` is running."""

    async def run(self) -> None:
        """Keep the call connected until it ends, and set its final status."""
        try:
            await self._run_until_ended()
        except CallEnded as call_end:
            self._log(f"The call of lobby {self._state.lobby_id} ended: {call_end}")
            self._state.set_status(CallStatus.DISCONNECTED, call_end.error, call_end.detail)
        finally:
            self._release()

    # Connecting and reconnecting

    async def _run_until_ended(self) -> None:
        """Connect and reconnect until the call ends; always raises `CallEnded`."""
        ticket = await self._get_ticket(CallError.JOIN_TIMEOUT)
        self._state.set_status(CallStatus.CONNECTING)
        loop = asyncio.get_running_loop()
        start_mode, failures, deadline = StartMode.IDENTIFY, 0, None
        while True:
            code = await self._run_connection(ticket, start_mode)
            self._raise_if_expelled(code)
            new_ticket = self._state.ticket
            has_moved = new_ticket is not None and new_ticket != ticket
            if not self._was_connected and not has_moved:
                failure = CallError.SIGNALING_CONNECTION_FAILED
                raise CallEnded(CallError.VOICE_CONNECTION_FAILED if self._was_accepted else failure, code)
            if code in FINAL_CLOSE_CODES:
                raise CallEnded(CallError.SIGNALING_UNEXPECTED_CLOSE, code)
            now = loop.time()
            if self._connected_at and now - self._connected_at > STABLE_AFTER_SECONDS:
                failures = 0
            if self._connected_at or deadline is None:
                deadline = now + RECONNECT_TIMEOUT_SECONDS
            self._connected_at = 0.0
            if self._was_connected:
                self._state.set_status(CallStatus.RECONNECTING)
            if now > deadline:
                raise CallEnded(CallError.SIGNALING_UNEXPECTED_CLOSE, code)
            if not has_moved and code == VoiceCloseCode.DISCONNECTED:
                new_ticket = await self._wait_for_move(ticket, deadline)
                has_moved = True
            if has_moved:
                assert new_ticket is not None
                start_mode, ticket = StartMode.IDENTIFY, new_ticket
            elif code in STALE_CLOSE_CODES:
                start_mode = (
                    StartMode.IDENTIFY if self._was_accepted or start_mode is StartMode.RESUME else StartMode.REJOIN
                )
            else:
                start_mode = StartMode.RESUME if self._stream is not None else StartMode.IDENTIFY
            if failures and not self._was_accepted and code not in STALE_CLOSE_CODES:
                await self._call_gateway.ping(self._state)
            await asyncio.sleep(_compute_backoff_seconds(failures))
            failures += 1
            if start_mode is StartMode.REJOIN:
                await self._wait_for_session(deadline, code)
                await self._call_gateway.rejoin(self._state)
                ticket, start_mode = (
                    await self._get_ticket(CallError.SIGNALING_UNEXPECTED_CLOSE, code),
                    StartMode.IDENTIFY,
                )

    async def _get_ticket(self, error: CallError, code: int = 0) -> VoiceTicket:
        """Wait for a ticket from the platform; raise `CallEnded` with `error` on timeout or if the user was removed.

        A user who is removed while joining gets the error FORBIDDEN instead of JOIN_TIMEOUT."""
        state = self._state
        try:
            async with asyncio.timeout(TICKET_TIMEOUT_SECONDS):
                while state.ticket is None:
                    if state.is_expelled:
                        raise CallEnded(CallError.FORBIDDEN if error is CallError.JOIN_TIMEOUT else error, code)
                    state.update_event.clear()
                    await state.update_event.wait()
        except TimeoutError:
            raise CallEnded(error, code) from None
        return state.ticket

    async def _wait_for_session(self, deadline: float, code: int) -> None:
        """Wait until the gateway session is ready, because only then can a ticket be requested.

        Return early if the user was removed from the call; raise `CallEnded` after the deadline."""
        state, loop = self._state, asyncio.get_running_loop()
        while not state.is_session_ready() and not state.is_expelled:
            if loop.time() > deadline:
                raise CallEnded(CallError.SIGNALING_UNEXPECTED_CLOSE, code)
            await self._wait_for_update(CHECK_INTERVAL_SECONDS)

    async def _wait_for_update(self, timeout_seconds: float) -> None:
        """Wait until `CallState.update_event` is set, or until the timeout, and clear it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._state.update_event.wait()
        self._state.update_event.clear()

    async def _wait_for_move(self, ticket: VoiceTicket, deadline: float) -> VoiceTicket:
        """Wait for a new ticket after `VoiceCloseCode.DISCONNECTED`.

        The timeout starts again while the gateway session is not ready or the platform assigns another voice server. Raise
        `CallEnded` on timeout or if the user was removed."""
        state, loop = self._state, asyncio.get_running_loop()
        give_up_at = loop.time() + MOVE_TIMEOUT_SECONDS
        while state.ticket is None or state.ticket == ticket:
            self._raise_if_expelled(VoiceCloseCode.DISCONNECTED)
            if not state.is_session_ready() or state.ticket is None:
                give_up_at = min(loop.time() + MOVE_TIMEOUT_SECONDS, deadline)
            if loop.time() >= give_up_at:
                raise CallEnded(CallError.SIGNALING_UNEXPECTED_CLOSE, VoiceCloseCode.DISCONNECTED)
            await self._wait_for_update(min(CHECK_INTERVAL_SECONDS, max(give_up_at - loop.time(), 0)))
        return state.ticket

    def _raise_if_expelled(self, code: int) -> None:
        """Raise `CallEnded` if the user was removed from the call.

        `code` is the close code of the connection, or 0. The error has it if the voice server sent it, and
        `VoiceCloseCode.DISCONNECTED` otherwise."""
        if self._state.is_expelled:
            server_code = int(VoiceCloseCode.DISCONNECTED)
            if code >= SERVER_CLOSE_CODE_MIN and code != UNRESPONSIVE_CLOSE_CODE:
                server_code = code
            raise CallEnded(CallError.SIGNALING_UNEXPECTED_CLOSE, server_code)

    # Single connection

    async def _run_connection(self, ticket: VoiceTicket, start_mode: StartMode) -> int:
        """Run one connection until it ends, and return its close code, or 0."""
        self._was_accepted = self._is_sending_speaking = False
        is_resume = start_mode is StartMode.RESUME
        if not is_resume:
            self._release()
        voice = self._socket = VoiceSocket(self._http, ticket.endpoint, self._tls, self._seq)
        close_code = LEAVE_CLOSE_CODE
        watch_task: asyncio.Task[None] | None = None
        try:
            self._state.log(f"{'resuming' if is_resume else 'connecting'} at {ticket.endpoint}")
            await voice.open()
            watch_task = asyncio.create_task(self._watch_connection(voice, ticket))
            credentials = {
                "server_id": str(self._state.server_id),
                "session_id": ticket.session_id,
                "token": ticket.token,
            }
            if is_resume:
                await voice.send(VoiceOpcode.RESUME, credentials | {"seq_ack": voice.seq})
            else:
                credentials |= {"user_id": str(self._user_id)}
                await voice.send(VoiceOpcode.IDENTIFY, credentials | {"max_dave_protocol_version": DAVE_VERSION})
            while True:
                op, payload = await voice.receive()
                await self._handle_message(voice, op, payload)
        except VoiceSocketClosed as close_error:
            close_code = UNRESPONSIVE_CLOSE_CODE
            cause = (
                f" ({close_error.__cause__ or type(close_error.__cause__).__name__})"
                if close_error.__cause__ is not None
                else ""
            )
            self._state.log(f"the voice connection was closed with code {close_error.code}{cause}")
            return close_error.code
        finally:
            self._seq = voice.seq
            self._socket = None
            # The tasks must end first: one of them may be reading the UDP socket, which is closed next.
            tasks = [*self._tasks, *([watch_task] if watch_task is not None else ())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            close_task = asyncio.ensure_future(voice.close(LEAVE_CLOSE_CODE if self._state.is_expelled else close_code))
            try:
                await asyncio.wait([close_task], timeout=SOCKET_CLOSE_TIMEOUT_SECONDS)
            finally:
                close_task.cancel()
                await asyncio.gather(close_task, return_exceptions=True)

    async def _watch_connection(self, voice: VoiceSocket, ticket: VoiceTicket) -> None:
        """Close the connection if the call moved, the user was removed, packets stopped, or connecting is too slow.

        It is also closed when a new key is needed, because a packet number must not be used twice."""
        state, checks_since_expelled, loop = self._state, 0, asyncio.get_running_loop()
        deadline = loop.time() + CONNECT_TIMEOUT_SECONDS
        while True:
            await self._wait_for_update(min(CHECK_INTERVAL_SECONDS, CONNECT_TIMEOUT_SECONDS))
            if state.is_expelled:
                # Give the voice server time to close the connection itself with the actual close code.
                checks_since_expelled += 1
            is_udp_lost = self._stream is not None and self._stream.frames_since_packet > SILENT_FRAMES_MAX
            needs_new_key = self._stream is not None and self._stream.packet_codec.needs_new_key
            is_too_slow = not self._connected_at and loop.time() > deadline
            if (
                is_udp_lost
                or needs_new_key
                or is_too_slow
                or checks_since_expelled > EXPELLED_CHECKS_MAX
                or (state.ticket is not None and state.ticket != ticket)
            ):
                if is_udp_lost:
                    self._log("No packet arrived for a while, reconnecting")
                if is_udp_lost or needs_new_key:
                    # A resumed session would keep the dead UDP path and the key, so start a new one.
                    self._release()
                await voice.close(UNRESPONSIVE_CLOSE_CODE)
                return

    async def _handle_message(self, voice: VoiceSocket, op: int, payload: bytes) -> None:
        """Handle a message of the voice gateway with the opcode `op`."""
        self._state.log(f"received opcode {op}, {len(payload)} bytes", LoggingSeverity.VERBOSE)
        if op == VoiceOpcode.READY:
            if self._ready is not None:
                raise VoiceSocketClosed(0)
            self._was_accepted = True
            if not self._was_connected:
                self._state.set_status(CallStatus.SIGNALING_CONNECTED)
            self._ready = decode_voice_payload(payload, VoiceReady, "ssrc", "ip", "port", "modes")
            self._spawn(self._open_udp(voice, self._ready))
        elif op == VoiceOpcode.SESSION_DESCRIPTION:
            description = decode_voice_payload(payload, SessionDescription, "mode", "secret_key")
            await self._start_stream(voice, description)
        elif op == VoiceOpcode.RESUMED:
            self._was_accepted = True
            self._become_connected()
        elif op == VoiceOpcode.SPEAKING:
            speaking = decode_voice_payload(payload, Speaking, "user_id")
            ssrc = value_or(speaking.ssrc, 0)
            if len(self._ssrcs) < SPEAKERS_MAX:
                self._ssrcs[ssrc] = speaking.user_id
            if self._stream is not None:
                self._stream.set_user(ssrc, speaking.user_id)
        elif op == VoiceOpcode.CLIENTS_CONNECT:
            user_ids = decode_voice_payload(payload, ClientsConnect).user_ids or []
            self._state.log(f"connected users: {', '.join(map(str, user_ids))}")
            self._other_user_ids.update(user_ids)
        elif op == VoiceOpcode.CLIENT_DISCONNECT:
            self._remove_user(decode_voice_payload(payload, ClientDisconnect, "user_id").user_id)
        elif VoiceOpcode.DAVE_PREPARE_TRANSITION <= op <= VoiceOpcode.MLS_WELCOME and self._encryption is not None:
            allowed_ids, was_ready = self._other_user_ids | {self._user_id}, self._encryption.ready
            if not await process_group_message(voice, self._encryption, op, payload, allowed_ids, self._log):
                self._log("Leaving the call: the voice server continues without end-to-end encryption")
                raise CallEnded(CallError.VOICE_CONNECTION_FAILED)
            if self._encryption.ready and not was_ready:
                self._state.log("joined the encryption group")
        self._connect_when_ready()

    def _remove_user(self, user_id: int) -> None:
        self._state.log(f"user {user_id} disconnected")
        self._other_user_ids.discard(user_id)
        self._ssrcs = {ssrc: owner_id for ssrc, owner_id in self._ssrcs.items() if owner_id != user_id}
        if self._stream is not None:
            self._stream.remove_user(user_id)

    # Packets

    async def _open_udp(self, voice: VoiceSocket, ready: VoiceReady) -> None:
        """Discover the client's address, choose the encryption mode of packets, and select the protocol."""
        mode = next((name for name in ready.modes if name in SUPPORTED_MODES), None)
        if mode is None:
            self._log(f"No encryption mode of the voice server is supported: {', '.join(ready.modes)}")
            await voice.close(UNRESPONSIVE_CLOSE_CODE)
            return
        try:
            self._udp = discovery.open_udp_socket(ready.ip, ready.port)
            address, port = await discovery.discover_address(self._udp, ready.ssrc)
        except (OSError, ValueError, OverflowError) as error:
            self._log(f"Could not reach the voice server over UDP: {error or type(error).__name__}")
            await voice.close(UNRESPONSIVE_CLOSE_CODE)
            return
        self._state.log(f"audio through {ready.ip}:{ready.port} with {mode}")
        transport = {"address": address, "port": port, "mode": mode}
        await voice.send(VoiceOpcode.SELECT_PROTOCOL, {"protocol": "udp", "data": transport})

    async def _start_stream(self, voice: VoiceSocket, description: SessionDescription) -> None:
        """Start the audio stream with the session key."""
        ready, udp = self._ready, self._udp
        if ready is None or udp is None or self._stream is not None:
            raise VoiceSocketClosed(0)
        if value_or(description.dave_protocol_version, 0) < DAVE_VERSION:
            self._log("Leaving the call: the voice server does not offer end-to-end encryption")
            raise CallEnded(CallError.VOICE_CONNECTION_FAILED)
        if (
            description.mode not in SUPPORTED_MODES
            or len(description.secret_key) != SECRET_KEY_BYTES
            or not all(0 <= byte < 256 for byte in description.secret_key)
        ):
            raise VoiceSocketClosed(0)
        self._encryption = CallEncryption(self._user_id, self._state.lobby_id)
        packet_codec = PacketCodec(description.mode, bytes(description.secret_key), ready.ssrc)
        stream = AudioStream(udp, packet_codec, self._encryption, self._state, self._user_id, self._speaking_changed)
        self._stream, self._udp = stream, None
        for ssrc, user_id in self._ssrcs.items():
            stream.set_user(ssrc, user_id)
        self._engine.add(stream)
        self._is_speaking = self._sent_speaking = False
        await voice.send(VoiceOpcode.SPEAKING, {"speaking": 0, "delay": 0, "ssrc": ready.ssrc})
        await voice.send_bytes(VoiceOpcode.MLS_KEY_PACKAGE, self._encryption.key_package())
        self._group_timer = asyncio.get_running_loop().call_later(GROUP_TIMEOUT_SECONDS, self._become_connected)

    def _connect_when_ready(self) -> None:
        """Become Connected once the stream exists and either no other client is present or the group is ready."""
        if self._stream is None or self._encryption is None or not self._was_accepted:
            return
        if not self._other_user_ids or self._encryption.ready:
            self._become_connected()

    def _become_connected(self) -> None:
        if self._group_timer is not None:
            self._group_timer.cancel()
            self._group_timer = None
        if self._stream is None or self._socket is None:
            return
        self._was_connected = True
        if not self._connected_at:
            self._connected_at = asyncio.get_running_loop().time()
            self._state.set_status(CallStatus.CONNECTED)
            # Send a change that happened while there was no connection.
            self._update_speaking(self._is_speaking)

    def _release(self) -> None:
        """Release the stream, the UDP socket and the state of the session."""
        if self._group_timer is not None:
            self._group_timer.cancel()
            self._group_timer = None
        if self._stream is not None:
            self._engine.remove(self._stream)
        if self._udp is not None:
            self._udp.close()
        self._stream = self._udp = self._encryption = self._ready = None
        self._other_user_ids, self._ssrcs, self._seq = set(), {}, -1

    # Speaking

    def _speaking_changed(self, user_id: int, is_speaking: bool) -> None:
        """Record that a user starts or stops speaking; called on the voice thread."""
        self._state.log(f"user {user_id} {'speaks' if is_speaking else 'is silent'}", LoggingSeverity.VERBOSE)
        self._state.record_speaking(user_id, is_speaking)
        if user_id == self._user_id:
            self._post_to_loop(self._update_speaking, is_speaking)

    def _update_speaking(self, is_speaking: bool) -> None:
        """Record whether the current user speaks, and send a change to the voice server."""
        self._is_speaking = is_speaking
        if self._socket is not None and not self._is_sending_speaking and self._is_speaking != self._sent_speaking:
            self._is_sending_speaking = True
            self._spawn(self._send_speaking())

    async def _send_speaking(self) -> None:
        try:
            while self._is_speaking != self._sent_speaking and self._socket is not None and self._ready is not None:
                self._sent_speaking = self._is_speaking
                payload = {"speaking": int(self._is_speaking), "delay": 0, "ssrc": self._ready.ssrc}
                await self._socket.send(VoiceOpcode.SPEAKING, payload)
                await asyncio.sleep(SPEAKING_INTERVAL_SECONDS)
        finally:
            self._is_sending_speaking = False

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log(f"A task of the call raised an unexpected exception: {error!r}")


def _compute_backoff_seconds(failures: int) -> float:
    """Return the delay before a retry: 0 for the first, then growing exponentially with jitter."""
    if failures == 0:
        return 0.0
    return float(
        min(RECONNECT_DELAY_MAX_SECONDS, RECONNECT_DELAY_MIN_SECONDS * 2**failures) * (0.5 + random.random() / 2)
    )
