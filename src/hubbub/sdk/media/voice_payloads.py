"""Payloads of the voice gateway, with only the fields that the SDK reads.

The models in `protocol.voice` are those that the server sends, and their fields are required. A client must also accept
older and newer servers, so these models ignore the fields that the SDK does not read (decisions/0041).
"""

from msgspec import Struct

from hubbub.protocol.voice import DAVE_VERSION


class VoiceReady(Struct):
    """Payload of READY: the address of the voice server and the client's SSRC."""

    ssrc: int
    ip: str
    port: int
    modes: list[str]


class SessionDescription(Struct):
    """Payload of SESSION_DESCRIPTION: the encryption mode and key of packets."""

    mode: str
    secret_key: list[int]
    dave_protocol_version: int = 0


class SpeakingUser(Struct):
    """Payload of SPEAKING: the SSRC of a user."""

    user_id: int
    ssrc: int = 0


class ConnectedUsers(Struct):
    """Payload of CLIENTS_CONNECT: users who are in the call or joined it."""

    user_ids: list[int] = []


class DisconnectedUser(Struct):
    """Payload of CLIENT_DISCONNECT: a user who left the call."""

    user_id: int


class DaveTransition(Struct):
    """Payload of the DAVE transition and epoch messages."""

    transition_id: int = 0
    protocol_version: int = DAVE_VERSION
    epoch: int = 0
