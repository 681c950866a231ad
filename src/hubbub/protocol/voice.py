"""Voice gateway: opcodes, encryption modes, frames and payloads (spec/voice.md#3). `enums.VoiceCloseCode` has its close codes."""

from enum import IntEnum, IntFlag
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, Snowflake, UserId

OLDEST_VERSION: Final = 4
"""Lowest supported gateway version (changes.VOICE_VERSIONS)."""
BUFFERED_VERSION: Final = 8
"""Version from which messages are numbered, and missed messages are sent again after Resume."""
NEWEST_VERSION: Final = 9
"""Highest supported gateway version."""
SEQ_MAX: Final = 0xFFFF
"""Highest sequence number; the next one is 1."""
DAVE_VERSION: Final = 1
"""Newest version of the end-to-end encryption protocol; 0 means none."""


class VoiceOpcode(IntEnum):
    """Opcode of a voice gateway frame."""

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
"""Opcodes that clients send in binary frames: `u8 opcode`, then the payload."""

AES_GCM: Final = "aead_aes256_gcm_rtpsize"
XCHACHA20: Final = "aead_xchacha20_poly1305_rtpsize"
ENCRYPTION_MODES: Final = (AES_GCM, XCHACHA20)
"""Transport encryption modes in order of preference; clients use the first that they support."""
OLD_ENCRYPTION_MODES: Final = (
    "aead_aes256_gcm",
    "xsalsa20_poly1305_lite_rtpsize",
    "xsalsa20_poly1305_lite",
    "xsalsa20_poly1305_suffix",
    "xsalsa20_poly1305",
)
"""Discontinued transport encryption modes (changes.VOICE_ENCRYPTION)."""


class SpeakingFlags(IntFlag):
    """Flags of a client's speaking state."""

    MICROPHONE = 1 << 0
    """The client transmits audio of the microphone."""
    SOUNDSHARE = 1 << 1
    """The client transmits the sound of a program, without a speaking indicator."""
    PRIORITY = 1 << 2
    """The user is a priority speaker: clients lower the volume of other users."""


class ClientFrame(Struct):
    """A text frame of a client; unknown keys are ignored."""

    op: int
    """Opcode of the frame."""
    d: Raw = Raw(b"null")
    """Payload of the frame."""


class ServerFrame(Struct, kw_only=True):
    """A text frame of the server."""

    op: int
    """Opcode of the frame."""
    d: Any
    """Payload of the frame."""
    seq: int | UnsetType = UNSET
    """Sequence number; absent for frames that are not sent again after Resume."""


# Payloads sent by clients


class Stream(Struct, kw_only=True):
    """A video stream of a client."""

    type: str = "video"
    """Type of the stream: `video` or `screen`."""
    rid: str = "100"
    """RTP stream ID, which distinguishes the qualities of simulcast."""
    quality: int = 100
    """Quality of the stream, 0 to 100."""
    active: bool = False
    """Whether the stream is being sent."""
    ssrc: int = 0
    """SSRC of the stream."""
    rtx_ssrc: int = 0
    """SSRC of the retransmission stream."""


class VoiceIdentify(Struct, kw_only=True):
    """Payload that starts a voice session with the token from VOICE_SERVER_UPDATE."""

    server_id: Snowflake
    """ID of the guild, private channel or lobby."""
    user_id: UserId
    """ID of the user."""
    session_id: str
    """Session ID of the user's voice state."""
    token: str
    """Token from VOICE_SERVER_UPDATE."""
    max_dave_protocol_version: int | None = None
    """Newest end-to-end encryption version that the client supports; null or 0 for none."""
    video: bool | None = False
    """Whether the client supports video."""
    streams: list[Stream] | None = None
    """Video streams that the client may send."""
    channel_id: ChannelId | None = None
    """ID of the channel; from version 9 on."""


class VoiceResume(Struct, kw_only=True):
    """Payload that resumes a voice session on a new connection."""

    server_id: Snowflake
    """ID of the guild, private channel or lobby."""
    session_id: str
    """Session ID of the user's voice state."""
    token: str
    """Token of the session."""
    seq_ack: int | None = -1
    """Last sequence number that the client received; -1 or null for none."""
    channel_id: ChannelId | None = None
    """ID of the channel; from version 9 on."""


class Transport(Struct, kw_only=True):
    """UDP transport settings of a client."""

    mode: str
    """Transport encryption mode."""
    address: str = ""
    """External IP address of the client."""
    port: int = 0
    """External UDP port of the client."""


class Codec(Struct, kw_only=True):
    """A codec that a client sends and receives."""

    name: str
    """Name of the codec, such as "opus" or "H264"."""
    type: str = "audio"
    """Type of the codec: `audio` or `video`."""
    priority: int = 1000
    """Preference of the client; lower values are preferred."""
    payload_type: int
    """RTP payload type of the codec."""
    rtx_payload_type: int | None = None
    """RTP payload type of retransmitted packets; null for none."""


class SelectProtocol(Struct, kw_only=True):
    """Payload that selects the transport protocol."""

    protocol: str
    """Transport protocol: `udp` or `webrtc`."""
    data: Raw = Raw(b"null")
    """Transport settings: `Transport` for `udp`, an SDP offer for `webrtc`."""
    codecs: Raw = Raw(b"null")
    """Codecs of the client; null to use those of the offer, ignored for `udp`."""


class Heartbeat(Struct, kw_only=True):
    """A heartbeat; from version 8 on."""

    t: int
    """Nonce that the acknowledgment returns."""
    seq_ack: int | None = -1
    """Last sequence number that the client received; -1 or null for none."""


