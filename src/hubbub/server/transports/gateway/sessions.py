"""All gateway sessions of this node: start, resume and end."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from itertools import islice
from typing import Any, Final

from hubbub.protocol import changes, wire
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.applications import FlaggedApplication, flags_on_the_wire
from hubbub.protocol.resources.gateway import RESUMED, FeatureFlags, Identify, Resumed
from hubbub.protocol.resources.guilds import GUILD_CREATE
from hubbub.protocol.resources.presence import PRESENCE_UPDATES_MAX, PRESENCE_UPDATES_SECONDS, SetPresence
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.dispatches import CROWD, Dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences, SessionPresence
from hubbub.server.core.store import Tx
from hubbub.server.transports.gateway.compression import Deflater
from hubbub.server.transports.gateway.connection import Connection
from hubbub.server.transports.gateway.hub import FRESH_S, Hub
from hubbub.server.transports.gateway.identify import Asked, check_size
from hubbub.server.transports.gateway.limits import Window
from hubbub.server.transports.gateway.line import Line, Made
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.presence import PresenceFeed
from hubbub.server.transports.gateway.replay import Replay
from hubbub.server.transports.gateway.seats import Seat
from hubbub.server.transports.gateway.session import Session
from hubbub.server.transports.gateway.world import World
from hubbub.server.transports.sockets import Closing

log = logging.getLogger(__name__)

GUILDS_AT_ONCE: Final = 16
"""Number of guilds that are read concurrently while a session starts."""
REPLAY_AT_ONCE: Final = 200
"""Number of events that are replayed before the client's write buffer is checked."""
SESSIONS_MOST: Final = 50
"""Concurrent sessions of a user on a node; does not apply to bots (gateway.md 3, 4015)."""
ORPHANS_EVERY_S: Final = 300.0
"""Interval in seconds between searches for stored sessions that no node has."""
ORPHANS_MS: Final = 120_000
"""Minimum age in milliseconds before a stored session that no node has is treated as orphaned."""
LEAVING_CODES: Final = frozenset({1000, 1001})
"""Client close codes that end the session instead of keeping it resumable (gateway.md 3)."""


