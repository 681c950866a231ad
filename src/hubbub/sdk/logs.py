"""Log output of the SDK; secrets are masked in every message at every level (spec/sdk.md#14)."""

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

from hubbub.sdk.callback_queue import CallbackQueue
from hubbub.sdk.clock import Clock
from hubbub.sdk.enums import LoggingSeverity

LogCallback = Callable[[str, LoggingSeverity], object]
"""Callback for log messages; it receives the message and its severity."""

LOG_NAME_PREFIX: Final = "hubbub"
"""First part of the names of log files."""
VOICE_FILES_MAX: Final = 5
"""Maximum number of voice log files of a run."""
VOICE_FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""Size in bytes from which a new voice log file is started."""
MASK: Final = "[filtered]"
SECRET_LENGTH_MIN: Final = 8
"""Minimum length of a masked secret, in characters; masking shorter values would mask ordinary text."""
_AUTHORIZATION_PATTERN: Final = re.compile(r"(?i)\b(bearer|bot)\s+[\w\-.~+/=]{8,}")
"""Matches an Authorization header, even if its token was never passed to `add_secrets`."""
_SECRET_FIELD_PATTERN: Final = re.compile(
    r"(?i)(\"?(?:access_token|refresh_token|id_token|external_auth_token|parent_access_token|code_verifier|client_secret"
    r"|device_code|code|token)\"?\s*[=:]\s*\"?)[\w\-.~+/=]{8,}"
)
"""Matches a secret after its usual field name, even if it was never passed to `add_secrets`."""


class Logs:
    """Log callbacks and log files of one client.

    `callback_queue` is the callback queue of the client and `clock` the machine's clock. A callback or file gets all
    messages of its minimum severity and above; without `debug` it gets none below the severity Warning."""

    def __init__(self, callback_queue: CallbackQueue, clock: Clock, *, debug: bool = True) -> None:
        self._callback_queue = callback_queue
        self._clock = clock
        self._debug = debug
        self._callbacks: list[tuple[LogCallback, LoggingSeverity]] = []
        self._voice_callbacks: list[tuple[LogCallback, LoggingSeverity]] = []
        self._file: TextIO | None = None
        self._file_severity = LoggingSeverity.NONE
        self._voice_file: TextIO | None = None
        self._voice_severity = LoggingSeverity.NONE
        self._voice_directory = Path()
        """Directory of the voice log files."""
        self._voice_bytes = 0
        """Size of the current voice log file in bytes."""
        self._has_warned_of_debug = False
        """Whether the warning about debug messages was logged."""
        self._secrets: set[str] = set()
        self._lock = threading.Lock()
        """Guards the files and the secrets."""
        self.directory: Path | None = None
        """Directory of the log file; None until `set_directory` succeeds."""

    def add_secrets(self, *secrets: str | None) -> None:
        """Mask these secrets in all messages; values shorter than `SECRET_LENGTH_MIN` characters are ignored."""
        with self._lock:
            self._secrets.update(secret for secret in secrets if secret and len(secret) >= SECRET_LENGTH_MIN)

    def mask_secrets(self, message: str) -> str:
        """Return the message with secrets masked."""
        with self._lock:
            for secret in self._secrets:
                message = message.replace(secret, MASK)
        message = _AUTHORIZATION_PATTERN.sub(rf"\1 {MASK}", message)
        return _SECRET_FIELD_PATTERN.sub(rf"\1{MASK}", message)

    def verbose(self, message: str) -> None:
        """Log a message that is useful for debugging only."""
        self.write(message, LoggingSeverity.VERBOSE)

    def info(self, message: str) -> None:
        """Log a normal event."""
        self.write(message, LoggingSeverity.INFO)

    def warning(self, message: str) -> None:
        """Log an unexpected condition that the client recovers from."""
        self.write(message, LoggingSeverity.WARNING)

    def error(self, message: str) -> None:
        """Log a failure."""
        self.write(message, LoggingSeverity.ERROR)

    def write(self, message: str, severity: LoggingSeverity, *, is_voice: bool = False) -> None:
        """Write a message to all callbacks and files that accept its severity.

        With `is_voice`, the message goes to the callbacks and the file of the voice log instead."""
        if severity < LoggingSeverity.WARNING and not self._debug:
            return
        callbacks = [
            callback
            for callback, minimum in tuple(self._voice_callbacks if is_voice else self._callbacks)
            if severity >= minimum and minimum is not LoggingSeverity.NONE
        ]
        file, minimum = (self._voice_file, self._voice_severity) if is_voice else (self._file, self._file_severity)
        if not callbacks and (file is None or severity < minimum):
            return
        message = self.mask_secrets(message)
        for callback in callbacks:
            self._callback_queue.put(callback, message, severity)
        with self._lock:
            # Read again under the lock, because another thread may have closed the file.
            file, minimum = (self._voice_file, self._voice_severity) if is_voice else (self._file, self._file_severity)
            if file is not None and severity >= minimum:
                line = self._format(message, severity)
                file.write(line)
                file.flush()
                if is_voice:
                    self._voice_bytes += len(line.encode())
                    if self._voice_bytes >= VOICE_FILE_BYTES_MAX:
                        self._rotate_voice_files()

    def _format(self, message: str, severity: LoggingSeverity) -> str:
        timestamp = datetime.fromtimestamp(self._clock() / 1000, UTC).isoformat(timespec="milliseconds")
        return f"[{timestamp}] [{threading.current_thread().name}] ({severity.label}): {message}\n"

    def _rotate_voice_files(self) -> None:
        """Increase the numbers of the voice log files, without the oldest, and start a new one; the caller holds the lock.

        If that fails, for example because the directory was removed, the voice log ends."""
        if self._voice_file is not None:
            self._voice_file.close()
        self._voice_file, self._voice_bytes = None, 0
        try:
            for number in range(VOICE_FILES_MAX - 1, 0, -1):
                previous_path = self._voice_path(number - 1)
                if previous_path.exists():
                    previous_path.replace(self._voice_path(number))
            self._voice_file = self._voice_path(0).open("w", encoding="utf-8")
        except OSError:
            return

    def _voice_path(self, number: int, *, is_previous_run: bool = False) -> Path:
        run_suffix = "-last" if is_previous_run else ""
        return self._voice_directory / f"{LOG_NAME_PREFIX}{run_suffix}-webrtc_{number}"

    def add_callback(self, callback: LogCallback, min_severity: LoggingSeverity, *, is_voice: bool = False) -> None:
        """Add a callback for messages of at least `min_severity`, or with `is_voice` for those of the voice log."""
        (self._voice_callbacks if is_voice else self._callbacks).append((callback, min_severity))
        if self._debug and not is_voice and min_severity < LoggingSeverity.WARNING and not self._has_warned_of_debug:
            self._has_warned_of_debug = True
            self.warning("Debug messages are logged; turn them off in released games")

    def set_directory(self, path: str, min_severity: LoggingSeverity) -> bool:
        """Write messages to `hubbub.log` in a directory, overwriting it; return False if it cannot be opened.

        An empty path is the directory of the library; the severity NONE closes the log file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file, self._file_severity = None, min_severity
            if min_severity is LoggingSeverity.NONE:
                return True
            directory = Path(path) if path else Path(__file__).parent
            try:
                self._file = (directory / f"{LOG_NAME_PREFIX}.log").open("w", encoding="utf-8")
            except OSError:
                return False
            self.directory = directory
        return True

    def set_voice_directory(self, path: str, min_severity: LoggingSeverity) -> None:
        """Write voice messages to `hubbub-webrtc_0` in a directory, and rename the logs of the previous run.

        A file of `VOICE_FILE_BYTES_MAX` becomes `hubbub-webrtc_1`, and so on; there are at most `VOICE_FILES_MAX` files.
        An empty path is the directory of the library; the severity NONE closes the log file. Log a warning on failure."""
        with self._lock:
            if self._voice_file is not None:
                self._voice_file.close()
            self._voice_file, self._voice_severity = None, min_severity
            if min_severity is LoggingSeverity.NONE:
                return
            self._voice_directory = Path(path) if path else Path(__file__).parent
            self._voice_bytes = 0
            try:
                for number in range(VOICE_FILES_MAX):
                    file = self._voice_path(number)
                    if file.exists():
                        file.replace(self._voice_path(number, is_previous_run=True))
                self._voice_file = self._voice_path(0).open("w", encoding="utf-8")
            except OSError as error:
                failure = error
            else:
                return
        self.warning(f"Could not open the voice log: {failure}")

    def reset(self) -> None:
        """Remove all callbacks."""
        self._callbacks.clear()
        self._voice_callbacks.clear()

    def close(self) -> None:
        """Close the log files."""
        with self._lock:
            for file in (self._file, self._voice_file):
                if file is not None:
                    file.close()
            self._file = self._voice_file = None
