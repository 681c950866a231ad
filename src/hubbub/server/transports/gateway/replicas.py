"""A session that is copied to a backup node: its unconfirmed events, and the writes that wait for the confirmation."""

import asyncio
from typing import Protocol

from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.replay import ReplayBuffer
from hubbub.server.transports.gateway.session import GatewayConnection, GatewaySession, KnownChannels
from hubbub.server.transports.sockets import IGNORE_DISCONNECT, WritableTransport


class ReplicaOwner(Protocol):
    """The operations of the replication that a replica needs."""

    def wake(self, replica: "Replica") -> None:
        """Include a replica in the next batch."""

    def forget(self, replica: "Replica") -> None:
        """Discard a replica whose session ended."""


class Replica:
    """The copy of a session of this node on the backup node."""

    __slots__ = (
        "_frames",
        "_owner",
        "_sent_frames",
        "guild_ids",
        "has_changes",
        "held_bytes",
        "id",
        "is_in_flight",
        "known_channels",
        "packets",
        "pending_since",
        "prepared_guild_ids",
        "session",
    )

    def __init__(self, replica_id: int, session: GatewaySession, owner: ReplicaOwner) -> None:
        self.id = replica_id
        self.session = session
        self._owner = owner
        self.packets: list[Packet] = []
        """Events that were sent to the session after its last batch."""
        self.pending_since = 0.0
        """Time of the first event of `packets`, in seconds of the event loop's clock."""
        self.is_in_flight = False
        """Whether a batch with the session was sent and not confirmed yet."""
        self._frames: list[tuple[ReplicatedTransport, bytes]] = []
        """Writes that wait for the next batch."""
        self._sent_frames: list[tuple[ReplicatedTransport, bytes]] = []
        """Writes that wait for the batch in flight."""
        self.held_bytes = 0
        """Size of all waiting writes in bytes."""
        self.has_changes = False
        """Whether the guilds of the session, or the channels that its client knows, may have changed."""
        self.guild_ids: set[int] = set()
        """IDs of the guilds of the session in its last batch."""
        self.prepared_guild_ids: set[int] = set()
        """IDs of the guilds whose events the backup node buffers."""
        self.known_channels: dict[int, KnownChannels] = {}
        """The channels that the client knew at the last batch, by guild ID."""

    def start(self) -> None:
        """Record the events of the session, and delay its writes, from now on."""
        session = self.session
        session.replica, session.replay = self, _ReplicatedBuffer(session.replay, self)
        for connection in (session.connection, session.resuming_connection):
            if connection is not None:
                self.attach(connection)

    def stop(self) -> None:
        """Write everything that waits, and no longer record the events of the session."""
        session = self.session
        if session.replica is self:
            session.replica, session.replay = None, session.replay.move_to(ReplayBuffer(0, 0))
        self.packets, self.is_in_flight = [], False
        self._write(self._sent_frames + self._frames)
        self._sent_frames, self._frames = [], []

    def attach(self, connection: GatewayConnection) -> None:
        """Delay the writes to a connection of the session until the backup node has confirmed the events."""
        transport = connection.transport
        if isinstance(transport, ReplicatedTransport):
            transport = transport.transport
        connection.transport = ReplicatedTransport(self, connection, transport)

    def mark_changed(self) -> None:
        """Record that the guilds of the session, or the channels that its client knows, changed."""
        self.has_changes = True
        self._owner.wake(self)

    def end(self) -> None:
        """Discard the copy, because the session ended on this node."""
        self.stop()
        self._owner.forget(self)

    def add_packet(self, packet: Packet) -> None:
        """Record an event that is sent to the session."""
        if not self.packets:
            self.pending_since = asyncio.get_running_loop().time()
            self._owner.wake(self)
        self.packets.append(packet)

    def write(self, transport: "ReplicatedTransport", data: bytes) -> None:
        """Write data, after all events that the backup node has not confirmed yet."""
        if self.packets or self.is_in_flight:
            self._frames.append((transport, data))
            self.held_bytes += len(data)
        else:
            transport.transport.write(data)

    def take_packets(self) -> list[Packet]:
        """Return the events of the next batch; their writes wait until `confirm`."""
        self.is_in_flight = True
        packets, self.packets = self.packets, []
        self._sent_frames, self._frames = self._frames, []
        return packets

    def confirm(self) -> None:
        """Write everything that the backup node has confirmed."""
        if not self.is_in_flight:
            return
        self.is_in_flight = False
        frames, self._sent_frames = self._sent_frames, []
        if not self.packets:
            frames += self._frames
            self._frames = []
        self._write(frames)

    def _write(self, frames: "list[tuple[ReplicatedTransport, bytes]]") -> None:
        for transport, data in frames:
            self.held_bytes -= len(data)
            # A connection that closes belongs to a session that continues elsewhere, or to none.
            if transport.connection.close_task is None and not transport.is_closing():
                with IGNORE_DISCONNECT:
                    transport.transport.write(data)


class _ReplicatedBuffer(ReplayBuffer):
    """The replay buffer of a session that is copied to a backup node."""

    __slots__ = ("_replica",)

    def __init__(self, buffer: ReplayBuffer, replica: Replica) -> None:
        buffer.move_to(self)
        self._replica = replica

    def append(self, packet: Packet) -> int:
        """Store a packet, record it for the backup node, and return its sequence number."""
        self._replica.add_packet(packet)
        return super().append(packet)


class ReplicatedTransport:
    """A transport whose writes wait until the backup node has confirmed the events of the session."""

    __slots__ = ("_replica", "connection", "transport")

    def __init__(self, replica: Replica, connection: GatewayConnection, transport: WritableTransport) -> None:
        self._replica = replica
        self.connection = connection
        self.transport = transport

    def write(self, data: bytes) -> None:
        """Write data, or queue it until the backup node has confirmed the events of the session."""
        self._replica.write(self, data)

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that wait or are not sent yet."""
        return self._replica.held_bytes + self.transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Return whether the transport no longer accepts writes."""
        return self.transport.is_closing()

    def abort(self) -> None:
        """Close the connection immediately and discard unsent data."""
        self.transport.abort()
