"""Audio stream of one call, on the voice thread: sends the microphone, and receives and decodes other speakers."""

import socket
from array import array
from collections.abc import Callable
from typing import Final, Protocol

from hubbub.sdk.audio import (
    CHANNELS,
    FRAME_BYTES,
    SAMPLE_RATE,
    SAMPLES_PER_CHANNEL,
    CapturedAudio,
    ReceivedAudio,
)
from hubbub.sdk.media import packets, samples
from hubbub.sdk.media.encryption import Encryption
from hubbub.sdk.media.gate import Gate, Settings
from hubbub.sdk.media.jitter import Jitter
from hubbub.sdk.media.opus import Decoder, Encoder, OpusError
from hubbub.sdk.media.packets import SILENCE, Sealer, UnopenedError

ENDING: Final = 5
"""Number of silence frames sent at the end of speech (discord.py and others send as many)."""
KEEP_FRAMES: Final = 250
"""Number of frames without a packet, 5 seconds, after which a keepalive is sent."""
QUIET: Final = 10
"""Number of frames without audio after which a user is no longer speaking."""
READ_MOST: Final = 256
"""Maximum number of datagrams read per call, so that the voice thread stays on time."""
SPEAKERS_MOST: Final = 128
UNPLAYED_MOST: Final = 25 * FRAME_BYTES
FADE: Final = 0.5
"""Volume factor for repeating the previous frame in place of a lost one."""


class CallSettings(Settings, Protocol):
    """Settings of a call, read for every frame."""

    local_mutes: set[int]
    volumes: dict[int, float]
    received_audio: ReceivedAudio | None
    captured_audio: CapturedAudio | None

    @property
    def muted(self) -> bool:
        """Whether the microphone is muted."""

    @property
    def deaf(self) -> bool:
        """Whether playback is off."""


class Speaker:
    """Receiving side of one remote participant: jitter buffer, decoder and concealment of lost frames."""

    def __init__(self, user_id: int) -> None:
        self.user_id = user_id
        self.jitter = Jitter()
        self.quiet = QUIET
        """Number of frames since the last audio, at most `QUIET`."""
        self._decoder: Decoder | None = None
        self._unplayed = bytearray()
        self._last: array[int] | None = None

    @property
    def speaks(self) -> bool:
        """Whether the participant is speaking."""
        return self.quiet < QUIET

    def next(self, open_frame: Callable[[int, bytes], bytes | None]) -> "array[int] | None":
        """Return the next 20 ms of audio, or None for silence; `open_frame` decrypts a frame of a user."""
        self.quiet = min(self.quiet + 1, QUIET)
        if len(self._unplayed) < FRAME_BYTES:
            frame, lost = self.jitter.take()
            if frame is not None:
                opened = open_frame(self.user_id, frame)
                if opened is None or opened == SILENCE:
                    lost = opened is None
                    if opened == SILENCE:
                        self.quiet = QUIET
                        self._last = None
                else:
                    lost = not self._decode(opened)
            if lost and self._last is not None:
                self._last = samples.scaled(self._last, FADE)
                return array("h", self._last)
        if len(self._unplayed) < FRAME_BYTES:
            self._unplayed.clear()
            return None
        self.quiet = 0
        self._last = samples.frame_of(bytes(self._unplayed[:FRAME_BYTES]))
        del self._unplayed[:FRAME_BYTES]
        return array("h", self._last)

    def _decode(self, frame: bytes) -> bool:
        if self._decoder is None:
            self._decoder = Decoder()
        try:
            self._unplayed += self._decoder.decode(frame)
        except OpusError:
            return False
        del self._unplayed[UNPLAYED_MOST:]
        return True


