"""Audio input and output of calls, in frames of 20 ms: 16-bit samples, 48 kHz, two channels.

A client uses `system_audio.SystemAudio`, the microphones and speakers of the machine, which need the extra `devices`.
A game with its own audio engine subclasses `AudioBackend`, or uses the audio callbacks of a call. `AudioBackend` itself
is a virtual device: it captures silence and discards the played audio.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hubbub.sdk.enums import LoggingSeverity

SAMPLE_RATE: Final = 48_000
"""Samples per second and channel."""
CHANNELS: Final = 2
FRAME_MS: Final = 20
SAMPLES_PER_CHANNEL: Final = SAMPLE_RATE * FRAME_MS // 1000
"""Samples per frame and channel."""
FRAME_SAMPLES: Final = SAMPLES_PER_CHANNEL * CHANNELS
"""Samples per frame, of both channels."""
FRAME_BYTES: Final = FRAME_SAMPLES * 2
"""Size of a frame in bytes; a sample has two bytes."""
DEFAULT_DEVICE: Final = "default"
"""ID that selects the first device of a list."""

ReceivedAudio = Callable[[int, Any, int, int, int], Any]
"""Callback for the decoded audio of a participant: `(user_id, samples, samples_per_channel, sample_rate, channels)`.

`samples` is an `array` of 16-bit integers, which may be changed in place. A true return value is the specification's
`outShouldMute`: it mutes the local playback of the frame."""
CapturedAudio = Callable[[Any, int, int, int], Any]
"""Callback for microphone audio before it is sent: `(samples, samples_per_channel, sample_rate, channels)`.

`samples` is an `array` of 16-bit integers, which may be changed in place."""

EXTRA_NAME: Final = "hubbub[voice]"
REQUIRED_LIBRARIES: Final = ("av", "cryptography", "davey")
"""Modules of the voice extra that calls require."""


class MissingExtraError(ImportError):
    """Raised when a feature is used whose extra, such as `hubbub[voice]` for calls, is not installed."""


class AudioBackend:
    """Audio input and output of a client's calls; subclass it to connect an audio engine.

    The base class is a silent virtual device. `capture` and `play` are called every 20 ms on the voice thread, between
    `start` and `stop`, and must not block."""

    uses_sdk_processing: bool = False
    """Whether the SDK processes the captured audio: echo cancellation, noise suppression and gain control.

    It is false for an audio engine that does this itself, according to `options`."""

    def __init__(self) -> None:
        self.changed: Callable[[], object] = lambda: None
        """Function to call, from any thread, when devices are added, removed or replaced; set by the client."""
        self.log: Callable[[str, LoggingSeverity], object] = lambda message, severity: None
        """Function that writes a message to the voice log, from any thread; set by the client."""
        self.options: Mapping[str, Any] = {}
        """Current options; set by the client.

        The keys for a backend are `echo_cancellation`, `noise_suppression`, `automatic_gain_control`,
        `noise_cancellation` and `engine_managed_audio_session`; ignore other keys. Treat `noise_suppression` as disabled
        while `noise_cancellation` is enabled."""

    def prepare(self) -> None:
        """Load libraries before the first call; called on a thread that may block."""

    def watch(self) -> None:
        """Report changes of devices through `changed` from now on, even without a call; must not block."""

    def close(self) -> None:
        """Release all resources: the client was closed. Called on a thread that may block."""

    def describe(self) -> str:
        """Return the devices and counters for the voice log; empty if there are none."""
        return ""

    def inputs(self) -> Sequence[tuple[str, str]]:
        """Return the microphones as pairs of ID and name, the default one first."""
        return [(DEFAULT_DEVICE, "Default (virtual, silent)")]

    def outputs(self) -> Sequence[tuple[str, str]]:
        """Return the speakers as pairs of ID and name, the default one first."""
        return [(DEFAULT_DEVICE, "Default (virtual, silent)")]

    def start(self, input_id: str, output_id: str) -> None:
        """Start audio, or switch to other devices; the ID "default" means the first device."""

    def stop(self) -> None:
        """Stop audio: the last call ended."""

    def capture(self) -> bytes | None:
        """Return the next 20 ms of the microphone as 3840 bytes of interleaved 16-bit samples; None for silence."""
        return None

    def play(self, samples: bytes) -> None:
        """Play the next 20 ms of all participants mixed, as 3840 bytes of interleaved 16-bit samples."""


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    from importlib.util import find_spec

    return find_spec(module) is not None


def require_extra() -> None:
    """Raise `MissingExtraError` if the libraries for calls are not installed."""
    missing_libraries = [name for name in REQUIRED_LIBRARIES if not is_installed(name)]
    if missing_libraries:
        raise MissingExtraError(
            f"Calls require {', '.join(missing_libraries)}. Install the voice extra: pip install '{EXTRA_NAME}'"
        )
