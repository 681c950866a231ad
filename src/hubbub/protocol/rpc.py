"""Local RPC: addresses, limits, frames, commands, close codes and errors (spec/rpc.md#3).

The scopes of commands and events are in `rpc_scopes.py`, which games do not load.

A frame consists of an opcode and a length, both 32-bit little-endian integers, and a JSON payload of that length.
"""

import struct
from enum import IntEnum
from typing import Any, Final

import msgspec

VERSION: Final = 1
"""Version of the RPC protocol, which a handshake must name."""
SOCKET_PREFIX: Final = "hubbub"
"""Prefix of Hubbub's own sockets, `hubbub-ipc-0` to `hubbub-ipc-9`."""
COMPATIBLE_SOCKET_PREFIX: Final = "discord"
"""Socket prefix that unmodified client libraries look for (spec/rpc.md#2)."""
SOCKET_INDEXES: Final = range(10)
WEBSOCKET_PORTS: Final = range(6463, 6473)

HEADER: Final = struct.Struct("<II")
"""Header of a frame: the opcode and the length of the payload in bytes."""
PROGRAM_FRAME_BYTES_MAX: Final = 64 * 1024
"""Maximum payload size in bytes of a frame that a program sends; frames of the agent may be larger."""
HANDSHAKE_TIMEOUT_SECONDS: Final = 10
ACTIVITY_UPDATES_MAX: Final = 5
"""Maximum number of activity updates of a connection per ACTIVITY_UPDATES_WINDOW_SECONDS."""
ACTIVITY_UPDATES_WINDOW_SECONDS: Final = 20
"""Window in seconds for ACTIVITY_UPDATES_MAX updates per connection (spec/rpc.md#8).

Of further updates only the last is applied, when the window ends.
"""


class Opcode(IntEnum):
    """Opcode of an RPC frame."""

    HANDSHAKE = 0
    FRAME = 1
    CLOSE = 2
    PING = 3
    PONG = 4


class CloseCode(IntEnum):
    """Close code of an RPC connection."""

    NORMAL = 1000
    UNSUPPORTED = 1003
    ABNORMAL = 1006
    INVALID_CLIENT_ID = 4000
    INVALID_ORIGIN = 4001
    RATE_LIMITED = 4002
    TOKEN_REVOKED = 4003
    INVALID_VERSION = 4004
    INVALID_ENCODING = 4005


INVALID_CLIENT_ID_MESSAGE: Final = "Invalid Client ID"
"""Message for an unknown client ID; pypresence compares the exact text (spec/rpc.md#4)."""


class RpcErrorCode(IntEnum):
    """Error code of an RPC command."""

    UNKNOWN = 1000
    SERVICE_UNAVAILABLE = 1001
    TRANSACTION_ABORTED = 1002
    INVALID_PAYLOAD = 4000
    INVALID_COMMAND = 4002
    INVALID_GUILD = 4003
    INVALID_EVENT = 4004
    INVALID_CHANNEL = 4005
    INVALID_PERMISSIONS = 4006
    INVALID_CLIENT_ID = 4007
    INVALID_ORIGIN = 4008
    INVALID_TOKEN = 4009
    INVALID_USER = 4010
    INVALID_INVITE = 4011
    INVALID_ACTIVITY_JOIN_REQUEST = 4012
    INVALID_LOBBY = 4013
    INVALID_LOBBY_SECRET = 4014
    INVALID_ENTITLEMENT = 4015
    INVALID_GIFT_CODE = 4016
    INVALID_GUILD_TEMPLATE = 4017
    INVALID_SOUND = 4018
    INVALID_PROVIDER = 4019
    INVALID_CONNECTION_CALLBACK_STATE = 4020
    BAD_REQUEST_FOR_PROVIDER = 4021
    OAUTH2_ERROR = 5000
    SELECT_CHANNEL_TIMED_OUT = 5001
    GET_GUILD_TIMED_OUT = 5002
    SELECT_VOICE_FORCE_REQUIRED = 5003
    CAPTURE_ALREADY_LISTENING = 5004
    INVALID_ACTIVITY_SECRET = 5005
    NO_ELIGIBLE_ACTIVITY = 5006
    LOBBY_FULL = 5007
    PURCHASE_CANCELLED = 5008
    PURCHASE_ERROR = 5009
    UNAUTHORIZED_FOR_ACHIEVEMENT = 5010
    RATE_LIMITED = 5011
    UNAUTHORIZED_FOR_APPLICATION = 5012
    NO_CONNECTION_FOUND = 5013


class RpcError(Exception):
    """Raised when an RPC command fails; the code and message are sent to the program."""

    def __init__(self, code: RpcErrorCode, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


class Request(msgspec.Struct, kw_only=True):
    """An RPC command; unknown keys are ignored (spec/rpc.md#5)."""

    cmd: str
    """Name of the command."""
    args: dict[str, Any] | None = None
    """Arguments of the command; may be absent or null."""
    evt: str | None = None
    """Name of the event; only for SUBSCRIBE and UNSUBSCRIBE, otherwise null or absent."""
    nonce: Any = None
    """Value that the response returns unchanged."""


def encode_frame(opcode: int, payload: Any) -> bytes:
    """Encode a frame with a JSON payload; send it in one write, because pypresence does not reassemble frames (spec/rpc.md#3)."""
    return pack_frame(opcode, msgspec.json.encode(payload))


def pack_frame(opcode: int, body: bytes) -> bytes:
    """Encode a frame with a payload that is already JSON."""
    return HEADER.pack(opcode, len(body)) + body
