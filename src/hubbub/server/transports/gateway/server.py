"""The gateway server: accepts WebSockets, handles frames, injects faults, drains, and closes idle connections.

It handles Identify, Resume and heartbeats itself; `commands` executes the other opcodes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web

from hubbub.protocol import codec
from hubbub.protocol.control.faults import GatewayFault
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.gateway import CLIENT_FRAMES_WINDOW_SECONDS, Hello, Identify, Resume
from hubbub.server.core.bus import Bus
from hubbub.server.core.call import Actor, Listeners, Ports
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.faults import Faults, matches_session
from hubbub.server.core.gateway_queries import GuildReader
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import Observer
from hubbub.server.core.presences import Presences
from hubbub.server.core.publication_log import PublicationLog
from hubbub.server.core.rate_limits import LookupKind, RateLimits
from hubbub.server.core.slices import Slice
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database
from hubbub.server.core.trace import Trace
from hubbub.server.core.traffic import PERSON_HEADER
from hubbub.server.transports import sockets
from hubbub.server.transports.gateway import etf, identification
from hubbub.server.transports.gateway.backup import SessionBackup
from hubbub.server.transports.gateway.commands import Commands
from hubbub.server.transports.gateway.compression import Compression, Encoding, has_zstd
from hubbub.server.transports.gateway.connection import UNRECORDED_OPCODES
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.frame_batches import FrameBatch
from hubbub.server.transports.gateway.handover import SessionHandover
from hubbub.server.transports.gateway.limits import SessionStarts
from hubbub.server.transports.gateway.presence import device_of
from hubbub.server.transports.gateway.replication import SessionReplication
from hubbub.server.transports.gateway.session import GatewayConnection
from hubbub.server.transports.gateway.session_transfer import HandoverDelayed
from hubbub.server.transports.gateway.sessions import GatewaySessions
from hubbub.server.transports.rate_window import RateWindow
from hubbub.server.transports.sockets import CloseConnection

log = logging.getLogger(__name__)

GATEWAY_VERSIONS: Final = frozenset({"6", "7", "8", "9", "10"})
DEFAULT_GATEWAY_VERSION: Final = "10"
COMPRESSIONS: Final = {
    "": Compression.NONE,
    "zlib-stream": Compression.ZLIB_STREAM,
    "zstd-stream": Compression.ZSTD_STREAM,
}
ENCODINGS: Final = {"json": Encoding.JSON, "etf": Encoding.ETF}
SOCKET_FRAME_BYTES_MAX: Final = 1024 * 1024
"""Size limit in bytes of a frame in the WebSocket reader; `gateway.frame_bytes_max` is the smaller limit of the protocol."""
SWEEP_INTERVAL_SECONDS: Final = 2.0
"""Maximum interval in seconds between two runs of the periodic cleanup."""


class Envelope(msgspec.Struct):
    """A payload from a client; keys other than `op` and `d` are ignored."""

    op: int
    d: msgspec.Raw = msgspec.Raw(b"null")


class Gateway:
    """All gateway connections of this node."""

    def __init__(
        self,
        *,
        db: Database,
        bus: Bus[Dispatch],
        clock: Clock,
        config: Config,
        metrics: Metrics,
        ids: SnowflakeFactory,
        presences: Presences,
        guild_reader: GuildReader,
        slices: Sequence[Slice],
        authenticate: Callable[[str], Awaitable[Actor | None]],
        listeners: Listeners | None = None,
        ports: Ports | None = None,
        faults: Faults | None = None,
        trace: Trace | None = None,
        rate_limits: RateLimits | None = None,
        observer: Observer | None = None,
        publication_log: PublicationLog | None = None,
    ) -> None:
        self._config = config
        self._rate_limits = rate_limits or RateLimits(clock.now_ms, config.rate_limits)
        self._faults = faults if faults is not None else Faults()
        self._metrics = metrics
        self._authenticate = authenticate
        """Function that finds the actor of a token without prefix."""
        self._context = GatewayContext(
            db=db,
            clock=clock,
            config=config,
            ids=ids,
            presences=presences,
            guild_reader=guild_reader,
            slices=slices,
            listeners=listeners,
            ports=ports,
            trace=trace if trace is not None else Trace(),
            observer=observer,
        )
        self.sessions = GatewaySessions(self._context, bus, metrics, presences, publication_log)
        self._backup = SessionBackup(self.sessions, bus, presences, metrics)
        self._replication = SessionReplication(self.sessions, bus, self._context, metrics)
        self._handover = SessionHandover(self.sessions, bus, presences, self._backup)
        self.session_starts = SessionStarts(config, clock, self._rate_limits)
        self._commands = Commands(self._context, self.sessions, metrics, self._rate_limits)
        self.frame_batch = FrameBatch()
        """The context in which the events of several commits are published."""
        self._connections: set[GatewayConnection] = set()
        self._disconnect_event = asyncio.Event()
        self._is_draining = False
        self._sweep_task: asyncio.Task[None] | None = None
        metrics.watch(metrics.gateway_connections, lambda: len(self._connections))

    async def start(self) -> None:
        """Subscribe to the bus and start the periodic cleanup. Must be called before the first connection."""
        self.sessions.start()
        self._handover.start()
        self._backup.start()
        self._replication.start()
        self._sweep_task = asyncio.get_running_loop().create_task(self._sweep())

    async def drain(self) -> None:
        """Ask every client to reconnect elsewhere, and close the remaining connections after `drain_ms`.

        Then other nodes take the sessions that no client has resumed there yet. New connections are asked to reconnect
        immediately.
        """
        self._is_draining = True
        self.sessions.presence_feed.drain()
        for connection in list(self._connections):
            connection.send_payload(GatewayOpcode.RECONNECT)
        try:
            async with asyncio.timeout(self._config.gateway.drain_ms / 1000):
                while self._connections:
                    self._disconnect_event.clear()
                    await self._disconnect_event.wait()
        except TimeoutError:
            await self._close_all()
        await self._handover.drain(self._config.gateway.drain_ms / 1000)

    def request_heartbeats(self) -> None:
        """Request a heartbeat from the clients of OAuth2 sessions after the clock was set.

        The SDK then reads the new time from a response (decisions/0112).
        """
        for connection in list(self._connections):
            if connection.session is not None and connection.session.is_oauth2:
                connection.send_payload(GatewayOpcode.HEARTBEAT)

    async def close(self) -> None:
        """Close every connection and end every session."""
        self._is_draining = True
        if self._sweep_task is not None:
            self._sweep_task.cancel()
            self._sweep_task = None
        await self._close_all()
        await self._replication.close()
        self._backup.close()
        self._handover.close()
        await self.sessions.close()

    async def _close_all(self) -> None:
        connections = list(self._connections)
        for connection in connections:
            connection.close(CloseCode.UNKNOWN_ERROR, "Reconnect")
        await asyncio.gather(
            *(connection.close_task for connection in connections if connection.close_task is not None),
            return_exceptions=True,
        )

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Handle a WebSocket request until the connection ends."""
        socket, transport = await sockets.accept(request, SOCKET_FRAME_BYTES_MAX, autoping=False)
        if transport is None:
            return socket
        connection = self._create_connection(request, socket, transport)
        self._connections.add(connection)
        client_close_code: int | None = None
        cause: str | None = None
        try:
            self._send_hello(connection, request)
            while connection.close_task is None:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT or message.type is WSMsgType.BINARY:
                    await self._handle_frame(connection, message.data)
                elif message.type is WSMsgType.PING:
                    self._count_frame(connection, asyncio.get_running_loop().time())
                    await sockets.answer_ping(socket, message.data)
                elif message.type is not WSMsgType.PONG:
                    if message.type is WSMsgType.CLOSE:
                        client_close_code = message.data
                    break
        except CloseConnection as closing:
            cause = closing.cause
            connection.close(closing.code, closing.reason)
        except Exception:
            log.exception("Unexpected error on a gateway connection")
            connection.close(CloseCode.UNKNOWN_ERROR, "Unknown error")
        finally:
            self._connections.discard(connection)
            self._disconnect_event.set()
            self.sessions.detach(connection, client_close_code)
        if connection.close_task is not None:
            self._metrics.gateway_closes(str(connection.code)).inc()
            if self._context.trace.is_enabled:
                at = codec.timestamp(self._context.clock.now_ms())
                self._context.trace.add_closed(at, connection.user_id, connection.code or 0, connection.reason, cause)
            if self._context.trace.traffic.is_enabled:
                user_id = None if connection.user_id is None else UserId(connection.user_id)
                self._context.trace.traffic.add_close("gateway", user_id, connection.code, connection.reason)
            await connection.close_task
        return socket

    # Connecting

    def _create_connection(
        self, request: web.Request, socket: web.WebSocketResponse, transport: asyncio.WriteTransport
    ) -> GatewayConnection:
        version = request.query.get("v", DEFAULT_GATEWAY_VERSION)
        return GatewayConnection(
            socket,
            transport,
            compression=COMPRESSIONS.get(request.query.get("compress", ""), Compression.NONE),
            encoding=ENCODINGS.get(request.query.get("encoding", "json"), Encoding.JSON),
            version=int(version) if version in GATEWAY_VERSIONS else 0,
            resume_url=self._resume_url(request),
            now=asyncio.get_running_loop().time(),
            frame_limit=RateWindow(self._config.gateway.commands_max, CLIENT_FRAMES_WINDOW_SECONDS),
            write_buffer_max=self._config.gateway.outgoing_buffer_bytes_max,
            client_ip=sockets.client_address(request, self._config.http.trusted_proxies),
            is_person=PERSON_HEADER in request.headers,
            traffic=self._context.trace.traffic,
            frame_batch=self.frame_batch,
        )

    def _send_hello(self, connection: GatewayConnection, request: web.Request) -> None:
        if not connection.version:
            raise CloseConnection(CloseCode.INVALID_API_VERSION, "Invalid API version")
        encoding, compress = request.query.get("encoding", "json"), request.query.get("compress", "")
        if encoding not in ENCODINGS:
            raise CloseConnection(CloseCode.DECODE_ERROR, f"Encoding {encoding[:20]} is not supported; use json or etf")
        if compress not in COMPRESSIONS or (connection.compression is Compression.ZSTD_STREAM and not has_zstd()):
            raise CloseConnection(CloseCode.DECODE_ERROR, f"Compression {compress[:20]} is not supported")
        if self._is_draining:
            connection.send_payload(GatewayOpcode.RECONNECT, starts_stream=True)
            raise CloseConnection(CloseCode.UNKNOWN_ERROR, "Reconnect")
        interval_ms = self._config.gateway.heartbeat_interval_ms
        connection.send_payload(GatewayOpcode.HELLO, Hello(heartbeat_interval=interval_ms), starts_stream=True)

    def _resume_url(self, request: web.Request) -> str:
        """Return the resume URL: the configured one of this node, else the public URL, else the URL of the request."""
        if self._config.gateway.resume_url is not None:
            return self._config.gateway.resume_url
        public_url = self._config.public_url
        if public_url is not None:
            return "ws" + public_url.removeprefix("http").rstrip("/") + "/gateway"
        return f"{'wss' if request.secure else 'ws'}://{request.host}/gateway"

    # Client frames

    async def _handle_frame(self, connection: GatewayConnection, message: str | bytes) -> None:
        frame_data = message.encode() if isinstance(message, str) else message
        if len(frame_data) > self._config.gateway.frame_bytes_max:
            raise CloseConnection(CloseCode.DECODE_ERROR, "Payload too large")
        now = asyncio.get_running_loop().time()
        self._count_frame(connection, now)
        if connection.encoding is Encoding.ETF:
            frame_data = _etf_to_json(message)
        envelope = _decode(frame_data, Envelope)
        opcode, session = envelope.op, connection.session
        if self._context.trace.is_enabled or self._context.trace.traffic.is_enabled:
            self._record_frame(connection, opcode, envelope.d)
        if opcode == GatewayOpcode.HEARTBEAT:
            self._heartbeat(connection, _decode(envelope.d, int | None), now)
        elif opcode == GatewayOpcode.IDENTIFY:
            self._require_unidentified(connection)
            await self._identify(connection, _decode(envelope.d, Identify))
        elif opcode == GatewayOpcode.RESUME:
            self._require_unidentified(connection)
            await self._resume(connection, _decode(envelope.d, Resume))
        elif session is None:
            raise CloseConnection(CloseCode.NOT_AUTHENTICATED, "Not authenticated")
        elif opcode == GatewayOpcode.QOS_HEARTBEAT and not session.actor.is_bot:
            self._heartbeat(connection, _decode(envelope.d, dict[str, Any]).get("seq"), now)
        else:
            session.pending_task_count += 1
            try:
                await self._commands.execute(connection, session, opcode, envelope.d, now)
            finally:
                session.pending_task_count -= 1

    def _record_frame(self, connection: GatewayConnection, opcode: int, raw_payload: msgspec.Raw) -> None:
        """Record a frame of a client in the trace and the traffic, except heartbeats."""
        if opcode in UNRECORDED_OPCODES:
            return
        trace, user_id = self._context.trace, None if connection.user_id is None else UserId(connection.user_id)
        name = next((member.name for member in GatewayOpcode if member == opcode), f"OPCODE_{opcode}")
        if trace.is_enabled and user_id is not None:
            trace.record_uses(user_id, (f"frame {name}",))
        if trace.traffic.is_enabled:
            trace.traffic.add_frame(
                "voice" if opcode == GatewayOpcode.VOICE_STATE_UPDATE else "gateway",
                name,
                user_id,
                bytes(raw_payload),
                connection=id(connection),
                is_person=connection.is_person,
            )

    def _count_frame(self, connection: GatewayConnection, now: float) -> None:
        """Count a frame of a client; raise `CloseConnection` if the client sends too many."""
        if not connection.frame_limit.take(now):
            caller = "unidentified" if connection.session is None else connection.session.user_id
            if self._rate_limits.report_excess("gateway commands", caller):
                raise CloseConnection(CloseCode.RATE_LIMITED, "Rate limited")

    def _heartbeat(self, connection: GatewayConnection, seq: object, now: float) -> None:
        connection.last_heartbeat_at = now
        if connection.session is not None and isinstance(seq, int):
            connection.session.acknowledged_seq = max(connection.session.acknowledged_seq, seq)
        connection.send_payload(GatewayOpcode.HEARTBEAT_ACK)

    def _require_unidentified(self, connection: GatewayConnection) -> None:
        if connection.session is not None:
            raise CloseConnection(CloseCode.ALREADY_AUTHENTICATED, "Already authenticated")

    async def _require_actor(self, connection: GatewayConnection, token: str) -> Actor:
        if self._rate_limits.check_lookups(connection.client_ip, LookupKind.SESSION) is not None:
            raise CloseConnection(CloseCode.RATE_LIMITED, "Rate limited")
        bare_token, claimed_kind = identification.split_token(token)
        actor = await self._authenticate(bare_token)
        if actor is None or not identification.may_connect(actor, claimed_kind):
            self._rate_limits.record_failed_lookup(connection.client_ip, LookupKind.SESSION)
            raise CloseConnection(CloseCode.AUTHENTICATION_FAILED, "Authentication failed")
        return actor

    async def _identify(self, connection: GatewayConnection, identify: Identify) -> None:
        try:
            actor = await self._require_actor(connection, identify.token)
            connection.user_id = int(actor.user_id)
            guild_count = await self._context.guild_count(actor) if actor.is_bot else 0
            settings = self._config.gateway
            shard_count_divisor = settings.large_bot_concurrency if settings.is_large(guild_count) else 1
            parameters = identification.validate(identify, actor, shard_count_divisor)
            if self._context.trace.is_enabled:
                self._context.trace.record_intents(int(actor.user_id), parameters.intents)
        except CloseConnection as closing:
            self._metrics.gateway_identifies(str(int(closing.code))).inc()
            raise
        if self._faults.gateway and self._apply_pending_fault(connection, actor, None):
            return
        now = asyncio.get_running_loop().time()
        if actor.is_bot and not self.session_starts.take(
            int(actor.user_id), parameters.shard.shard_id, now, guild_count
        ):
            # The connection stays usable (spec/gateway.md#4.1).
            self._metrics.gateway_identifies("limited").inc()
            log.info("Bot exceeded its session start limit", extra={"user_id": int(actor.user_id)})
            connection.send_payload(GatewayOpcode.INVALID_SESSION, False)
            return
        if connection.compression is Compression.NONE and identify.compress not in (False, None, 0, "", "false"):
            connection.set_compression(Compression.PAYLOAD)
        device = device_of(actor, identify.properties)
        observer = self._context.observer
        observation = None if observer is None else observer.start("gateway", "IDENTIFY")
        try:
            await self.sessions.start_session(connection, actor, parameters, identify, device)
        finally:
            if observer is not None:
                observer.end(observation)
        self._metrics.gateway_identifies("ok").inc()

    async def _resume(self, connection: GatewayConnection, resume: Resume) -> None:
        actor = await self._require_actor(connection, resume.token)
        connection.user_id = int(actor.user_id)
        try:
            session = await self._handover.find_or_take(actor, resume.session_id, resume.seq or 0)
        except HandoverDelayed:
            self._metrics.gateway_resumes("delayed").inc()
            connection.send_payload(GatewayOpcode.RECONNECT)
            raise CloseConnection(CloseCode.UNKNOWN_ERROR, "Reconnect") from None
        if session is None or session.has_ended:
            self._metrics.gateway_resumes("unknown").inc()
            connection.send_payload(GatewayOpcode.INVALID_SESSION, False)
            return
        if self._faults.gateway and self._apply_pending_fault(connection, actor, session.id):
            return
        has_resumed = await self.sessions.resume(connection, session, resume.seq or 0)
        self._metrics.gateway_resumes("ok" if has_resumed else "overrun").inc()

    # Fault injection

    def apply_fault(self, fault: GatewayFault) -> int:
        """Apply a fault to the matching sessions; return their number.

        A session without a connection is affected only by `invalid_session` without resume.
        """
        matching_sessions = [
            session for session in self.sessions if matches_session(fault, session.user_id, session.id)
        ]
        for session in matching_sessions:
            connection = session.connection
            if fault.effect == "invalid_session" and not fault.resumable:
                self.sessions.invalidate(session)
            elif connection is not None:
                self._apply_fault(connection, fault)
        return len(matching_sessions)

    def _apply_pending_fault(self, connection: GatewayConnection, actor: Actor, session_id: str | None) -> bool:
        """Apply a pending fault to an Identify or Resume; return whether the Identify or Resume must not continue."""
        fault = self._faults.take_gateway(int(actor.user_id), session_id)
        if fault is None:
            return False
        self._apply_fault(connection, fault)
        return fault.effect != "delay"

    def _apply_fault(self, connection: GatewayConnection, fault: GatewayFault) -> None:
        if fault.effect == "close":
            connection.close(fault.code, "Requested by the control API")
        elif fault.effect == "drop":
            connection.abort()
        elif fault.effect == "delay":
            connection.delay_writes(fault.delay_ms)
        else:
            connection.send_payload(GatewayOpcode.INVALID_SESSION, fault.resumable)

    # Timeouts

    async def _sweep(self) -> None:
        """Close connections without heartbeats or without Identify, and discard expired session state, periodically."""
        loop = asyncio.get_running_loop()
        settings = self._config.gateway
        silence_seconds = settings.heartbeat_interval_ms / 1000 * settings.heartbeat_grace
        pause_seconds = min(SWEEP_INTERVAL_SECONDS, silence_seconds / 10)
        while True:
            await asyncio.sleep(pause_seconds)
            try:
                now = loop.time()
                for connection in list(self._connections):
                    if now - connection.last_heartbeat_at > silence_seconds:
                        connection.close(CloseCode.UNKNOWN_ERROR, "No heartbeat")
                    elif (
                        connection.session is None and now - connection.opened_at > settings.identify_timeout_ms / 1000
                    ):
                        connection.close(CloseCode.SESSION_TIMED_OUT, "Session timed out")
                self.sessions.prune(now)
            except Exception:
                log.exception("The periodic gateway cleanup failed")


def _etf_to_json(message: str | bytes) -> bytes:
    """Return the JSON of a frame in ETF."""
    try:
        return codec.encode(etf.decode(message.encode() if isinstance(message, str) else message))
    except etf.EtfError as error:
        raise CloseConnection(CloseCode.DECODE_ERROR, f"Error while decoding payload: {error}") from error


def _decode(data: bytes | msgspec.Raw, payload_type: Any) -> Any:
    try:
        return codec.decoder(payload_type).decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise CloseConnection(CloseCode.DECODE_ERROR, "Error while decoding payload") from error
