"""Native clients in calls with pages: each sends a tone, decrypts every received frame, and recognizes tones of others."""

import asyncio
import struct
from array import array
from collections import deque
from fractions import Fraction
from typing import Any

import av
import davey
from av import AudioFrame
from av.audio.codeccontext import AudioCodecContext

from hubbub.media.rtp import OPUS_PAYLOAD_TYPE
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.voice import VoiceOpcode
from hubbub.sdk.audio import CHANNELS, SAMPLE_RATE
from hubbub.sdk.media.opus import Decoder
from tests.sdk.audio import WINDOW_SAMPLES, Tone, tone_share
from tests.server.voice.caller import SILENCE, Caller, DatagramQueue, decrypt_packet, encrypt_packet, is_media_packet
from tests.server.voice.encrypted_caller import EncryptedCaller

TIMEOUT_SECONDS = 60.0
FRAME_SECONDS = 0.06
"""Duration of a sent frame; the longest one of Opus, because the clients of a large call share one thread with the server."""
FRAME_SAMPLES = int(FRAME_SECONDS * SAMPLE_RATE)
"""Samples per channel of a sent frame."""
LOOP_FRAMES = 5
"""Number of frames that are sent over and over; a tone of a multiple of 20 Hz has no gap after them."""
HEARTBEAT_FRAMES = 80
"""Number of sent frames between two heartbeats on the voice gateway and on the main gateway."""
DECODED_FRAMES = 12
"""Number of successive frames that are decoded to recognize a tone; the decoder needs some of them to start."""
SILENT_FRAMES = 48
"""Number of frames of another user without one of a user after which that user counts as silent."""


def encode_tone(hertz: int, frame_seconds: float = FRAME_SECONDS) -> list[bytes]:
    """Return `LOOP_FRAMES` Opus frames of a tone, each of which lasts 0.02 or 0.06 seconds."""
    frame_samples = int(frame_seconds * SAMPLE_RATE)
    codec = av.CodecContext.create("libopus", "w")
    assert isinstance(codec, AudioCodecContext)
    codec.sample_rate, codec.layout, codec.format, codec.bit_rate = SAMPLE_RATE, "stereo", "s16", 32_000
    codec.time_base = Fraction(1, SAMPLE_RATE)
    codec.options = {"application": "audio", "frame_duration": str(int(1000 * frame_seconds))}
    codec.open()
    tone, frames = Tone(hertz), []
    while len(frames) < 2 * LOOP_FRAMES:
        samples = array("h", bytes(frame_samples * CHANNELS * 2))
        tone(samples, frame_samples, SAMPLE_RATE, CHANNELS)
        frame = AudioFrame(format="s16", layout="stereo", samples=frame_samples)
        frame.sample_rate, frame.pts = SAMPLE_RATE, tone.position - frame_samples
        frame.planes[0].update(samples.tobytes())
        frames += [bytes(packet) for packet in codec.encode(frame)]
    # The first frames contain the start of the tone.
    return frames[-LOOP_FRAMES:]


