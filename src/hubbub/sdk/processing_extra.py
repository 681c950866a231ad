"""The audio processing of calls, an extra: echo cancellation, noise suppression and automatic gain control."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hubbub.sdk.audio import AudioBackend, MissingExtraError, is_installed

if TYPE_CHECKING:
    from hubbub.sdk.media.audio_processor import AudioProcessor

PROCESSING_EXTRA_NAME: Final = "hubbub[audio-processing]"
PROCESSING_LIBRARY: Final = "livekit"
"""Module of the audio processing extra."""


def require_processing_extra() -> None:
    """Raise `MissingExtraError` if the library for audio processing is not installed."""
    if not is_installed(PROCESSING_LIBRARY):
        raise MissingExtraError(
            f"Audio processing requires {PROCESSING_LIBRARY}. Install the audio processing extra: "
            f"pip install '{PROCESSING_EXTRA_NAME}'"
        )


def load_processing(
    audio: AudioBackend, options: dict[str, Any], warn: Callable[[str], None]
) -> "Callable[[], AudioProcessor] | None":
    """Return the constructor of audio processing; None if the audio backend processes audio itself or an extra is missing."""
    if not audio.uses_sdk_processing:
        return None
    try:
        require_processing_extra()
    except MissingExtraError as error:
        warn(f"Captured audio is sent without processing. {error}")
        return None
    from hubbub.sdk.media.audio_processor import AudioProcessor

    return lambda: AudioProcessor(options)
