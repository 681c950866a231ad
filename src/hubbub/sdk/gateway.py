"""Gateway connection of a client: identify, heartbeat, resume and reconnect (spec/sdk.md#5, spec/gateway.md#4).

Of the events this module interprets only READY and RESUMED, to track the session; `events.py` handles all events.
"""

import asyncio
import contextlib
import random
import sys
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import aiohttp
import msgspec

from hubbub import __version__
from hubbub.protocol.errors import ApiError
from hubbub.protocol.intents import Capabilities, Intents
from hubbub.protocol.shared_enums import TERMINAL_CLOSE_CODES, CloseCode, GatewayOpcode
from hubbub.sdk import resources, version
from hubbub.sdk.core import Core
from hubbub.sdk.daemon_threads import new_session
from hubbub.sdk.enums import ClientError, ClientStatus
from hubbub.sdk.tolerant_models import decode

CAPABILITIES: Final = (
    Capabilities.DEDUPE_USER_OBJECTS
    | Capabilities.PRIORITIZED_READY_PAYLOAD
    | Capabilities.AUTO_CALL_CONNECT
    | Capabilities.AUTO_LOBBY_CONNECT
)
"""Capabilities that the client sends in Identify."""
INTENTS: Final = (
    Intents.DIRECT_MESSAGES
    | Intents.PRIVATE_CHANNELS
    | Intents.CALLS
    | Intents.USER_RELATIONSHIPS
    | Intents.USER_PRESENCE
    | Intents.LOBBIES
    | Intents.LOBBY_DELETE
)
"""Intents that the client sends in Identify."""
SESSION_LOST_CLOSE_CODES: Final = frozenset(
    (CloseCode.NOT_AUTHENTICATED, CloseCode.INVALID_SEQ, CloseCode.SESSION_TIMED_OUT)
)
"""Close codes after which the session cannot be resumed and a new one is started."""
END_CLOSE_CODE: Final = 1000
"""Close code with which the client ends its session (spec/gateway.md#3)."""
RESUMABLE_CLOSE_CODE: Final = 4000
"""Close code with which the client closes a connection whose session it will resume (spec/gateway.md#3)."""
BACKOFF_MIN_SECONDS: Final = 1.0
BACKOFF_MAX_SECONDS: Final = 60.0
SUPPLEMENTAL_TIMEOUT_SECONDS: Final = 0.25
"""Maximum time to wait for READY_SUPPLEMENTAL after READY, in seconds; the platform may not send it."""
CLOSE_TIMEOUT_SECONDS: Final = 1.0
"""Timeout of the WebSocket closing handshake in seconds."""
DESTROY_TIMEOUT_SECONDS: Final = 0.25
"""Timeout of the WebSocket closing handshake in seconds while the client is being destroyed."""
ZLIB_SUFFIX: Final = b"\x00\x00\xff\xff"
"""Last bytes of a complete compressed message."""
INVALID_TOKEN_CODE: Final = CloseCode.AUTHENTICATION_FAILED.value
"""Close code with which the platform rejects a token."""


class GatewayFrame(msgspec.Struct):
    """A gateway message."""

    op: int
    """Opcode."""
    d: msgspec.Raw = msgspec.Raw(b"null")
    """Payload, not yet decoded."""
    s: int | None = None
    """Sequence number of an event; None for other messages."""
    t: str | None = None
    """Name of an event; None for other messages."""


_frame_decoder: Final = msgspec.json.Decoder(GatewayFrame, strict=False)


class ConnectionLost(Exception):
    """Raised when the gateway connection ends, or cannot be opened; `detail` is a close code, an HTTP status, or 0."""

    def __init__(self, error: ClientError, detail: int = 0, *, reconnects_immediately: bool = False) -> None:
        self.error = error
        self.detail = detail
        self.reconnects_immediately = reconnects_immediately
        """Whether to reconnect without a delay."""
        super().__init__(f"{error.label} {detail}")


class ResumableSession(NamedTuple):
    """ID and resume URL of a session."""

    id: str
    url: str | None
    """URL to resume at; None for the default gateway URL."""


