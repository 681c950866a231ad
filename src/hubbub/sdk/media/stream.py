"""The sound of one call: what we say becomes packets, and packets become what others say. All of it happens on the voice thread."""

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
"""Silent frames after which others know that we ended (discord.py and others send as many)."""
KEEP_FRAMES: Final = 250
"""Every five seconds something goes out, so that the way stays open."""
QUIET: Final = 10
"""Frames without sound after which somebody does not speak any more."""
READ_MOST: Final = 256
"""Datagrams taken at once: then it is time to look at the clock again."""
SPEAKERS_MOST: Final = 128
UNPLAYED_MOST: Final = 25 * FRAME_BYTES
FADE: Final = 0.5
"""What is lost sounds like what was before it, softer each time."""


class CallSettings(Settings, Protocol):
    """What the game set for a call; read anew each time."""

    local_mutes: set[int]
    volumes: dict[int, float]
    received_audio: ReceivedAudio | None
    captured_audio: CapturedAudio | None

    @property
    def muted(self) -> bool:
        """Whether nobody hears us."""

    @property
    def deaf(self) -> bool:
        """Whether we hear nobody."""


class Speaker:
    """Somebody else, as we hear them."""

    def __init__(self, user_id: int) -> None:
        self.user_id = user_id
        self.jitter = Jitter()
        self.quiet = QUIET
        """Frames since something was heard."""
        self._decoder: Decoder | None = None
        self._unplayed = bytearray()
        self._last: array[int] | None = None

    @property
    def speaks(self) -> bool:
        """Whether they are heard now."""
        return self.quiet < QUIET

    def next(self, open_frame: Callable[[int, bytes], bytes | None]) -> "array[int] | None":
        """Their next 20 ms."""
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
    """One connection's packets, from the key to the end."""

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
        """Told, on the voice thread, who begins and ends to speak."""
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
        """Frames since the server was heard at all."""
        self.over = False

    # From the network's thread; each is one step that cannot be seen half done

    def note(self, ssrc: int, user_id: int) -> None:
        """Whose packets are whose."""
        if ssrc in self._users or len(self._users) < SPEAKERS_MOST:
            self._users[ssrc] = user_id

    def forget(self, user_id: int) -> None:
        """Somebody left."""
        self._users = {ssrc: who for ssrc, who in self._users.items() if who != user_id}

    # On the voice thread

    def read(self) -> None:
        """Take what came."""
        for _ in range(READ_MOST):
            try:
                datagram = self.udp.recv(packets.PACKET_MOST)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                # Nobody is there, for now: whether that lasts is for the socket to say.
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
        """Say the next 20 ms, and how loud they are; None where nobody listened to the microphone."""
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
            # Who is alone speaks to nobody, and without a group nothing is sent.
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
            # No room, or no way there.
            return

    def _keep_open(self) -> None:
        self._keep += 1
        if self._keep >= KEEP_FRAMES:
            self._kept += 1
            self._throw(packets.keepalive(self._kept))

    def hear(self) -> "list[array[int]]":
        """What everybody said in the next 20 ms, as loud as they are to us."""
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
        """Nobody speaks any more, as far as we can tell."""
        for speaker in self._speakers.values():
            if speaker.speaks:
                self._speaking(speaker.user_id, False)
        self._speakers.clear()
        if self._said:
            self._said = False
            self._speaking(self._user_id, False)
