"""All gateway sessions of this node: start, resume, end, guild membership, and delivery of events for users."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.activity_limits import PRESENCE_UPDATE_WINDOW_SECONDS, PRESENCE_UPDATES_MAX
from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.ids import GuildId
from hubbub.protocol.intents import Intents
from hubbub.protocol.resources.gateway import RESUMED, Identify, Resumed
from hubbub.protocol.resources.guilds import GUILD_CREATE
from hubbub.protocol.resources.presence import SetPresence
from hubbub.server.core.bus import Bus, Subscription
from hubbub.server.core.call import Actor
from hubbub.server.core.event_dispatch import BROADCAST_SUBJECT, Dispatch, UserAudience
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences, SessionPresence
from hubbub.server.core.publication_log import PublicationLog
from hubbub.server.transports.gateway.background_tasks import BackgroundTasks
from hubbub.server.transports.gateway.compression import BlockCompressor
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.event_order import EventOrder
from hubbub.server.transports.gateway.hub import LATE_EVENT_SECONDS, GuildHub
from hubbub.server.transports.gateway.identification import SessionParameters, reject_too_many_guilds
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.presence import PresenceFeed
from hubbub.server.transports.gateway.ready import own_fields
from hubbub.server.transports.gateway.replay import ReplayBuffer, ReplayedEvent
from hubbub.server.transports.gateway.session import GatewayConnection, GatewaySession, GuildSubscription, KnownChannels
from hubbub.server.transports.gateway.session_hooks import SessionHooks
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
SESSION_ENDING_CODES: Final = frozenset({1000, 1001})
"""Client close codes that end the session instead of keeping it resumable (spec/gateway.md#3)."""


class _SubscribedHub(NamedTuple):
    """The hub of a guild and its bus subscription."""

    hub: GuildHub
    subscription: Subscription


class GatewaySessions:
    """The sessions of this node, indexed by session, guild and user."""

    def __init__(
        self,
        context: GatewayContext,
        bus: Bus[Dispatch],
        metrics: Metrics,
        presences: Presences,
        publication_log: PublicationLog | None = None,
    ) -> None:
        self._context = context
        self.settings = context.config.gateway
        self._bus = bus
        self._record_delivered = metrics.count_delivered
        self._presences = presences
        self._sessions: dict[str, GatewaySession] = {}
        self._hubs: dict[int, _SubscribedHub] = {}
        self._user_sessions: dict[int, UserSessions] = {}
        self._compressor = BlockCompressor()
        self._tasks = BackgroundTasks()
        self._spawn = self._tasks.spawn
        self._gap_subscription: Subscription | None = None
        self._broadcast_subscription: Subscription | None = None
        self._resume_window_ms = context.config.gateway.replay_ms
        self._hooks = SessionHooks(context)
        self._orphans_checked_at = 0.0
        self._event_order = EventOrder(bus)
        self.on_local_event: Callable[[Dispatch], None] | None = None
        """Function called with each event that is delivered to the sessions of this node only; None for none."""
        self.gap_count = 0
        """Number of times that the bus may have lost events."""
        self.presence_feed = PresenceFeed(
            bus,
            context.clock,
            presences,
            read_audience=context.presence_audience,
            deliver_local=self._deliver_local,
            on_lost_sessions=lambda lost_presences: self._spawn(self._hooks.run_lost(lost_presences)),
            on_moved_session=self.end_moved,
            publication_log=publication_log,
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
        self._tasks.cancel()

    async def settle(self) -> None:
        """Wait until all events received so far are sent: guilds re-read, presences published, sessions admitted."""
        while running_tasks := {
            *self._tasks.running,
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

    def restore_packet(self, event: ReplayedEvent) -> Packet:
        """Return the packet of an event that another node sent."""
        created_at = self._loop.time() - event.age_seconds
        packet = Packet(event.event, bytes(event.body), self._compressor, created_at, self._record_delivered)
        packet.has_numeric_permissions = event.has_numeric_permissions
        return packet

    def member_count(self, guild_id: int) -> int:
        """Return a guild's member count as of its last read, or 0 if no session of this node is in the guild."""
        subscribed_hub = self._hubs.get(guild_id)
        return (
            subscribed_hub.hub.state.member_count
            if subscribed_hub is not None and subscribed_hub.hub.state is not None
            else 0
        )

    # Starting sessions

    def create_session(
        self, actor: Actor, parameters: SessionParameters, *, version: int, device: str
    ) -> GatewaySession:
        """Return a new session, which receives no events yet."""
        return GatewaySession(
            actor,
            parameters=parameters,
            version=version,
            device=device,
            replay=ReplayBuffer(self.settings.replay_events_max, self.settings.replay_bytes_max),
            presence_limit=RateWindow(PRESENCE_UPDATES_MAX, PRESENCE_UPDATE_WINDOW_SECONDS),
            now=self._loop.time(),
        )

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
        session = self.create_session(actor, parameters, version=connection.version, device=device)
        existing_sessions = self._user_sessions.get(session.user_id)
        if (
            not actor.is_bot
            and existing_sessions is not None
            and len(existing_sessions.sessions) >= SESSIONS_PER_USER_MAX
        ):
            raise CloseConnection(CloseCode.TOO_MANY_SESSIONS, "Too many sessions")
        self.join_user_sessions(session)
        previous_gap_count = self.gap_count
        try:
            # The session subscribes before the read: events in between are buffered, and sent unless the read contains them.
            await self._bus.flush()
            await self._hooks.run_began(session)
            opening = await self._context.ready(
                session,
                lambda guild_entries: own_fields(
                    session,
                    guild_entries,
                    resume_url=connection.resume_url,
                    shard=identify.shard,
                    settings=self.settings,
                    now_ms=self._context.clock.now_ms(),
                ),
            )
            session.ready_snapshot = opening.snapshot
            session.late_event_snapshot, session.application_name = opening.snapshot, opening.application_name
            reject_too_many_guilds(len(opening.guild_ids), actor)
            # Events of a guild after READY must reach the client even if they happen before its GUILD_CREATE.
            guild_ids = [] if session.has_ended else opening.guild_ids
            admissions = [self._create_subscription(session, guild_id, is_joining=False) for guild_id in guild_ids]
            await self._bus.flush()
        except BaseException:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            raise
        if previous_gap_count != self.gap_count or session.has_ended:
            self._end(session)
            self._spawn(self._run_ended_hooks([session]))
            connection.send_payload(GatewayOpcode.INVALID_SESSION, False)
            return
        self._sessions[session.id] = session
        connection.session = session
        if connection.close_task is None:
            session.connection = connection
        for event, body in opening.events:
            session.send(self.create_packet(event, body))
        self._send_early_events(session)
        self.presence_feed.set_presence(session, identify.presence or SetPresence())
        self._spawn(self._admit_to_guilds(session, admissions))

    def _send_early_events(self, session: GatewaySession) -> None:
        """Send the buffered events for the user that the session still needs."""
        early_events, session.early_events = session.early_events or [], None
        user_sessions = self._user_sessions[session.user_id]
        for dispatch in early_events:
            batch = DispatchBatch()
            user_sessions.add_if_recipient(session, dispatch, batch)
            batch.send()

    async def _admit_to_guilds(
        self, session: GatewaySession, admissions: list[tuple[GuildHub, GuildSubscription]]
    ) -> None:
        """Admit a session to its guilds, a few at a time, at the pace of the client."""
        remaining = iter(admissions)
        while not session.has_ended and (batch := list(islice(remaining, CONCURRENT_GUILD_READS_MAX))):
            waits = [hub.admit(subscription) for hub, subscription in batch if not subscription.is_removed]
            await asyncio.gather(*waits)
            if session.connection is not None:
                await session.connection.wait_writable()

    def _create_subscription(
        self, session: GatewaySession, guild_id: int, *, is_joining: bool
    ) -> tuple[GuildHub, GuildSubscription]:
        """Create a session's subscription to a guild, and the guild's hub if there is none."""
        subscribed_hub = self._hubs.get(guild_id)
        if subscribed_hub is None:
            hub = GuildHub(guild_id, self._context, self.create_packet, self._remove_empty_hub, self._invalidate_some)
            bus_subscription = self._event_order.subscribe(f"guild.{guild_id}", hub.receive)
            subscribed_hub = self._hubs[guild_id] = _SubscribedHub(hub, bus_subscription)
        subscription = session.subscriptions[guild_id] = GuildSubscription(session, is_joining=is_joining)
        subscribed_hub.hub.expect(subscription)
        if session.replica is not None:
            session.replica.mark_changed()
        return subscribed_hub.hub, subscription

    def join_user_sessions(self, session: GatewaySession) -> UserSessions:
        """Start to buffer events for the user of a session."""
        user_sessions = self._user_sessions.get(session.user_id)
        if user_sessions is None:
            user_sessions = self._user_sessions[session.user_id] = UserSessions(self, self.create_packet, self._context)
            user_sessions.subscription = self._event_order.subscribe(f"user.{session.user_id}", user_sessions.receive)
        user_sessions.sessions.append(session)
        return user_sessions

    # Guild membership and delivery

    def add_to_guild(self, session: GatewaySession, guild_id: int, *, is_joining: bool = True) -> None:
        """Add a session to a guild that its user joins now or, if `is_joining` is False, that is available again."""
        if session.is_oauth2:
            self._spawn(self._send_guild_name(session, guild_id))
            return
        if session.has_ended or not session.is_guild_in_shard(guild_id):
            return
        previous_subscription = session.subscriptions.get(guild_id)
        if previous_subscription is not None and not previous_subscription.is_removed:

            def add_again(_: "asyncio.Future[None]") -> None:
                # The running read has a snapshot in which the guild was still unavailable.
                if previous_subscription.is_removed:
                    self.add_to_guild(session, guild_id, is_joining=is_joining)

            if not previous_subscription.opened.done():
                previous_subscription.opened.add_done_callback(add_again)
            return
        hub, subscription = self._create_subscription(session, guild_id, is_joining=is_joining)

        async def admit() -> None:
            await self._bus.flush()
            if not subscription.is_removed:
                await hub.admit(subscription)

        self._spawn(admit())
        if self._user_sessions[session.user_id].sessions[0] is session:
            self.presence_feed.publish_to_guild(session.user_id, guild_id)

    async def _send_guild_name(self, session: GatewaySession, guild_id: int) -> None:
        """Send an OAuth2 session the ID and name of a guild that its user joined, and nothing else (spec/sdk.md#5.4)."""
        if session.intents & Intents.GUILDS:
            with self._context.reading_event(session):
                name = await self._context.guild_name(guild_id)
            if name is not None and not session.has_ended:
                body = codec.encode({"id": GuildId(guild_id), "name": name})
                session.send(self.create_packet(GUILD_CREATE.name, body))

    def remove_from_guild(self, session: GatewaySession, guild_id: int) -> None:
        """Remove a session from a guild that its user left, or that became unavailable."""
        subscription = session.subscriptions.pop(guild_id, None)
        if subscription is not None and guild_id in self._hubs:
            self._hubs[guild_id].hub.leave(subscription)
        if subscription is not None and session.replica is not None:
            session.replica.mark_changed()

    def _remove_empty_hub(self, hub: GuildHub) -> None:
        """Remove a hub without sessions."""
        subscribed_hub = self._hubs.get(hub.guild_id)
        if subscribed_hub is not None and subscribed_hub.hub is hub:
            del self._hubs[hub.guild_id]
            subscribed_hub.subscription.cancel()
            hub.close()

    def _deliver_local(self, dispatch: Dispatch) -> None:
        """Deliver an event to this node's sessions only."""
        if self.on_local_event is not None:
            self.on_local_event(dispatch)
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
        users, sessions_by_user = dispatch.audience.users, self._user_sessions
        if len(users) * 4 > len(sessions_by_user):
            # More than a quarter of the local users: iterate in insertion order, which visits memory sequentially.
            recipients = [user_sessions for user_id, user_sessions in sessions_by_user.items() if user_id in users]
        else:
            recipients = [sessions_by_user[user_id] for user_id in users if user_id in sessions_by_user]
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
        self.gap_count += 1
        self.invalidate_all()
        # Sessions that are still starting are ended too: their subscriptions would keep hubs whose state lacks the missed
        # events.
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
        """Replay the events after `seq` on a new connection; return False if the replay buffer does not have them.

        In that case the session is invalidated. Raise `CloseConnection` if `seq` is invalid.
        """
        is_known = session.resumable_seq_max is None or seq <= session.resumable_seq_max
        if is_known and not 0 <= seq <= session.replay.last_seq:
            raise CloseConnection(CloseCode.INVALID_SEQ, "Invalid seq")
        self.disconnect(session)
        session.resuming_connection, session.resumable_seq_max = connection, None
        connection.session = session
        if session.replica is not None:
            session.replica.attach(connection)
        if session.expiry_timer is not None:
            session.expiry_timer.cancel()
            session.expiry_timer = None
        # Live events are appended to the buffer meanwhile, so the loop replays them as well.
        while packets := session.replay.since(seq, REPLAY_BATCH_SIZE) if is_known else None:
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

    def disconnect(self, session: GatewaySession) -> None:
        """Close the connections of a session that is resumed elsewhere; it expires unless that succeeds."""
        for connection in (session.connection, session.resuming_connection):
            if connection is not None:
                connection.session = None
                connection.close(CloseCode.UNKNOWN_ERROR, "Resumed elsewhere")
        session.connection = session.resuming_connection = None
        self._start_expiry(session)

    def _start_expiry(self, session: GatewaySession) -> None:
        if session.expiry_timer is None:
            session.expiry_timer = self._context.clock.call_later(self._resume_window_ms, lambda: self._expire(session))

    # Handover between nodes (decisions/0170)

    def set_subscriptions(self, session: GatewaySession, guild_ids: Collection[int]) -> None:
        """Start to buffer events of these guilds for a session that is being taken, and stop for all others."""
        for guild_id in session.subscriptions.keys() - set(guild_ids):
            self.remove_from_guild(session, guild_id)
        for guild_id in set(guild_ids) - session.subscriptions.keys():
            self._create_subscription(session, guild_id, is_joining=False)

    def continue_session(
        self,
        session: GatewaySession,
        *,
        events: Iterable[ReplayedEvent],
        known_channels: Mapping[int, KnownChannels],
        received_numbers: Mapping[int, int],
        acknowledged_seq: int,
        presence: SessionPresence | None,
    ) -> None:
        """Continue a session that was taken from another node; it has no connection yet.

        Buffered events that the other node has handled are dropped.
        """
        for event in events:
            session.replay.append(self.restore_packet(event))
        session.acknowledged_seq, session.previous_node_numbers = acknowledged_seq, received_numbers
        self._sessions[session.id] = session
        self._start_expiry(session)
        if presence is not None:
            self.presence_feed.take(presence)
        admissions = []
        for guild_id, subscription in list(session.subscriptions.items()):
            subscription.transferred_channels = known_channels[guild_id]
            admissions.append((self._hubs[guild_id].hub, subscription))
        self._send_early_events(session)
        self._spawn(self._admit_to_guilds(session, admissions))

    def abandon(self, session: GatewaySession, *, was_taken: bool) -> None:
        """End a session that could not be taken from another node; `was_taken` is whether the other node may have ended it."""
        if was_taken:
            self._sessions[session.id] = session
            self._spawn(self._run_ended_hooks([session]))
        self._end(session)

    def is_idle(self, session: GatewaySession) -> bool:
        """Return whether all events that this node received were sent to a session."""
        return not session.pending_task_count and all(
            subscription.opened.done() and not self._hubs[guild_id].hub.running_tasks()
            for guild_id, subscription in session.subscriptions.items()
        )

    def give(self, session: GatewaySession, node: str) -> None:
        """End a session that another node continues: its user stays online, and no hook runs."""
        # A client may have resumed here while the session became idle.
        self.disconnect(session)
        del self._sessions[session.id]
        self.presence_feed.give(session.user_id, session.id, node)
        self._end(session)

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
        elif session.connection is None and session.resuming_connection is None:
            self._start_expiry(session)

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
        if session.replica is not None:
            session.replica.end()
        if session.expiry_timer is not None:
            session.expiry_timer.cancel()
            session.expiry_timer = None
        removed_session = self._sessions.pop(session.id, None)
        for guild_id in list(session.subscriptions):
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

    async def _run_ended_hooks(self, sessions: list[GatewaySession]) -> None:
        """Run the slices' `session_ended` hooks for sessions of this node."""
        await self._hooks.run_ended([(session.actor, session.id) for session in sessions])

    def end_moved(self, session_id: str, node: str) -> None:
        """End a session that another node continues, because this node did not respond."""
        if (session := self._sessions.get(session_id)) is not None:
            log.warning("Another node continues a session of this node", extra={"node": node})
            self.give(session, node)

    async def end_orphans(self) -> None:
        """Clean up after stored sessions that no node has, for example because all nodes were killed at the same time."""
        # Every node stores the presence of every session, visible or not.
        await self._hooks.end_orphans(
            lambda user_id, session_id: self._presences.has(user_id, session_id) or session_id in self._sessions
        )

    def prune(self, now: float) -> None:
        """Discard what expired; when due, send a keepalive and end orphans. `now` is in seconds of the event loop's clock."""
        created_before = now - self._resume_window_ms / 1000
        for session in self._sessions.values():
            if session.connection is not None:
                session.replay.discard(session.acknowledged_seq, created_before, now)
            if now - session.started_at >= LATE_EVENT_SECONDS:
                session.late_event_snapshot = None
                if session.previous_node_numbers and self._bus.received_numbers() is not None:
                    if all(subscription.opened.done() for subscription in session.subscriptions.values()):
                        session.previous_node_numbers = None
        for hub, _ in self._hubs.values():
            hub.prune(now)
        self._event_order.prune(now)
        self.presence_feed.sweep(now)
        if now - self._orphans_checked_at >= ORPHAN_CHECK_SECONDS:
            # By now every other live node has reported its sessions.
            self._orphans_checked_at = now
            self._spawn(self.end_orphans())
