"""The voice gateway: accepts WebSockets, checks tickets, and handles the opcodes of clients (voice.md 2 to 6)."""

import asyncio
import logging
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web

import hubbub
from hubbub.protocol import changes, wire
from hubbub.protocol import voice as protocol
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core import auth
from hubbub.server.core.bus import Bus
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.dispatches import Dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.store import Database, StoreUnavailable
from hubbub.server.core.voice import VoiceSource
from hubbub.server.transports import sockets
from hubbub.server.transports.sockets import Closing
from hubbub.server.transports.voice.announcing import Announcing
from hubbub.server.transports.voice.calls import Calls, MakeCall
from hubbub.server.transports.voice.connection import VoiceConnection
from hubbub.server.transports.voice.listening import Listening
from hubbub.server.transports.voice.session import VoiceSession
from hubbub.server.transports.voice.sfu import Forwarder

log = logging.getLogger(__name__)

UNREAD_MOST: Final = 256 * 1024
"""Size in bytes above which a frame is not read and the connection is closed."""
BEATS_MISSED: Final = 2.5
"""Number of heartbeat intervals without a heartbeat after which a connection is closed."""
SWEEPS: Final = 8
"""Number of heartbeat checks per heartbeat interval."""
GOING_AWAY: Final = 1001
WITHOUT_SESSION: Final = frozenset({VoiceOpcode.IDENTIFY, VoiceOpcode.RESUME, VoiceOpcode.HEARTBEAT})
DAVE: Final = frozenset({VoiceOpcode.DAVE_TRANSITION_READY, VoiceOpcode.MLS_INVALID_COMMIT_WELCOME})


