"""The server process of a test run, which the first test with a platform starts.

The workers of pytest-xdist share one server. The process that runs the workers keeps the write end of the server's standard
input open; the server stops when that input ends. A worker locks a file while it starts the server or changes shared state.

This module imports no third-party package, so that the server starts while a test process imports the client.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # Windows: each worker has its own server.
    fcntl = None  # type: ignore[assignment]

START_TIMEOUT_SECONDS: Final = 120.0
"""Time limit for the start of the server."""
STOP_TIMEOUT_SECONDS: Final = 10.0
"""Time limit for the shutdown of the server."""
LOG_BYTES_MAX: Final = 4000
"""Maximum number of bytes of the server's log in a report."""

_INPUT: Final = "input"
"""Name of the pipe that is the standard input of a shared server."""


class SharedDirectory:
    """The files of a server that workers share; it belongs to the process that runs the workers."""

    @staticmethod
    def is_supported() -> bool:
        """Return whether this system has named pipes; it has file locks then, too."""
        return hasattr(os, "mkfifo")

    def __init__(self) -> None:
        self.path = _new_directory()
        os.mkfifo(self.path / _INPUT)
        self._input = os.open(self.path / _INPUT, os.O_RDWR)

    def close(self) -> None:
        """Stop the server, if a worker started it, and delete its files."""
        os.close(self._input)
        shutil.rmtree(self.path, ignore_errors=True)


class ServerProcess:
    """A `hubbub dev` with an empty world, of this process or shared with other workers."""

    def __init__(self, shared_path: Path | None = None) -> None:
        """Start the server, unless it is shared and another worker has started it or is starting it."""
        self.is_shared = shared_path is not None
        """Whether other workers use the server, too."""
        self.directory = _new_directory() if shared_path is None else shared_path
        self.state_file = self.directory / "state.json"
        """File with the snapshots that workers share; it exists once the server is ready."""
        self.ready_file = self.directory / "ready.json"
        self.process: subprocess.Popen[bytes] | None = None
        """The process, or None if another worker started it."""
        self._log = self.directory / "log"
        self._lock_file: int | None = None
        if self._acquire(is_blocking=False) and not self.state_file.exists():
            self._launch()
        else:
            self._release()

    def wait_started(self) -> str:
        """Wait until the server is ready or another worker has started it, and return the error, or "".

        The lock is held until `finish_start`."""
        if self.process is None:
            self._acquire(is_blocking=True)
            if self.state_file.exists():
                return ""
            # The worker that held the lock failed to start the server.
            self._launch()
        process = self.process
        assert process is not None
        assert process.stdout is not None
        watchdog = threading.Timer(START_TIMEOUT_SECONDS, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            line = process.stdout.readline()
        finally:
            watchdog.cancel()
        return "" if line else self._start_error()

    def finish_start(self) -> None:
        """Let other workers use the server."""
        self._release()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other workers from changing the world of the server."""
        self._acquire(is_blocking=True)
        try:
            yield
        finally:
            self._release()

    def _acquire(self, *, is_blocking: bool) -> bool:
        """Lock a server, if it is shared; return False if another worker holds the lock and `is_blocking` is False."""
        if not self.is_shared:
            return True
        self._lock_file = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | (0 if is_blocking else fcntl.LOCK_NB))
        except BlockingIOError:
            self._release()
            return False
        return True

    def _release(self) -> None:
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def _launch(self) -> None:
        empty_world = self.directory / "empty.toml"
        empty_world.write_text("")
        arguments = ["--port", "0", "--world", str(empty_world), "--ready-file", str(self.ready_file), "--seed", "0"]
        # The process that runs the workers has the other end, so this does not wait.
        stdin = os.open(self.directory / _INPUT, os.O_RDONLY) if self.is_shared else subprocess.PIPE
        try:
            with self._log.open("wb") as log:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "hubbub.server.cli", "dev", "--stop-with-stdin", *arguments],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Settings for a server that runs from this shell must not affect tests.
                    env={name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")},
                )
        finally:
            if self.is_shared:
                os.close(stdin)

    def _start_error(self) -> str:
        log = self.log_since(0)
        if "hubbub[server]" in log:
            return log.strip().rpartition("\n")[2]
        return f"the platform did not start:\n{log}"

    def log_size(self) -> int:
        """Return the current size of the server's log in bytes."""
        return self._log.stat().st_size

    def log_since(self, position: int) -> str:
        """Return the server's log since a position, truncated to its last `LOG_BYTES_MAX` bytes."""
        with self._log.open("rb") as log:
            log.seek(max(position, self.log_size() - LOG_BYTES_MAX))
            return log.read().decode("utf-8", "replace")

    def close(self) -> None:
        """Stop the server and delete its files, unless it is shared."""
        self._release()
        process = self.process
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    # The server exits when its stdin is closed.
                    with contextlib.suppress(OSError):
                        stream.close()
            if self.is_shared:
                # Other workers may still use the server. Without a return code, Popen would warn that it still runs.
                process.returncode = 0
            else:
                _wait_or_kill(process)
        if not self.is_shared:
            shutil.rmtree(self.directory, ignore_errors=True)

    def kill(self) -> None:
        """Stop a server that was never used, without waiting until it is ready, and delete its files."""
        if self.process is not None:
            self.process.kill()
        self.close()


def _new_directory() -> Path:
    return Path(tempfile.mkdtemp(prefix="hubbub-testing-"))


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