class Sessions:
    """The sessions of this node, indexed by session, guild and user."""

    def __init__(self, context: World, bus: Bus[Dispatch], metrics: Metrics, presences: Presences) -> None:
        self._context = context
        self._bus = bus
        self._count = metrics.delivered
        self._presences = presences
        self._sessions: dict[str, Session] = {}
        self._hubs: dict[int, tuple[Hub, Subscription]] = {}
        self._user_sessions: dict[int, Line] = {}
        self._deflater = Deflater()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._gap: Subscription | None = None
        self._crowd: Subscription | None = None
        self._resumable_ms = context.config.gateway.replay_ms
        self._session_ended_hooks = [part.session_ended for part in context.slices if part.session_ended is not None]
        self._session_began_hooks = [part.session_began for part in context.slices if part.session_began is not None]
        self._stored_session_hooks = [part.sessions_kept for part in context.slices if part.sessions_kept is not None]
        self._orphans_checked_at = 0.0
        self._gaps = 0
        """Number of times that the bus may have lost events."""
        self.feed = PresenceFeed(
            bus,
            context.clock,
            presences,
            reach=context.reach,
            local=self._deliver_here,
            lost=self._lost_sessions,
        )
        metrics.watch(metrics.gateway_sessions, lambda: len(self._sessions))

    def start(self) -> None:
        """Subscribe to the bus."""
        self._loop = asyncio.get_running_loop()
        self._orphans_checked_at = self._loop.time()
        self._gap = self._bus.on_gap(self._lost_events)
        self._crowd = self._bus.subscribe(CROWD, self._share)
        self.feed.start()

    async def close(self) -> None:
        """End every session."""
        sessions = list(self._sessions.values())
        for session in sessions:
            self._end(session)
        await self._run_ended_hooks(sessions)
        self.feed.close()
        for subscription in (self._gap, self._crowd):
            if subscription is not None:
                subscription.cancel()
        for task in list(self._tasks):
            task.cancel()

    async def settle(self) -> None:
        """Wait until all events received so far are sent: guilds re-read, presences published, sessions admitted."""
        while under_way := {
            *self._tasks,
            *(task for hub, _ in self._hubs.values() for task in hub.under_way()),
            *filter(None, [self.feed.telling]),
        }:
            await asyncio.wait(under_way)

    def find(self, session_id: str) -> Session | None:
        """Return the session if it is connected or can be resumed, or None."""
        return self._sessions.get(session_id)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def packet(self, event: str, body: bytes) -> Packet:
        """Return an encoded event that can be sent to any number of sessions."""
        return Packet(event, body, self._deflater, self._loop.time(), self._count)

    def member_count(self, guild_id: int) -> int:
        """Return a guild's member count as of its last read, or 0 if no session of this node is in the guild."""
        entry = self._hubs.get(guild_id)
        return entry[0].state.member_count if entry is not None and entry[0].state is not None else 0

    # Starting sessions

    async def begin(
        self, connection: Connection, actor: Actor, parameters: Asked, identify: Identify, device: str
    ) -> None:
        """Start a session: send READY, then GUILD_CREATE for each guild in the background."""
        settings = self._context.config.gateway
        session = Session(
            actor,
            intents=parameters.intents,
            shard=parameters.shard,
            large_threshold=parameters.large_threshold,
            obfuscates=parameters.obfuscates,
            capabilities=parameters.capabilities,
            version=connection.version,
            device=device,
            replay=Replay(settings.replay_events, settings.replay_bytes),
            presences=Window(PRESENCE_UPDATES_MAX, PRESENCE_UPDATES_SECONDS),
            now=self._loop.time(),
        )
        known = self._user_sessions.get(session.user_id)
        if not actor.is_bot and known is not None and len(known.sessions) >= SESSIONS_MOST:
            raise Closing(CloseCode.TOO_MANY_SESSIONS, "Too many sessions")
        user_sessions = self._join_user_sessions(session)
        gaps = self._gaps
        try:
            # Subscribe before reading: events in between are buffered, and sent unless the read already contains them.
            await self._bus.flush()
            await self._run_began_hooks(session)
            opening = await self._context.ready(
                session, lambda guilds: self._ready(session, guilds, connection.resume_url, identify.shard)
            )
            session.snapshot, session.application_name = opening.snapshot, opening.application_name
            check_size(len(opening.guilds), actor)
            # Events of a guild after READY must reach the client even if they happen before its GUILD_CREATE.
            seats = [self._seat(session, guild, joins=False) for guild in opening.guilds]
            await self._bus.flush()
        except BaseException:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            raise
        if gaps != self._gaps or session.ended:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            connection.say(GatewayOpcode.INVALID_SESSION, False)
            return
        self._sessions[session.id] = session
        connection.session = session
        if connection.closing is None:
            session.connection = connection
        for event, body in opening.packets:
            session.send(self.packet(event, body))
        early, session.early = session.early or [], None
        for dispatch in early:
            batch = Made()
            user_sessions.admit(session, dispatch, batch)
            batch.send()
        self.feed.put(session, identify.presence or SetPresence())
        self._spawn(self._stream(session, seats))

    def _ready(self, session: Session, guilds: list[Any], url: str, shard: list[int] | None) -> dict[str, Any]:
        """Return the keys of READY that no slice provides."""
        ready: dict[str, Any] = {
            "v": session.version,
            "guilds": guilds,
            "session_id": session.id,
            "resume_gateway_url": url,
        }
        if shard is not None:
            # discord.py's sharded client requires this key (gateway.md 4.2).
            ready["shard"] = shard
        actor = session.actor
        if actor.application_id is not None:
            flags, flags_new = flags_on_the_wire(actor.application_flags, self._context.clock.now_ms())
            ready["application"] = FlaggedApplication(id=actor.application_id, flags=flags, flags_new=flags_new)
        if session.is_game:
            settings = self._context.config.gateway
            ready["user_application_profiles"] = {}
            ready["feature_flags"] = FeatureFlags(
                disabled_functions=list(settings.disabled_functions),
                disabled_gateway_events=list(settings.disabled_gateway_events),
            )
            ready["av_sf_protocol_floor"] = int(changes.E2EE_VOICE_ONLY.active(self._context.clock.now_ms()))
        return ready

    async def _stream(self, session: Session, seats: list[tuple[Hub, Seat]]) -> None:
        waiting = iter(seats)
        while not session.ended and (batch := list(islice(waiting, GUILDS_AT_ONCE))):
            await asyncio.gather(*(hub.admit(seat) for hub, seat in batch if not seat.gone))
            if session.connection is not None:
                await session.connection.room()

    def _seat(self, session: Session, guild_id: int, *, joins: bool) -> tuple[Hub, Seat]:
        entry = self._hubs.get(guild_id)
        if entry is None:
            hub = Hub(guild_id, self._context, self.packet, self._empty, self._invalidate_some)
            entry = self._hubs[guild_id] = (hub, self._bus.subscribe(f"guild.{guild_id}", hub.hear))
        seat = session.seats[guild_id] = Seat(session, joins=joins)
        entry[0].expect(seat)
        return entry[0], seat

    def _join_user_sessions(self, session: Session) -> Line:
        user_sessions = self._user_sessions.get(session.user_id)
        if user_sessions is None:
            user_sessions = self._user_sessions[session.user_id] = Line(self, self.packet, self._context)
            user_sessions.subscription = self._bus.subscribe(f"user.{session.user_id}", user_sessions.hear)
        user_sessions.sessions.append(session)
        return user_sessions

    # Guild membership and delivery

    def enter(self, session: Session, guild_id: int) -> None:
        """Add a session to a guild that its user joined."""
        if session.is_game:
            self._spawn(self._send_guild_name(session, guild_id))
            return
        if session.ended or guild_id in session.seats or not session.in_shard(guild_id):
            return
        hub, seat = self._seat(session, guild_id, joins=True)

        async def admit() -> None:
            await self._bus.flush()
            if not seat.gone:
                await hub.admit(seat)

        self._spawn(admit())
        if self._user_sessions[session.user_id].sessions[0] is session:
            self.feed.tell_guild(session.user_id, guild_id)

    async def _send_guild_name(self, session: Session, guild_id: int) -> None:
        """Send an OAuth2 session the id and name of a guild that its user joined, and nothing else (sdk.md 5.4)."""
        if session.intents & Intents.GUILDS:
            name = await self._context.guild_name(guild_id)
            if name is not None and not session.ended:
                body = wire.encode({"id": GuildId(guild_id), "name": name})
                session.send(self.packet(GUILD_CREATE.name, body))

    def leave(self, session: Session, guild_id: int) -> None:
        """Remove a session from a guild that its user left."""
        seat = session.seats.pop(guild_id, None)
        if seat is not None and guild_id in self._hubs:
            self._hubs[guild_id][0].leave(seat)

    def _empty(self, hub: Hub) -> None:
        entry = self._hubs.get(hub.guild_id)
        if entry is not None and entry[0] is hub:
            del self._hubs[hub.guild_id]
            entry[1].cancel()
            hub.close()

    def _deliver_here(self, dispatch: Dispatch) -> None:
        if dispatch.audience.guild_id is None:
            self._share(dispatch)
            return
        entry = self._hubs.get(dispatch.audience.guild_id)
        if entry is not None:
            entry[0].hear(dispatch)

    def _share(self, dispatch: Dispatch) -> None:
        """Deliver an event for many users to those connected here; the packets are created once for all of them."""
        users, by_user = dispatch.audience.users, self._user_sessions
        if len(users) * 4 > len(by_user):
            # A large share of the local users: iterate in insertion order, which visits memory sequentially.
            recipients = [user_sessions for user_id, user_sessions in by_user.items() if user_id in users]
        else:
            recipients = [by_user[user_id] for user_id in users if user_id in by_user]
        if self._context.trace.on:
            for user_sessions in recipients:
                user_sessions.share(dispatch)
            return
        try:
            batch = Made()
            for user_sessions in recipients:
                user_sessions.tell_among(dispatch, batch)
            batch.send()
        except Exception:
            log.exception("failed to deliver an event to several users")
            for user_sessions in recipients:
                self._invalidate_some(list(user_sessions.sessions))

    def _lost_events(self) -> None:
        """Invalidate every session, because the bus may have lost events for any of them."""
        self._gaps += 1
        self.invalidate_all()

    def invalidate_all(self) -> None:
        """Invalidate every session, so that every client identifies again."""
        self._invalidate_some(list(self))

    def _invalidate_some(self, sessions: list[Session]) -> None:
        for session in sessions:
            self.invalidate(session)

    # Resuming sessions

    async def resume(self, connection: Connection, session: Session, seq: int) -> bool:
        """Replay missed events on a new connection; return False if the replay buffer no longer has them."""
        if not 0 <= seq <= session.replay.last:
            raise Closing(CloseCode.INVALID_SEQ, "Invalid seq")
        for old in (session.connection, session.resuming):
            if old is not None:
                old.session = None
                old.close(CloseCode.UNKNOWN_ERROR, "Resumed elsewhere")
        session.connection, session.resuming = None, connection
        connection.session = session
        if session.expiry is not None:
            session.expiry.cancel()
            session.expiry = None
        # Live events are appended to the buffer meanwhile, so the loop replays them as well.
        while packets := session.replay.since(seq, REPLAY_AT_ONCE):
            for packet in packets:
                seq += 1
                connection.deliver(packet, seq)
            if not await connection.room() or session.resuming is not connection:
                return True
        if packets is None:
            self.invalidate(session)
            return False
        session.resuming, session.connection = None, connection
        session.send(self.packet(RESUMED.name, wire.encode(Resumed())))
        return True

    # Ending sessions

    def detach(self, connection: Connection, code: int | None) -> None:
        """Release the session of a closed connection; it stays resumable unless the close code ends it."""
        session = connection.session
        if session is None or session.ended:
            return
        if session.resuming is connection:
            session.resuming = None
        if session.connection is connection:
            session.connection = None
        if code in LEAVING_CODES:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
        elif session.connection is None and session.resuming is None and session.expiry is None:
            session.expiry = self._context.clock.call_later(self._resumable_ms, lambda: self._expire(session))

    async def _expire(self, session: Session) -> None:
        self._end(session)
        await self._run_ended_hooks([session])

    def revoke(self, session: Session) -> None:
        """End a session whose token was revoked, and close its connection."""
        connection = session.connection or session.resuming
        self._end(session)
        self._spawn(self._run_ended_hooks([session]))
        if connection is not None:
            connection.close(CloseCode.AUTHENTICATION_FAILED, "Authentication failed")

    def invalidate(self, session: Session) -> None:
        """End a session that cannot continue. The client may identify again on the same connection."""
        connection = session.connection or session.resuming
        self._end(session)
        self._spawn(self._run_ended_hooks([session]))
        if connection is not None:
            connection.session = None
            connection.say(GatewayOpcode.INVALID_SESSION, False)

    def _end(self, session: Session) -> None:
        if session.ended:
            return
        session.ended = True
        session.connection = session.resuming = None
        if session.expiry is not None:
            session.expiry.cancel()
            session.expiry = None
        known = self._sessions.pop(session.id, None)
        for guild_id in list(session.seats):
            self.leave(session, guild_id)
        user_sessions = self._user_sessions.get(session.user_id)
        if user_sessions is not None and session in user_sessions.sessions:
            user_sessions.sessions.remove(session)
            if not user_sessions.sessions:
                del self._user_sessions[session.user_id]
                if user_sessions.subscription is not None:
                    user_sessions.subscription.cancel()
        if known is not None:
            self.feed.drop(session.user_id, session.id)

    async def _run_began_hooks(self, session: Session) -> None:
        """Run the slices' `session_began` hooks for an OAuth2 session, before READY is read."""
        if session.actor.kind != "bearer":
            return

        def work(tx: Tx) -> None:
            call = self._context.call_after(tx, session.actor, session.id)
            for session_began in self._session_began_hooks:
                session_began(call, session.user_id, session.id)

        await self._context.db.write(work)

    async def _run_ended_hooks(self, sessions: list[Session]) -> None:
        """Run the slices' `session_ended` hooks for sessions of this node."""
        await self._clean_up([(session.actor, session.id) for session in sessions])

    def _lost_sessions(self, lost_presences: list[SessionPresence]) -> None:
        """Clean up after the sessions of a node that was killed.

        The actor kind is not known; "user" is correct for cleanup, because bots leave nothing additional behind.
        """
        lost = [(Actor(user_id=UserId(one.user_id), kind="user"), one.session_id) for one in lost_presences]
        self._spawn(self._clean_up(lost))

    async def clear_orphans(self) -> None:
        """Clean up after stored sessions that no node has, left behind when all nodes were killed at once.

        Every node knows the presence of every session, visible or not.
        """

        def work(tx: Tx) -> set[tuple[int, str]]:
            before_ms = self._context.clock.now_ms() - ORPHANS_MS
            return {stored for sessions_kept in self._stored_session_hooks for stored in sessions_kept(tx, before_ms)}

        stored = await self._context.db.read(work, long=True)
        lost = [each for each in sorted(stored) if not self._presences.has(*each) and each[1] not in self._sessions]
        if lost:
            log.warning("ending sessions that no node has", extra={"sessions": len(lost)})
            await self._clean_up([(Actor(user_id=UserId(user_id), kind="user"), each) for user_id, each in lost])

    async def _clean_up(self, ended: list[tuple[Actor, str]]) -> None:
        """Run the slices' `session_ended` hooks."""
        if not self._session_ended_hooks or not ended:
            return

        def work(tx: Tx) -> None:
            for actor, session_id in ended:
                call = self._context.call_after(tx, actor, session_id)
                for session_ended in self._session_ended_hooks:
                    session_ended(call, int(actor.user_id), session_id)

        try:
            await self._context.db.write(work)
        except Exception:
            log.exception("failed to clean up after ended sessions")

    def tidy(self, now: float) -> None:
        """Discard expired state: replayed events, snapshots, silent nodes, and at intervals orphaned sessions."""
        oldest = now - self._resumable_ms / 1000
        for session in self._sessions.values():
            if session.connection is not None:
                session.replay.forget(session.acknowledged, oldest, now)
            if session.snapshot is not None and now - session.began_at >= FRESH_S:
                session.snapshot = None
        for hub, _ in self._hubs.values():
            hub.tidy(now)
        self.feed.sweep(now)
        if now - self._orphans_checked_at >= ORPHANS_EVERY_S:
            # By now every other live node has reported its sessions.
            self._orphans_checked_at = now
            self._spawn(self.clear_orphans())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a gateway background task failed", exc_info=error)
