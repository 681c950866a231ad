"""The replay buffer of a session, bounded by event count, bytes and age."""

from collections import deque
from itertools import islice
from typing import Final

import msgspec

from hubbub.server.transports.gateway.packets import Packet

ACKNOWLEDGED_SECONDS: Final = 60.0
"""Time in seconds that acknowledged packets are kept; a client that restarted may have lost acknowledged events."""


class ReplayedEvent(msgspec.Struct, array_like=True):
    """An event of a replay buffer that another node takes."""

    event: str
    body: msgspec.Raw
    age_seconds: float
    has_numeric_permissions: bool
    """Whether the body is for sessions of API versions 6 and 7."""


class ReplayBuffer:
    """The most recent packets of a session. Packets are shared with the other sessions that received them."""

    __slots__ = ("_bytes_max", "_events_max", "_packets", "held_bytes", "last_seq")

    def __init__(self, events_max: int, bytes_max: int, last_seq: int = 0) -> None:
        self._events_max = events_max
        self._bytes_max = bytes_max
        self._packets: deque[Packet] = deque()
        self.held_bytes = 0
        """Total size of the packets in bytes, counted as if none were shared."""
        self.last_seq = last_seq
        """The sequence number of the last packet that was appended, or 0."""

    def __len__(self) -> int:
        return len(self._packets)

    @property
    def discarded_seq(self) -> int:
        """The sequence number of the last packet that was discarded, or 0."""
        return self.last_seq - len(self._packets)

    def export(self, seq: int, now: float) -> list["ReplayedEvent"]:
        """Return the events after a sequence number; `now` is in seconds of the event loop's clock."""
        packets = islice(self._packets, seq - self.discarded_seq, None)
        return [
            ReplayedEvent(
                packet.event, msgspec.Raw(packet.body), now - packet.created_at, packet.has_numeric_permissions
            )
            for packet in packets
        ]

    def move_to(self, target: "ReplayBuffer") -> "ReplayBuffer":
        """Move the packets to a new buffer, and return it; this buffer must not be used afterwards."""
        target._events_max, target._bytes_max = self._events_max, self._bytes_max
        target._packets, target.held_bytes, target.last_seq = self._packets, self.held_bytes, self.last_seq
        return target

    def append(self, packet: Packet) -> int:
        """Store a packet and return its sequence number."""
        packets = self._packets
        packets.append(packet)
        self.held_bytes += packet.size
        if self.held_bytes > self._bytes_max or len(packets) > self._events_max:
            while packets and (self.held_bytes > self._bytes_max or len(packets) > self._events_max):
                self.held_bytes -= packets.popleft().size
        self.last_seq += 1
        return self.last_seq

    def since(self, seq: int, limit: int) -> list[Packet] | None:
        """Return at most `limit` packets after a sequence number.

        Return None if packets after it were discarded, or if no packet with this sequence number was appended yet.
        """
        discarded_seq = self.discarded_seq
        if not discarded_seq <= seq <= self.last_seq:
            return None
        return list(islice(self._packets, seq - discarded_seq, seq - discarded_seq + limit))

    def discard(self, acknowledged_seq: int, created_before: float, now: float) -> None:
        """Discard packets created before `created_before`, and acknowledged ones older than `ACKNOWLEDGED_SECONDS`.

        `acknowledged_seq` is the last acknowledged sequence number; times are in seconds of the event loop's clock.
        """
        packets = self._packets
        seq = self.last_seq - len(packets)
        while packets:
            seq += 1
            created_at = packets[0].created_at
            if created_at >= created_before and not (
                seq <= acknowledged_seq and created_at < now - ACKNOWLEDGED_SECONDS
            ):
                break
            self.held_bytes -= packets.popleft().size
