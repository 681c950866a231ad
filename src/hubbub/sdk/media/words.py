"""Wire models of the voice gateway, reduced to the fields that the SDK reads."""

from msgspec import Struct

from hubbub.protocol.voice import DAVE_VERSION


class Ready(Struct):
    """Payload of READY: the address of the voice server and the client's SSRC."""

    ssrc: int
    ip: str
    port: int
    modes: list[str]


class Description(Struct):
    """Payload of SESSION_DESCRIPTION: the encryption mode and key of packets."""

    mode: str
    secret_key: list[int]
    dave_protocol_version: int = 0


class Speaking(Struct):
    """Payload of SPEAKING: the SSRC of a user."""

    user_id: int
    ssrc: int = 0


class Users(Struct):
    """Payload of CLIENTS_CONNECT: users who are in the call or joined it."""

    user_ids: list[int] = []


class User(Struct):
    """Payload of CLIENT_DISCONNECT: a user who left the call."""

    user_id: int


class Transition(Struct):
    """Payload of the DAVE transition and epoch messages."""

    transition_id: int = 0
    protocol_version: int = DAVE_VERSION
    epoch: int = 0
