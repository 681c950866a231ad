"""The voice gateway's sockets: clients come in, show their ticket, and are in a call (voice.md 2 to 6)."""

import asyncio
import logging
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web

import hubbub
from hubbub.protocol import changes, wire
from hubbub.protocol import voice as words
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
"""A frame above this is not even read."""
BEATS_MISSED: Final = 2.5
"""Intervals without a heartbeat after which a connection is closed."""
SWEEPS: Final = 8
"""Looks at the heartbeats in one interval."""
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
        self._announcing: Announcing | None = None
        """Where there are several processes."""
        if config.nats_url is not None:
            self._announcing = Announcing(db, source, make_call, listening.endpoint)
        self._connections: set[VoiceConnection] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._runner: web.AppRunner | None = None
        metrics.watch(metrics.voice_connections, lambda: len(self._connections))

    async def start(self) -> None:
        """Accept connections."""
        self.calls.forwarder.start()
        self.calls.start()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())
        app = web.Application()
        app.router.add_get("/", self._handle)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.SockSite(self._runner, self.listening.tcp, ssl_context=self.listening.tls).start()
        if self._announcing is not None:
            await self._announcing.start()

    async def close(self) -> None:
        """End every call; where there are other voice servers, clients know by then which one to go to."""
        code, reason = GOING_AWAY, "The server is going away"
        if self._announcing is not None:
            await self._announcing.stop()
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

    # One socket

    async def _handle(self, request: web.Request) -> web.WebSocketResponse:
        socket, transport = await sockets.accept(request, UNREAD_MOST)
        if transport is None:
            return socket
        now = asyncio.get_running_loop().time()
        connection = VoiceConnection(socket, transport, version=_version(request), now=now)
        self._connections.add(connection)
        left = False
        try:
            self._greet(connection)
            while connection.closing is None:
                message = await socket.receive()
                if message.type is WSMsgType.TEXT:
                    await self._take(connection, message.data.encode())
                elif message.type is WSMsgType.BINARY:
                    self._take_bytes(connection, message.data)
                else:
                    left = message.type is WSMsgType.CLOSE and message.data == 1000
                    break
        except Closing as closing:
            connection.close(closing.code, closing.reason)
        except StoreUnavailable:
            # Neither side's fault: the client tries again.
            connection.close(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Try again")
        except Exception:
            log.exception("a voice connection failed")
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

    def _greet(self, connection: VoiceConnection) -> None:
        known = connection.version <= words.NEWEST_VERSION
        old = connection.version < words.OLDEST_VERSION and changes.VOICE_VERSIONS.active(self._clock.now_ms())
        if old or not known:
            # The specification says rejected; with a code, so that clients see why (decisions/0050).
            raise Closing(VoiceCloseCode.BAD_REQUEST, "Give a version from 4 to 9 as v")
        hello = words.Hello(v=connection.version, heartbeat_interval=self._settings.heartbeat_interval_ms)
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

    # What clients say

    async def _take(self, connection: VoiceConnection, data: bytes) -> None:
        self._count(connection)
        frame = _decode(data, words.Frame)
        op, session = frame.op, connection.session
        if session is None and op not in WITHOUT_SESSION:
            raise Closing(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        if op == VoiceOpcode.HEARTBEAT:
            self._beat(connection, frame.d)
        elif op == VoiceOpcode.IDENTIFY:
            self._once(connection)
            await self._identify(connection, _decode(frame.d, words.Identify))
        elif op == VoiceOpcode.RESUME:
            self._once(connection)
            self._resume(connection, _decode(frame.d, words.Resume))
        elif session is None:
            return
        elif op == VoiceOpcode.SELECT_PROTOCOL:
            await self._select(session, _decode(frame.d, words.SelectProtocol))
        elif op == VoiceOpcode.SPEAKING:
            self._speak(session, _decode(frame.d, words.SetSpeaking))
        elif op == VoiceOpcode.VIDEO:
            self._show(session, _decode(frame.d, words.SetVideo))
        elif op == VoiceOpcode.MEDIA_SINK_WANTS:
            wants = _decode(frame.d, dict[str, Any])
            session.peer.unwanted = frozenset(
                int(ssrc) for ssrc, wanted in wants.items() if ssrc.isdecimal() and len(ssrc) <= 10 and wanted == 0
            )
        elif op == VoiceOpcode.BACKEND_VERSION:
            version = f"hubbub {hubbub.__version__}"
            session.say(VoiceOpcode.BACKEND_VERSION, words.BackendVersion(voice=version, rtc_worker=version))
        elif op in DAVE:
            session.room.received(session, op, _decode(frame.d, words.TransitionDone))
        elif op not in (VoiceOpcode.SESSION_UPDATE, VoiceOpcode.NO_ROUTE):
            raise Closing(VoiceCloseCode.UNKNOWN_OPCODE, "Unknown opcode")

    def _take_bytes(self, connection: VoiceConnection, data: bytes) -> None:
        self._count(connection)
        if not data or data[0] not in words.BINARY_OPCODES:
            raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        if connection.session is None:
            raise Closing(VoiceCloseCode.NOT_AUTHENTICATED, "Not authenticated")
        connection.session.room.received(connection.session, data[0], data[1:])

    def _count(self, connection: VoiceConnection) -> None:
        if not connection.frames.take(asyncio.get_running_loop().time()):
            raise Closing(VoiceCloseCode.RATE_LIMITED, "Rate limited")

    def _once(self, connection: VoiceConnection) -> None:
        if connection.session is not None:
            raise Closing(VoiceCloseCode.ALREADY_AUTHENTICATED, "Already authenticated")

    def _beat(self, connection: VoiceConnection, data: msgspec.Raw) -> None:
        connection.beat_at = asyncio.get_running_loop().time()
        if not connection.buffered:
            connection.say(VoiceOpcode.HEARTBEAT_ACK, _decode(data, int | str | None))
            return
        beat = _decode(data, words.Heartbeat)
        if connection.session is not None and beat.seq_ack is not None and beat.seq_ack > 0:
            connection.session.replay.acknowledge(beat.seq_ack)
        connection.say(VoiceOpcode.HEARTBEAT_ACK, words.Acknowledged(t=beat.t))

    async def _identify(self, connection: VoiceConnection, asked: words.Identify) -> None:
        connection.busy = True
        try:
            ticket = await self.calls.find(auth.hash_token(asked.token))
            if ticket is None or ticket.user_id != asked.user_id:
                raise Closing(VoiceCloseCode.AUTHENTICATION_FAILED, "Authentication failed")
            if ticket.server_id != asked.server_id or ticket.server != self.listening.endpoint:
                raise Closing(VoiceCloseCode.SERVER_NOT_FOUND, "Server not found")
            channel_id = asked.channel_id
            if ticket.session_id != asked.session_id or channel_id not in (None, ticket.channel_id):
                raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
            dave = min(max(asked.max_dave_protocol_version or 0, 0), words.DAVE_VERSION)
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
            words.Stream(type=each.type, rid=each.rid, quality=each.quality, ssrc=peer.ssrc + 1, rtx_ssrc=peer.ssrc + 2)
            for each in (asked.streams or [])[:1]
        ]
        session.say(
            VoiceOpcode.READY,
            words.Ready(
                ssrc=peer.ssrc,
                ip=self.listening.address,
                port=self.listening.udp_port,
                modes=list(self._modes()),
                streams=streams,
            ),
        )
        session.room.introduce(session)

    def _modes(self) -> tuple[str, ...]:
        old = () if changes.VOICE_ENCRYPTION.active(self._clock.now_ms()) else words.OLD_MODES
        return words.MODES + old

    def _resume(self, connection: VoiceConnection, asked: words.Resume) -> None:
        session = self.calls.resumable(auth.hash_token(asked.token))
        ticket = None if session is None else session.ticket
        if session is None or ticket is None or ticket.server_id != asked.server_id:
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if ticket.session_id != asked.session_id or asked.channel_id not in (None, ticket.channel_id):
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Session is no longer valid")
        if connection.buffered:
            missed = session.replay.since(-1 if asked.seq_ack is None else asked.seq_ack)
        else:
            missed = session.replay.after(session.detached_at if session.connection is None else session.replay.last)
        if missed is None:
            raise Closing(VoiceCloseCode.SESSION_NO_LONGER_VALID, "Some messages are gone")
        before = session.connection
        session.attach(connection)
        if before is not None:
            before.session = None
            before.close(VoiceCloseCode.DISCONNECTED, "Resumed elsewhere")
        # voice.md 6: what was missed comes after, or a library that is still resuming drops it.
        connection.say(VoiceOpcode.RESUMED, None)
        for message in missed:
            connection.write(message.first, message.payload)

    async def _select(self, session: VoiceSession, asked: words.SelectProtocol) -> None:
        if asked.protocol != "udp":
            await self.calls.refuse(session)
            raise Closing(VoiceCloseCode.UNKNOWN_PROTOCOL, "Unknown protocol")
        mode = _decode(asked.data, words.Transport).mode
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
            words.SessionDescription(
                mode=mode,
                secret_key=list(key),
                dave_protocol_version=session.told_version,
                media_session_id=session.media_session_id,
            ),
        )
        if first:
            session.room.described(session)
            await self.calls.entered(session)

    def _speak(self, session: VoiceSession, asked: words.SetSpeaking) -> None:
        speaking = int(asked.speaking)
        if not 0 <= speaking < 256:
            raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload")
        session.room.speak(session, speaking)
        self.calls.forwarder.release(session.peer)

    def _show(self, session: VoiceSession, asked: words.SetVideo) -> None:
        """Of the numbers a client names only those that are its own count."""
        own = session.peer.ssrc + 1
        shows = asked.video_ssrc == own
        if not shows and session.video is None:
            # discord.py's way to say that it has none.
            return
        session.peer.shows = shows
        session.room.show(
            session,
            words.Video(
                user_id=UserId(session.user_id),
                audio_ssrc=session.peer.ssrc,
                video_ssrc=own if shows else 0,
                streams=[each for each in asked.streams if each.ssrc == own][:1] if shows else [],
            ),
        )


def _version(request: web.Request) -> int:
    """The version asked for; none is the first one."""
    asked = request.query.get("v", "1")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 4 and int(asked) else 999


def _decode(data: Any, kind: Any) -> Any:
    try:
        return wire.decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise Closing(VoiceCloseCode.DECODE_ERROR, "Error while decoding payload") from error
