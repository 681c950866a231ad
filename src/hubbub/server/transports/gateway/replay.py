"""What a session can be told again after its connection broke: bounded by count, bytes and age."""

from collections import deque
from itertools import islice
from typing import Final

from hubbub.server.transports.gateway.packets import Packet

ACKNOWLEDGED_S: Final = 60.0
"""What a heartbeat acknowledged is kept this long; a client that starts again may have lost what it had seen."""


class Replay:
    """The last packets of a session, which share their bytes with all other sessions that got them."""

    __slots__ = ("_bytes_most", "_events_most", "_packets", "held", "last")

    def __init__(self, events_most: int, bytes_most: int) -> None:
        self._events_most = events_most
        self._bytes_most = bytes_most
        self._packets: deque[Packet] = deque()
        self.held = 0
        """Bytes, as if none were shared."""
        self.last = 0
        """The sequence number of the newest packet."""

    def __len__(self) -> int:
        return len(self._packets)

    def append(self, packet: Packet) -> int:
        """Keep a packet and give it its number."""
        packets = self._packets
        packets.append(packet)
        self.held += packet.size
        if self.held > self._bytes_most or len(packets) > self._events_most:
            while packets and (self.held > self._bytes_most or len(packets) > self._events_most):
                self.held -= packets.popleft().size
        self.last += 1
        return self.last

    def since(self, seq: int, most: int) -> list[Packet] | None:
        """The next packets after a number, at most so many; None when some of them are gone."""
        oldest = self.last - len(self._packets)
        if not oldest <= seq <= self.last:
            return None
        return list(islice(self._packets, seq - oldest, seq - oldest + most))

    def forget(self, acknowledged: int, made_before: float, now: float) -> None:
        """Drop what is too old, and what was acknowledged a while ago."""
        packets = self._packets
        number = self.last - len(packets)
        while packets:
            number += 1
            at = packets[0].at
            if at >= made_before and not (number <= acknowledged and at < now - ACKNOWLEDGED_S):
                break
            self.held -= packets.popleft().size
