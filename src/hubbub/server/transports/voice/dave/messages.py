"""Messages of a group to the clients in its call."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from hubbub.protocol.voice import ExecuteTransition, PrepareEpoch, PrepareTransition


class DaveOpcode(IntEnum):
    """Opcodes of the voice gateway for end-to-end encryption."""

    PREPARE_TRANSITION = 21
    EXECUTE_TRANSITION = 22
    TRANSITION_READY = 23
    PREPARE_EPOCH = 24
    EXTERNAL_SENDER = 25
    KEY_PACKAGE = 26
    PROPOSALS = 27
    COMMIT_WELCOME = 28
    ANNOUNCE_COMMIT = 29
    WELCOME = 30
    INVALID_COMMIT_WELCOME = 31


Payload = bytes | PrepareTransition | ExecuteTransition | PrepareEpoch
"""The payload of a message: bytes for a binary opcode, a struct for a JSON opcode."""


class OutgoingMessage(NamedTuple):
    """A message to some members of the call."""

    to: tuple[int, ...]
    """User IDs of the recipients."""
    op: DaveOpcode
    payload: Payload
    """Bytes for a binary opcode, without sequence number and opcode; otherwise the value of `d`."""


def build_message(to: Iterable[int], op: DaveOpcode, payload: Payload) -> OutgoingMessage:
    """Build a message to the users `to`."""
    return OutgoingMessage(tuple(to), op, payload)
