"""The default audio backend of a client: the microphones and speakers of the machine."""

import threading
from collections.abc import Sequence
from typing import Final

from hubbub.sdk.audio import AudioBackend, MissingExtraError, is_installed

DEVICES_EXTRA_NAME: Final = "hubbub[devices]"
DEVICES_LIBRARY: Final = "miniaudio"
"""Module of the devices extra, which opens microphones and speakers."""
WATCH_THREAD_NAME: Final = "hubbub-audio-watch"
"""Name of the thread that loads the devices extra when the game sets its device change callback."""


class SystemAudio(AudioBackend):
    """The microphones and speakers of the machine, which a client uses unless it gets another backend.

    They need the extra `hubbub[devices]`; without it this is the silent virtual device of `AudioBackend`. `driver` is the
    audio system to use: "alsa", "pulseaudio", "jack", "wasapi", "coreaudio" or another name of miniaudio. "null" is a
    silent device, for tests on machines without a sound card. Without `driver`, the system's audio is used, and "null" while
    the machine has no device."""

    def __init__(self, driver: str = "") -> None:
        super().__init__()
        self._driver = driver
        self._lock = threading.Lock()
        """Guards the creation of the engine."""
        self._engine: AudioBackend | None = None
        """Backend that does the work; None until it is used."""
        self._is_closed = False

    @property
    def uses_sdk_processing(self) -> bool:  # type: ignore[override]  # read-only here
        """Whether the SDK processes the captured audio, which it does for real devices."""
        return self.is_available

    @property
    def is_available(self) -> bool:
        """Whether the extra `hubbub[devices]` is installed."""
        return is_installed(DEVICES_LIBRARY)

    def _get_engine(self) -> AudioBackend:
        """Return the engine, which is created on first use, because loading its library takes a while."""
        with self._lock:
            if self._engine is None:
                engine = self._create_engine()
                engine.changed = lambda: self.changed()
                engine.log = lambda message, severity: self.log(message, severity)
                engine.options = self.options
                self._engine = engine
            return self._engine

    def _create_engine(self) -> AudioBackend:
        if self._is_closed:
            return AudioBackend()
        if not self.is_available:
            if self._driver:
                raise MissingExtraError(
                    f"Audio devices require {DEVICES_LIBRARY}. Install the devices extra: pip install '{DEVICES_EXTRA_NAME}'"
                )
            return AudioBackend()
        from hubbub.sdk.media.devices import DeviceEngine

        return DeviceEngine(self._driver)

    def prepare(self) -> None:
        """Load the library of the devices extra."""
        self._get_engine()

    def watch(self) -> None:
        """Report changes of devices from now on."""
        # Loading the library blocks.
        threading.Thread(target=lambda: self._get_engine().watch(), name=WATCH_THREAD_NAME, daemon=True).start()

    def close(self) -> None:
        """Close the devices and end the thread that watches them."""
        with self._lock:
            self._is_closed, engine = True, self._engine
        if engine is not None:
            engine.close()

    def describe(self) -> str:
        """Return the opened devices and their counters."""
        return "" if self._engine is None else self._engine.describe()

    def inputs(self) -> Sequence[tuple[str, str]]:
        """Return the microphones as pairs of ID and name, the default one first."""
        return self._get_engine().inputs()

    def outputs(self) -> Sequence[tuple[str, str]]:
        """Return the speakers as pairs of ID and name, the default one first."""
        return self._get_engine().outputs()

    def start(self, input_id: str, output_id: str) -> None:
        """Open the devices, or switch to other devices; the engine opens them on its own thread."""
        self._get_engine().start(input_id, output_id)

    def stop(self) -> None:
        """Close the devices."""
        self._get_engine().stop()

    def capture(self) -> bytes | None:
        """Return the next 20 ms of the microphone; None while there is no input."""
        return self._get_engine().capture()

    def play(self, samples: bytes) -> None:
        """Play the next 20 ms."""
        self._get_engine().play(samples)
