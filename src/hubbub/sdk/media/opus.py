"""Opus encoder and decoder using PyAV's libopus: frames of 20 ms, 48 kHz, stereo."""

from array import array
from fractions import Fraction
from typing import Final

import av
from av import AudioFrame, Packet
from av.audio.codeccontext import AudioCodecContext

from hubbub.media.rtp import PACKET_BYTES_MAX
from hubbub.sdk.audio import CHANNELS, SAMPLE_RATE, SAMPLES_PER_CHANNEL

BITRATE: Final = 64_000
"""Bits per second of the encoded audio."""
DECODED_BYTES_MAX: Final = 6 * SAMPLES_PER_CHANNEL * CHANNELS * 2
"""Maximum size of a decoded Opus frame, 120 ms, in bytes."""


class OpusError(Exception):
    """Raised when data cannot be encoded or decoded as Opus."""


class Encoder:
    """Opus encoder for the microphone."""

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "w")
        assert isinstance(codec, AudioCodecContext)
        codec.sample_rate = SAMPLE_RATE
        codec.layout = "stereo"
        codec.format = "s16"
        codec.bit_rate = BITRATE
        codec.time_base = Fraction(1, SAMPLE_RATE)
        codec.options = {"application": "voip", "frame_duration": "20"}
        codec.open()
        self._codec = codec
        self._position = 0
        """Number of samples per channel that were encoded."""

    def encode(self, samples: "array[int]") -> list[bytes]:
        """Encode 20 ms of samples; the first call may return no frame because of the encoder's delay."""
        frame = AudioFrame(format="s16", layout="stereo", samples=SAMPLES_PER_CHANNEL)
        frame.sample_rate = SAMPLE_RATE
        frame.pts = self._position
        self._position += SAMPLES_PER_CHANNEL
        frame.planes[0].update(samples.tobytes())
        try:
            return [bytes(packet) for packet in self._codec.encode(frame)]
        except av.FFmpegError as error:
            raise OpusError(str(error)) from error


class Decoder:
    """Opus decoder of one speaker."""

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "r")
        assert isinstance(codec, AudioCodecContext)
        codec.sample_rate = SAMPLE_RATE
        codec.layout = "stereo"
        codec.open()
        self._codec = codec

    def decode(self, frame: bytes) -> bytes:
        """Decode a frame to interleaved 16-bit samples of at most 120 ms."""
        if not 0 < len(frame) <= PACKET_BYTES_MAX:
            raise OpusError(f"Invalid frame size: {len(frame)} bytes")
        try:
            chunks = [
                bytes(audio_frame.planes[0])[: audio_frame.samples * CHANNELS * 2]
                for audio_frame in self._codec.decode(Packet(frame))
            ]
        except (av.FFmpegError, ValueError) as error:
            raise OpusError(str(error)) from error
        return b"".join(chunks)[:DECODED_BYTES_MAX]
