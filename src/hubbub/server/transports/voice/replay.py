"""The replay buffer of a voice session, bounded by message count, bytes and age (voice.md 6)."""

from collections import deque
from typing import Final, NamedTuple

from hubbub.protocol.voice import SEQ_MOST

MESSAGES_MOST: Final = 512
BYTES_MOST: Final = 1024 * 1024
AGE_S: Final = 60.0


class Message(NamedTuple):
    """A buffered message."""

    number: int
    """Unbounded number, counted from 1; `seq_of` converts it to the number on the wire."""
    first: int
    """First byte of the WebSocket frame: text or binary."""
    payload: bytes
    at: float
    """Time of sending, in seconds of the event loop's clock."""


def seq_of(number: int) -> int:
    """Return the 16-bit sequence number on the wire; never 0, which a client library treats as absent."""
    return (number - 1) % SEQ_MOST + 1


class Replay:
    """The most recent messages of a voice session."""

    __slots__ = ("_held", "_messages", "last")

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._held = 0
        self.last = 0
        """The number of the newest message, or 0."""

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, first: int, payload: bytes, now: float) -> None:
        """Store a message under the next number."""
        self.last += 1
        self._messages.append(Message(self.last, first, payload, now))
        self._held += len(payload)
        while len(self._messages) > MESSAGES_MOST or self._held > BYTES_MOST:
            self._drop()

    def acknowledge(self, seq: int) -> None:
        """Discard messages up to an acknowledged sequence number; an unknown number has no effect."""
        if any(seq_of(message.number) == seq for message in self._messages):
            while seq_of(self._messages[0].number) != seq:
                self._drop()
            self._drop()

    def forget(self, now: float) -> None:
        """Discard messages older than `AGE_S`."""
        while self._messages and now - self._messages[0].at > AGE_S:
            self._drop()

    def since(self, seq: int) -> list[Message] | None:
        """Return the messages after a sequence number of the wire, or None if some of them were discarded.

        A sequence number of 0 or less means that the client has seen no message.
        """
        before = self.last - len(self._messages)
        if seq <= 0:
            return None if before else list(self._messages)
        if before and seq == seq_of(before):
            return list(self._messages)
        for index, message in enumerate(self._messages):
            if seq_of(message.number) == seq:
                return list(self._messages)[index + 1 :]
        return None

    def after(self, number: int) -> list[Message]:
        """Return the messages after an unbounded number."""
        return [message for message in self._messages if message.number > number]

    def _drop(self) -> None:
        self._held -= len(self._messages.popleft().payload)
