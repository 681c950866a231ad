"""Copies of the sessions of other nodes, which this node continues if their node is lost (decisions/0172).

This node subscribes to the events of the users and guilds of the copied sessions, and buffers those that follow the last
batch of their node. To continue a session, it sends the buffered events that the lost node had not handled.
"""

import asyncio
import itertools
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from hubbub.protocol import codec
from hubbub.server.core.auth import ACTOR_CHANGED, ActorChanged
from hubbub.server.core.bus import Bus, BusError, LocalBus, NoResponderError, Subscription
from hubbub.server.core.change_relay import GUILD_GAP, USER_GAP
from hubbub.server.core.event_dispatch import BROADCAST_SUBJECT, Dispatch, GuildAudience, UserAudience
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.presences import Presences
from hubbub.server.transports.gateway import replication_messages as messages
from hubbub.server.transports.gateway.background_tasks import BackgroundTasks
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.presence import NODE_TIMEOUT_SECONDS
from hubbub.server.transports.gateway.replay import ReplayBuffer, ReplayedEvent
from hubbub.server.transports.gateway.replication_messages import (
    NewReplica,
    ReplicaInterest,
    ReplicationBatch,
    ReplicationReply,
    ReplicationRequest,
    ReplicaUpdate,
)
from hubbub.server.transports.gateway.session import GatewaySession, KnownChannels, is_received
from hubbub.server.transports.gateway.session_transfer import HandoverDelayed, SessionDescription
from hubbub.server.transports.gateway.sessions import GatewaySessions

log = logging.getLogger(__name__)

