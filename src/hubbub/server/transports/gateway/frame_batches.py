"""Frames that wait until the events of several commits were published, so that each connection gets them in one write.

A write is a system call, which is most of the cost of a delivery. Commits that the store finishes together publish their
events in one callback of the event loop, in a `FrameBatch`."""

from typing import Any, Final, Protocol

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""Size in bytes of the waiting frames of all connections at which they are written."""
CONNECTION_BATCH_BYTES_MAX: Final = 64 * 1024
"""Size in bytes of the waiting frames of one connection at which they are written."""


class BatchedConnection(Protocol):
    """The part of a connection that a batch needs."""

    waiting_frames: list[bytes] | None
    waiting_bytes: int

    def write_waiting(self) -> None:
        """Write the waiting frames."""


class FrameBatch:
    """A reusable context; frames that are added inside it are written at its end, in their order.

    It must not be entered again before its end, and no code inside it may wait."""

    __slots__ = ("_byte_count", "_connections", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        """Whether the context was entered."""
        self._connections: list[BatchedConnection] = []
        self._byte_count = 0

    def add(self, connection: BatchedConnection, frame: bytes) -> None:
        """Add a frame for a connection, which must write it before anything else."""
        if connection.waiting_frames is None:
            connection.waiting_frames = [frame]
            self._connections.append(connection)
        else:
            connection.waiting_frames.append(frame)
        connection.waiting_bytes += len(frame)
        self._byte_count += len(frame)
        if self._byte_count > BATCH_BYTES_MAX:
            self._write()
        elif connection.waiting_bytes > CONNECTION_BATCH_BYTES_MAX:
            connection.write_waiting()

    def __enter__(self) -> None:
        self.is_open = True

    def __exit__(self, *_: Any) -> None:
        self.is_open = False
        self._write()

    def _write(self) -> None:
        connections, self._connections, self._byte_count = self._connections, [], 0
        for connection in connections:
            connection.write_waiting()
