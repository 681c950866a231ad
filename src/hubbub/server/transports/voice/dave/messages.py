"""What a group has to say to the clients in its call."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct


class Op(IntEnum):
    """The opcodes of the voice gateway that are about end-to-end encryption."""

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


class PrepareTransition(Struct, frozen=True):
    """Op 21: get ready for another protocol version."""

    protocol_version: int
    transition_id: int


class ExecuteTransition(Struct, frozen=True):
    """Op 22: everybody is ready, go."""

    transition_id: int


class PrepareEpoch(Struct, frozen=True):
    """Op 24: begin a new group and send a new key package."""

    protocol_version: int
    epoch: int = 1


Payload = bytes | PrepareTransition | ExecuteTransition | PrepareEpoch


class Sending(NamedTuple):
    """One message to some members of the call, each of whom gets it as their next."""

    to: tuple[int, ...]
    op: Op
    payload: Payload
    """Bytes for a binary opcode, without sequence number and opcode; else what goes into `d`."""


def sending(to: Iterable[int], op: Op, payload: Payload) -> Sending:
    """One message to these."""
    return Sending(tuple(to), op, payload)