class Gateway:
    """The gateway session of a client; `dispatch` receives the name and the payload of each event."""

    def __init__(self, core: Core, dispatch: Callable[[str, msgspec.Raw], None]) -> None:
        self._core = core
        self._dispatch = dispatch
        self._task: asyncio.Task[None] | None = None
        """Task that connects and reconnects; None before the first `connect`."""
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        """The open WebSocket; None while there is no connection."""
        self._http: aiohttp.ClientSession | None = None
        self._session: ResumableSession | None = None
        """The current session; None if the next connection starts a new one."""
        self._sequence: int | None = None
        """Sequence number of the last event of the session; None before the first event."""
        self._is_heartbeat_acknowledged = True
        """Whether the platform acknowledged the last heartbeat."""
        self._attempts = 0
        """Number of failed attempts since the client was last ready, for the backoff."""
        self._supplemental_timer: asyncio.TimerHandle | None = None
        """Timer that stops waiting for READY_SUPPLEMENTAL; None if the client does not wait for it."""
        self._settled: asyncio.Event | None = None
        """Set once the client is ready or has failed to connect."""
        self._is_restarting = False
        """Whether the client closes the connection itself to start a new session."""
        self._loss = ConnectionLost(ClientError.CONNECTION_CANCELED)
        """The reason why the client is disconnected, which a waiting `connect` raises."""
        self.find_presence: Callable[[], dict[str, Any] | None] = lambda: None
        """Function that returns the presence for Identify, or None to send none."""
        self.identify_fields: dict[str, Any] = {
            "capabilities": CAPABILITIES,
            "intents": INTENTS,
            "properties": {
                "os": sys.platform,
                "browser": "hubbub-sdk",
                "device": "console",
                "version": __version__,
                "client_build_number": version.PATCH,
            },
        }
        """Fields of Identify, except the token and the presence."""
        self.before_session: Callable[[], Any] | None = None
        """Coroutine function that inspects the token before each new session."""
        self.on_token_rejected: Callable[[], None] = lambda: None
        """Function called when the platform rejects the token."""
        self.sleep: Callable[[float], Any] = asyncio.sleep
        """Function that waits for a number of seconds before a reconnect; tests replace it."""
        core.close_hooks.append(self.close)

    @property
    def session_id(self) -> str:
        """ID of the session; empty if there is none."""
        return self._session.id if self._session is not None else ""

    # Public interface

    async def connect(self) -> None:
        """Connect and stay connected; return once the status is Ready.

        Raise `ConnectionLost` after a terminal error or a call of `disconnect`."""
        if self._task is not None and self._core.status is ClientStatus.DISCONNECTING:
            await asyncio.wait([self._task])
        if self._task is None or self._task.done():
            self._settled = asyncio.Event()
            self._session, self._sequence, self._attempts = None, None, 0
            self._core.set_status(ClientStatus.CONNECTING)
            self._task = asyncio.create_task(self._run_connections())
            self._core.tasks.add(self._task)
            self._task.add_done_callback(self._on_task_done)
        assert self._settled is not None
        await self._settled.wait()
        if self._core.status is ClientStatus.DISCONNECTED:
            raise self._loss

    async def disconnect(self) -> None:
        """Disconnect and end the session."""
        task = self._task
        if task is None or task.done():
            return
        is_interrupted = self._core.status in (ClientStatus.CONNECTING, ClientStatus.HTTP_WAIT)
        error = ClientError.CONNECTION_CANCELED if is_interrupted else ClientError.NONE
        self._core.set_status(ClientStatus.DISCONNECTING)
        self._loss = ConnectionLost(ClientError.CONNECTION_CANCELED)
        task.cancel()
        await asyncio.wait([task])
        self._session = None
        self._core.set_status(ClientStatus.DISCONNECTED, error)

    async def send(self, op: int, data: Any) -> None:
        """Send a frame; raise ConnectionError if there is no connection."""
        if self._socket is None or self._socket.closed:
            raise ConnectionError("The client is not connected")
        await self._socket.send_str(msgspec.json.encode({"op": op, "d": data}).decode())

    async def restart_session(self) -> None:
        """End the session and start a new one with the current token; do nothing without a connection."""
        if self._socket is not None:
            self._session, self._is_restarting = None, True
            await self._socket.close(code=END_CLOSE_CODE)

    async def close(self) -> None:
        """Cancel the connection task and close the HTTP session."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._http is not None:
            await self._http.close()

    # Connection loop

    def _on_task_done(self, task: "asyncio.Task[None]") -> None:
        self._core.tasks.discard(task)
        if self._supplemental_timer is not None:
            self._supplemental_timer.cancel()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._core.logs.error(f"The connection failed with an unexpected exception: {error!r}")
            self._loss = ConnectionLost(ClientError.CONNECTION_FAILED)
            self._core.set_status(ClientStatus.DISCONNECTED, ClientError.CONNECTION_FAILED)
        if self._settled is not None:
            self._settled.set()

    async def _run_connections(self) -> None:
        """Connect, and reconnect after each loss; return after a terminal error."""
        while True:
            try:
                url = await self._resolve_url()
                await self._run_socket(url)
            except ConnectionLost as loss:
                if loss.detail in TERMINAL_CLOSE_CODES:
                    # Since 1.10 the client does not reconnect: every attempt would fail.
                    self._loss, self._session = loss, None
                    if loss.detail == INVALID_TOKEN_CODE:
                        self.on_token_rejected()
                    self._core.set_status(ClientStatus.DISCONNECTED, loss.error, loss.detail)
                    return
                self._core.logs.warning(f"Connection lost: {loss}")
                if loss.detail in SESSION_LOST_CLOSE_CODES:
                    self._session = None
                self._core.set_status(ClientStatus.RECONNECTING, loss.error, loss.detail)
                if not loss.reconnects_immediately:
                    await self._back_off()

    async def _back_off(self, retry_after_seconds: float = 0.0) -> None:
        """Wait 0.5 to 60 seconds, growing exponentially with jitter, but not less than the platform's `retry_after`."""
        delay_seconds = min(BACKOFF_MAX_SECONDS, BACKOFF_MIN_SECONDS * 2**self._attempts)
        self._attempts += 1
        await self.sleep(max(retry_after_seconds, delay_seconds * (0.5 + random.random() / 2)))

    async def _resolve_url(self) -> str:
        """Return the resume URL of the session, or else request the gateway URL; retry with the status HttpWait after errors.

        Raise `ConnectionLost` if the platform rejects the token."""
        while True:
            if self._session is not None and self._session.url is not None:
                return self._session.url
            retry_after_seconds = 0.0
            try:
                if self._session is None and self.before_session is not None:
                    await self.before_session()
                # Make only one attempt, because the client reports each wait to the game as the status HttpWait.
                return (await self._core.call(resources.gateway.GET_GATEWAY, tries=1)).url
            except ApiError as error:
                if error.status == 401:
                    raise ConnectionLost(ClientError.UNEXPECTED_CLOSE, INVALID_TOKEN_CODE) from None
                detail, retry_after_seconds = error.status, float(error.extra.get("retry_after") or 0)
            except (aiohttp.ClientError, OSError, msgspec.MsgspecError):
                detail = 0
            previous_status = self._core.status
            self._core.set_status(ClientStatus.HTTP_WAIT, ClientError.CONNECTION_FAILED, detail)
            await self._back_off(retry_after_seconds)
            self._core.set_status(
                previous_status if previous_status is ClientStatus.RECONNECTING else ClientStatus.CONNECTING
            )

    async def _run_socket(self, url: str) -> None:
        """Run one WebSocket from Hello to its end; always raises `ConnectionLost`."""
        if self._http is None:
            self._http = new_session()
        separator = "&" if "?" in url else "?"
        timeout_seconds = self._core.api.timeout_ms / 1000
        try:
            async with asyncio.timeout(timeout_seconds):
                self._socket = await self._http.ws_connect(
                    f"{url}{separator}v=10&encoding=json&compress=zlib-stream",
                    max_msg_size=0,
                    timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_TIMEOUT_SECONDS),
                )
        except (aiohttp.ClientError, OSError) as error:
            status = error.status if isinstance(error, aiohttp.WSServerHandshakeError) else 0
            self._core.logs.warning(f"Could not reach the gateway: HTTP status {status or 'none'}")
            if self._session is not None:
                # Since 1.6 the client falls back from the session's resume URL to the default one.
                self._session = self._session._replace(url=None)
            raise ConnectionLost(ClientError.CONNECTION_FAILED, status) from None
        heartbeat: asyncio.Task[None] | None = None
        inflater, pending_bytes = zlib.decompressobj(), bytearray()
        try:
            while True:
                # Hello must arrive in time; afterwards the heartbeat detects a dead connection.
                message = await self._socket.receive(None if heartbeat else timeout_seconds)
                if message.type is aiohttp.WSMsgType.BINARY:
                    pending_bytes += message.data
                    if not pending_bytes.endswith(ZLIB_SUFFIX):
                        continue
                    frame_json: bytes | str = inflater.decompress(bytes(pending_bytes))
                    pending_bytes.clear()
                elif message.type is aiohttp.WSMsgType.TEXT:
                    frame_json = message.data
                else:
                    break
                frame = _frame_decoder.decode(frame_json)
                if frame.op == GatewayOpcode.HELLO:
                    interval_seconds = msgspec.json.decode(frame.d)["heartbeat_interval"] / 1000
                    heartbeat = asyncio.create_task(self._heartbeat(interval_seconds))
                    await self._identify_or_resume()
                else:
                    await self._handle_frame(frame)
            reconnects_immediately, self._is_restarting = self._is_restarting, False
            raise ConnectionLost(
                ClientError.UNEXPECTED_CLOSE,
                self._socket.close_code or 0,
                reconnects_immediately=reconnects_immediately,
            )
        except (ConnectionError, TimeoutError, aiohttp.ClientError, zlib.error, msgspec.MsgspecError) as error:
            raise ConnectionLost(ClientError.UNEXPECTED_CLOSE, self._socket.close_code or 0) from error
        finally:
            if heartbeat is not None:
                heartbeat.cancel()
            socket, self._socket = self._socket, None
            await self._close_socket(socket)

    async def _close_socket(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        ends_session = self._core.is_destroyed or self._core.status is ClientStatus.DISCONNECTING
        close_task = asyncio.ensure_future(socket.close(code=END_CLOSE_CODE if ends_session else RESUMABLE_CLOSE_CODE))
        try:
            # Destroying the client must not wait for a platform that does not respond.
            await asyncio.wait([close_task], timeout=DESTROY_TIMEOUT_SECONDS if self._core.is_destroyed else None)
        except asyncio.CancelledError:
            await asyncio.wait(
                [close_task], timeout=DESTROY_TIMEOUT_SECONDS if self._core.is_destroyed else CLOSE_TIMEOUT_SECONDS
            )
            raise
        finally:
            close_task.cancel()
            await asyncio.gather(close_task, return_exceptions=True)

    async def _identify_or_resume(self) -> None:
        token = f"{self._core.token_prefix}{self._core.token}"
        if self._session is not None:
            await self.send(
                GatewayOpcode.RESUME, {"token": token, "session_id": self._session.id, "seq": self._sequence}
            )
            return
        self._sequence = None
        identify: dict[str, Any] = {"token": token, **self.identify_fields}
        presence = self.find_presence()
        if presence is not None:
            identify["presence"] = presence
        await self.send(GatewayOpcode.IDENTIFY, identify)
        self._core.set_status(ClientStatus.CONNECTED)

    async def _handle_frame(self, frame: GatewayFrame) -> None:
        if frame.op == GatewayOpcode.DISPATCH:
            if frame.s is not None:
                self._sequence = frame.s
            self._handle_event(frame.t or "", frame.d)
        elif frame.op == GatewayOpcode.HEARTBEAT:
            await self.send(GatewayOpcode.HEARTBEAT, self._sequence)
            self._core.run_in_background(self._update_platform_time)
        elif frame.op == GatewayOpcode.RECONNECT:
            raise ConnectionLost(ClientError.UNEXPECTED_CLOSE, 0, reconnects_immediately=True)
        elif frame.op == GatewayOpcode.INVALID_SESSION:
            # The payload is true if the session can be resumed.
            if bytes(frame.d) != b"true":
                self._session = None
            raise ConnectionLost(ClientError.UNEXPECTED_CLOSE, 0)
        elif frame.op == GatewayOpcode.HEARTBEAT_ACK:
            self._is_heartbeat_acknowledged = True

    async def _update_platform_time(self) -> None:
        """Update the estimate of the platform's clock from a response.

        The platform requests a heartbeat when its clock jumps."""
        with contextlib.suppress(ApiError, aiohttp.ClientError, OSError):
            await self._core.request(resources.gateway.GET_GATEWAY, token="", tries=1)

    def _handle_event(self, event: str, data: msgspec.Raw) -> None:
        """Dispatch an event, and track whether the session is ready."""
        is_ready_event = event == resources.gateway.READY.name
        if is_ready_event:
            ready = decode(data, resources.gateway.Ready)
            if not ready.session_id or not ready.user:
                raise msgspec.ValidationError("READY has no session ID or no user")
            self._session = ResumableSession(ready.session_id, ready.resume_gateway_url or None)
        try:
            self._dispatch(event, data)
        except msgspec.MsgspecError as error:
            self._core.logs.warning(f"Could not decode event {event}: {error}")
        if is_ready_event:
            # READY_SUPPLEMENTAL follows immediately if the platform sends it; waiting for it makes the cache complete.
            self._supplemental_timer = asyncio.get_running_loop().call_later(
                SUPPLEMENTAL_TIMEOUT_SECONDS, self._become_ready
            )
        elif event == resources.gateway.RESUMED.name or self._supplemental_timer is not None:
            self._become_ready()

    def _become_ready(self) -> None:
        if self._supplemental_timer is not None:
            self._supplemental_timer.cancel()
            self._supplemental_timer = None
        self._attempts = 0
        self._core.set_status(ClientStatus.READY)
        if self._settled is not None:
            self._settled.set()

    async def _heartbeat(self, interval_seconds: float) -> None:
        """Send heartbeats, the first after a random delay; close the connection if one is not acknowledged."""
        self._is_heartbeat_acknowledged = True
        await asyncio.sleep(interval_seconds * random.random())
        while True:
            socket = self._socket
            if socket is None:
                return
            if not self._is_heartbeat_acknowledged:
                self._core.logs.warning("A heartbeat was not acknowledged")
                await socket.close(code=RESUMABLE_CLOSE_CODE)
                return
            self._is_heartbeat_acknowledged = False
            try:
                await self.send(GatewayOpcode.HEARTBEAT, self._sequence)
            except (ConnectionError, aiohttp.ClientError):
                return
            await asyncio.sleep(interval_seconds)
