"""Logging operations of the client (spec/sdk.md#14)."""

from hubbub.sdk.core import Core
from hubbub.sdk.enums import LoggingSeverity
from hubbub.sdk.logs import LogCallback


class Diagnostics:
    """Component of the client that controls the logs."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def add_log_callback(self, callback: LogCallback, min_severity: LoggingSeverity) -> None:
        """Add a callback for log messages of at least `min_severity`, except those of the voice log.

        `callback(message, severity)` is delivered like the callbacks of operations. Several callbacks may be added."""
        self._core.logs.add_callback(callback, min_severity)

    def add_voice_log_callback(self, callback: LogCallback, min_severity: LoggingSeverity) -> None:
        """Add a callback for messages of the voice log of at least `min_severity`.

        `callback(message, severity)` is delivered like the callbacks of operations. Several callbacks may be added."""
        self._core.logs.add_callback(callback, min_severity, is_voice=True)

    def set_log_dir(self, path: str, min_severity: LoggingSeverity) -> bool:
        """Write the log to `hubbub.log` in the directory `path`; an empty path is the directory of the library.

        Return False if the file cannot be opened."""
        return self._core.logs.set_directory(path, min_severity)

    def set_voice_log_dir(self, path: str, min_severity: LoggingSeverity) -> None:
        """Write the voice log to a file in the directory `path`. Call this right after creating the client."""
        self._core.logs.set_voice_directory(path, min_severity)
