"""Copies of this node's sessions on a backup node, which continues them if this node is lost (decisions/0172).

Events are written to clients only after the backup node has confirmed them, so that it knows every sequence number that a
client has. A batch also contains the number of the last message that this node handled, by publisher. It is valid only for
sessions to which all these messages were sent; batches leave out the others and their events wait.

Without a confirmation in time, the waiting events are written without it. If this node is lost then, the client of such a
session has a later sequence number than the copy and must start a new session, so that it never misses an event.
"""

import asyncio
import logging
import secrets
from itertools import islice
from typing import Final

from hubbub.protocol import codec
from hubbub.server.core.bus import Bus, BusError, LocalBus
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.gateway import replication_messages as messages
from hubbub.server.transports.gateway.background_tasks import BackgroundTasks
from hubbub.server.transports.gateway.context import GatewayContext
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.replicas import Replica
from hubbub.server.transports.gateway.replication_messages import (
    PART_BYTES_MAX,
    NewReplica,
    ReplicaInterest,
    ReplicatedEvent,
    ReplicationBatch,
    ReplicationReply,
    ReplicationRequest,
    ReplicaUpdate,
)
from hubbub.server.transports.gateway.session import GatewaySession
from hubbub.server.transports.gateway.session_transfer import describe
from hubbub.server.transports.gateway.sessions import GatewaySessions

log = logging.getLogger(__name__)

CONFIRM_TIMEOUT_MS: Final = 1000
"""Time in milliseconds for the confirmation of a batch; afterwards the waiting events are written without it."""
PREPARE_TIMEOUT_MS: Final = 10_000
"""Time in milliseconds for a backup node to subscribe to the events of new copies."""
HEARTBEAT_SECONDS: Final = 0.5
"""Maximum interval in seconds between two batches, so that the backup node can discard old events and detects a loss."""
SCAN_SECONDS: Final = 0.25
"""Interval in seconds between two searches for sessions without a copy."""
CHOICE_SECONDS: Final = 0.5
"""Interval in seconds between two searches for a backup node."""
FAILED_NODE_SECONDS: Final = 5.0
"""Time in seconds for which a backup node that failed is not chosen again."""
POLL_SECONDS: Final = 0.005
"""Interval in seconds between two checks of sessions whose events wait for a read."""
HOLD_SECONDS_MAX: Final = 0.25
"""Time in seconds for which the events of a session wait for a read; then its copy is discarded."""
IDLE_HOLD_SECONDS_MAX: Final = 5.0
"""Time in seconds for which batches leave out a session without waiting events; then its copy is discarded."""
STALL_SECONDS: Final = 5.0
"""Time in seconds without a confirmation after which this node asks whether the backup node continues its sessions."""
CANDIDATES_MAX: Final = 50
"""Maximum number of sessions that are prepared for a copy at the same time."""
COPIED_BYTES_MAX: Final = 1024 * 1024
"""Maximum size in bytes of the unacknowledged events of a session when its copy begins, and of all new copies of a batch."""


class ReplicationError(Exception):
    """The backup node does not have the copies of this node."""