CHECK_SECONDS: Final = 1.0
"""Interval in seconds between two checks of the nodes whose sessions are copied."""
SILENCE_SECONDS_MAX: Final = 3.0
"""Time in seconds without a batch after which this node checks whether a node is lost."""
UNUSED_SECONDS_MAX: Final = 10.0
"""Time in seconds without a batch after which the copies of a node that responds are discarded, because it uses another
backup node."""
PAUSE_SECONDS_MAX: Final = NODE_TIMEOUT_SECONDS - 10.0
"""Time in seconds without a batch after which a node that is connected to the bus but does not reply counts as lost; 10 s
less than the timeout after which other nodes remove it."""
PING_TIMEOUT_MS: Final = 1000
"""Time in milliseconds for a node to reply that it runs."""
BUFFERED_EVENTS_MAX: Final = 20_000
"""Maximum number of events that are buffered for the sessions of a node; its copies are discarded above it."""
BUFFERED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Maximum size in bytes of the buffered events of a node; its copies are discarded above it."""
LOCAL_EVENT_SECONDS: Final = 10.0
"""Time in seconds for which events are kept that every node creates for its own sessions."""
ACTIVATION_BATCH_SIZE: Final = 20
"""Number of sessions that are continued before other tasks of this node run."""
ACTIVATED_SECONDS: Final = 600.0
"""Time in seconds for which the IDs of continued sessions are kept, so that a paused node that runs again receives them in
its next reply."""


class _StoredReplica:
    """The copy of a session."""

    __slots__ = ("acknowledged_seq", "description", "guild_ids", "id", "known_channels", "replay", "session_id")

    def __init__(self, new_replica: NewReplica, replay: ReplayBuffer) -> None:
        self.id = new_replica.replica_id
        self.session_id = new_replica.session_id
        self.description = new_replica.description
        self.replay = replay
        self.acknowledged_seq = new_replica.seq
        self.guild_ids: list[int] = []
        self.known_channels: dict[int, KnownChannels] = {}


class _NodeCopies:
    """The copies of the sessions of one node, and the events that the node may not have handled."""

    def __init__(
        self, node: str, epoch: str, subscribe: "Callable[[str, Callable[[Dispatch], None]], Subscription]"
    ) -> None:
        self.node = node
        self.epoch = epoch
        self.last_request_at = asyncio.get_running_loop().time()
        self.parts = bytearray()
        """The parts of the current batch that have arrived."""
        self.replicas: dict[int, _StoredReplica] = {}
        self.ids_by_session: dict[str, int] = {}
        """Replica IDs by session ID."""
        self.received_numbers: dict[int, int] = {}
        """Number of the last message that the node had handled at its last batch, by publisher."""
        self.held_numbers: dict[int, dict[int, int]] = {}
        """For each replica that the latest batches left out, by replica ID: `received_numbers` as of the last batch that included
        it. Oldest first."""
        self.is_activated = False
        """Whether this node continues the sessions."""
        self.has_overflowed = False
        self._subscribe = subscribe
        self._interests: dict[int, set[str]] = {}
        """Bus subjects of each replica, by replica ID."""
        self._subject_counts: Counter[str] = Counter()
        self._subscriptions: dict[str, Subscription] = {
            BROADCAST_SUBJECT: subscribe(BROADCAST_SUBJECT, partial(self._buffer, BROADCAST_SUBJECT))
        }
        self._buffer_positions = itertools.count()
        self._events: deque[tuple[int, str, Dispatch]] = deque()
        """Buffered events with their position in the buffer and their subject."""
        self._event_bytes = 0
        self._local_events: deque[tuple[float, tuple[int, str, Dispatch]]] = deque(maxlen=BUFFERED_EVENTS_MAX)
        """Buffered events of this node only, with their time in seconds of the event loop's clock."""
        self._events_by_subject: defaultdict[str, list[tuple[int, Dispatch]]] | None = None
        """The buffered events by subject, once the sessions are continued."""

    # Buffered events

    def add_interest(self, interest: ReplicaInterest) -> None:
        """Buffer the events of the user and the guilds of a session."""
        subjects = self._interests.setdefault(interest.replica_id, set())
        for subject in {
            f"user.{interest.user_id}",
            *(f"guild.{guild_id}" for guild_id in interest.guild_ids),
        } - subjects:
            subjects.add(subject)
            self._subject_counts[subject] += 1
            if subject not in self._subscriptions:
                self._subscriptions[subject] = self._subscribe(subject, partial(self._buffer, subject))

    def set_guilds(self, replica: _StoredReplica, guild_ids: list[int]) -> None:
        """Set the guilds of a session, and no longer buffer the events of the guilds that it left."""
        # Guilds that were prepared and are not in a batch yet stay.
        left_ids = set(replica.guild_ids) - set(guild_ids)
        self._remove_subjects(replica.id, {f"guild.{guild_id}" for guild_id in left_ids})
        replica.guild_ids = guild_ids
        for guild_id in left_ids:
            replica.known_channels.pop(guild_id, None)

    def _remove_subjects(self, replica_id: int, subjects: set[str]) -> None:
        known_subjects = self._interests.get(replica_id, set())
        for subject in subjects & known_subjects:
            known_subjects.discard(subject)
            self._subject_counts[subject] -= 1
            if not self._subject_counts[subject]:
                del self._subject_counts[subject]
                self._subscriptions.pop(subject).cancel()

    def _buffer(self, subject: str, dispatch: Dispatch) -> None:
        buffer_position = next(self._buffer_positions)
        if dispatch.origin is None:
            # Only this node created the event, so that no batch has a message number of it.
            self._local_events.append((asyncio.get_running_loop().time(), (buffer_position, subject, dispatch)))
        else:
            self._events.append((buffer_position, subject, dispatch))
            self._event_bytes += len(dispatch.body)
        if self._events_by_subject is not None:
            self._events_by_subject[subject].append((buffer_position, dispatch))
        elif len(self._events) > BUFFERED_EVENTS_MAX or self._event_bytes > BUFFERED_BYTES_MAX:
            self.has_overflowed = True
            self.close()

    def buffer_local(self, dispatch: Dispatch) -> None:
        """Buffer an event that this node created for its own sessions."""
        audience = dispatch.audience
        # `transfer_events` filters broadcasts by user.
        self._buffer(
            f"guild.{audience.guild_id}" if isinstance(audience, GuildAudience) else BROADCAST_SUBJECT, dispatch
        )

    def _discard_events(self, now: float) -> None:
        """Discard the events that the node has handled for all its sessions."""
        handled_numbers = next(iter(self.held_numbers.values()), self.received_numbers)
        events = self._events
        while events and is_received(events[0][2], handled_numbers):
            self._event_bytes -= len(events.popleft()[2].body)
        while self._local_events and self._local_events[0][0] < now - LOCAL_EVENT_SECONDS:
            self._local_events.popleft()

    def close(self) -> None:
        """Discard all events and no longer buffer any."""
        for subscription in self._subscriptions.values():
            subscription.cancel()
        self._subscriptions.clear()
        self._events.clear()
        self._local_events.clear()

    # Batches

    def apply(
        self,
        batch: ReplicationBatch,
        create_packet: Callable[[ReplayedEvent], Packet],
        create_buffer: Callable[[int], ReplayBuffer],
    ) -> None:
        """Apply a complete batch."""
        previous_numbers = dict(self.received_numbers) if batch.held_ids else {}
        packets = [
            create_packet(
                ReplayedEvent(event.event, msgspec.Raw(event.body), event.age_seconds, event.has_numeric_permissions)
            )
            for event in batch.events
        ]
        for new_replica in batch.new_replicas:
            replica = _StoredReplica(new_replica, create_buffer(new_replica.seq))
            self.replicas[replica.id] = replica
            self.ids_by_session[replica.session_id] = replica.id
        for update in batch.updates:
            self._update(update, packets)
        self.received_numbers |= batch.received_numbers
        for replica_id in batch.released_ids:
            self.held_numbers.pop(replica_id, None)
        for replica_id in batch.held_ids:
            self.held_numbers.pop(replica_id, None)
            self.held_numbers[replica_id] = previous_numbers
        for replica_id in batch.ended_ids:
            self.remove(replica_id)
        self._discard_events(asyncio.get_running_loop().time())

    def _update(self, update: ReplicaUpdate, packets: list[Packet]) -> None:
        replica = self.replicas.get(update.replica_id)
        if replica is None:
            return
        replica.acknowledged_seq = update.acknowledged_seq
        for index in update.events:
            replica.replay.append(packets[index])
        if update.known_channels:
            replica.known_channels |= codec.decoder(dict[int, KnownChannels]).decode(update.known_channels)
        if update.guild_ids is not None:
            self.set_guilds(replica, update.guild_ids)

    def remove(self, replica_id: int) -> None:
        """Discard the copy of a session."""
        self.held_numbers.pop(replica_id, None)
        self._remove_subjects(replica_id, set(self._interests.get(replica_id, ())))
        self._interests.pop(replica_id, None)
        replica = self.replicas.pop(replica_id, None)
        if replica is not None and self.ids_by_session.get(replica.session_id) == replica_id:
            del self.ids_by_session[replica.session_id]

    # Continued sessions

    def find_handled_numbers(self, replica: _StoredReplica) -> dict[int, int]:
        """Return the number of the last message that the node had handled for a session, by publisher."""
        return self.held_numbers.get(replica.id, self.received_numbers)

    def transfer_events(self, session: GatewaySession, handled_numbers: dict[int, int]) -> bool:
        """Add the buffered events to those that a session still has to process; return False if it cannot continue.

        `handled_numbers` is the number of the last message that the lost node had handled, by publisher."""
        if self._events_by_subject is None:
            self._events_by_subject = defaultdict(list)
            for buffer_position, subject, dispatch in (*self._events, *(event for _, event in self._local_events)):
                self._events_by_subject[subject].append((buffer_position, dispatch))
        events = self._events_by_subject
        user_events = [*events[f"user.{session.user_id}"]]
        user_events += [item for item in events[BROADCAST_SUBJECT] if _is_for_user(item[1], session.user_id)]
        for _, dispatch in sorted(user_events, key=lambda item: item[0]):
            if is_received(dispatch, handled_numbers):
                continue
            if dispatch.event == USER_GAP or _is_revocation(dispatch, session):
                return False
            if not dispatch.event.startswith("_") and session.early_events is not None:
                session.early_events.append(dispatch)
        for guild_id, subscription in session.subscriptions.items():
            backlog = _Backlog()
            for _, dispatch in sorted(events[f"guild.{guild_id}"], key=lambda item: item[0]):
                if dispatch.event == GUILD_GAP:
                    return False
                backlog.append(dispatch)
            subscription.backlog = backlog
        return True