class VoiceDoor:
    """All voice connections of this process."""

    def __init__(
        self,
        listening: Listening,
        *,
        db: Database,
        bus: Bus[Dispatch],
        clock: Clock,
        config: Config,
        metrics: Metrics,
        source: VoiceSource,
        make_call: MakeCall,
    ) -> None:
        self.listening = listening
        self._clock = clock
        self._settings = config.voice
        self._metrics = metrics
        self.calls = Calls(
            db=db,
            bus=bus,
            clock=clock,
            source=source,
            make_call=make_call,
            forwarder=Forwarder(listening.udp, metrics),
        )
        self._registration: Announcing | None = None
        """Set only if there are several processes."""
        if config.nats_url is not None:
            self._registration = Announcing(db, source, make_call, listening.endpoint)
        self._connections: set[VoiceConnection] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        metrics.watch(metrics.voice_connections, lambda: len(self._connections))

    async def start(self) -> None:
        """Start to accept connections and packets."""
        self.calls.forwarder.start()
        self.calls.start()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())
        app = web.Application()
        app.router.add_get("/", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, self.listening.tcp, ssl_context=self.listening.tls).start()
        if self._registration is not None:
            await self._registration.start()

    async def close(self) -> None:
        """End every call. With several voice servers, clients are assigned to another one first."""
        code, reason = GOING_AWAY, "The server is going away"
        if self._registration is not None:
            await self._registration.stop()
            code, reason = VoiceCloseCode.DISCONNECTED, "Moved to another server"
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self.calls.close(code, reason)
        connections = list(self._connections)
        for connection in connections:
            connection.close(code, reason)
        await asyncio.gather(*(c.closing for c in connections if c.closing is not None), return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
        self.calls.forwarder.close()

    # Connections

    async def _handle(self, request: web.Request) -> web.WebSocketResponse:
        socket, transport = await sockets.accept(request, UNREAD_MOST)
        if transport is None:
            return socket
        now = asyncio.get_running_loop().time()
        connection = VoiceConnection(socket, transport, version=_version(request), now=now)
        self._connections.add(connection)
        left = False
        try:
            self._send_hello(connection)
            while connection.closing is None:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._handle_frame(connection, message.data.encode())
                elif message.type is WSMsgType.BINARY:
                    self._handle_binary_frame(connection, message.data)
                else:
                    left = message.type is WSMsgType.CLOSE and message.data == 1000
                    break
        except Closing as closing:
            connection.close(closing.code, closing.reason)
        except StoreUnavailable:
            # This close code makes the client try again.
            connection.close(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Try again")
        except Exception:
            log.exception("unexpected error on a voice connection")
            connection.close(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Unknown error")
        finally:
            self._connections.discard(connection)
            session, connection.session = connection.session, None
            if session is not None and session.connection is connection and not session.ended:
                self.calls.lost(session, left=left)
        if connection.closing is not None:
            self._metrics.voice_closes(str(connection.code)).inc()
            await connection.closing
        return socket

    def _send_hello(self, connection: VoiceConnection) -> None:
        known = connection.version <= protocol.NEWEST_VERSION
        old = connection.version < protocol.OLDEST_VERSION and changes.VOICE_VERSIONS.active(self._clock.now_ms())
        if old or not known:
            # The specification requires a rejection; a close code tells clients the reason (decisions/0050).
            raise Closing(VoiceCloseCode.BAD_REQUEST, "Unsupported version; use v=4 to v=9")
        hello = protocol.Hello(v=connection.version, heartbeat_interval=self._settings.heartbeat_interval_ms)
        connection.say(VoiceOpcode.HELLO, hello)

    async def _sweep(self) -> None:
        interval = self._settings.heartbeat_interval_ms / 1000
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(interval / SWEEPS, self._settings.identify_timeout_ms / 4000))
            now = loop.time()
            for connection in list(self._connections):
                if now - connection.beat_at > interval * BEATS_MISSED:
                    connection.close(VoiceCloseCode.SESSION_TIMEOUT, "No heartbeat")
                elif connection.session is None and not connection.busy:
                    if now - connection.opened_at > self._settings.identify_timeout_ms / 1000:
                        connection.close(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
            self.calls.sweep(now)

    # Client frames

    async def _handle_frame(self, connection: VoiceConnection, data: bytes) -> None:
        self._check_rate_limit(connection)
        frame = _decode(data, protocol.Frame)
        op, session = frame.op, connection.session
        if session is None and op not in WITHOUT_SESSION:
            raise Closing(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        if op == VoiceOpcode.HEARTBEAT:
            self._heartbeat(connection, frame.d)
        elif op == VoiceOpcode.IDENTIFY:
            self._require_unidentified(connection)
            await self._identify(connection, _decode(frame.d, protocol.Identify))
        elif op == VoiceOpcode.RESUME:
            self._require_unidentified(connection)
            self._resume(connection, _decode(frame.d, protocol.Resume))
        elif session is None:
            return
        elif op == VoiceOpcode.SELECT_PROTOCOL:
            await self._select(session, _decode(frame.d, protocol.SelectProtocol))
        elif op == VoiceOpcode.SPEAKING:
            self._set_speaking(session, _decode(frame.d, protocol.SetSpeaking))
        elif op == VoiceOpcode.VIDEO:
            self._set_video(session, _decode(frame.d, protocol.SetVideo))
        elif op == VoiceOpcode.MEDIA_SINK_WANTS:
            wants = _decode(frame.d, dict[str, Any])
            session.peer.unwanted = frozenset(
                int(ssrc) for ssrc, wanted in wants.items() if ssrc.isdecimal() and len(ssrc) <= 10 and wanted == 0
            )
        elif op == VoiceOpcode.BACKEND_VERSION:
            version = f"hubbub {hubbub.__version__}"
            session.say(VoiceOpcode.BACKEND_VERSION, protocol.BackendVersion(voice=version, rtc_worker=version))
        elif op in DAVE:
            session.room.received(session, op, _decode(frame.d, protocol.TransitionDone))
        elif op not in (VoiceOpcode.SESSION_UPDATE, VoiceOpcode.NO_ROUTE):
            raise Closing(VoiceCloseCode.UNKNOWN_OPCODE, "Unknown opcode")

    def _handle_binary_frame(self, connection: VoiceConnection, data: bytes) -> None:
        self._check_rate_limit(connection)
        if not data or data[0] not in protocol.BINARY_OPCODES:
            raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        if connection.session is None:
            raise Closing(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        connection.session.room.received(connection.session, data[0], data[1:])

    def _check_rate_limit(self, connection: VoiceConnection) -> None:
        if not connection.frames.take(asyncio.get_running_loop().time()):
            raise Closing(VoiceCloseCode.RATE_LIMITED, "Rate limited")

    def _require_unidentified(self, connection: VoiceConnection) -> None:
        if connection.session is not None:
            raise Closing(VoiceCloseCode.ALREADY_AUTHENTICATED, "Already authenticated")

    def _heartbeat(self, connection: VoiceConnection, data: msgspec.Raw) -> None:
        connection.beat_at = asyncio.get_running_loop().time()
        if not connection.buffered:
            connection.say(VoiceOpcode.HEARTBEAT_ACK, _decode(data, int | str | None))
            return
        heartbeat = _decode(data, protocol.Heartbeat)
        if connection.session is not None and heartbeat.seq_ack is not None and heartbeat.seq_ack > 0:
            connection.session.replay.acknowledge(heartbeat.seq_ack)
        connection.say(VoiceOpcode.HEARTBEAT_ACK, protocol.Acknowledged(t=heartbeat.t))

    async def _identify(self, connection: VoiceConnection, identify: protocol.Identify) -> None:
        connection.busy = True
        try:
            ticket = await self.calls.find(auth.hash_token(identify.token))
            if ticket is None or ticket.user_id != identify.user_id:
                raise Closing(VoiceCloseCode.AUTHENTICATION_FAILED, "Authentication failed")
            if ticket.server_id != identify.server_id or ticket.server != self.listening.endpoint:
                raise Closing(VoiceCloseCode.SERVER_NOT_FOUND, "Server not found")
            channel_id = identify.channel_id
            if ticket.session_id != identify.session_id or channel_id not in (None, ticket.channel_id):
                raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
            dave = min(max(identify.max_dave_protocol_version or 0, 0), protocol.DAVE_VERSION)
            if not dave and not ticket.stage and changes.E2EE_VOICE_ONLY.active(self._clock.now_ms()):
                await self.calls.refused(ticket)
                raise Closing(VoiceCloseCode.E2EE_REQUIRED, "End-to-end encryption is required")
            if connection.closing is not None:
                return
            session = self.calls.begin(ticket, connection, dave)
        finally:
            connection.busy = False
        peer = session.peer
        streams = [
            protocol.Stream(
                type=each.type, rid=each.rid, quality=each.quality, ssrc=peer.ssrc + 1, rtx_ssrc=peer.ssrc + 2
            )
            for each in (identify.streams or [])[:1]
        ]
        session.say(
            VoiceOpcode.READY,
            protocol.Ready(
                ssrc=peer.ssrc,
                ip=self.listening.address,
                port=self.listening.udp_port,
                modes=list(self._modes()),
                streams=streams,
            ),
        )
        session.room.introduce(session)

    def _modes(self) -> tuple[str, ...]:
        old = () if changes.VOICE_ENCRYPTION.active(self._clock.now_ms()) else protocol.OLD_MODES
        return protocol.MODES + old

    def _resume(self, connection: VoiceConnection, resume: protocol.Resume) -> None:
        session = self.calls.resumable(auth.hash_token(resume.token))
        ticket = None if session is None else session.ticket
        if session is None or ticket is None or ticket.server_id != resume.server_id:
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if ticket.session_id != resume.session_id or resume.channel_id not in (None, ticket.channel_id):
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if connection.buffered:
            missed = session.replay.since(-1 if resume.seq_ack is None else resume.seq_ack)
        else:
            missed = session.replay.after(session.detached_at if session.connection is None else session.replay.last)
        if missed is None:
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Missed messages are no longer available")
        before = session.connection
        session.attach(connection)
        if before is not None:
            before.session = None
            before.close(VoiceCloseCode.DISCONNECTED, "Resumed elsewhere")
        # voice.md 6: missed messages follow RESUMED, because client libraries drop messages that arrive before it.
        connection.say(VoiceOpcode.RESUMED, None)
        for message in missed:
            connection.write(message.first, message.payload)

    async def _select(self, session: VoiceSession, select: protocol.SelectProtocol) -> None:
        if select.protocol != "udp":
            await self.calls.refuse(session)
            raise Closing(VoiceCloseCode.UNKNOWN_PROTOCOL, "Unknown protocol")
        mode = _decode(select.data, protocol.Transport).mode
        if mode not in self._modes():
            await self.calls.refuse(session)
            raise Closing(VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE, "Unknown encryption mode")
        if session.ended:
            return
        first = not session.entered
        if first:
            session.room.introduce(session)
            session.room.announce(session)
            session.room.enter(session)
            session.told_version = session.room.version_for(session)
        key = self.calls.forwarder.key(session.peer, mode)
        session.say(
            VoiceOpcode.SESSION_DESCRIPTION,
            protocol.SessionDescription(
                mode=mode,
                secret_key=list(key),
                dave_protocol_version=session.told_version,
                media_session_id=session.media_session_id,
            ),
        )
        if first:
            session.room.described(session)
            await self.calls.entered(session)

    def _set_speaking(self, session: VoiceSession, request: protocol.SetSpeaking) -> None:
        speaking = int(request.speaking)
        if not 0 <= speaking < 256:
            raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        session.room.speak(session, speaking)
        self.calls.forwarder.release(session.peer)

    def _set_video(self, session: VoiceSession, request: protocol.SetVideo) -> None:
        """Start or stop a client's video. SSRCs other than the client's own are ignored."""
        own = session.peer.ssrc + 1
        sends_video = request.video_ssrc == own
        if not sends_video and session.video is None:
            # discord.py sends this to indicate that it has no video.
            return
        session.peer.shows = sends_video
        session.room.show(
            session,
            protocol.Video(
                user_id=UserId(session.user_id),
                audio_ssrc=session.peer.ssrc,
                video_ssrc=own if sends_video else 0,
                streams=[each for each in request.streams if each.ssrc == own][:1] if sends_video else [],
            ),
        )


def _version(request: web.Request) -> int:
    """Return the requested protocol version: 1 if absent, 999 if invalid."""
    text = request.query.get("v", "1")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 4 and int(text) else 999


def _decode(data: Any, kind: Any) -> Any:
    try:
        return wire.decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload") from error
