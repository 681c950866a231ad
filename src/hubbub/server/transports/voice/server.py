"""The voice gateway: accepts WebSockets, checks tickets, and handles the opcodes of clients (spec/voice.md#2 to 6)."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web

import hubbub
from hubbub.protocol import change_uses, changes, codec
from hubbub.protocol import voice as protocol
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core import auth
from hubbub.server.core.bus import Bus
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.rate_limits import LookupKind, RateLimits
from hubbub.server.core.store import Database, StoreUnavailable
from hubbub.server.core.trace import Trace
from hubbub.server.core.voice import VoiceTickets
from hubbub.server.transports import sockets
from hubbub.server.transports.frames import TEXT
from hubbub.server.transports.sockets import CloseConnection
from hubbub.server.transports.voice.call import VoiceConnection, VoiceSession
from hubbub.server.transports.voice.calls import Calls, MakeCall
from hubbub.server.transports.voice.registration import VoiceServerRegistration
from hubbub.server.transports.voice.sfu import Forwarder
from hubbub.server.transports.voice.sockets import VoiceSockets
from hubbub.server.transports.voice.webrtc import Offer, OfferError

log = logging.getLogger(__name__)

VOICE_FRAME_BYTES_MAX: Final = 256 * 1024
"""Size in bytes above which a frame is not read and the connection is closed."""
MISSED_HEARTBEATS_MAX: Final = 2.5
"""Number of heartbeat intervals without a heartbeat after which a connection is closed."""
SWEEPS_PER_INTERVAL: Final = 8
"""Number of heartbeat checks per heartbeat interval."""
GOING_AWAY: Final = 1001
"""The WebSocket close code of a server that shuts down (RFC 6455, 7.4.1)."""
NORMAL_CLOSURE: Final = 1000
"""The WebSocket close code of a client that leaves the call (RFC 6455, 7.4.1)."""
UNWANTED_STREAMS_MAX: Final = 256
"""Maximum number of streams that a client may refuse; the server ignores further ones."""
INVALID_VERSION: Final = 999
"""Protocol version of a connection that requested none that can be parsed; it is always rejected."""
SESSIONLESS_OPCODES: Final = frozenset({VoiceOpcode.IDENTIFY, VoiceOpcode.RESUME, VoiceOpcode.HEARTBEAT})
"""Opcodes that a client may send before it has a session."""
DAVE_JSON_OPCODES: Final = frozenset({VoiceOpcode.DAVE_TRANSITION_READY, VoiceOpcode.MLS_INVALID_COMMIT_WELCOME})


class VoiceServer:
    """All voice connections of this process."""

    def __init__(
        self,
        sockets: VoiceSockets,
        *,
        db: Database,
        bus: Bus[Dispatch],
        clock: Clock,
        config: Config,
        metrics: Metrics,
        trace: Trace | None = None,
        rate_limits: RateLimits | None = None,
        tickets: VoiceTickets,
        make_call: MakeCall,
    ) -> None:
        self.sockets = sockets
        self._clock = clock
        self._settings = config.voice
        self._trusted_proxies = config.http.trusted_proxies
        self._rate_limits = rate_limits or RateLimits(clock.now_ms, config.rate_limits)
        self._metrics = metrics
        self._trace = trace if trace is not None else Trace(clock.now_ms)
        self._traffic = self._trace.traffic
        self.calls = Calls(
            db=db,
            bus=bus,
            clock=clock,
            tickets=tickets,
            make_call=make_call,
            forwarder=Forwarder(sockets.udp, metrics, sockets.address),
        )
        self._registration: VoiceServerRegistration | None = None
        """Registration of this voice server; None if there is only one process."""
        if config.nats_url is not None:
            self._registration = VoiceServerRegistration(db, tickets, make_call, sockets.endpoint)
        self._connections: set[VoiceConnection] = set()
        self._sweep_task: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        metrics.watch(metrics.voice_connections, lambda: len(self._connections))

    async def start(self) -> None:
        """Start to accept connections and packets."""
        self.calls.forwarder.start()
        self.calls.start()
        self._sweep_task = asyncio.get_running_loop().create_task(self._sweep())
        app = web.Application()
        app.router.add_get("/", self.handle)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, self.sockets.tcp, ssl_context=self.sockets.tls).start()
        if self._registration is not None:
            await self._registration.start()

    async def close(self) -> None:
        """End every call. With several voice servers, clients are assigned to another server first."""
        code, reason = GOING_AWAY, "The server is going away"
        if self._registration is not None:
            await self._registration.stop()
            code, reason = VoiceCloseCode.DISCONNECTED, "Moved to another server"
        if self._sweep_task is not None:
            self._sweep_task.cancel()
        await self.calls.close(code, reason)
        connections = list(self._connections)
        for connection in connections:
            connection.close(code, reason)
        await asyncio.gather(
            *(connection.close_task for connection in connections if connection.close_task is not None),
            return_exceptions=True,
        )
        if self._runner is not None:
            await self._runner.cleanup()
        self.calls.forwarder.close()

    # Connections

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        """Serve a WebSocket of the voice gateway."""
        socket, transport = await sockets.accept(request, VOICE_FRAME_BYTES_MAX, autoping=False)
        if transport is None:
            return socket
        now = asyncio.get_running_loop().time()
        connection = VoiceConnection(
            socket,
            transport,
            version=_requested_version(request),
            now=now,
            client_ip=sockets.client_address(request, self._trusted_proxies),
            on_write=self._record_sent_frame,
        )
        self._connections.add(connection)
        has_client_left = False
        try:
            self._send_hello(connection)
            while connection.close_task is None:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._handle_frame(connection, message.data.encode())
                elif message.type is WSMsgType.BINARY:
                    self._handle_binary_frame(connection, message.data)
                elif message.type is WSMsgType.PING:
                    self._check_rate_limit(connection)
                    await sockets.answer_ping(socket, message.data)
                elif message.type is not WSMsgType.PONG:
                    has_client_left = message.type is WSMsgType.CLOSE and message.data == NORMAL_CLOSURE
                    break
        except CloseConnection as closing:
            connection.close(closing.code, closing.reason)
        except StoreUnavailable:
            # This close code makes the client try again.
            connection.close(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Try again")
        except Exception:
            log.exception("Unexpected error on a voice connection")
            connection.close(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Unknown error")
        finally:
            self._connections.discard(connection)
            session, connection.session = connection.session, None
            if session is not None and session.connection is connection and not session.has_ended:
                self.calls.connection_lost(session, has_client_left=has_client_left)
        if connection.close_task is not None:
            self._metrics.voice_closes(str(connection.code)).inc()
            if self._traffic.is_enabled:
                self._traffic.add_close("voice", None, connection.code, connection.reason)
            await connection.close_task
        return socket

    def _send_hello(self, connection: VoiceConnection) -> None:
        is_known = connection.version <= protocol.NEWEST_VERSION
        is_outdated = connection.version < protocol.OLDEST_VERSION and changes.VOICE_VERSIONS.is_active(
            self._clock.now_ms()
        )
        if is_outdated or not is_known:
            # The specification requires a rejection; a close code gives clients the reason (decisions/0050).
            raise CloseConnection(VoiceCloseCode.BAD_REQUEST, "Unsupported version; use v=4 to v=9")
        hello = protocol.VoiceHello(v=connection.version, heartbeat_interval=self._settings.heartbeat_interval_ms)
        connection.send_payload(VoiceOpcode.HELLO, hello)

    async def _sweep(self) -> None:
        """Periodically close connections without heartbeats or without Identify, and discard expired messages."""
        interval_seconds = self._settings.heartbeat_interval_ms / 1000
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(interval_seconds / SWEEPS_PER_INTERVAL, self._settings.identify_timeout_ms / 4000))
            now = loop.time()
            for connection in list(self._connections):
                if now - connection.last_heartbeat_at > interval_seconds * MISSED_HEARTBEATS_MAX:
                    connection.close(VoiceCloseCode.SESSION_TIMEOUT, "No heartbeat")
                elif connection.session is None and not connection.is_identifying:
                    if now - connection.opened_at > self._settings.identify_timeout_ms / 1000:
                        connection.close(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
            self.calls.sweep(now)

    # Client frames

    async def _handle_frame(self, connection: VoiceConnection, data: bytes) -> None:
        self._check_rate_limit(connection)
        frame = _decode(data, protocol.ClientFrame)
        op, session = frame.op, connection.session
        if self._traffic.is_enabled and op != VoiceOpcode.HEARTBEAT:
            user_id = None if session is None else UserId(session.ticket.user_id)
            self._traffic.add_frame("voice", _frame_name(op), user_id, bytes(frame.d), connection=id(connection))
        if session is None and op not in SESSIONLESS_OPCODES:
            raise CloseConnection(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        if op == VoiceOpcode.HEARTBEAT:
            self._heartbeat(connection, frame.d)
        elif op == VoiceOpcode.IDENTIFY:
            self._require_unidentified(connection)
            await self._identify(connection, _decode(frame.d, protocol.VoiceIdentify))
        elif op == VoiceOpcode.RESUME:
            self._require_unidentified(connection)
            self._resume(connection, _decode(frame.d, protocol.VoiceResume))
        elif session is None:
            return
        elif op == VoiceOpcode.SELECT_PROTOCOL:
            await self._select_protocol(session, _decode(frame.d, protocol.SelectProtocol))
        elif op == VoiceOpcode.SPEAKING:
            self._set_speaking(session, _decode(frame.d, protocol.SetSpeaking))
        elif op == VoiceOpcode.VIDEO:
            await self._set_video(session, _decode(frame.d, protocol.SetVideo))
        elif op == VoiceOpcode.MEDIA_SINK_WANTS:
            quality_by_ssrc = _decode(frame.d, dict[str, Any])
            unwanted_ssrcs = [
                int(ssrc)
                for ssrc, quality in quality_by_ssrc.items()
                if ssrc.isdecimal() and len(ssrc) <= 10 and quality == 0
            ]
            self.calls.forwarder.set_unwanted(session.peer, frozenset(unwanted_ssrcs[:UNWANTED_STREAMS_MAX]))
            session.call.update_viewers()
        elif op == VoiceOpcode.BACKEND_VERSION:
            version = f"hubbub {hubbub.__version__}"
            session.send(VoiceOpcode.BACKEND_VERSION, protocol.BackendVersion(voice=version, rtc_worker=version))
        elif op in DAVE_JSON_OPCODES:
            session.call.handle_dave_message(session, op, _decode(frame.d, protocol.TransitionReport))
        elif op not in (VoiceOpcode.SESSION_UPDATE, VoiceOpcode.NO_ROUTE):
            raise CloseConnection(VoiceCloseCode.UNKNOWN_OPCODE, "Unknown opcode")

    def _handle_binary_frame(self, connection: VoiceConnection, data: bytes) -> None:
        self._check_rate_limit(connection)
        if not data or data[0] not in protocol.BINARY_OPCODES:
            raise CloseConnection(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        if connection.session is None:
            raise CloseConnection(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        connection.session.call.handle_dave_message(connection.session, data[0], data[1:])

    def _record_sent_frame(self, connection: VoiceConnection, first_byte: int, payload: bytes) -> None:
        """Record a frame to a client in the traffic, except heartbeats; the data of a binary frame is its size."""
        if not self._traffic.is_enabled:
            return
        if first_byte == TEXT:
            frame = codec.decode(payload, protocol.ClientFrame)
            op, data = frame.op, bytes(frame.d)
        else:
            op, data = payload[2], codec.encode({"bytes": len(payload)})
        if op != VoiceOpcode.HEARTBEAT_ACK:
            user_id = None if connection.session is None else connection.session.user_id
            self._traffic.add_sent_frame("voice", _frame_name(op), user_id, data, connection=id(connection))

    def _check_rate_limit(self, connection: VoiceConnection) -> None:
        if not connection.frame_limit.take(asyncio.get_running_loop().time()):
            raise CloseConnection(VoiceCloseCode.RATE_LIMITED, "Rate limited")

    def _require_unidentified(self, connection: VoiceConnection) -> None:
        if connection.session is not None:
            raise CloseConnection(VoiceCloseCode.ALREADY_AUTHENTICATED, "Already authenticated")

    def _heartbeat(self, connection: VoiceConnection, raw_payload: msgspec.Raw) -> None:
        connection.last_heartbeat_at = asyncio.get_running_loop().time()
        if not connection.has_sequence_numbers:
            connection.send_payload(VoiceOpcode.HEARTBEAT_ACK, _decode(raw_payload, int | str | None))
            return
        heartbeat = _decode(raw_payload, protocol.Heartbeat)
        if connection.session is not None and heartbeat.seq_ack is not None and heartbeat.seq_ack > 0:
            connection.session.replay.acknowledge(heartbeat.seq_ack)
        connection.send_payload(VoiceOpcode.HEARTBEAT_ACK, protocol.HeartbeatAck(t=heartbeat.t))

    async def _identify(self, connection: VoiceConnection, identify: protocol.VoiceIdentify) -> None:
        connection.is_identifying = True
        try:
            self._require_lookups_left(connection)
            ticket = await self.calls.find_ticket(auth.hash_token(identify.token))
            if ticket is None or ticket.user_id != identify.user_id:
                self._rate_limits.record_failed_lookup(connection.client_ip, LookupKind.SESSION)
                raise CloseConnection(VoiceCloseCode.AUTHENTICATION_FAILED, "Authentication failed")
            if ticket.server_id != identify.server_id or ticket.endpoint != self.sockets.endpoint:
                raise CloseConnection(VoiceCloseCode.SERVER_NOT_FOUND, "Server not found")
            channel_id = identify.channel_id
            if ticket.session_id != identify.session_id or channel_id not in (None, ticket.channel_id):
                raise CloseConnection(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
            dave_version = min(max(identify.max_dave_protocol_version or 0, 0), protocol.DAVE_VERSION)
            if self._trace.is_enabled and not dave_version:
                self._trace.record_uses(int(ticket.user_id), (change_uses.VOICE_WITHOUT_E2EE,))
            if self._trace.is_enabled and connection.version < protocol.OLDEST_VERSION:
                self._trace.record_uses(int(ticket.user_id), (change_uses.VOICE_VERSION_BELOW_4,))
            if not dave_version and not ticket.is_stage and changes.E2EE_VOICE_ONLY.is_active(self._clock.now_ms()):
                await self.calls.report_rejected(ticket)
                raise CloseConnection(VoiceCloseCode.E2EE_REQUIRED, "End-to-end encryption is required")
            if connection.close_task is not None:
                return
            session = self.calls.start_session(ticket, connection, dave_version)
        finally:
            connection.is_identifying = False
        peer = session.peer
        _, video_ssrc, retransmission_ssrc = peer.ssrcs
        streams = [
            protocol.Stream(
                type=requested_stream.type,
                rid=requested_stream.rid,
                quality=requested_stream.quality,
                ssrc=video_ssrc,
                rtx_ssrc=retransmission_ssrc,
            )
            for requested_stream in (identify.streams or [])[:1]
        ]
        session.send(
            VoiceOpcode.READY,
            protocol.VoiceReady(
                ssrc=peer.ssrc,
                ip=self.sockets.address,
                port=self.sockets.udp_port,
                modes=list(self._encryption_modes()),
                streams=streams,
            ),
        )
        session.call.send_members(session)

    def _encryption_modes(self) -> tuple[str, ...]:
        old_modes = () if changes.VOICE_ENCRYPTION.is_active(self._clock.now_ms()) else protocol.OLD_ENCRYPTION_MODES
        return protocol.ENCRYPTION_MODES + old_modes

    def _require_lookups_left(self, connection: VoiceConnection) -> None:
        """Reject a client whose address identified with too many wrong tokens."""
        if self._rate_limits.check_lookups(connection.client_ip, LookupKind.SESSION) is not None:
            raise CloseConnection(VoiceCloseCode.RATE_LIMITED, "Rate limited")

    def _resume(self, connection: VoiceConnection, resume: protocol.VoiceResume) -> None:
        self._require_lookups_left(connection)
        # An unknown session is not counted: after a restart of the server all clients try to resume.
        session = self.calls.find_session(auth.hash_token(resume.token))
        ticket = None if session is None else session.ticket
        if session is None or ticket is None or ticket.server_id != resume.server_id:
            raise CloseConnection(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if ticket.session_id != resume.session_id or resume.channel_id not in (None, ticket.channel_id):
            raise CloseConnection(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if connection.has_sequence_numbers:
            missed_messages = session.replay.after_seq(-1 if resume.seq_ack is None else resume.seq_ack)
        else:
            missed_messages = session.replay.after_number(
                session.detached_number if session.connection is None else session.replay.last_number
            )
        if missed_messages is None:
            raise CloseConnection(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Missed messages are no longer available")
        previous_connection = session.connection
        session.attach(connection)
        if previous_connection is not None:
            previous_connection.session = None
            previous_connection.close(VoiceCloseCode.DISCONNECTED, "Resumed elsewhere")
        # spec/voice.md#6: missed messages follow RESUMED, because client libraries drop messages that arrive before it.
        connection.send_payload(VoiceOpcode.RESUMED, None)
        for message in missed_messages:
            connection.write(message.first_byte, message.payload)

    async def _select_protocol(self, session: VoiceSession, select: protocol.SelectProtocol) -> None:
        """Create a key for the client's encryption mode, or a transport for a browser.

        The first key or transport makes the client a member.
        """
        if select.protocol == "udp":
            transport = _decode(select.data, protocol.Transport)
            if self._trace.is_enabled and transport.mode in protocol.OLD_ENCRYPTION_MODES:
                self._trace.record_uses(session.user_id, (change_uses.VOICE_OLD_ENCRYPTION,))
            if transport.mode not in self._encryption_modes():
                await self.calls.reject(session)
                raise CloseConnection(VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE, "Unknown encryption mode")
            await self._connect_media(session, lambda: self._open_native_transport(session, transport))
        elif select.protocol == "webrtc":
            offer = _decode_offer(select)
            await self._connect_media(session, lambda: self._open_browser_transport(session, offer))
        else:
            await self.calls.reject(session)
            raise CloseConnection(VoiceCloseCode.UNKNOWN_PROTOCOL, "Unknown protocol")

    async def _connect_media(self, session: VoiceSession, open_transport: Callable[[], object]) -> None:
        """Open a client's media transport and send its description; the first one makes the client a member.

        `open_transport` returns the description.
        """
        if session.has_ended:
            return
        is_new_member = not session.is_member
        if is_new_member:
            session.call.send_members(session)
            session.call.announce_member(session)
            session.call.add_member(session)
            session.announced_dave_version = session.call.dave_version_for(session)
        session.send(VoiceOpcode.SESSION_DESCRIPTION, open_transport())
        if is_new_member:
            session.call.update_viewers()
            session.call.join_dave_group(session)
            await self.calls.report_connected(session)

    def _open_native_transport(
        self, session: VoiceSession, transport: protocol.Transport
    ) -> protocol.SessionDescription:
        """Create a key for a native client and return its description."""
        key = self.calls.forwarder.create_key(
            session.peer,
            transport.mode,
            lambda: self.calls.end(session, VoiceCloseCode.SESSION_NO_LONGER_VALID, "Identify again"),
        )
        self.calls.forwarder.confirm_address(session.peer, (transport.address, transport.port))
        return protocol.SessionDescription(
            mode=transport.mode,
            secret_key=list(key),
            dave_protocol_version=session.announced_dave_version,
            media_session_id=session.media_session_id,
        )

    def _open_browser_transport(self, session: VoiceSession, offer: Offer) -> protocol.WebRtcDescription:
        """Create the transport of a browser, or restart its ICE, and return its description."""
        browser = self.calls.forwarder.open_browser(
            session.peer,
            offer,
            lambda: self.calls.end(session, VoiceCloseCode.WEBRTC_CRASHED, "WebRTC failed", reports_left=True),
        )
        return protocol.WebRtcDescription(
            sdp=browser.description,
            dave_protocol_version=session.announced_dave_version,
            media_session_id=session.media_session_id,
            video_codec=offer.payload_types.video_codec or "H264",
        )

    def _set_speaking(self, session: VoiceSession, request: protocol.SetSpeaking) -> None:
        speaking = int(request.speaking)
        if not 0 <= speaking < 256:
            raise CloseConnection(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        session.call.set_speaking(session, speaking)
        self.calls.forwarder.start_speaking(session.peer)

    async def _set_video(self, session: VoiceSession, request: protocol.SetVideo) -> None:
        """Start or stop a client's video. SSRCs other than the client's own video SSRC are ignored.

        The video of a client that may not send it does not start."""
        _, video_ssrc, _ = session.peer.ssrcs
        sends_video = request.video_ssrc == video_ssrc and await self.calls.allows_video(session)
        if session.has_ended:
            return
        if sends_video:
            if not session.peer.sends_video:
                self.calls.forwarder.restart_video(session.peer)
            session.call.start_video(session, [stream for stream in request.streams if stream.ssrc == video_ssrc][:1])
        elif session.video is not None:
            # discord.py sends opcode 12 also to indicate that it has no video.
            session.call.end_video(session)


def _frame_name(op: int) -> str:
    """Return the name of a frame in the traffic."""
    return f"VOICE {next((member.name for member in VoiceOpcode if member == op), f'OPCODE_{op}')}"


def _requested_version(request: web.Request) -> int:
    """Return the requested protocol version: 1 if absent, `INVALID_VERSION` if it is not a number from 1 to 999."""
    version_text = request.query.get("v", "1")
    return (
        int(version_text)
        if version_text.isascii() and version_text.isdecimal() and len(version_text) < 4 and int(version_text)
        else INVALID_VERSION
    )


def _decode_offer(select: protocol.SelectProtocol) -> Offer:
    offer_text = _decode(select.data, str)
    codecs = _decode(select.codecs, list[protocol.Codec] | None)
    try:
        return Offer.parse(offer_text, codecs)
    except OfferError as error:
        raise CloseConnection(VoiceCloseCode.DECODE_ERROR, f"Invalid offer: {error}") from error


def _decode(data: Any, payload_type: Any) -> Any:
    try:
        return codec.decoder(payload_type).decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise CloseConnection(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload") from error
