"""Echo cancellation, noise suppression and gain control with the extra `audio-processing`."""

import importlib.util
import math
import random
from array import array
from typing import Any

import pytest

from hubbub.sdk import AudioBackend, Client, MissingExtraError, SystemAudio
from hubbub.sdk.audio import CHANNELS, FRAME_SAMPLES, SAMPLE_RATE
from hubbub.sdk.media.audio_processor import AudioProcessor
from tests.sdk.audio import amplitude

FRAMES = 150
"""Number of frames after which the filters have adapted: 3 seconds."""


def options(**on: bool) -> dict[str, Any]:
    """Return the options of a client, off unless given."""
    return {
        "echo_cancellation": False,
        "noise_suppression": False,
        "automatic_gain_control": False,
        "noise_cancellation": False,
    } | on


def noise_frames(count: int, deviation: float) -> "list[array[int]]":
    """Return frames of reproducible white noise, the same in both channels."""
    generator = random.Random(1)
    return [
        array(
            "h",
            [
                value
                for value in (round(generator.gauss(0, deviation)) for _ in range(FRAME_SAMPLES // CHANNELS))
                for _ in range(CHANNELS)
            ],
        )
        for _ in range(count)
    ]


def process_all(processor: AudioProcessor, frames: "list[array[int]]") -> float:
    """Process frames, and return the amplitude of the last ones."""
    processed_frames = [processor.process(frame) for frame in frames]
    return amplitude(sum(processed_frames[-10:], array("h")))


def test_noise_suppression_removes_noise_and_noise_cancellation_removes_more() -> None:
    frames = noise_frames(FRAMES, 500.0)

    unprocessed_frames = process_all(AudioProcessor(options()), frames)
    suppressed_frames = process_all(AudioProcessor(options(noise_suppression=True)), frames)
    canceled_frames = process_all(AudioProcessor(options(noise_cancellation=True)), frames)

    assert unprocessed_frames == pytest.approx(500 * 2**0.5, rel=0.1)
    assert suppressed_frames < unprocessed_frames / 3
    assert canceled_frames < suppressed_frames / 2


def test_echo_cancellation_removes_the_played_audio_from_the_microphone() -> None:
    played_frames, delay_frames = noise_frames(FRAMES, 2000.0), 3
    amplitudes = {}
    for is_on in (False, True):
        processor, residue = AudioProcessor(options(echo_cancellation=is_on)), array("h")
        for position, frame in enumerate(played_frames):
            processor.process_played(frame.tobytes())
            echo = (
                played_frames[position - delay_frames]
                if position >= delay_frames
                else array("h", bytes(2 * FRAME_SAMPLES))
            )
            residue = processor.process(array("h", [sample // 2 for sample in echo]))
        amplitudes[is_on] = amplitude(residue)

    assert amplitudes[True] < amplitudes[False] / 10


def voice_frames(count: int, amplitude: float) -> "list[array[int]]":
    """Return frames that gain control takes for speech: harmonics of a changing pitch in syllables."""
    frames = []
    for start in range(0, count * FRAME_SAMPLES // CHANNELS, FRAME_SAMPLES // CHANNELS):
        mono_samples = []
        for position in range(start, start + FRAME_SAMPLES // CHANNELS):
            seconds = position / SAMPLE_RATE
            phase = 2 * math.pi * 120 * seconds - 10 * math.cos(2 * math.pi * 2 * seconds)
            envelope = math.sqrt(max(0.0, math.sin(2 * math.pi * 3 * seconds)))
            voice = sum(math.sin(harmonic * phase) / harmonic for harmonic in range(1, 24))
            mono_samples.append(round(amplitude * envelope * voice / 2))
        frames.append(array("h", [value for value in mono_samples for _ in range(CHANNELS)]))
    return frames


def test_automatic_gain_control_raises_a_quiet_voice() -> None:
    frames = voice_frames(100, amplitude=500)
    processor = AudioProcessor(options(automatic_gain_control=True))

    processed_frames = [processor.process(frame) for frame in frames]

    last_second = slice(len(frames) // 2, None)
    quiet_amplitude, raised_amplitude = (
        amplitude(sum(part[last_second], array("h"))) for part in (frames, processed_frames)
    )
    assert raised_amplitude > 2 * quiet_amplitude


def test_options_take_effect_while_audio_is_processed() -> None:
    current, frames = options(), noise_frames(FRAMES, 500.0)
    processor = AudioProcessor(current)
    assert processor.process(frames[0]) is frames[0]

    current["noise_suppression"] = True
    suppressed_frames = process_all(processor, frames)
    current["noise_suppression"] = False

    assert suppressed_frames < amplitude(frames[-1]) / 3
    assert processor.process(frames[0]) is frames[0]


@pytest.fixture
def without_livekit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the audio processing extra."""
    original_find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "livekit" else original_find_spec(name)
    )


@pytest.mark.usefixtures("without_livekit")
@pytest.mark.parametrize(
    "setting", ["echo_cancellation", "noise_suppression", "automatic_gain_control", "noise_cancellation"]
)
def test_turning_processing_on_without_its_extra_names_the_package(setting: str) -> None:
    client = Client(audio=SystemAudio("null"))
    set_on = getattr(client, f"set_{setting}")

    with pytest.raises(MissingExtraError, match=r"requires livekit\. .* pip install 'hubbub\[audio-processing\]'"):
        set_on(True)

    set_on(False)
    client.close()


@pytest.mark.usefixtures("without_livekit")
def test_an_audio_backend_of_the_game_gets_the_settings_without_the_extra() -> None:
    backend = AudioBackend()
    client = Client(audio=backend)

    client.set_noise_cancellation(True)

    assert backend.options["noise_cancellation"] is True
    client.close()
