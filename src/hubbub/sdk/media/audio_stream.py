"""Audio stream of one call, on the voice thread: sends the microphone, and receives and decodes other speakers."""

import socket
from array import array
from collections.abc import Callable
from typing import Final, Protocol

from hubbub.media.ciphers import PacketError
from hubbub.media.datagrams import keepalive
from hubbub.media.rtp import PACKET_BYTES_MAX, SILENCE_FRAME
from hubbub.sdk.audio import (
    CHANNELS,
    FRAME_BYTES,
    SAMPLE_RATE,
    SAMPLES_PER_CHANNEL,
    CapturedAudio,
    ReceivedAudio,
)
from hubbub.sdk.media import samples
from hubbub.sdk.media.encryption import CallEncryption
from hubbub.sdk.media.jitter_buffer import JitterBuffer
from hubbub.sdk.media.opus import Decoder, Encoder, OpusError
from hubbub.sdk.media.packets import PacketCodec
from hubbub.sdk.media.voice_gate import GateSettings, VoiceGate

TRAILING_SILENCE_FRAMES: Final = 5
"""Number of silence frames sent at the end of speech, the same as other clients send."""
KEEPALIVE_FRAMES: Final = 250
"""Number of frames without a packet, 5 seconds, after which a keepalive is sent."""
QUIET_FRAMES_MAX: Final = 10
"""Number of frames without audio after which a user counts as no longer speaking."""
DATAGRAMS_PER_READ_MAX: Final = 256
"""Maximum number of datagrams read per call, so that the voice thread stays on time."""
SPEAKERS_MAX: Final = 128
"""Maximum number of remote SSRCs of a call; each speaker has one."""
UNPLAYED_BYTES_MAX: Final = 25 * FRAME_BYTES
"""Maximum size of the decoded audio of one participant that waits to be played, in bytes."""
CONCEALMENT_FACTOR: Final = 0.5
"""Volume factor for repeating the previous frame in place of a lost one."""


class CallSettings(GateSettings, Protocol):
    """Settings of a call, read for every frame."""

    local_mutes: set[int]
    """User IDs of the participants who are muted on this machine."""
    volumes: dict[int, float]
    """Playback volumes in percent by user ID; 100 if a user is missing."""
    pans: dict[int, tuple[float, float]]
    """Volume factors of the left and right channel by user ID; 1 if a user is missing."""
    on_received_audio: ReceivedAudio | None
    """Callback of the game for the decoded audio of a participant, which may change or mute it; None if not set."""
    on_captured_audio: CapturedAudio | None
    """Callback of the game for microphone audio before it is sent, which may change it; None if not set."""

    @property
    def muted(self) -> bool:
        """Whether the microphone is muted."""

    @property
    def deaf(self) -> bool:
        """Whether playback is disabled."""


class AudioProcessing(Protocol):
    """Echo cancellation, noise suppression and gain control of the audio that a call sends."""

    def process(self, frame: "array[int]") -> "array[int]":
        """Return the processed samples of a captured frame."""

    def process_played(self, frame: bytes | None) -> None:
        """Pass a played frame to the echo cancellation; None is silence."""


class StreamStatistics:
    """Counters of a stream, for the voice log."""

    def __init__(self) -> None:
        self.packets_sent = 0
        """Number of packets passed to the socket, with keepalives and packets that the socket rejected."""
        self.packets_received = 0
        self.invalid_packets = 0
        """Number of received packets that could not be decrypted."""
        self.frames_played = 0
        self.frames_lost = 0
        """Number of frames of all participants that were lost, too late, or could not be decrypted or decoded."""
        self.undecryptable_frames = 0
        """Number of frames that the end-to-end encryption rejected."""

    def __str__(self) -> str:
        return (
            f"sent {self.packets_sent} packets, received {self.packets_received} ({self.invalid_packets} invalid), "
            f"played {self.frames_played} frames, lost {self.frames_lost} ({self.undecryptable_frames} undecryptable)"
        )


