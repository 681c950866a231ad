"""The replay buffer of a voice session, bounded by message count, bytes and age (spec/voice.md#6)."""

from collections import deque
from typing import Final, NamedTuple

from hubbub.protocol.voice import SEQ_MAX

MESSAGES_MAX: Final = 512
"""Maximum number of messages that a buffer holds."""
BYTES_MAX: Final = 1024 * 1024
"""Maximum total size in bytes of the messages that a buffer holds."""
AGE_MAX_SECONDS: Final = 60.0
"""Maximum age of a message in seconds."""


class BufferedMessage(NamedTuple):
    """A message in the replay buffer."""

    number: int
    """Unbounded number, counted from 1; `wire_seq` converts it to the number on the wire."""
    first_byte: int
    """First byte of the WebSocket frame: `frames.TEXT` or `frames.BINARY`."""
    payload: bytes
    sent_at: float
    """Time of sending, in seconds of the event loop's clock."""


def wire_seq(number: int) -> int:
    """Return the 16-bit sequence number on the wire; never 0, which a client library treats as absent."""
    return (number - 1) % SEQ_MAX + 1


class VoiceReplayBuffer:
    """The most recent messages of a voice session."""

    __slots__ = ("_held_bytes", "_messages", "last_number")

    def __init__(self) -> None:
        self._messages: deque[BufferedMessage] = deque()
        self._held_bytes = 0
        self.last_number = 0
        """The number of the newest message, or 0."""

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, first_byte: int, payload: bytes, now: float) -> None:
        """Store a message under the next number; `first_byte` is the first byte of its WebSocket frame."""
        self.last_number += 1
        self._messages.append(BufferedMessage(self.last_number, first_byte, payload, now))
        self._held_bytes += len(payload)
        while len(self._messages) > MESSAGES_MAX or self._held_bytes > BYTES_MAX:
            self._drop_oldest()

    def acknowledge(self, seq: int) -> None:
        """Discard messages up to an acknowledged sequence number; an unknown number has no effect."""
        if any(wire_seq(message.number) == seq for message in self._messages):
            while wire_seq(self._messages[0].number) != seq:
                self._drop_oldest()
            self._drop_oldest()

    def discard_expired(self, now: float) -> None:
        """Discard messages older than `AGE_MAX_SECONDS`."""
        while self._messages and now - self._messages[0].sent_at > AGE_MAX_SECONDS:
            self._drop_oldest()

    def after_seq(self, seq: int) -> list[BufferedMessage] | None:
        """Return the messages after a sequence number on the wire, or None if it is unknown or some were discarded.

        A sequence number of 0 or less means that the client has seen no message.
        """
        last_discarded = self.last_number - len(self._messages)
        if seq <= 0:
            return None if last_discarded else list(self._messages)
        if last_discarded and seq == wire_seq(last_discarded):
            return list(self._messages)
        for index, message in enumerate(self._messages):
            if wire_seq(message.number) == seq:
                return list(self._messages)[index + 1 :]
        return None

    def after_number(self, number: int) -> list[BufferedMessage]:
        """Return the messages after an unbounded number."""
        return [message for message in self._messages if message.number > number]

    def _drop_oldest(self) -> None:
        self._held_bytes -= len(self._messages.popleft().payload)