class Stream:
    """The audio packets of one voice session."""

    def __init__(
        self,
        udp: socket.socket,
        sealer: Sealer,
        encryption: Encryption,
        settings: CallSettings,
        user_id: int,
        speaking: Callable[[int, bool], None],
    ) -> None:
        self.udp = udp
        self._sealer = sealer
        self._encryption = encryption
        self._settings = settings
        self._user_id = user_id
        self._speaking = speaking
        """Called on the voice thread with the ID of a user who starts or stops speaking."""
        self._gate = Gate(settings)
        self._encoder: Encoder | None = None
        self._said = False
        self._ending = 0
        self._timestamp = 0
        self._keep = 0
        self._kept = 0
        self._users: dict[int, int] = {}
        self._speakers: dict[int, Speaker] = {}
        self.heard_frames = 0
        """Number of frames since the last packet of the server."""
        self.over = False
        """Whether the stream is to be removed from the voice thread."""

    # Called on the network thread; each makes a single atomic assignment

    def note(self, ssrc: int, user_id: int) -> None:
        """Record the user of an SSRC."""
        if ssrc in self._users or len(self._users) < SPEAKERS_MOST:
            self._users[ssrc] = user_id

    def forget(self, user_id: int) -> None:
        """Remove the SSRCs of a user who left."""
        self._users = {ssrc: who for ssrc, who in self._users.items() if who != user_id}

    # Called on the voice thread

    def read(self) -> None:
        """Read the datagrams that have arrived."""
        for _ in range(READ_MOST):
            try:
                datagram = self.udp.recv(packets.PACKET_MOST)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                # The server is unreachable; the WebSocket connection decides whether that lasts.
                return
            self._take(datagram)

    def _take(self, datagram: bytes) -> None:
        try:
            heard = self._sealer.open(datagram)
        except UnopenedError:
            return
        self.heard_frames = 0
        if heard is None or self._settings.deaf:
            return
        user_id = self._users.get(heard.ssrc)
        if user_id is None:
            return
        speaker = self._speakers.get(heard.ssrc)
        if speaker is None or speaker.user_id != user_id:
            speaker = self._speakers[heard.ssrc] = Speaker(user_id)
        speaker.jitter.put(heard.sequence, heard.frame)

    def speak(self, captured: bytes | None, volume: float) -> float | None:
        """Send the next 20 ms of the microphone; return their level in dBFS, or None while muted or without input."""
        self.heard_frames += 1
        self._timestamp += SAMPLES_PER_CHANNEL
        said, sent, loud = False, False, None
        if self._settings.muted:
            self._gate.shut()
        elif captured is not None or self._settings.captured_audio is not None:
            frame = samples.silence() if captured is None else samples.frame_of(captured)
            if self._settings.captured_audio is not None:
                self._settings.captured_audio(frame, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
            loud = samples.level(frame)
            said = self._gate.passes(loud)
            # Without an encryption group, such as when the user is alone in the call, nothing is sent.
            if said and self._encryption.ready:
                sent = self._send(samples.scaled(frame, volume))
        if sent:
            self._ending = ENDING
        elif self._ending:
            self._ending -= 1
            self._throw(self._sealer.seal(SILENCE, self._timestamp))
        self._keep_open()
        if said != self._said:
            self._said = said
            self._speaking(self._user_id, said)
        return loud

    def _send(self, frame: "array[int]") -> bool:
        if self._encoder is None:
            self._encoder = Encoder()
        sent = False
        for encoded in self._encoder.encode(frame):
            sealed = self._encryption.seal(encoded)
            if sealed is not None:
                self._throw(self._sealer.seal(sealed, self._timestamp))
                sent = True
        return sent

    def _throw(self, packet: bytes) -> None:
        self._keep = 0
        try:
            self.udp.send(packet)
        except OSError:
            # The send buffer is full, or the server is unreachable; the packet is lost.
            return

    def _keep_open(self) -> None:
        self._keep += 1
        if self._keep >= KEEP_FRAMES:
            self._kept += 1
            self._throw(packets.keepalive(self._kept))

    def hear(self) -> "list[array[int]]":
        """Return the next 20 ms of each audible participant, with the participant's volume applied."""
        deaf, known = self._settings.deaf, self._users
        frames: list[array[int]] = []
        for ssrc, speaker in list(self._speakers.items()):
            gone = known.get(ssrc) != speaker.user_id
            spoke = speaker.speaks
            frame = None if gone else speaker.next(self._encryption.open)
            if gone:
                del self._speakers[ssrc]
            if spoke != (speaks := speaker.speaks and not gone):
                self._speaking(speaker.user_id, speaks)
            if frame is None or deaf or speaker.user_id in self._settings.local_mutes:
                continue
            silenced = False
            if self._settings.received_audio is not None:
                silenced = bool(
                    self._settings.received_audio(speaker.user_id, frame, SAMPLES_PER_CHANNEL, SAMPLE_RATE, CHANNELS)
                )
            if not silenced:
                frames.append(samples.scaled(frame, self._settings.volumes.get(speaker.user_id, 100.0) / 100))
        return frames

    def hush(self) -> None:
        """Report that all users stopped speaking, because the stream ends."""
        for speaker in self._speakers.values():
            if speaker.speaks:
                self._speaking(speaker.user_id, False)
        self._speakers.clear()
        if self._said:
            self._said = False
            self._speaking(self._user_id, False)
