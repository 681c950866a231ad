"""The replay buffer of a session, bounded by event count, bytes and age."""

from collections import deque
from itertools import islice
from typing import Final

from hubbub.server.transports.gateway.packets import Packet

ACKNOWLEDGED_S: Final = 60.0
"""Time in seconds that acknowledged packets are kept; a client that restarted may have lost what it acknowledged."""


class Replay:
    """The most recent packets of a session. Packets are shared with the other sessions that received them."""

    __slots__ = ("_bytes_max", "_events_max", "_packets", "held", "last")

    def __init__(self, events_most: int, bytes_most: int) -> None:
        self._events_max = events_most
        self._bytes_max = bytes_most
        self._packets: deque[Packet] = deque()
        self.held = 0
        """Total size of the packets in bytes, counted as if none were shared."""
        self.last = 0
        """The sequence number of the newest packet, or 0."""

    def __len__(self) -> int:
        return len(self._packets)

    def append(self, packet: Packet) -> int:
        """Store a packet and return its sequence number."""
        packets = self._packets
        packets.append(packet)
        self.held += packet.size
        if self.held > self._bytes_max or len(packets) > self._events_max:
            while packets and (self.held > self._bytes_max or len(packets) > self._events_max):
                self.held -= packets.popleft().size
        self.last += 1
        return self.last

    def since(self, seq: int, most: int) -> list[Packet] | None:
        """Return at most `most` packets after a sequence number, or None if some of them were discarded."""
        oldest = self.last - len(self._packets)
        if not oldest <= seq <= self.last:
            return None
        return list(islice(self._packets, seq - oldest, seq - oldest + most))

    def forget(self, acknowledged: int, made_before: float, now: float) -> None:
        """Discard packets made before `made_before`, and packets acknowledged more than `ACKNOWLEDGED_S` ago."""
        packets = self._packets
        number = self.last - len(packets)
        while packets:
            number += 1
            at = packets[0].at
            if at >= made_before and not (number <= acknowledged and at < now - ACKNOWLEDGED_S):
                break
            self.held -= packets.popleft().size
