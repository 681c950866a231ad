"""End-to-end encrypted VP8 video of native clients in calls with pages: frames, and their packets (RFC 7741)."""

import asyncio
import struct
from fractions import Fraction

import av
import davey
from av import VideoFrame
from av.video.codeccontext import VideoCodecContext

from hubbub.protocol.voice import VoiceOpcode
from tests.server.voice.caller import decrypt_packet, encrypt_packet
from tests.server.voice.encrypted_caller import EncryptedCaller

VP8_PAYLOAD_TYPE = 103
MARKER = 0x80
"""Bit of the payload type in the last packet of a frame."""
WIDTH, HEIGHT = 320, 240
FRAMES_PER_SECOND, KEY_FRAME_INTERVAL = 10, 5
CLOCK_RATE = 90_000
FRAGMENT_BYTES = 1000
"""Maximum number of bytes of a frame in one packet."""
_FRAME_START = 0x10
"""Bit of the first byte of a payload descriptor: the packet starts a partition of the frame."""
_HAS_EXTENSION = 0x80
RED, GREEN, BLUE = 0, 1, 2
"""Channels of a pixel."""


def encode_green_frames(count: int) -> list[bytes]:
    """Return VP8 frames of a green picture that changes; each `KEY_FRAME_INTERVAL`th one is a key frame."""
    codec = av.CodecContext.create("libvpx", "w")
    assert isinstance(codec, VideoCodecContext)
    codec.width, codec.height, codec.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    codec.time_base, codec.bit_rate, codec.gop_size = Fraction(1, FRAMES_PER_SECOND), 300_000, KEY_FRAME_INTERVAL
    codec.options = {"deadline": "realtime", "lag-in-frames": "0"}
    codec.open()
    frames: list[bytes] = []
    for number in range(count):
        picture = VideoFrame(WIDTH, HEIGHT, "rgb24")
        pixel = bytes((0, 160 + 10 * (number % 8), 0))
        picture.planes[0].update(pixel * (picture.planes[0].buffer_size // 3))
        picture.pts, picture.time_base = number, codec.time_base
        frames += [bytes(packet) for packet in codec.encode(picture.reformat(format="yuv420p"))]
    return frames


def remove_descriptor(payload: bytes) -> bytes:
    """Return the part of a VP8 frame in the payload of a packet."""
    start = 1
    if payload[0] & _HAS_EXTENSION:
        extensions = payload[1]
        start = 2
        if extensions & 0x80:
            # The picture ID has one or two bytes.
            start += 2 if payload[start] & 0x80 else 1
        start += bool(extensions & 0x40) + bool(extensions & 0x30)
    return payload[start:]


class NativeVideo:
    """The camera and the viewer of a native client."""

    def __init__(self, member: EncryptedCaller) -> None:
        self._member = member
        self._sequence = 0

    async def announce(self) -> None:
        """Announce a camera to the other members."""
        caller = self._member.caller
        ssrc = caller.ready["ssrc"] + 1
        stream = {"type": "video", "rid": "100", "quality": 100, "active": True, "ssrc": ssrc, "rtx_ssrc": 0}
        await caller.send_json(
            VoiceOpcode.VIDEO, {"audio_ssrc": ssrc - 1, "video_ssrc": ssrc, "rtx_ssrc": 0, "streams": [stream]}
        )

    async def send(self) -> None:
        """Send a green picture until the task is canceled."""
        frames = encode_green_frames(4 * KEY_FRAME_INTERVAL)
        number = 0
        while True:
            self._send_frame(frames[number % len(frames)], number * CLOCK_RATE // FRAMES_PER_SECOND)
            number += 1
            await asyncio.sleep(1 / FRAMES_PER_SECOND)

    def _send_frame(self, frame: bytes, timestamp: int) -> None:
        caller = self._member.caller
        encrypted_frame = bytes(self._member.dave_session.encrypt(davey.MediaType.video, davey.Codec.vp8, frame))
        for start in range(0, len(encrypted_frame), FRAGMENT_BYTES):
            fragment = encrypted_frame[start : start + FRAGMENT_BYTES]
            is_last = start + FRAGMENT_BYTES >= len(encrypted_frame)
            self._sequence += 1
            caller.last_nonce += 1
            header = struct.pack(
                ">BBHII",
                0x80,
                VP8_PAYLOAD_TYPE | (MARKER if is_last else 0),
                self._sequence & 0xFFFF,
                timestamp & 0xFFFFFFFF,
                caller.ready["ssrc"] + 1,
            )
            descriptor = bytes((_FRAME_START if start == 0 else 0,))
            packet = encrypt_packet(caller.mode, caller.secret_key, header, descriptor + fragment, caller.last_nonce)
            caller.send_datagram(packet)

    async def receive_pictures(self, user_id: int, count: int) -> list[tuple[int, ...]]:
        """Decrypt and decode frames of a user; return one pixel of the lower left part of each."""
        decoder = av.CodecContext.create("vp8", "r")
        assert isinstance(decoder, VideoCodecContext)
        pixels: list[tuple[int, ...]] = []
        has_key_frame = False
        while len(pixels) < count:
            encrypted_frame = await self._receive_frame()
            frame = bytes(self._member.dave_session.decrypt(user_id, davey.MediaType.video, encrypted_frame))
            # The lowest bit of a VP8 frame is 0 in key frames.
            has_key_frame = has_key_frame or not frame[0] & 1
            if not has_key_frame:
                continue
            for picture in decoder.decode(av.Packet(frame)):
                plane = picture.reformat(format="rgb24").planes[0]
                offset = plane.line_size * (picture.height * 3 // 4) + 3 * (picture.width // 4)
                pixels.append(tuple(bytes(plane)[offset : offset + 3]))
        return pixels

    async def _receive_frame(self) -> bytes:
        """Return the next complete frame, which is still end-to-end encrypted."""
        caller, parts = self._member.caller, list[bytes]()
        while True:
            packet = await caller.receive_datagram(
                lambda data: data[0] >> 6 == 2 and data[1] & ~MARKER == VP8_PAYLOAD_TYPE
            )
            payload = decrypt_packet(caller.mode, caller.secret_key, packet)
            if payload[0] & _FRAME_START and not payload[0] & 0x07:
                parts.clear()
            parts.append(remove_descriptor(payload))
            if packet[1] & MARKER:
                return b"".join(parts)
