"""Echo cancellation, noise suppression and gain control of captured audio through livekit, the extra `audio-processing`."""

from array import array
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from livekit.rtc import AudioFrame
from livekit.rtc.apm import AudioProcessingModule

from hubbub.sdk.audio import CHANNELS, FRAME_BYTES, SAMPLE_RATE

BLOCK_MS: Final = 10
"""Length of the blocks that the library processes."""
BLOCK_SAMPLES_PER_CHANNEL: Final = SAMPLE_RATE * BLOCK_MS // 1000
BLOCK_BYTES: Final = BLOCK_SAMPLES_PER_CHANNEL * CHANNELS * 2
STREAM_DELAY_MS: Final = 80
"""Hint for the delay between playing a frame and capturing its echo: two frames in each ring buffer."""


class ProcessingSettings(NamedTuple):
    """The options of a client that processing depends on."""

    echo_cancellation: bool
    noise_suppression: bool
    automatic_gain_control: bool
    noise_cancellation: bool
    """Whether noise is suppressed in two stages, with a high-pass filter; this replaces noise suppression."""


class AudioProcessor:
    """The processing of the audio that one call sends; `options` are the options of the client, read for every frame."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._settings: ProcessingSettings | None = None
        """Settings of the modules; None before the first frame."""
        self._modules: list[AudioProcessingModule] = []

    def process(self, frame: "array[int]") -> "array[int]":
        """Return the processed samples of a captured frame."""
        self._apply_settings()
        if not self._modules:
            return frame
        blocks = _to_blocks(frame.tobytes())
        for module in self._modules:
            for block in blocks:
                module.process_stream(block)
        return array("h", b"".join(bytes(block.data) for block in blocks))

    def process_played(self, frame: bytes | None) -> None:
        """Pass a played frame to the echo cancellation; None is silence."""
        self._apply_settings()
        if self._settings is not None and self._settings.echo_cancellation:
            for block in _to_blocks(frame or bytes(FRAME_BYTES)):
                self._modules[0].process_reverse_stream(block)

    def _apply_settings(self) -> None:
        """Create the modules again if an option changed; their state, such as the learned echo path, is lost."""
        settings = ProcessingSettings(*(bool(self._options[name]) for name in ProcessingSettings._fields))
        if settings == self._settings:
            return
        self._settings = settings
        self._modules = []
        if not any(settings):
            return
        cancels_noise = settings.noise_cancellation
        module = AudioProcessingModule(
            echo_cancellation=settings.echo_cancellation,
            noise_suppression=settings.noise_suppression or cancels_noise,
            high_pass_filter=cancels_noise,
            auto_gain_control=settings.automatic_gain_control,
        )
        if settings.echo_cancellation:
            module.set_stream_delay_ms(STREAM_DELAY_MS)
        self._modules.append(module)
        if cancels_noise:
            self._modules.append(AudioProcessingModule(noise_suppression=True))


def _to_blocks(samples: bytes) -> list[AudioFrame]:
    """Split the samples of a frame into the blocks of the library."""
    return [
        AudioFrame(
            bytearray(samples[position : position + BLOCK_BYTES]), SAMPLE_RATE, CHANNELS, BLOCK_SAMPLES_PER_CHANNEL
        )
        for position in range(0, FRAME_BYTES, BLOCK_BYTES)
    ]