class SetSpeaking(Struct, kw_only=True):
    """Payload that updates the speaking state of the client."""

    speaking: int | bool
    """A `SpeakingFlags` bit set; 0 when the client stops speaking."""
    delay: int | None = 0
    """Always 0."""
    ssrc: int | None = 0
    """SSRC of the client's audio."""


class SetVideo(Struct, kw_only=True):
    """Payload that updates the video streams of the client."""

    audio_ssrc: int = 0
    """SSRC of the audio stream."""
    video_ssrc: int = 0
    """SSRC of the video stream; 0 for none."""
    rtx_ssrc: int = 0
    """SSRC of the retransmission stream; 0 for none."""
    streams: list[Stream] = []
    """Video streams that the client sends."""


class TransitionReport(Struct, kw_only=True):
    """Report that a client is ready for a transition, or that it rejected its commit or welcome."""

    transition_id: int
    """ID of the transition."""


# Payloads sent by the server


class StreamViewers(Struct, kw_only=True):
    """The users who watch the screen that the client shares."""

    any: int
    """Quality that a viewer wants, from 0 to 100; 0 if there are no viewers."""
    viewer_ids: list[UserId]
    """IDs of the users who watch the screen."""


class VoiceHello(Struct, kw_only=True):
    """First frame of a connection."""

    v: int
    """Version of the voice gateway."""
    heartbeat_interval: int
    """Interval in milliseconds at which the client sends heartbeats."""


class VoiceReady(Struct, kw_only=True):
    """Transport address of the voice server, and the client's SSRC."""

    ssrc: int
    """SSRC of the client's audio."""
    ip: str
    """IP address of the voice server."""
    port: int
    """UDP port of the voice server."""
    modes: list[str]
    """Transport encryption modes in order of preference."""
    experiments: list[str] = []
    """Enabled experiments; always empty."""
    streams: list[Stream] = []
    """Video streams with the SSRCs assigned to them."""


class SessionDescription(Struct, kw_only=True):
    """Encryption key and codecs of the connection."""

    mode: str
    """Selected transport encryption mode."""
    secret_key: list[int]
    """Key of the transport encryption, as 32 byte values."""
    dave_protocol_version: int
    """Version of the call's end-to-end encryption; 0 for none."""
    media_session_id: str
    """ID of the media session."""
    audio_codec: str = "opus"
    """Audio codec; always "opus"."""
    video_codec: str = "H264"
    """Video codec; always "H264"."""


class WebRtcDescription(Struct, kw_only=True):
    """Description of the server for the SDP answer of a browser."""

    sdp: str
    """ICE credentials, certificate fingerprint and address of the voice server."""
    dave_protocol_version: int
    """Version of the call's end-to-end encryption; 0 for none."""
    media_session_id: str
    """ID of the media session."""
    audio_codec: str = "opus"
    """Audio codec; always "opus"."""
    video_codec: str = "H264"
    """Video codec of the offer; "H264" if the offer has none."""


class HeartbeatAck(Struct, kw_only=True):
    """Acknowledgment of a heartbeat; from version 8 on."""

    t: int
    """Nonce of the heartbeat."""


class ClientsConnect(Struct, kw_only=True):
    """Users who are in the call or joined it."""

    user_ids: list[UserId]
    """IDs of the users."""


class ClientDisconnect(Struct, kw_only=True):
    """A user who left the call."""

    user_id: UserId
    """ID of the user."""


class Speaking(Struct, kw_only=True):
    """The speaking state of another user."""

    speaking: int
    """A `SpeakingFlags` bit set; 0 when the user stops speaking."""
    ssrc: int
    """SSRC of the user's audio."""
    user_id: UserId
    """ID of the user."""


class Video(Struct, kw_only=True):
    """The video streams of another user."""

    user_id: UserId
    """ID of the user."""
    audio_ssrc: int
    """SSRC of the audio stream."""
    video_ssrc: int
    """SSRC of the video stream; 0 for none."""
    streams: list[Stream] = []
    """Video streams that the user sends."""


class ClientFlags(Struct, kw_only=True):
    """Client flags of another user."""

    user_id: UserId
    """ID of the user."""
    flags: int | None = None
    """Flags of the client; null if unknown."""


class ClientPlatform(Struct, kw_only=True):
    """Client platform of another user."""

    user_id: UserId
    """ID of the user."""
    platform: int | None = None
    """Platform of the client; null if unknown."""


class BackendVersion(Struct, kw_only=True):
    """Versions of the voice server."""

    voice: str
    """Version of the voice gateway."""
    rtc_worker: str
    """Version of the media server."""


class PrepareTransition(Struct, frozen=True):
    """Request to prepare for a transition of the end-to-end encryption to a protocol version."""

    protocol_version: int
    """Version of the end-to-end encryption after the transition; 0 for none."""
    transition_id: int
    """ID of the transition; 0 if clients do not report that they are ready."""


class ExecuteTransition(Struct, frozen=True):
    """Request to execute a transition, because all clients are ready or its time is over."""

    transition_id: int
    """ID of the transition."""


class PrepareEpoch(Struct, frozen=True):
    """Request to start a new group and to send a new key package."""

    protocol_version: int
    """Version of the end-to-end encryption of the group."""
    epoch: int = 1
    """Epoch of the group; 1 for a new group."""


def encode_frame(op: int, payload: object, seq: int | None) -> bytes:
    """Encode a text frame of the server; `seq` is None for a frame without a sequence number."""
    return codec.encode(ServerFrame(op=op, d=payload, seq=UNSET if seq is None else seq))


def encode_binary_frame(op: int, payload: bytes, seq: int) -> bytes:
    """Encode a binary frame of the server: sequence number, opcode and payload."""
    return seq.to_bytes(2, "big") + bytes((op,)) + payload
