"""The voice gateway's words: opcodes, encryption modes and the payloads of its frames (voice.md 3). Close codes are
`enums.VoiceCloseCode`."""

from enum import IntEnum, IntFlag
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from hubbub.protocol import wire
from hubbub.protocol.ids import ChannelId, Snowflake, UserId

OLDEST_VERSION: Final = 4
"""Versions below were discontinued (changes.VOICE_VERSIONS)."""
BUFFERED_VERSION: Final = 8
"""From here on messages are numbered, and those missed are told again after a Resume."""
NEWEST_VERSION: Final = 9
SEQ_MOST: Final = 0xFFFF
"""Numbers of messages run from 1 to here, then from 1 again."""
DAVE_VERSION: Final = 1
"""The newest version of end-to-end encryption; 0 is none."""


class VoiceOpcode(IntEnum):
    """What a frame of the voice gateway is."""

    IDENTIFY = 0
    SELECT_PROTOCOL = 1
    READY = 2
    HEARTBEAT = 3
    SESSION_DESCRIPTION = 4
    SPEAKING = 5
    HEARTBEAT_ACK = 6
    RESUME = 7
    HELLO = 8
    RESUMED = 9
    CLIENTS_CONNECT = 11
    VIDEO = 12
    CLIENT_DISCONNECT = 13
    SESSION_UPDATE = 14
    MEDIA_SINK_WANTS = 15
    BACKEND_VERSION = 16
    CLIENT_FLAGS = 18
    CLIENT_PLATFORM = 20
    DAVE_PREPARE_TRANSITION = 21
    DAVE_EXECUTE_TRANSITION = 22
    DAVE_TRANSITION_READY = 23
    DAVE_PREPARE_EPOCH = 24
    MLS_EXTERNAL_SENDER = 25
    MLS_KEY_PACKAGE = 26
    MLS_PROPOSALS = 27
    MLS_COMMIT_WELCOME = 28
    MLS_ANNOUNCE_COMMIT = 29
    MLS_WELCOME = 30
    MLS_INVALID_COMMIT_WELCOME = 31
    NO_ROUTE = 32


BINARY_OPCODES: Final = frozenset({VoiceOpcode.MLS_KEY_PACKAGE, VoiceOpcode.MLS_COMMIT_WELCOME})
"""What clients say in binary frames: `u8 opcode`, then the payload."""

AES_GCM: Final = "aead_aes256_gcm_rtpsize"
XCHACHA20: Final = "aead_xchacha20_poly1305_rtpsize"
MODES: Final = (AES_GCM, XCHACHA20)
"""Encryption of packets between client and server. Clients take the first of these that they know."""
OLD_MODES: Final = (
    "aead_aes256_gcm",
    "xsalsa20_poly1305_lite_rtpsize",
    "xsalsa20_poly1305_lite",
    "xsalsa20_poly1305_suffix",
    "xsalsa20_poly1305",
)
"""Discontinued modes (changes.VOICE_ENCRYPTION)."""


class SpeakingFlags(IntFlag):
    """How somebody speaks."""

    VOICE = 1
    SOUNDSHARE = 2
    PRIORITY = 4


class Frame(Struct):
    """A client's frame of text; other keys are ignored."""

    op: int
    d: Raw = Raw(b"null")


class Numbered(Struct, kw_only=True):
    """A frame of the server, with its number where it can be told again."""

    op: int
    d: Any
    seq: int | UnsetType = UNSET


# What clients say


class Stream(Struct, kw_only=True):
    """One video stream of a client."""

    type: str = "video"
    rid: str = "100"
    quality: int = 100
    active: bool = False
    ssrc: int = 0
    rtx_ssrc: int = 0


class Identify(Struct, kw_only=True):
    """Presents the ticket that VOICE_SERVER_UPDATE brought."""

    server_id: Snowflake
    """The guild."""
    user_id: UserId
    session_id: str
    """Of the voice state."""
    token: str
    max_dave_protocol_version: int | None = None
    """The newest end-to-end encryption that the client speaks."""
    video: bool | None = False
    streams: list[Stream] | None = None
    channel_id: ChannelId | None = None
    """From version 9 on."""


class Resume(Struct, kw_only=True):
    """Goes on with a session after its connection broke."""

    server_id: Snowflake
    session_id: str
    token: str
    seq_ack: int | None = -1
    """The last number seen; -1 and none: nothing."""
    channel_id: ChannelId | None = None


class Transport(Struct, kw_only=True):
    """How the client wants its packets."""

    mode: str
    address: str = ""
    port: int = 0


class SelectProtocol(Struct, kw_only=True):
    """Chooses the transport. What `data` is depends on the protocol."""

    protocol: str
    data: Raw = Raw(b"null")


class Heartbeat(Struct, kw_only=True):
    """From version 8 on."""

    t: int
    seq_ack: int | None = -1


class SetSpeaking(Struct, kw_only=True):
    """Begins or ends to speak."""

    speaking: int | bool
    delay: int | None = 0
    ssrc: int | None = 0


class SetVideo(Struct, kw_only=True):
    """Which streams a client sends now; 0 is none."""

    audio_ssrc: int = 0
    video_ssrc: int = 0
    rtx_ssrc: int = 0
    streams: list[Stream] = []


class TransitionDone(Struct, kw_only=True):
    """A client is ready for a transition, or could not use its commit or welcome."""

    transition_id: int


# What the server says


class Hello(Struct, kw_only=True):
    """The first frame of a connection."""

    v: int
    heartbeat_interval: int
    """Milliseconds."""


class Ready(Struct, kw_only=True):
    """Where packets go, and under which number."""

    ssrc: int
    ip: str
    port: int
    modes: list[str]
    experiments: list[str] = []
    streams: list[Stream] = []


class SessionDescription(Struct, kw_only=True):
    """The key of this connection's packets."""

    mode: str
    secret_key: list[int]
    dave_protocol_version: int
    media_session_id: str
    audio_codec: str = "opus"
    video_codec: str = "H264"


class Acknowledged(Struct, kw_only=True):
    """The answer to a heartbeat, from version 8 on."""

    t: int


class ClientsConnect(Struct, kw_only=True):
    """Who is in the call, or came to it."""

    user_ids: list[UserId]


class ClientDisconnect(Struct, kw_only=True):
    """Who left the call."""

    user_id: UserId


class Speaking(Struct, kw_only=True):
    """Somebody else speaks, or no longer does."""

    speaking: int
    ssrc: int
    user_id: UserId


class Video(Struct, kw_only=True):
    """Which streams somebody else sends."""

    user_id: UserId
    audio_ssrc: int
    video_ssrc: int
    streams: list[Stream] = []


class ClientFlags(Struct, kw_only=True):
    """What somebody's client allows; null where it has not said."""

    user_id: UserId
    flags: int | None = None


class ClientPlatform(Struct, kw_only=True):
    """What somebody's client runs on; null where it has not said."""

    user_id: UserId
    platform: int | None = None


class BackendVersion(Struct, kw_only=True):
    """What the voice server is."""

    voice: str
    rtc_worker: str


def numbered(op: int, payload: object, seq: int | None) -> bytes:
    """A server's frame of text."""
    return wire.encode(Numbered(op=op, d=payload, seq=UNSET if seq is None else seq))


def binary(op: int, payload: bytes, seq: int) -> bytes:
    """A server's binary frame."""
    return seq.to_bytes(2, "big") + bytes((op,)) + payload
