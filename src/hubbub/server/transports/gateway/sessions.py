"""All gateway sessions of this node: start, resume, end, guild membership, and delivery of events for users."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from hubbub.protocol import changes, codec
from hubbub.protocol.activity_limits import PRESENCE_UPDATE_WINDOW_SECONDS, PRESENCE_UPDATES_MAX
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.applications import ReadyApplication, wire_flags
from hubbub.protocol.resources.gateway import RESUMED, FeatureFlags, Identify, Resumed
from hubbub.protocol.resources.guilds import GUILD_CREATE
from hubbub.protocol.resources.presence import SetPresence
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.event_dispatch import BROADCAST_SUBJECT, Dispatch, UserAudience
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences, SessionPresence
from hubbub.server.core.store import Tx
from hubbub.server.transports.gateway.compression import BlockCompressor
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.hub import LATE_EVENT_SECONDS, GuildHub
from hubbub.server.transports.gateway.identification import SessionParameters, reject_too_many_guilds
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.presence import PresenceFeed
from hubbub.server.transports.gateway.replay import ReplayBuffer
from hubbub.server.transports.gateway.session import GatewayConnection, GatewaySession, Seat
from hubbub.server.transports.gateway.user_sessions import DispatchBatch, UserSessions
from hubbub.server.transports.rate_window import RateWindow
from hubbub.server.transports.sockets import CloseConnection

log = logging.getLogger(__name__)

CONCURRENT_GUILD_READS_MAX: Final = 16
"""Maximum number of guilds that are read concurrently while a session starts."""
REPLAY_BATCH_SIZE: Final = 200
"""Number of events that are replayed before the client's write buffer is checked."""
SESSIONS_PER_USER_MAX: Final = 50
"""Maximum number of concurrent sessions of a user on a node; does not apply to bots (spec/gateway.md#3, 4015)."""
ORPHAN_CHECK_SECONDS: Final = 300.0
"""Interval in seconds between searches for stored sessions that no node has."""
ORPHAN_AGE_MS: Final = 120_000
"""Minimum age in milliseconds before a stored session that no node has is treated as orphaned."""
SESSION_ENDING_CODES: Final = frozenset({1000, 1001})
"""Client close codes that end the session instead of keeping it resumable (spec/gateway.md#3)."""


class _SubscribedHub(NamedTuple):
    """The hub of a guild and its bus subscription."""

    hub: GuildHub
    subscription: Subscription


