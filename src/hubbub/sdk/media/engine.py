"""The voice thread: every 20 ms it captures a frame, sends it to each call, and plays the mixed audio of all calls.

A client has one voice thread while it has a call. Of the exceptions that an audio callback or an audio backend raises,
the first one of each action is logged, and the thread continues.
"""

import selectors
import threading
import time
from array import array
from collections.abc import Callable
from typing import Final, ParamSpec, Protocol, TypeVar

from hubbub.sdk.audio import FRAME_BYTES, FRAME_MS, AudioBackend
from hubbub.sdk.media import samples
from hubbub.sdk.media.audio_stream import AudioProcessing, AudioStream

T = TypeVar("T")
P = ParamSpec("P")

VOICE_THREAD_NAME: Final = "hubbub-voice"
FRAME_SECONDS: Final = FRAME_MS / 1000
LAG_MAX_SECONDS: Final = 0.2
"""Maximum delay in seconds that the thread catches up; after a longer delay it skips the missed frames."""
JOIN_TIMEOUT_SECONDS: Final = 1.0
"""Default maximum time to wait for the thread to end, in seconds."""
SILENT_INPUT_FRAMES: Final = 50
"""Number of quiet frames after which the microphone counts as silent: one second."""
REPORT_FRAMES: Final = 500
"""Number of frames between two reports in the voice log: 10 seconds."""
DETECTION_OFF_DBFS: Final = -100.0
"""Threshold that turns the detection of a silent microphone off."""


class AudioOptions(Protocol):
    """Settings for all calls of a client, read for every frame."""

    @property
    def input_factor(self) -> float:
        """Volume factor of the microphone."""

    @property
    def output_factor(self) -> float:
        """Volume factor of the playback."""

    @property
    def input_device(self) -> str:
        """ID of the selected microphone."""

    @property
    def output_device(self) -> str:
        """ID of the selected speaker."""

    @property
    def no_input_threshold(self) -> float:
        """Level in dBFS below which the microphone counts as silent; -100 turns the detection off."""

    def on_input_detected(self, is_detected: bool) -> None:
        """Report that the microphone became silent (`is_detected` is False) or audible."""

    def log_statistics(self, message: str) -> None:
        """Write statistics to the voice log."""

    def record_frame(self, captured_frame: bytes | None, played_frame: bytes | None) -> None:
        """Report the captured and played audio of a frame, for the AEC dump; None is silence."""


