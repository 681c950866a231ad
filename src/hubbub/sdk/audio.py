"""Where a call's sound comes from and goes to, and the form that it has: 16 bit, 48 kHz, two channels, 20 ms at a time.

The SDK brings no audio engine. `AudioBackend` is the seam for one, and is itself the virtual device that stands in where there is
none: nobody is captured by it, and what is played to it is heard by nobody. A game subclasses it, or uses the audio callbacks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

SAMPLE_RATE: Final = 48_000
CHANNELS: Final = 2
FRAME_MS: Final = 20
SAMPLES_PER_CHANNEL: Final = SAMPLE_RATE * FRAME_MS // 1000
FRAME_SAMPLES: Final = SAMPLES_PER_CHANNEL * CHANNELS
FRAME_BYTES: Final = FRAME_SAMPLES * 2
DEFAULT_DEVICE: Final = "default"

ReceivedAudio = Callable[[int, Any, int, int, int], Any]
"""User, samples (an `array` of i16 that may be changed in place), samples per channel, sample rate, channels; what it answers is
the specification's `outShouldMute`: true silences local playback."""
CapturedAudio = Callable[[Any, int, int, int], Any]
"""The same of what we say, before it is looked at and sent; without the user."""

EXTRA: Final = "hubbub[voice]"
NEEDED: Final = ("av", "cryptography", "davey")


class MissingExtraError(ImportError):
    """What calls need is not installed."""


class AudioBackend:
    """The virtual default device, and what an audio engine overrides.

    `capture` and `play` are called every 20 ms on the voice thread, between `start` and `stop`, and must not wait."""

    def __init__(self) -> None:
        self.changed: Callable[[], object] = lambda: None
        """To be called, from any thread, when a device came or went; a client sets it."""
        self.options: Mapping[str, Any] = {}
        """What the game asked for, as it is now: `echo_cancellation`, `noise_suppression`, `automatic_gain_control`,
        `noise_cancellation` (while on, suppression is off), `engine_managed_audio_session`; a client sets it."""

    def inputs(self) -> Sequence[tuple[str, str]]:
        """The microphones as (id, name), the default one first."""
        return [(DEFAULT_DEVICE, "Default (virtual, silent)")]

    def outputs(self) -> Sequence[tuple[str, str]]:
        """The loudspeakers as (id, name), the default one first."""
        return [(DEFAULT_DEVICE, "Default (virtual, silent)")]

    def start(self, input_id: str, output_id: str) -> None:
        """Sound begins, or moves to other devices; "default" is the first of each."""

    def stop(self) -> None:
        """Nobody is in a call any more."""

    def capture(self) -> bytes | None:
        """The next 20 ms of the microphone, 3840 bytes of interleaved i16; None where there is no sound."""
        return None

    def play(self, samples: bytes) -> None:
        """The next 20 ms of everybody, in the same form."""


def require_extra() -> None:
    """Refuse in words, before anything begins, where the libraries of calls are not installed."""
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"calls need {', '.join(missing)}: install the extra {EXTRA} (pip install '{EXTRA}')")