class RemoteParticipant:
    """The received audio of one remote participant: jitter buffer, decoder and concealment of lost frames."""

    def __init__(self, user_id: int, statistics: StreamStatistics) -> None:
        self.user_id = user_id
        self._statistics = statistics
        self.jitter = JitterBuffer()
        self.quiet_frames = QUIET_FRAMES_MAX
        """Number of frames since the last audio, at most `QUIET_FRAMES_MAX`."""
        self._decoder: Decoder | None = None
        self._unplayed = bytearray()
        """Decoded audio that was not played yet."""
        self._last_frame: array[int] | None = None
        """The last played frame, for concealment; None after silence."""

    @property
    def is_speaking(self) -> bool:
        """Whether audio was played in one of the last `QUIET_FRAMES_MAX` frames; a silence frame ends speech at once."""
        return self.quiet_frames < QUIET_FRAMES_MAX

    def next_frame(self, open_frame: Callable[[int, bytes], bytes | None]) -> "array[int] | None":
        """Return the next 20 ms of audio, or None for silence; `open_frame` decrypts a frame of a user."""
        self.quiet_frames = min(self.quiet_frames + 1, QUIET_FRAMES_MAX)
        if len(self._unplayed) < FRAME_BYTES:
            frame, is_lost = self.jitter.take()
            if frame is not None:
                opus_frame = open_frame(self.user_id, frame)
                if opus_frame is None or opus_frame == SILENCE_FRAME:
                    is_lost = opus_frame is None
                    self._statistics.undecryptable_frames += is_lost
                    if opus_frame == SILENCE_FRAME:
                        self.quiet_frames = QUIET_FRAMES_MAX
                        self._last_frame = None
                else:
                    is_lost = not self._decode(opus_frame)
            self._statistics.frames_lost += is_lost
            if is_lost and self._last_frame is not None:
                self._last_frame = samples.scale(self._last_frame, CONCEALMENT_FACTOR)
                return array("h", self._last_frame)
        if len(self._unplayed) < FRAME_BYTES:
            self._unplayed.clear()
            return None
        self.quiet_frames = 0
        self._statistics.frames_played += 1
        self._last_frame = samples.to_frame(bytes(self._unplayed[:FRAME_BYTES]))
        del self._unplayed[:FRAME_BYTES]
        return array("h", self._last_frame)

    def _decode(self, frame: bytes) -> bool:
        if self._decoder is None:
            self._decoder = Decoder()
        try:
            self._unplayed += self._decoder.decode(frame)
        except OpusError:
            return False
        del self._unplayed[UNPLAYED_BYTES_MAX:]
        return True


