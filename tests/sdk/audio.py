"""Tones, recorders, a headset and participants for call tests. Audio callbacks run on the voice thread."""

import asyncio
import math
from array import array
from collections.abc import Callable
from typing import Any

from hubbub.sdk import AudioBackend, Call, CallStatus
from hubbub.sdk.audio import CHANNELS, FRAME_SAMPLES, SAMPLE_RATE
from hubbub.sdk.voice import VoiceCalls
from tests.sdk.players import CallbackRecorder, Player
from tests.world import WAIT_TIMEOUT_SECONDS

FULL_AMPLITUDE = 8000
WINDOW_SAMPLES = 5 * FRAME_SAMPLES
"""Samples of both channels in a tenth of a second, which is enough to identify a tone."""


class Tone:
    """Generates a tone, as a captured-audio callback or as a microphone."""

    def __init__(self, hertz: float, amplitude: int = FULL_AMPLITUDE) -> None:
        self.hertz = hertz
        self.amplitude = amplitude
        self.is_on = True
        self.position = 0
        """Number of samples per channel that were generated so far."""

    def __call__(self, samples: Any, samples_per_channel: int, sample_rate: int, channels: int) -> None:
        assert (len(samples), sample_rate, channels) == (samples_per_channel * channels, SAMPLE_RATE, CHANNELS)
        if self.is_on:
            for index in range(samples_per_channel):
                sample = int(
                    self.amplitude * math.sin(2 * math.pi * self.hertz * (self.position + index) / sample_rate)
                )
                samples[2 * index] = samples[2 * index + 1] = sample
        self.position += samples_per_channel


def tone_share(samples: "array[int]", hertz: float) -> float:
    """Return the share of a tone in the samples, from 0 to 1; 0 if the samples are too few or too quiet."""
    left_channel = samples[::2]
    energy = sum(sample * sample for sample in left_channel)
    if len(samples) < WINDOW_SAMPLES or energy < 100 * len(left_channel):
        return 0.0
    step = 2 * math.pi * hertz / SAMPLE_RATE
    real = sum(sample * math.cos(step * index) for index, sample in enumerate(left_channel))
    imaginary = sum(sample * math.sin(step * index) for index, sample in enumerate(left_channel))
    return 2 * (real * real + imaginary * imaginary) / (len(left_channel) * energy)


def amplitude(samples: "array[int]") -> float:
    """Return the amplitude of a tone."""
    return math.sqrt(2 * sum(sample * sample for sample in samples) / max(len(samples), 1))


class AudioRecorder:
    """Records received audio by user."""

    def __init__(self) -> None:
        self.frame_counts: dict[int, int] = {}
        """Number of received frames by user ID."""
        self._recent_samples: dict[int, array[int]] = {}
        self._loop = asyncio.get_running_loop()
        self._audio_received = asyncio.Event()
        self.silences_playback = False

    def __call__(self, user_id: int, samples: Any, samples_per_channel: int, sample_rate: int, channels: int) -> bool:
        self.record(user_id, samples)
        return self.silences_playback

    def record(self, user_id: int, samples: Any) -> None:
        recent = self._recent_samples.get(user_id, array("h")) + array("h", samples)
        self._recent_samples[user_id] = recent[-WINDOW_SAMPLES:]
        self.frame_counts[user_id] = self.frame_counts.get(user_id, 0) + 1
        self._loop.call_soon_threadsafe(self._audio_received.set)

    def loudness(self, user_id: int) -> float:
        """Return the amplitude of the user's most recent audio."""
        return amplitude(self._recent_samples.get(user_id, array("h")))

    def clear(self) -> None:
        """Discard everything recorded so far."""
        self._recent_samples.clear()
        self.frame_counts.clear()

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition, checked whenever audio arrives."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not condition():
                self._audio_received.clear()
                await self._audio_received.wait()

    async def wait_for_tone(self, user_id: int, hertz: float) -> "array[int]":
        """Wait for a user's tone and return a tenth of a second of it."""
        await self.wait_until(lambda: tone_share(self._recent_samples.get(user_id, array("h")), hertz) > 0.9)
        return self._recent_samples[user_id]


class Headset(AudioBackend):
    """An audio backend whose microphone produces a tone and whose speaker is recorded."""

    def __init__(self, tone: Tone | None = None) -> None:
        super().__init__()
        self.recorder = AudioRecorder()
        self.tone = tone
        self.devices: list[tuple[str, str]] = []
        self.stop_count = 0

    @property
    def loudness(self) -> float:
        """The amplitude of the audio being played."""
        return self.recorder.loudness(0)

    def inputs(self) -> list[tuple[str, str]]:
        return [("desk", "Desk"), ("studio", "Studio")]

    def outputs(self) -> list[tuple[str, str]]:
        return [("head", "Headphones")]

    def start(self, input_id: str, output_id: str) -> None:
        self.devices.append((input_id, output_id))

    def stop(self) -> None:
        self.stop_count += 1

    def capture(self) -> bytes | None:
        if self.tone is None:
            return None
        samples = array("h", bytes(2 * FRAME_SAMPLES))
        self.tone(samples, FRAME_SAMPLES // 2, SAMPLE_RATE, CHANNELS)
        return samples.tobytes()

    def play(self, samples: bytes) -> None:
        self.recorder.record(0, array("h", samples))


class CallParticipant:
    """A player in a call, with a tone to send and a recorder for received audio."""

    def __init__(self, player: Player, lobby_id: int, hertz: float) -> None:
        self.player = player
        self.id = player.id
        self.tone, self.recorder, self.statuses = Tone(hertz), AudioRecorder(), CallbackRecorder()
        call = player.client.start_call_with_audio_callbacks(lobby_id, self.recorder, self.tone)
        assert call is not None
        call.set_status_changed_callback(self.statuses)
        self.call: Call = call

    def record_event(self, event: str) -> CallbackRecorder:
        """Set a recorder as the callback of a call event, and return the recorder."""
        recorder = CallbackRecorder()
        getattr(self.call, f"set_{event}_callback")(recorder)
        return recorder

    async def wait_for_status(self, status: CallStatus) -> tuple[Any, ...]:
        """Wait for a call status, and return the error and the detail that were reported with it."""
        report: tuple[Any, ...] = await self.statuses.next(lambda now, *_: now is status)
        return report[1:]


async def wait_for_mutual_audio(*participants: CallParticipant) -> None:
    """Wait until every participant receives the tones of all others."""
    for listener in participants:
        for speaker in participants:
            if listener is not speaker:
                await listener.recorder.wait_for_tone(speaker.id, speaker.tone.hertz)


def connection_of(caller: CallParticipant) -> Any:
    """Return the voice connection of a call."""
    return caller.player.client._parts[VoiceCalls].connections[caller.call.get_channel_id()]