class AudioEngine:
    """The voice thread of a client; `warn` logs a message.

    `new_processor` creates the audio processing of a call; without it, captured audio is sent as it is."""

    def __init__(
        self,
        backend: AudioBackend,
        options: AudioOptions,
        warn: Callable[[str], None],
        new_processor: Callable[[], AudioProcessing] | None = None,
    ) -> None:
        self._backend = backend
        self._new_processor = new_processor
        self._options = options
        self._warn = warn
        self._warned: set[str] = set()
        """Actions whose failure was already logged."""
        self._lock = threading.Lock()
        """Guards the streams and the thread."""
        self._streams: list[AudioStream] = []
        self._thread: threading.Thread | None = None
        self._devices = ("", "")
        """IDs of the microphone and the speaker that the backend was started with; empty if it is stopped."""
        self._is_input_detected = True
        """Whether the microphone is audible."""
        self._quiet_frames = 0
        """Number of consecutive frames below the threshold."""
        self._loudest_dbfs = samples.LEVEL_MIN_DBFS
        """Highest level of the microphone since the last report, in dBFS."""
        self._frames_since_report = 0
        self._skipped_count = 0
        """Number of times that the thread was too late and skipped frames."""

    def add(self, stream: AudioStream) -> None:
        """Add the stream of a call, and start the thread if it is not running."""
        if self._new_processor is not None:
            stream.processor = self._new_processor()
        with self._lock:
            self._streams.append(stream)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=VOICE_THREAD_NAME, daemon=True)
                self._thread.start()

    def remove(self, stream: AudioStream) -> None:
        """Remove the stream of a call; the thread then closes its socket."""
        stream.is_removed = True

    def join(self, timeout_seconds: float = JOIN_TIMEOUT_SECONDS) -> None:
        """Wait until the thread ends, which it does once all streams are removed, or until the timeout."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout_seconds)

    # Thread

    def _run(self) -> None:
        selector = selectors.DefaultSelector()
        registered_streams: list[AudioStream] = []
        next_frame_at = time.monotonic()
        try:
            while self._sync_streams(selector, registered_streams):
                left_seconds = next_frame_at - time.monotonic()
                if left_seconds > 0:
                    for key, _ in selector.select(left_seconds):
                        key.data.read_datagrams()
                    continue
                self._run_frame(registered_streams)
                next_frame_at += FRAME_SECONDS
                if -left_seconds > LAG_MAX_SECONDS:
                    self._skipped_count += 1
                    next_frame_at = time.monotonic()
        finally:
            selector.close()

    def _sync_streams(self, selector: selectors.BaseSelector, registered: list[AudioStream]) -> bool:
        """Register new streams and close removed ones; return False if there are none left and the thread must end.

        `registered` are the streams in the selector; the method updates the list."""
        with self._lock:
            removed_streams = [stream for stream in self._streams if stream.is_removed]
            self._streams = [stream for stream in self._streams if not stream.is_removed]
            new_streams = [stream for stream in self._streams if stream not in registered]
            if not self._streams:
                self._try("Reporting statistics", self._report, removed_streams)
                # The backend is stopped under the lock, so that a call that starts now starts it afterwards.
                self._thread = None
                self._devices = ("", "")
                self._try("AudioBackend.stop", self._backend.stop)
        for stream in removed_streams:
            if stream in registered:
                registered.remove(stream)
                selector.unregister(stream.udp)
            self._try("Ending a stream", stream.stop_speaking)
            stream.udp.close()
        for stream in new_streams:
            registered.append(stream)
            selector.register(stream.udp, selectors.EVENT_READ, stream)
        return bool(registered)

    def _run_frame(self, streams: list[AudioStream]) -> None:
        """Capture a frame, send it to each call, and play the mixed audio of all calls."""
        devices = (self._options.input_device, self._options.output_device)
        if devices != self._devices:
            self._devices = devices
            self._try("AudioBackend.start", self._backend.start, *devices)
        captured_frame = self._try("AudioBackend.capture", self._backend.capture)
        loudest_dbfs: float | None = None
        mixed_frame: array[int] | None = None
        for stream in streams:
            # Read packets that arrived after the selector was last polled.
            stream.read_datagrams()
            level = self._try("Sending a frame", stream.send_frame, captured_frame, self._options.input_factor)
            if level is not None and (loudest_dbfs is None or level > loudest_dbfs):
                loudest_dbfs = level
            for frame in self._try("Receiving frames", stream.next_frames) or ():
                mixed_frame = frame if mixed_frame is None else samples.mix(mixed_frame, frame)
        if loudest_dbfs is None and captured_frame is not None:
            loudest_dbfs = samples.level(samples.to_frame(captured_frame))
        level_dbfs = samples.LEVEL_MIN_DBFS if loudest_dbfs is None else loudest_dbfs
        self._detect_silence(level_dbfs)
        self._loudest_dbfs = max(self._loudest_dbfs, level_dbfs)
        played_frame = (
            None if mixed_frame is None else samples.scale(mixed_frame, self._options.output_factor).tobytes()
        )
        self._try("AudioBackend.play", self._backend.play, played_frame or bytes(FRAME_BYTES))
        for stream in streams:
            if stream.processor is not None:
                self._try("Echo cancellation", stream.processor.process_played, played_frame)
        self._try("Recording the AEC dump", self._options.record_frame, captured_frame, played_frame)
        self._frames_since_report += 1
        if self._frames_since_report >= REPORT_FRAMES:
            self._report(streams)

    def _report(self, streams: list[AudioStream]) -> None:
        """Write the statistics of the calls and of the devices to the voice log."""
        self._frames_since_report = 0
        for stream in streams:
            self._options.log_statistics(f"Statistics: {stream.describe()}")
        devices = self._try("AudioBackend.describe", self._backend.describe)
        self._options.log_statistics(
            f"Audio: microphone at most {self._loudest_dbfs:.0f} dBFS, voice thread late {self._skipped_count} times"
            + (f"; {devices}" if devices else "")
        )
        self._loudest_dbfs = samples.LEVEL_MIN_DBFS

    def _detect_silence(self, level: float) -> None:
        """Detect whether the microphone is silent (SetNoAudioInputThreshold), and report changes."""
        threshold = self._options.no_input_threshold
        if threshold <= DETECTION_OFF_DBFS:
            self._is_input_detected, self._quiet_frames = True, 0
            return
        self._quiet_frames = 0 if level >= threshold else self._quiet_frames + 1
        is_detected = self._quiet_frames < SILENT_INPUT_FRAMES if self._is_input_detected else self._quiet_frames == 0
        if is_detected != self._is_input_detected:
            self._is_input_detected = is_detected
            self._options.on_input_detected(is_detected)

    def _try(self, action: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call a function; log the first exception of each `action`, and return None after an exception."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if action not in self._warned:
                self._warned.add(action)
                self._warn(f"{action} failed on the voice thread: {error!r}")
            return None
