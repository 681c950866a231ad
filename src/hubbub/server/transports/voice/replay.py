"""What a voice session can be told again after its connection broke: bounded by count, bytes and age (voice.md 6)."""

from collections import deque
from typing import Final, NamedTuple

from hubbub.protocol.voice import SEQ_MOST

MESSAGES_MOST: Final = 512
BYTES_MOST: Final = 1024 * 1024
AGE_S: Final = 60.0


class Message(NamedTuple):
    """A frame that was sent, or would have been."""

    number: int
    """Counted from 1 without end; `seq_of` is what the wire shows."""
    first: int
    """The frame's first byte: text or binary."""
    payload: bytes
    at: float


def seq_of(number: int) -> int:
    """The sixteen bits of a number on the wire; never 0, which a library takes for none."""
    return (number - 1) % SEQ_MOST + 1


class Replay:
    """The last messages of a session."""

    __slots__ = ("_held", "_messages", "last")

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._held = 0
        self.last = 0
        """The number of the newest message."""

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, first: int, payload: bytes, now: float) -> None:
        """Keep a message under the next number."""
        self.last += 1
        self._messages.append(Message(self.last, first, payload, now))
        self._held += len(payload)
        while len(self._messages) > MESSAGES_MOST or self._held > BYTES_MOST:
            self._drop()

    def acknowledge(self, seq: int) -> None:
        """Drop what was seen; a number that is none of ours changes nothing."""
        if any(seq_of(message.number) == seq for message in self._messages):
            while seq_of(self._messages[0].number) != seq:
                self._drop()
            self._drop()

    def forget(self, now: float) -> None:
        """Drop what is too old."""
        while self._messages and now - self._messages[0].at > AGE_S:
            self._drop()

    def since(self, seq: int) -> list[Message] | None:
        """The messages after a number of the wire, 0 and less meaning nothing seen; None when some of them are gone."""
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
        """The messages after a number as we count."""
        return [message for message in self._messages if message.number > number]

    def _drop(self) -> None:
        self._held -= len(self._messages.popleft().payload)
