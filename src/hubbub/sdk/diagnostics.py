"""What a game can read of the SDK's work (sdk.md 14)."""

from hubbub.sdk.core import Core
from hubbub.sdk.enums import LoggingSeverity
from hubbub.sdk.logs import LogCallback


class Diagnostics:
    """The logs."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def add_log_callback(self, callback: LogCallback, min_severity: LoggingSeverity) -> None:
        """Read the log, voice excepted; there may be several readers."""
        self._core.logs.add_callback(callback, min_severity)

    def add_voice_log_callback(self, callback: LogCallback, min_severity: LoggingSeverity) -> None:
        """Read the log of voice."""
        self._core.logs.add_callback(callback, min_severity, voice=True)

    def set_log_dir(self, path: str, min_severity: LoggingSeverity) -> bool:
        """Write the log to `hubbub.log` in a directory; empty is beside the library. False if that cannot be."""
        return self._core.logs.set_directory(path, min_severity)

    def set_voice_log_dir(self, path: str, min_severity: LoggingSeverity) -> None:
        """Write the log of voice to a directory; right after the client was made."""
        self._core.logs.set_voice_directory(path, min_severity)