class SessionReplication:
    """Copies the sessions of this node to a backup node."""

    def __init__(
        self, sessions: GatewaySessions, bus: Bus[Dispatch], context: GatewayContext, metrics: Metrics
    ) -> None:
        self._sessions = sessions
        self._bus = bus
        self._context = context
        self._backup = ""
        """The backup node; empty if there is none."""
        self._epoch = ""
        self._last_replica_id = 0
        self._replicas: dict[int, Replica] = {}
        self._candidates: dict[GatewaySession, Replica] = {}
        """Sessions whose copy begins when all received events were sent to them."""
        self._pending: dict[Replica, None] = {}
        """Replicas with events or changes for the next batch."""
        self._held: dict[Replica, float] = {}
        """Replicas that batches leave out, with the time since then in seconds of the event loop's clock."""
        self._ended_ids: list[int] = []
        self._sent_numbers: dict[int, int] = {}
        """The received numbers as of the latest batch that contains them, by publisher."""
        self._failed_nodes: dict[str, float] = {}
        """Time at which a backup node failed, in seconds of the event loop's clock."""
        self._confirmed_at = 0.0
        self._scan_at = 0.0
        self._wake_event = asyncio.Event()
        self._tasks = BackgroundTasks()
        self._is_preparing = False
        self._is_enabled = not isinstance(bus, LocalBus) and sessions.settings.has_session_copies
        metrics.watch(
            metrics.gateway_unprotected_sessions,
            lambda: len(list(sessions)) - len(self._replicas) if self._is_enabled else 0,
        )

    @property
    def _node(self) -> str:
        return self._sessions.presence_feed.node

    def start(self) -> None:
        """Start to copy sessions if the setting is on and this process is not the only one."""
        if self._is_enabled:
            self._tasks.spawn(self._run())

    async def close(self) -> None:
        """Stop, and let the backup node discard the copies."""
        self._tasks.cancel()
        backup = self._backup
        self._stop_replicas()
        if backup:
            await self._send_end(backup)

    def wake(self, replica: Replica) -> None:
        """Include a replica in the next batch."""
        self._pending[replica] = None
        self._wake_event.set()

    def forget(self, replica: Replica) -> None:
        """Discard a replica whose session ended."""
        self._pending.pop(replica, None)
        self._held.pop(replica, None)
        if self._replicas.pop(replica.id, None) is not None:
            self._ended_ids.append(replica.id)
            self._wake_event.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            node = self._choose_backup(loop.time())
            if node is None:
                await asyncio.sleep(CHOICE_SECONDS)
                continue
            try:
                await self._replicate(node)
            except (BusError, ReplicationError) as error:
                log.warning("Sessions are not copied to a backup node", extra={"node": node, "error": str(error)})
            except Exception:
                log.exception("Sessions could not be copied to a backup node", extra={"node": node})
            self._failed_nodes[node] = loop.time()
            self._stop_replicas()
            self._tasks.spawn(self._send_end(node))

    def _choose_backup(self, now: float) -> str | None:
        """Return the gateway node that follows this one in the order of their names; None if there is none."""
        nodes = [
            node
            for node in self._sessions.presence_feed.gateway_nodes
            if now - self._failed_nodes.get(node, -FAILED_NODE_SECONDS) >= FAILED_NODE_SECONDS
        ]
        self._failed_nodes = {
            node: failed_at for node, failed_at in self._failed_nodes.items() if now - failed_at < FAILED_NODE_SECONDS
        }
        return min(nodes, key=lambda node: (node < self._node, node), default=None)

    async def _replicate(self, node: str) -> None:
        """Copy sessions to a node until it stops or fails."""
        loop = asyncio.get_running_loop()
        self._epoch = secrets.token_hex(8)
        await self._request(ReplicationRequest(action="begin", node=self._node, epoch=self._epoch), node)
        self._backup, self._confirmed_at = node, loop.time()
        while node in self._sessions.presence_feed.gateway_nodes:
            now = loop.time()
            self._wake_event.clear()
            if now - self._confirmed_at < STALL_SECONDS:
                self._discard_overdue(now)
            self._prepare(now)
            batch, replicas = self._build_batch(now)
            if batch is not None and (batch != ReplicationBatch() or now - self._confirmed_at >= HEARTBEAT_SECONDS):
                await self._send(batch)
                self._confirmed_at = loop.time()
                for replica in replicas:
                    replica.confirm()
                continue
            timeout_seconds = POLL_SECONDS if self._pending or batch is None else SCAN_SECONDS
            try:
                async with asyncio.timeout(timeout_seconds):
                    await self._wake_event.wait()
            except TimeoutError:
                continue

    # Batches

    def _build_batch(self, now: float) -> tuple[ReplicationBatch | None, list[Replica]]:
        """Return the next batch and its replicas; None if received messages were not handled yet."""
        numbers = self._bus.received_numbers()
        if numbers is None:
            return None, []
        held_replicas = self._find_held()
        held_ids = [replica.id for replica in held_replicas if replica not in self._held]
        released_replicas = [replica for replica in self._held if replica not in held_replicas]
        for replica in released_replicas:
            del self._held[replica]
        for replica in held_replicas:
            self._held.setdefault(replica, now)
        packet_indexes: dict[Packet, int] = {}
        updated_replicas = [replica for replica in self._pending if replica not in held_replicas]
        updates = [self._build_update(replica, packet_indexes) for replica in updated_replicas]
        for replica in updated_replicas:
            del self._pending[replica]
        new_replicas, first_updates = self._start_candidates(packet_indexes)
        ended_ids, self._ended_ids = self._ended_ids, []
        changed_numbers = {
            publisher_id: number
            for publisher_id, number in numbers.items()
            if self._sent_numbers.get(publisher_id) != number
        }
        self._sent_numbers = numbers
        batch = ReplicationBatch(
            received_numbers=changed_numbers,
            events=[
                ReplicatedEvent(packet.event, packet.body, now - packet.created_at, packet.has_numeric_permissions)
                for packet in packet_indexes
            ],
            new_replicas=new_replicas,
            updates=updates + first_updates,
            held_ids=held_ids,
            released_ids=[replica.id for replica in released_replicas],
            ended_ids=ended_ids,
        )
        if batch.received_numbers and batch == ReplicationBatch(received_numbers=batch.received_numbers):
            # Messages that were not sent to a copied session are not urgent.
            if now - self._confirmed_at < HEARTBEAT_SECONDS:
                self._sent_numbers = {
                    publisher_id: number
                    for publisher_id, number in numbers.items()
                    if publisher_id not in changed_numbers
                }
                return ReplicationBatch(), []
        return batch, updated_replicas

    def _find_held(self) -> set[Replica]:
        """Return the replicas to whose sessions some of the received events were not sent yet."""
        held_replicas: set[Replica] = set()
        for sessions in (*self._context.busy_hubs.values(), self._context.sessions_with_reads):
            held_replicas.update(session.replica for session in sessions if isinstance(session.replica, Replica))
        held_replicas.update(replica for replica in self._pending if replica.has_changes and not _is_settled(replica))
        return held_replicas

    def _build_update(self, replica: Replica, packet_indexes: dict[Packet, int]) -> ReplicaUpdate:
        """Return the changes of a replica, and add its events to those of the batch."""
        guild_ids: list[int] | None = None
        known_channels = b""
        session = replica.session
        if replica.has_changes:
            replica.has_changes = False
            channels = {
                guild_id: subscription.known_channels for guild_id, subscription in session.subscriptions.items()
            }
            if channels.keys() != replica.guild_ids:
                replica.guild_ids = set(channels)
                replica.prepared_guild_ids &= replica.guild_ids
                guild_ids = sorted(channels)
            changed_channels = {
                guild_id: known for guild_id, known in channels.items() if replica.known_channels.get(guild_id) != known
            }
            if changed_channels:
                known_channels = codec.encode(changed_channels)
            replica.known_channels = channels
        return ReplicaUpdate(
            replica_id=replica.id,
            acknowledged_seq=session.acknowledged_seq,
            events=[packet_indexes.setdefault(packet, len(packet_indexes)) for packet in replica.take_packets()],
            guild_ids=guild_ids,
            known_channels=known_channels,
        )

    def _start_candidates(self, packet_indexes: dict[Packet, int]) -> tuple[list[NewReplica], list[ReplicaUpdate]]:
        """Begin the copies of prepared sessions to which all received events were sent."""
        new_replicas, updates, copied_bytes = list[NewReplica](), list[ReplicaUpdate](), 0
        for session, replica in list(self._candidates.items()):
            if session.has_ended:
                del self._candidates[session]
                self._ended_ids.append(replica.id)
                continue
            if not session.subscriptions.keys() <= replica.prepared_guild_ids or not self._sessions.is_idle(session):
                continue
            seq, packets, size = _unacknowledged(session)
            if copied_bytes and copied_bytes + size > COPIED_BYTES_MAX:
                continue
            copied_bytes += size
            del self._candidates[session]
            self._replicas[replica.id] = replica
            replica.start()
            new_replicas.append(NewReplica(replica.id, session.id, describe(session), seq))
            replica.has_changes = True
            update = self._build_update(replica, packet_indexes)
            # The client already has these events, or their writes do not wait.
            replica.confirm()
            update.events = [packet_indexes.setdefault(packet, len(packet_indexes)) for packet in packets]
            updates.append(update)
        return new_replicas, updates

    async def _send(self, batch: ReplicationBatch) -> None:
        """Send a batch in parts; return when the backup node has confirmed it."""
        data = messages.encode(batch)
        for offset in range(0, len(data), PART_BYTES_MAX):
            await self._request(
                ReplicationRequest(
                    action="batch",
                    node=self._node,
                    epoch=self._epoch,
                    data=data[offset : offset + PART_BYTES_MAX],
                    is_last_part=offset + PART_BYTES_MAX >= len(data),
                ),
                self._backup,
            )

    async def _send_end(self, node: str) -> None:
        """Let a node discard the copies; it also discards them later if it does not receive the request."""
        try:
            await self._exchange(ReplicationRequest(action="end", node=self._node, epoch=self._epoch), node)
        except BusError as error:
            log.info("The former backup node did not reply", extra={"node": node, "error": str(error)})

    async def _request(self, request: ReplicationRequest, node: str, timeout_ms: int = CONFIRM_TIMEOUT_MS) -> None:
        """Send a request; raise `ReplicationError` if the backup node does not have the copies, and `BusError` without a reply."""
        try:
            reply = await self._exchange(request, node, timeout_ms)
        except BusError:
            if self._backup and asyncio.get_running_loop().time() - self._confirmed_at >= STALL_SECONDS:
                # This process was paused. The backup node may continue its sessions.
                status = ReplicationRequest(action="batch", node=self._node, epoch=self._epoch, is_last_part=False)
                self._end_activated(await self._exchange(status, node), node)
            raise
        self._end_activated(reply, node)
        if reply.status != "ok":
            raise ReplicationError(f"the backup node replied {reply.status}")

    async def _exchange(
        self, request: ReplicationRequest, node: str, timeout_ms: int = CONFIRM_TIMEOUT_MS
    ) -> ReplicationReply:
        data = await self._bus.request(messages.subject(node), messages.encode(request), timeout_ms)
        return messages.decode_reply(data)

    def _end_activated(self, reply: ReplicationReply, node: str) -> None:
        """End the sessions that the backup node continues."""
        if reply.status == "activated":
            for session_id in reply.session_ids:
                self._sessions.end_moved(session_id, node)

    # Begin and end of copies

    def _prepare(self, now: float) -> None:
        """Let the backup node buffer the events of new sessions, and of guilds that copied sessions have joined."""
        interests: list[tuple[Replica, ReplicaInterest]] = []
        if self._is_preparing:
            return
        for replica in self._pending:
            if replica.has_changes and (new_ids := replica.session.subscriptions.keys() - replica.prepared_guild_ids):
                interests.append((replica, ReplicaInterest(replica.id, replica.session.user_id, sorted(new_ids))))
        if now >= self._scan_at:
            self._scan_at = now + SCAN_SECONDS
            for session, candidate in self._candidates.items():
                if new_ids := session.subscriptions.keys() - candidate.prepared_guild_ids:
                    interests.append((candidate, ReplicaInterest(candidate.id, session.user_id, sorted(new_ids))))
            new_sessions = (
                session
                for session in self._sessions
                if session.replica is None and session not in self._candidates and self._is_copyable(session)
            )
            for session in islice(new_sessions, max(0, CANDIDATES_MAX - len(self._candidates))):
                self._last_replica_id += 1
                replica = self._candidates[session] = Replica(self._last_replica_id, session, self)
                guild_ids = sorted(session.subscriptions)
                interests.append((replica, ReplicaInterest(replica.id, session.user_id, guild_ids)))
        if interests:
            self._is_preparing = True
            self._tasks.spawn(self._send_interests(interests))

    def _is_copyable(self, session: GatewaySession) -> bool:
        """Return whether a copy may begin: all received events were sent, and the client has acknowledged most of them."""
        return (
            session.resumable_seq_max is None
            and self._sessions.is_idle(session)
            and _unacknowledged(session)[2] <= COPIED_BYTES_MAX
        )

    async def _send_interests(self, interests: list[tuple[Replica, ReplicaInterest]]) -> None:
        request = ReplicationRequest(
            action="prepare",
            node=self._node,
            epoch=self._epoch,
            interests=[interest for _, interest in interests],
        )
        try:
            await self._request(request, self._backup, PREPARE_TIMEOUT_MS)
            for replica, interest in interests:
                replica.prepared_guild_ids.update(interest.guild_ids)
        except (BusError, ReplicationError) as error:
            log.warning("Events are not buffered by the backup node", extra={"error": str(error)})
        finally:
            self._is_preparing = False
            self._wake_event.set()

    def _discard_overdue(self, now: float) -> None:
        """Discard the copies of sessions whose events wait too long for a read."""
        overdue = [
            replica
            for replica, held_since in self._held.items()
            if now - held_since >= IDLE_HOLD_SECONDS_MAX
            or (replica.packets and now - replica.pending_since >= HOLD_SECONDS_MAX)
        ]
        for replica in overdue:
            replica.stop()
            self.forget(replica)
        if self._pending and now - self._confirmed_at >= HOLD_SECONDS_MAX and self._bus.received_numbers() is None:
            raise ReplicationError("this node does not handle received events")

    def _stop_replicas(self) -> None:
        """Write everything that waits, and forget the copies."""
        for replica in list(self._replicas.values()):
            replica.stop()
        for collection in (self._replicas, self._candidates, self._pending, self._held, self._sent_numbers):
            collection.clear()
        self._ended_ids, self._backup = [], ""


def _unacknowledged(session: GatewaySession) -> tuple[int, list[Packet], int]:
    """Return the last acknowledged or discarded sequence number, the events after it, and their size in bytes."""
    seq = min(max(session.acknowledged_seq, session.replay.discarded_seq), session.replay.last_seq)
    packets = session.replay.since(seq, len(session.replay)) or []
    return seq, packets, sum(packet.size for packet in packets)


def _is_settled(replica: Replica) -> bool:
    """Return whether all guilds of a session were sent to it, and the backup node buffers their events."""
    subscriptions = replica.session.subscriptions
    return subscriptions.keys() <= replica.prepared_guild_ids and all(
        subscription.opened.done() for subscription in subscriptions.values()
    )