class _Backlog(list[Dispatch]):
    """The buffered events of a guild. The guild's hub may append some of them again, which are ignored."""

    def __init__(self) -> None:
        super().__init__()
        self._last_numbers: dict[int, int] = {}

    def append(self, dispatch: Dispatch) -> None:
        """Add an event, unless it was added before."""
        if dispatch.origin is not None:
            publisher_id, message_number = dispatch.origin
            if message_number <= self._last_numbers.get(publisher_id, 0):
                return
            self._last_numbers[publisher_id] = message_number
        super().append(dispatch)


def _is_for_user(dispatch: Dispatch, user_id: int) -> bool:
    return isinstance(dispatch.audience, UserAudience) and user_id in dispatch.audience.users


def _is_revocation(dispatch: Dispatch, session: GatewaySession) -> bool:
    """Return whether an event revokes the token of a session."""
    if dispatch.event != ACTOR_CHANGED.name:
        return False
    return session.actor.token_id in codec.decode(dispatch.body, ActorChanged).revoked


class SessionBackup:
    """The copies of the sessions of other nodes."""

    def __init__(self, sessions: GatewaySessions, bus: Bus[Dispatch], presences: Presences, metrics: Metrics) -> None:
        self._sessions = sessions
        self._bus = bus
        self._presences = presences
        self._copies: dict[str, _NodeCopies] = {}
        """Copies by node."""
        self._activated_ids: dict[str, list[str]] = {}
        """IDs of the sessions that this node continues, by the node that was lost."""
        self._tasks = BackgroundTasks()
        self._subscriptions: list[Subscription] = []
        metrics.watch(
            metrics.gateway_copied_sessions, lambda: sum(len(copies.replicas) for copies in self._copies.values())
        )

    @property
    def _node(self) -> str:
        return self._sessions.presence_feed.node

    def start(self) -> None:
        """Accept copies from other nodes, unless this process is the only one."""
        if isinstance(self._bus, LocalBus):
            return
        self._subscriptions = [
            self._bus.reply(messages.subject(self._node), self._handle),
            self._bus.on_gap(self._discard_all),
        ]
        self._sessions.on_local_event = self._buffer_local
        self._sessions.presence_feed.on_lost_node = self._on_lost_node
        self._tasks.spawn(self._check_nodes())

    def close(self) -> None:
        """Discard all copies and accept no others."""
        self._tasks.cancel()
        for subscription in self._subscriptions:
            subscription.cancel()
        self._discard_all()

    def _buffer_local(self, dispatch: Dispatch) -> None:
        for copies in self._copies.values():
            copies.buffer_local(dispatch)

    def _discard_all(self) -> None:
        """Discard all copies, because this node may have missed events."""
        for copies in list(self._copies.values()):
            self._discard(copies)

    def _discard(self, copies: _NodeCopies) -> None:
        copies.close()
        if self._copies.get(copies.node) is copies:
            del self._copies[copies.node]

    # Requests of other nodes

    async def _handle(self, data: bytes) -> bytes:
        request = messages.decode_request(data)
        if request.action == "ping":
            return messages.encode(ReplicationReply(status="ok"))
        if (session_ids := self._activated_ids.get(request.node)) is not None:
            if request.action == "begin":
                # The node knows the result of an earlier request, or learns it now.
                del self._activated_ids[request.node]
            return messages.encode(ReplicationReply(status="activated", session_ids=session_ids))
        copies = self._copies.get(request.node)
        if request.action == "begin":
            if copies is not None:
                self._discard(copies)
            self._copies[request.node] = _NodeCopies(request.node, request.epoch, self._bus.subscribe)
            return messages.encode(ReplicationReply(status="ok"))
        if copies is None or copies.epoch != request.epoch or copies.has_overflowed:
            return messages.encode(ReplicationReply(status="unknown"))
        copies.last_request_at = asyncio.get_running_loop().time()
        if request.action == "end":
            self._discard(copies)
        elif request.action == "prepare":
            for interest in request.interests:
                copies.add_interest(interest)
            await self._bus.flush()
            if self._copies.get(request.node) is not copies:
                return messages.encode(ReplicationReply(status="unknown"))
        else:
            self._receive_part(copies, request)
        return messages.encode(ReplicationReply(status="ok"))

    def _receive_part(self, copies: _NodeCopies, request: ReplicationRequest) -> None:
        copies.parts += request.data
        if request.is_last_part:
            batch = messages.decode_batch(bytes(copies.parts))
            copies.parts.clear()
            settings = self._sessions.settings
            copies.apply(
                batch,
                self._sessions.restore_packet,
                lambda seq: ReplayBuffer(settings.replay_events_max, settings.replay_bytes_max, seq),
            )

    # Lost nodes

    async def find_or_continue(self, session_id: str) -> GatewaySession | None:
        """Return a session of this node, or one of a lost node that this node continues from now on.

        Return None if there is no copy, or its node runs.

        Raise `HandoverDelayed` if the node does not respond, but may still run.
        """
        session = self._sessions.find(session_id)
        if session is not None:
            return session
        copies = next((copies for copies in self._copies.values() if session_id in copies.ids_by_session), None)
        if copies is None:
            return None
        if not copies.is_activated:
            is_lost = await self._probe_loss(copies.node)
            if is_lost is None:
                raise HandoverDelayed("the node of the session does not respond")
            if not is_lost or self._copies.get(copies.node) is not copies:
                return self._sessions.find(session_id)
        self._continue_node(copies, first_session_id=session_id)
        return self._sessions.find(session_id)

    async def _probe_loss(self, node: str) -> bool | None:
        """Return whether a node no longer has a connection to the bus; None if it has one, but does not respond."""
        request = ReplicationRequest(action="ping", node=self._node)
        try:
            await self._bus.request(messages.subject(node), messages.encode(request), PING_TIMEOUT_MS)
        except NoResponderError:
            return True
        except BusError:
            return None
        return False

    async def _check_nodes(self) -> None:
        """Continue the sessions of lost nodes, and discard copies that are no longer used, periodically."""
        loop = asyncio.get_running_loop()
        settings = self._sessions.settings
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            for copies in list(self._copies.values()):
                try:
                    await self._check_node(copies)
                except Exception:
                    log.exception("The copies of a node could not be checked", extra={"node": copies.node})
                created_before = loop.time() - settings.replay_ms / 1000
                for replica in copies.replicas.values():
                    replica.replay.discard(replica.acknowledged_seq, created_before, loop.time())

    async def _check_node(self, copies: _NodeCopies) -> None:
        loop = asyncio.get_running_loop()
        if (
            copies.is_activated
            or not self._bus.is_healthy
            or loop.time() - copies.last_request_at < SILENCE_SECONDS_MAX
        ):
            return
        is_lost = await self._probe_loss(copies.node)
        silence_seconds = loop.time() - copies.last_request_at
        if self._copies.get(copies.node) is not copies or silence_seconds < SILENCE_SECONDS_MAX:
            return
        if is_lost or (is_lost is None and silence_seconds >= PAUSE_SECONDS_MAX):
            self._continue_node(copies)
        elif is_lost is False and silence_seconds >= UNUSED_SECONDS_MAX:
            self._discard(copies)

    def _on_lost_node(self, node: str) -> None:
        """Continue the sessions of a node before its presences are removed."""
        copies = self._copies.get(node)
        if copies is not None:
            self._continue_node(copies)
            for replica in list(copies.replicas.values()):
                self._continue_session(copies, replica)

    def _continue_node(self, copies: _NodeCopies, first_session_id: str = "") -> None:
        """Continue the sessions of a lost node, beginning with `first_session_id` if it is not empty."""
        if not copies.is_activated:
            copies.is_activated = True
            if copies.has_overflowed:
                self._discard(copies)
                return
            log.warning(
                "A node was lost; this node continues its sessions",
                extra={"node": copies.node, "sessions": len(copies.replicas)},
            )
            node, session_ids = copies.node, list(copies.ids_by_session)
            self._activated_ids[node] = session_ids
            asyncio.get_running_loop().call_later(ACTIVATED_SECONDS, lambda: self._activated_ids.pop(node, None))
            self._tasks.spawn(self._continue_all(copies))
        replica_id = copies.ids_by_session.get(first_session_id)
        if replica_id is not None:
            self._continue_session(copies, copies.replicas[replica_id])

    async def _continue_all(self, copies: _NodeCopies) -> None:
        try:
            while copies.replicas and self._copies.get(copies.node) is copies:
                for replica in list(itertools.islice(copies.replicas.values(), ACTIVATION_BATCH_SIZE)):
                    self._continue_session(copies, replica)
                await asyncio.sleep(0)
        finally:
            self._discard(copies)

    def _continue_session(self, copies: _NodeCopies, replica: _StoredReplica) -> None:
        """Continue a session, unless it has moved to another node before its node was lost."""
        try:
            description = codec.decoder(SessionDescription).decode(replica.description)
            presence = self._presences.find_session(int(description.actor.user_id), replica.session_id)
            is_moved = presence is not None and presence.node != copies.node
            if is_moved or self._sessions.find(replica.session_id) is not None:
                return
            session = self._sessions.create_session(
                description.actor, description.parameters, version=description.version, device=description.device
            )
            session.id, session.application_name = replica.session_id, description.application_name
            self._sessions.join_user_sessions(session)
            self._sessions.set_subscriptions(session, replica.guild_ids)
            handled_numbers = dict(copies.find_handled_numbers(replica))
            if not copies.transfer_events(session, handled_numbers):
                self._sessions.abandon(session, was_taken=True)
                return
            session.replay, session.resumable_seq_max = replica.replay, replica.replay.last_seq
            self._sessions.continue_session(
                session,
                events=(),
                known_channels=replica.known_channels,
                received_numbers=handled_numbers,
                acknowledged_seq=replica.acknowledged_seq,
                presence=presence,
            )
        except Exception:
            log.exception("A session of a lost node could not be continued", extra={"node": copies.node})
        finally:
            copies.remove(replica.id)