class AudioStream:
    """The audio packets of one voice session.

    `udp` is the socket to the voice server, `packet_codec` encrypts and decrypts its packets, and `user_id` is the current
    user. `on_speaking_changed` is called on the voice thread with the ID of a user, and whether the user starts or stops
    speaking."""

    def __init__(
        self,
        udp: socket.socket,
        packet_codec: PacketCodec,
        encryption: CallEncryption,
        settings: CallSettings,
        user_id: int,
        on_speaking_changed: Callable[[int, bool], None],
    ) -> None:
        self.udp = udp
        self.packet_codec = packet_codec
        self._encryption = encryption
        self._settings = settings
        self._user_id = user_id
        self._on_speaking_changed = on_speaking_changed
        self._gate = VoiceGate(settings)
        self._encoder: Encoder | None = None
        self._is_speaking = False
        self._silence_frames_left = 0
        """Number of silence frames still to send at the end of speech."""
        self._timestamp = 0
        """RTP timestamp of the current frame, in samples."""
        self._idle_frames = 0
        """Number of frames since the last sent packet."""
        self._keepalives_sent = 0
        self._user_ids: dict[int, int] = {}
        """User IDs by SSRC."""
        self._speakers: dict[int, RemoteParticipant] = {}
        """Participants whose audio arrived, by SSRC."""
        self.frames_since_packet = 0
        """Number of frames since the last packet of the server."""
        self.processor: AudioProcessing | None = None
        """Processing of the captured audio; None if the audio is sent as it is."""
        self.statistics = StreamStatistics()
        """Counters since the stream started, for the voice log."""
        self.is_removed = False
        """Whether the stream is to be removed from the voice thread."""

    # Methods for the network thread; each makes a single atomic assignment

    def set_user(self, ssrc: int, user_id: int) -> None:
        """Record the user of an SSRC; ignore a new SSRC if there are already `SPEAKERS_MAX`."""
        if ssrc in self._user_ids or len(self._user_ids) < SPEAKERS_MAX:
            self._user_ids[ssrc] = user_id

    def remove_user(self, user_id: int) -> None:
        """Remove the SSRCs of a user who left."""
        self._user_ids = {ssrc: owner_id for ssrc, owner_id in self._user_ids.items() if owner_id != user_id}

    # Methods for the voice thread

    def read_datagrams(self) -> None:
        """Read the datagrams that have arrived, at most `DATAGRAMS_PER_READ_MAX`, and buffer their audio."""
        for _ in range(DATAGRAMS_PER_READ_MAX):
            try:
                datagram = self.udp.recv(PACKET_BYTES_MAX)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                # The server is unreachable; the WebSocket connection decides whether that lasts.
                return
            self._receive(datagram)

    def _receive(self, datagram: bytes) -> None:
        """Decrypt a datagram and buffer its audio; drop invalid datagrams and audio of unknown users."""
        try:
            packet = self.packet_codec.open(datagram)
        except PacketError:
            self.statistics.invalid_packets += 1
            return
        self.statistics.packets_received += 1
        self.frames_since_packet = 0
        if packet is None or self._settings.deaf:
            return
        user_id = self._user_ids.get(packet.ssrc)
        if user_id is None:
            return
        speaker = self._speakers.get(packet.ssrc)
        if speaker is None or speaker.user_id != user_id:
            speaker = self._speakers[packet.ssrc] = RemoteParticipant(user_id, self.statistics)
        speaker.jitter.put(packet.sequence, packet.frame)

    def send_frame(self, captured_frame: bytes | None, volume: float) -> float | None:
        """Send the next 20 ms of the microphone; return their level in dBFS, or None if there is nothing to send.

        `captured_frame` has the samples, or None without input; `volume` is a factor. There is nothing to send while the
        microphone is muted, and without input unless the game has a callback for captured audio."""
        self.frames_since_packet += 1
        self._timestamp += SAMPLES_PER_CHANNEL
        is_speaking, has_sent, level = False, False, None
        if self._settings.muted:
            self._gate.close()
        elif captured_frame is not None or self._settings.on_captured_audio is not None:
            frame = samples.silence() if captured_frame is None else samples.to_frame(captured_frame)
            if self._settings.on_captured_audio is not None:
                self._settings.on_captured_audio(frame, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
            if self.processor is not None:
                frame = self.processor.process(frame)
            level = samples.level(frame)
            is_speaking = self._gate.passes(level)
            # Without an encryption group, such as when the user is alone in the call, nothing is sent.
            if is_speaking and self._encryption.ready:
                has_sent = self._send_audio(samples.scale(frame, volume))
        if has_sent:
            self._silence_frames_left = TRAILING_SILENCE_FRAMES
        elif self._silence_frames_left:
            self._silence_frames_left -= 1
            self._send_packet(self.packet_codec.seal(SILENCE_FRAME, self._timestamp))
        self._send_keepalive_if_idle()
        if is_speaking != self._is_speaking:
            self._is_speaking = is_speaking
            self._on_speaking_changed(self._user_id, is_speaking)
        return level

    def _send_audio(self, frame: "array[int]") -> bool:
        """Encode, encrypt and send a frame; return whether a packet was sent."""
        if self._encoder is None:
            self._encoder = Encoder()
        has_sent = False
        for encoded_frame in self._encoder.encode(frame):
            sealed_frame = self._encryption.seal(encoded_frame)
            if sealed_frame is not None:
                self._send_packet(self.packet_codec.seal(sealed_frame, self._timestamp))
                has_sent = True
        return has_sent

    def _send_packet(self, packet: bytes) -> None:
        self._idle_frames = 0
        self.statistics.packets_sent += 1
        try:
            self.udp.send(packet)
        except OSError:
            # The send buffer is full, or the server is unreachable; the packet is lost.
            return

    def _send_keepalive_if_idle(self) -> None:
        self._idle_frames += 1
        if self._idle_frames >= KEEPALIVE_FRAMES:
            self._keepalives_sent += 1
            self._send_packet(keepalive(self._keepalives_sent))

    def next_frames(self) -> "list[array[int]]":
        """Return the next 20 ms of each audible participant, after the game's callback and with the participant's volume."""
        deaf, user_ids = self._settings.deaf, self._user_ids
        frames: list[array[int]] = []
        for ssrc, speaker in list(self._speakers.items()):
            has_left = user_ids.get(ssrc) != speaker.user_id
            was_speaking = speaker.is_speaking
            frame = None if has_left else speaker.next_frame(self._encryption.open)
            if has_left:
                del self._speakers[ssrc]
            if was_speaking != (speaks := speaker.is_speaking and not has_left):
                self._on_speaking_changed(speaker.user_id, speaks)
            if frame is None or deaf or speaker.user_id in self._settings.local_mutes:
                continue
            is_muted = False
            if self._settings.on_received_audio is not None:
                is_muted = bool(
                    self._settings.on_received_audio(speaker.user_id, frame, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
                )
            if not is_muted:
                frame = samples.scale(frame, self._settings.volumes.get(speaker.user_id, 100.0) / 100)
                if (pan := self._settings.pans.get(speaker.user_id)) is not None:
                    frame = samples.pan(frame, *pan)
                frames.append(frame)
        return frames

    def describe(self) -> str:
        """Return the counters and the participants whose audio arrives, for the voice log."""
        speakers = ", ".join(
            f"user {speaker.user_id}: {len(speaker.jitter)} frames" for speaker in self._speakers.values()
        )
        return f"{self.statistics}; buffered: {speakers or 'nothing'}"

    def stop_speaking(self) -> None:
        """Report that all users stopped speaking, because the stream ends."""
        for speaker in self._speakers.values():
            if speaker.is_speaking:
                self._on_speaking_changed(speaker.user_id, False)
        self._speakers.clear()
        if self._is_speaking:
            self._is_speaking = False
            self._on_speaking_changed(self._user_id, False)