class NativeMember(EncryptedCaller):
    """A native client that sends a tone from `start_media` to `stop` and stores the latest frames of each user."""

    def __init__(self, caller: Caller, channel_id: int, hertz: int) -> None:
        super().__init__(caller, channel_id)
        self.hertz = hertz
        self.undecryptable_count = 0
        """Number of frames of group members that could not be decrypted."""
        self.group_ids: set[int] = set()
        """The IDs of the members of the group; empty while there is no group."""
        self._senders: dict[int, int] = {}
        """IDs of users by the SSRC of their audio."""
        self._recent_frames: dict[int, deque[bytes]] = {}
        """The latest decrypted frames by user ID."""
        self._frame_arrived = asyncio.Event()
        self._sending_task: asyncio.Task[None] | None = None

    @property
    def id(self) -> int:
        """The ID of the user."""
        return self.caller.actor.id

    @property
    def code(self) -> str:
        """The privacy code of the group, without spaces; empty while there is no group."""
        return (self.dave_session.voice_privacy_code or "").replace(" ", "")

    def start_media(self) -> None:
        """Start to send the tone and to receive the others."""
        # Members that were in the call before were announced while the caller connected.
        for frame in self.caller.frames:
            self._record_sender(frame)
        # Datagrams are handled when they arrive instead of being queued.
        self.caller.datagrams.datagram_received = self._receive_datagram  # type: ignore[method-assign]
        self._sending_task = asyncio.create_task(self._send_tone())

    async def stop(self) -> None:
        """Stop to send media, and stop reading the socket."""
        if self._sending_task is not None:
            self._sending_task.cancel()
            await asyncio.gather(self._sending_task, return_exceptions=True)
        await super().stop()

    async def close(self) -> None:
        """Stop, and close the sockets; the call removes the member."""
        await self.stop()
        await self.caller.close()
        # The caller can join again with another socket.
        self.caller.udp_transport, self.caller.datagrams = None, DatagramQueue()

    async def leave(self) -> None:
        """Leave the call."""
        await self.caller.update_voice_state(None)
        await self.wait_removed()

    async def wait_removed(self) -> None:
        """Wait until the server has removed this member from the call, and close the sockets."""
        own_id = str(self.id)
        await self.caller.session.next(
            "VOICE_STATE_UPDATE", lambda state: state["user_id"] == own_id and state["channel_id"] is None
        )
        await self.close()

    async def _handle_frame(self, frame: Any) -> None:
        self._record_sender(frame)
        await super()._handle_frame(frame)
        session = self.dave_session
        self.group_ids = {int(user_id) for user_id in session.get_user_ids() or ()} if session.ready else set()

    def _record_sender(self, frame: Any) -> None:
        if isinstance(frame, dict) and frame["op"] == VoiceOpcode.SPEAKING:
            self._senders[frame["d"]["ssrc"]] = int(frame["d"]["user_id"])

    async def _send_tone(self) -> None:
        frames, loop, caller = encode_tone(self.hertz), asyncio.get_running_loop(), self.caller
        ssrc, send_at, number = caller.ready["ssrc"], loop.time(), 0
        while True:
            if number % HEARTBEAT_FRAMES == 0:
                await caller.send_json(VoiceOpcode.HEARTBEAT, {"t": number, "seq_ack": -1})
                await caller.session.send(GatewayOpcode.HEARTBEAT, None)
            if self.dave_session.ready:
                timestamp = number * FRAME_SAMPLES & 0xFFFFFFFF
                header = struct.pack(">BBHII", 0x80, OPUS_PAYLOAD_TYPE, number & 0xFFFF, timestamp, ssrc)
                body = bytes(self.dave_session.encrypt_opus(frames[number % LOOP_FRAMES]))
                caller.send_datagram(encrypt_packet(caller.mode, caller.secret_key, header, body, number))
            number += 1
            # A busy machine may delay frames; later frames are not sent in a burst, which would delay it more.
            send_at = max(send_at + FRAME_SECONDS, loop.time())
            await asyncio.sleep(send_at - loop.time())

    def _receive_datagram(self, data: bytes, _address: Any) -> None:
        user_id = self._senders.get(int.from_bytes(data[8:12], "big"))
        if not is_media_packet(data) or user_id not in self.group_ids:
            return
        assert user_id is not None
        frame = decrypt_packet(self.caller.mode, self.caller.secret_key, data)
        if frame == SILENCE:
            return
        try:
            plain = bytes(self.dave_session.decrypt(user_id, davey.MediaType.audio, frame))
        except ValueError:
            self.undecryptable_count += 1
            return
        self._recent_frames.setdefault(user_id, deque(maxlen=DECODED_FRAMES)).append(plain)
        self._frame_arrived.set()

    async def wait_tone(self, user_id: int, hertz: int) -> None:
        """Wait until new audio of a user is a tone."""
        share = 0.0
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while share < 0.8:
                    self._recent_frames.pop(user_id, None)
                    while len(self._recent_frames.get(user_id, ())) < DECODED_FRAMES:
                        await self._wait_frame()
                    decoder, samples = Decoder(), array("h")
                    for frame in self._recent_frames[user_id]:
                        samples.frombytes(decoder.decode(frame))
                    share = tone_share(samples[-WINDOW_SAMPLES:], hertz)
        except TimeoutError:
            raise AssertionError(f"share of {hertz} Hz of user {user_id}: {share}") from None

    async def wait_silence(self, user_id: int, speaker_id: int) -> None:
        """Wait until many frames of a speaker arrive in succession without one of another user."""
        frames = self._recent_frames
        async with asyncio.timeout(TIMEOUT_SECONDS):
            count = 0
            while count < SILENT_FRAMES:
                frames.pop(user_id, None)
                frames.pop(speaker_id, None)
                while user_id not in frames and len(frames.get(speaker_id, ())) < DECODED_FRAMES:
                    await self._wait_frame()
                count = 0 if user_id in frames else count + DECODED_FRAMES

    async def _wait_frame(self) -> None:
        self._frame_arrived.clear()
        await self._frame_arrived.wait()