class GatewaySessions:
    """The sessions of this node, indexed by session, guild and user."""

    def __init__(self, context: GatewayContext, bus: Bus[Dispatch], metrics: Metrics, presences: Presences) -> None:
        self._context = context
        self._bus = bus
        self._record_delivered = metrics.count_delivered
        self._presences = presences
        self._sessions: dict[str, GatewaySession] = {}
        self._hubs: dict[int, _SubscribedHub] = {}
        self._user_sessions: dict[int, UserSessions] = {}
        self._compressor = BlockCompressor()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._gap_subscription: Subscription | None = None
        self._broadcast_subscription: Subscription | None = None
        self._resume_window_ms = context.config.gateway.replay_ms
        self._session_ended_hooks = [
            resource_slice.session_ended
            for resource_slice in context.slices
            if resource_slice.session_ended is not None
        ]
        self._session_began_hooks = [
            resource_slice.session_began
            for resource_slice in context.slices
            if resource_slice.session_began is not None
        ]
        self._stored_session_hooks = [
            resource_slice.stored_sessions
            for resource_slice in context.slices
            if resource_slice.stored_sessions is not None
        ]
        self._orphans_checked_at = 0.0
        self._gap_count = 0
        """Number of times that the bus may have lost events."""
        self.presence_feed = PresenceFeed(
            bus,
            context.clock,
            presences,
            read_audience=context.presence_audience,
            deliver_local=self._deliver_local,
            on_lost_sessions=self._on_lost_sessions,
            has_unpublished=context.has_unpublished,
        )
        metrics.watch(metrics.gateway_sessions, lambda: len(self._sessions))

    def start(self) -> None:
        """Subscribe to the bus."""
        self._loop = asyncio.get_running_loop()
        self._orphans_checked_at = self._loop.time()
        self._gap_subscription = self._bus.on_gap(self._on_missed_events)
        self._broadcast_subscription = self._bus.subscribe(BROADCAST_SUBJECT, self._deliver_broadcast)
        self.presence_feed.start()

    async def close(self) -> None:
        """End every session, unsubscribe from the bus and cancel all tasks."""
        sessions = list(self._sessions.values())
        for session in sessions:
            self._end(session)
        await self._run_ended_hooks(sessions)
        self.presence_feed.close()
        for subscription in (self._gap_subscription, self._broadcast_subscription):
            if subscription is not None:
                subscription.cancel()
        for task in list(self._tasks):
            task.cancel()

    async def settle(self) -> None:
        """Wait until all events received so far are sent: guilds re-read, presences published, sessions admitted."""
        while running_tasks := {
            *self._tasks,
            *(task for hub, _ in self._hubs.values() for task in hub.running_tasks()),
            *filter(None, [self.presence_feed.publish_task]),
        }:
            await asyncio.wait(running_tasks)

    def find(self, session_id: str) -> GatewaySession | None:
        """Return the session if it is connected or can be resumed, or None."""
        return self._sessions.get(session_id)

    def __iter__(self) -> Iterator[GatewaySession]:
        return iter(list(self._sessions.values()))

    def create_packet(self, event: str, body: bytes) -> Packet:
        """Return an encoded event that can be sent to any number of sessions."""
        return Packet(event, body, self._compressor, self._loop.time(), self._record_delivered)

    def member_count(self, guild_id: int) -> int:
        """Return a guild's member count as of its last read, or 0 if no session of this node is in the guild."""
        subscribed_hub = self._hubs.get(guild_id)
        return (
            subscribed_hub.hub.state.member_count
            if subscribed_hub is not None and subscribed_hub.hub.state is not None
            else 0
        )

    # Starting sessions

    async def start_session(
        self,
        connection: GatewayConnection,
        actor: Actor,
        parameters: SessionParameters,
        identify: Identify,
        device: str,
    ) -> None:
        """Start a session: send READY, then GUILD_CREATE for each guild in the background.

        Send INVALID_SESSION instead if events may have been lost meanwhile. Raise `CloseConnection` if the user has too
        many sessions or a bot has too many guilds for one shard.
        """
        settings = self._context.config.gateway
        session = GatewaySession(
            actor,
            intents=parameters.intents,
            shard=parameters.shard,
            large_threshold=parameters.large_threshold,
            always_obfuscates=parameters.always_obfuscates,
            capabilities=parameters.capabilities,
            version=connection.version,
            device=device,
            replay=ReplayBuffer(settings.replay_events_max, settings.replay_bytes_max),
            presence_limit=RateWindow(PRESENCE_UPDATES_MAX, PRESENCE_UPDATE_WINDOW_SECONDS),
            now=self._loop.time(),
        )
        existing_sessions = self._user_sessions.get(session.user_id)
        if (
            not actor.is_bot
            and existing_sessions is not None
            and len(existing_sessions.sessions) >= SESSIONS_PER_USER_MAX
        ):
            raise CloseConnection(CloseCode.TOO_MANY_SESSIONS, "Too many sessions")
        user_sessions = self._join_user_sessions(session)
        previous_gap_count = self._gap_count
        try:
            # The session subscribes before the read: events in between are buffered, and sent unless the read contains them.
            await self._bus.flush()
            await self._run_began_hooks(session)
            opening = await self._context.ready(
                session, lambda guilds: self._ready_fields(session, guilds, connection.resume_url, identify.shard)
            )
            session.snapshot, session.application_name = opening.snapshot, opening.application_name
            reject_too_many_guilds(len(opening.guilds), actor)
            # Events of a guild after READY must reach the client even if they happen before its GUILD_CREATE.
            seats = (
                []
                if session.has_ended
                else [self._create_seat(session, guild, is_joining=False) for guild in opening.guilds]
            )
            await self._bus.flush()
        except BaseException:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            raise
        if previous_gap_count != self._gap_count or session.has_ended:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            connection.send_payload(GatewayOpcode.INVALID_SESSION, False)
            return
        self._sessions[session.id] = session
        connection.session = session
        if connection.close_task is None:
            session.connection = connection
        for event, body in opening.packets:
            session.send(self.create_packet(event, body))
        early_events, session.early_events = session.early_events or [], None
        for dispatch in early_events:
            batch = DispatchBatch()
            user_sessions.add_if_recipient(session, dispatch, batch)
            batch.send()
        self.presence_feed.set_presence(session, identify.presence or SetPresence())
        self._spawn(self._admit_to_guilds(session, seats))

    def _ready_fields(
        self, session: GatewaySession, guilds: list[Any], resume_url: str, shard: list[int] | None
    ) -> dict[str, Any]:
        """Return the keys of READY that the gateway provides; slices may replace them."""
        ready_fields: dict[str, Any] = {
            "v": session.version,
            "guilds": guilds,
            "session_id": session.id,
            "resume_gateway_url": resume_url,
        }
        if shard is not None:
            # discord.py's sharded client requires this key (spec/gateway.md#4.2).
            ready_fields["shard"] = shard
        actor = session.actor
        if actor.application_id is not None:
            flags, flags_new = wire_flags(actor.application_flags, self._context.clock.now_ms())
            ready_fields["application"] = ReadyApplication(id=actor.application_id, flags=flags, flags_new=flags_new)
        if session.is_oauth2:
            settings = self._context.config.gateway
            ready_fields["user_application_profiles"] = {}
            ready_fields["feature_flags"] = FeatureFlags(
                disabled_functions=list(settings.disabled_functions),
                disabled_gateway_events=list(settings.disabled_gateway_events),
            )
            ready_fields["av_sf_protocol_floor"] = int(changes.E2EE_VOICE_ONLY.is_active(self._context.clock.now_ms()))
        return ready_fields

    async def _admit_to_guilds(self, session: GatewaySession, seats: list[tuple[GuildHub, Seat]]) -> None:
        """Admit a session to its guilds, a few at a time, at the pace of the client."""
        remaining = iter(seats)
        while not session.has_ended and (batch := list(islice(remaining, CONCURRENT_GUILD_READS_MAX))):
            await asyncio.gather(*(hub.admit(seat) for hub, seat in batch if not seat.is_removed))
            if session.connection is not None:
                await session.connection.wait_writable()

    def _create_seat(self, session: GatewaySession, guild_id: int, *, is_joining: bool) -> tuple[GuildHub, Seat]:
        """Create a session's seat in a guild, and the guild's hub if there is none."""
        subscribed_hub = self._hubs.get(guild_id)
        if subscribed_hub is None:
            hub = GuildHub(guild_id, self._context, self.create_packet, self._remove_empty_hub, self._invalidate_some)
            subscription = self._bus.subscribe(f"guild.{guild_id}", hub.receive)
            subscribed_hub = self._hubs[guild_id] = _SubscribedHub(hub, subscription)
        seat = session.seats[guild_id] = Seat(session, is_joining=is_joining)
        subscribed_hub.hub.expect(seat)
        return subscribed_hub.hub, seat

    def _join_user_sessions(self, session: GatewaySession) -> UserSessions:
        user_sessions = self._user_sessions.get(session.user_id)
        if user_sessions is None:
            user_sessions = self._user_sessions[session.user_id] = UserSessions(self, self.create_packet, self._context)
            user_sessions.subscription = self._bus.subscribe(f"user.{session.user_id}", user_sessions.receive)
        user_sessions.sessions.append(session)
        return user_sessions

    # Guild membership and delivery

    def add_to_guild(self, session: GatewaySession, guild_id: int, *, is_joining: bool = True) -> None:
        """Add a session to a guild that its user joins now or, if `is_joining` is False, that is available again."""
        if session.is_oauth2:
            self._spawn(self._send_guild_name(session, guild_id))
            return
        if session.has_ended or not session.owns_guild(guild_id):
            return
        previous_seat = session.seats.get(guild_id)
        if previous_seat is not None and not previous_seat.is_removed:

            def add_again(_: "asyncio.Future[None]") -> None:
                # The running read has a snapshot in which the guild was still unavailable.
                if previous_seat.is_removed:
                    self.add_to_guild(session, guild_id, is_joining=is_joining)

            if not previous_seat.opened.done():
                previous_seat.opened.add_done_callback(add_again)
            return
        hub, seat = self._create_seat(session, guild_id, is_joining=is_joining)

        async def admit() -> None:
            await self._bus.flush()
            if not seat.is_removed:
                await hub.admit(seat)

        self._spawn(admit())
        if self._user_sessions[session.user_id].sessions[0] is session:
            self.presence_feed.publish_to_guild(session.user_id, guild_id)

    async def _send_guild_name(self, session: GatewaySession, guild_id: int) -> None:
        """Send an OAuth2 session the ID and name of a guild that its user joined, and nothing else (spec/sdk.md#5.4)."""
        if session.intents & Intents.GUILDS:
            name = await self._context.guild_name(guild_id)
            if name is not None and not session.has_ended:
                body = codec.encode({"id": GuildId(guild_id), "name": name})
                session.send(self.create_packet(GUILD_CREATE.name, body))

    def remove_from_guild(self, session: GatewaySession, guild_id: int) -> None:
        """Remove a session from a guild that its user left, or that became unavailable."""
        seat = session.seats.pop(guild_id, None)
        if seat is not None and guild_id in self._hubs:
            self._hubs[guild_id].hub.leave(seat)

    def _remove_empty_hub(self, hub: GuildHub) -> None:
        """Remove a hub without sessions."""
        subscribed_hub = self._hubs.get(hub.guild_id)
        if subscribed_hub is not None and subscribed_hub.hub is hub:
            del self._hubs[hub.guild_id]
            subscribed_hub.subscription.cancel()
            hub.close()

    def _deliver_local(self, dispatch: Dispatch) -> None:
        """Deliver an event to this node's sessions only."""
        audience = dispatch.audience
        if isinstance(audience, UserAudience):
            self._deliver_broadcast(dispatch)
            return
        subscribed_hub = self._hubs.get(audience.guild_id)
        if subscribed_hub is not None:
            subscribed_hub.hub.receive(dispatch)

    def _deliver_broadcast(self, dispatch: Dispatch) -> None:
        """Deliver an event to the recipients that are connected to this node; packets are created once for all of them."""
        assert isinstance(dispatch.audience, UserAudience)
        users, by_user = dispatch.audience.users, self._user_sessions
        if len(users) * 4 > len(by_user):
            # More than a quarter of the local users: iterate in insertion order, which visits memory sequentially.
            recipients = [user_sessions for user_id, user_sessions in by_user.items() if user_id in users]
        else:
            recipients = [by_user[user_id] for user_id in users if user_id in by_user]
        if self._context.trace.is_enabled:
            for user_sessions in recipients:
                user_sessions.deliver(dispatch)
            return
        try:
            batch = DispatchBatch()
            span = self._context.start_dispatch_span(dispatch) if dispatch.traceparent else None
            for user_sessions in recipients:
                user_sessions.add_recipients(dispatch, batch)
            batch.send()
            if span is not None:
                span.end()
        except Exception:
            log.exception("Failed to deliver an event to several users")
            for user_sessions in recipients:
                self._invalidate_some(list(user_sessions.sessions))

    def _on_missed_events(self) -> None:
        """Invalidate every session, because the bus may have lost events for any of them."""
        self._gap_count += 1
        self.invalidate_all()
        # Sessions that are still starting would keep hubs alive, whose state lacks the missed events.
        for user_sessions in list(self._user_sessions.values()):
            for session in list(user_sessions.sessions):
                self._end(session)

    def invalidate_all(self) -> None:
        """Invalidate every session, so that every client identifies again."""
        self._invalidate_some(list(self))

    def _invalidate_some(self, sessions: list[GatewaySession]) -> None:
        for session in sessions:
            self.invalidate(session)

    # Resuming sessions

    async def resume(self, connection: GatewayConnection, session: GatewaySession, seq: int) -> bool:
        """Replay the events after `seq` on a new connection; return False if the replay buffer no longer has them.

        In that case the session is invalidated. Raise `CloseConnection` if `seq` is invalid.
        """
        if not 0 <= seq <= session.replay.last_seq:
            raise CloseConnection(CloseCode.INVALID_SEQ, "Invalid seq")
        for old_connection in (session.connection, session.resuming_connection):
            if old_connection is not None:
                old_connection.session = None
                old_connection.close(CloseCode.UNKNOWN_ERROR, "Resumed elsewhere")
        session.connection, session.resuming_connection = None, connection
        connection.session = session
        if session.expiry_timer is not None:
            session.expiry_timer.cancel()
            session.expiry_timer = None
        # Live events are appended to the buffer meanwhile, so the loop replays them as well.
        while packets := session.replay.since(seq, REPLAY_BATCH_SIZE):
            for packet in packets:
                seq += 1
                connection.send_dispatch(packet, seq)
            if not await connection.wait_writable() or session.resuming_connection is not connection:
                return True
        if packets is None:
            self.invalidate(session)
            return False
        session.resuming_connection, session.connection = None, connection
        session.send(self.create_packet(RESUMED.name, codec.encode(Resumed())))
        return True

    # Ending sessions

    def detach(self, connection: GatewayConnection, code: int | None) -> None:
        """Release the session of a closed connection; it stays resumable unless the client's close code ends it.

        `code` is None if the client sent no close frame.
        """
        session = connection.session
        if session is None or session.has_ended:
            return
        if session.resuming_connection is connection:
            session.resuming_connection = None
        if session.connection is connection:
            session.connection = None
        if code in SESSION_ENDING_CODES:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
        elif session.connection is None and session.resuming_connection is None and session.expiry_timer is None:
            session.expiry_timer = self._context.clock.call_later(self._resume_window_ms, lambda: self._expire(session))

    async def _expire(self, session: GatewaySession) -> None:
        self._end(session)
        await self._run_ended_hooks([session])

    def revoke(self, session: GatewaySession) -> None:
        """End a session whose token was revoked, and close its connection."""
        connection = session.connection or session.resuming_connection
        self._end(session)
        self._spawn(self._run_ended_hooks([session]))
        if connection is not None:
            connection.close(CloseCode.AUTHENTICATION_FAILED, "Authentication failed")

    def invalidate(self, session: GatewaySession) -> None:
        """End a session that cannot continue. The client may identify again on the same connection."""
        connection = session.connection or session.resuming_connection
        self._end(session)
        self._spawn(self._run_ended_hooks([session]))
        if connection is not None:
            connection.session = None
            connection.send_payload(GatewayOpcode.INVALID_SESSION, False)

    def _end(self, session: GatewaySession) -> None:
        """Remove a session from its guilds and from this node; does nothing if it has already ended."""
        if session.has_ended:
            return
        session.has_ended = True
        session.connection = session.resuming_connection = None
        if session.expiry_timer is not None:
            session.expiry_timer.cancel()
            session.expiry_timer = None
        removed_session = self._sessions.pop(session.id, None)
        for guild_id in list(session.seats):
            self.remove_from_guild(session, guild_id)
        user_sessions = self._user_sessions.get(session.user_id)
        if user_sessions is not None and session in user_sessions.sessions:
            user_sessions.sessions.remove(session)
            if not user_sessions.sessions:
                del self._user_sessions[session.user_id]
                if user_sessions.subscription is not None:
                    user_sessions.subscription.cancel()
        if removed_session is not None:
            self.presence_feed.drop(session.user_id, session.id)

    async def _run_began_hooks(self, session: GatewaySession) -> None:
        """Run the slices' `session_began` hooks for an OAuth2 session, before READY is read."""
        if session.actor.kind != "bearer":
            return

        def run_hooks(tx: Tx) -> None:
            call = self._context.hook_call(tx, session.actor, session.id)
            for session_began in self._session_began_hooks:
                session_began(call, session.user_id, session.id)

        await self._context.db.write(run_hooks)

    async def _run_ended_hooks(self, sessions: list[GatewaySession]) -> None:
        """Run the slices' `session_ended` hooks for sessions of this node."""
        await self._clean_up([(session.actor, session.id) for session in sessions])

    def _on_lost_sessions(self, lost_presences: list[SessionPresence]) -> None:
        """Clean up after the sessions of a node that stopped responding.

        All actors have the kind "user" here, which is correct for cleanup: bots need no other cleanup than users.
        """
        lost_sessions = [
            (Actor(user_id=UserId(presence.user_id), kind="user"), presence.session_id) for presence in lost_presences
        ]
        self._spawn(self._clean_up(lost_sessions))

    async def end_orphans(self) -> None:
        """Clean up after stored sessions that no node has, for example because all nodes were killed at the same time.

        Every node stores the presence of every session, visible or not.
        """

        def read_stored_sessions(tx: Tx) -> set[tuple[int, str]]:
            before_ms = self._context.clock.now_ms() - ORPHAN_AGE_MS
            return {
                stored_session
                for stored_sessions in self._stored_session_hooks
                for stored_session in stored_sessions(tx, before_ms)
            }

        stored_ids = await self._context.db.read(read_stored_sessions, long=True)
        orphan_ids = [
            (user_id, session_id)
            for user_id, session_id in sorted(stored_ids)
            if not self._presences.has(user_id, session_id) and session_id not in self._sessions
        ]
        if orphan_ids:
            log.warning("Ending sessions that no node has", extra={"sessions": len(orphan_ids)})
            await self._clean_up(
                [(Actor(user_id=UserId(user_id), kind="user"), session_id) for user_id, session_id in orphan_ids]
            )

    async def _clean_up(self, ended_sessions: list[tuple[Actor, str]]) -> None:
        """Run the slices' `session_ended` hooks for pairs of an actor and a session ID."""
        if not self._session_ended_hooks or not ended_sessions:
            return

        def run_hooks(tx: Tx) -> None:
            for actor, session_id in ended_sessions:
                call = self._context.hook_call(tx, actor, session_id)
                for session_ended in self._session_ended_hooks:
                    session_ended(call, int(actor.user_id), session_id)

        try:
            await self._context.db.write(run_hooks)
        except Exception:
            log.exception("Failed to clean up after ended sessions")

    def prune(self, now: float) -> None:
        """Discard expired events, snapshots and nodes; when due, send a keepalive and end orphans.

        `now` is in seconds of the event loop's clock.
        """
        created_before = now - self._resume_window_ms / 1000
        for session in self._sessions.values():
            if session.connection is not None:
                session.replay.discard(session.acknowledged_seq, created_before, now)
            if session.snapshot is not None and now - session.started_at >= LATE_EVENT_SECONDS:
                session.snapshot = None
        for hub, _ in self._hubs.values():
            hub.prune(now)
        self.presence_feed.sweep(now)
        if now - self._orphans_checked_at >= ORPHAN_CHECK_SECONDS:
            # By now every other live node has reported its sessions.
            self._orphans_checked_at = now
            self._spawn(self.end_orphans())

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A gateway background task failed", exc_info=error)
