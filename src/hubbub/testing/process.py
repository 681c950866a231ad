"""The server process of a test run, from which every test gets a fork.

A fork is a complete platform on its own port: its store, clock, faults, rate limits and sessions are not shared with
other tests. The process keeps a snapshot of each world that tests use, so that a world file is built only once.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from hubbub.people.errors import PlatformUnavailable
from hubbub.people.ready import ReadyDocument, parse_ready_document
from hubbub.people.requests import ControlClient
from hubbub.testing.background import Background

START_TIMEOUT_SECONDS: Final = 120.0
"""Time limit for the start of the server."""
STOP_TIMEOUT_SECONDS: Final = 10.0
"""Time limit for the shutdown of the server."""
SNAPSHOTS_MAX: Final = 32
"""Maximum number of worlds whose snapshots are kept."""
LOG_BYTES_MAX: Final = 4000
"""Maximum number of bytes of the server's log in a report."""


class WorldChoice(NamedTuple):
    """The world that a test uses."""

    content: bytes
    """Content of a world file, as TOML or JSON."""
    media_type: str
    seed: int
    now: str | None
    """Start time of the world, or None for the machine's time."""


class PlatformProcess:
    """A running `hubbub dev`. Tests use forks of it, not the process itself."""

    def __init__(self) -> None:
        self.background = Background()
        self._directory = Path(tempfile.mkdtemp(prefix="hubbub-testing-"))
        self._log = self._directory / "log"
        self._snapshots: dict[WorldChoice, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        empty_world, ready_file = self._directory / "empty.toml", self._directory / "ready.json"
        empty_world.write_text("")
        arguments = ["--port", "0", "--world", str(empty_world), "--ready-file", str(ready_file), "--seed", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hubbub.server.cli", "dev", "--stop-with-stdin", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Settings for a server that runs from this shell must not affect tests.
                env={name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")},
            )
        watchdog = threading.Timer(START_TIMEOUT_SECONDS, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise PlatformUnavailable(self._start_error())
        document = parse_ready_document(msgspec.json.decode(ready_file.read_bytes()))
        self.control = ControlClient(self.background.http, document.control, document.control_token)
        self._empty_snapshot_id = str(self.background.run_and_wait(self.control.request("POST", "/snapshots"))["id"])

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

    def fork(self, choice: WorldChoice, rate_limits: str) -> ReadyDocument:
        """Create a platform with this world; return its ready document."""
        return self.background.run_and_wait(self._fork(choice, rate_limits))

    async def _fork(self, choice: WorldChoice, rate_limits: str) -> ReadyDocument:
        snapshot_id = self._snapshots.pop(choice, None)
        if snapshot_id is None:
            snapshot_id = await self._build_snapshot(choice)
        # Insert it at the end, so that the first entry is the least recently used one.
        self._snapshots[choice] = snapshot_id
        # Client libraries compare the platform's time with the machine's, so that is the default.
        body = {"snapshot_id": snapshot_id, "now": choice.now or _machine_time(), "rate_limits": rate_limits}
        return parse_ready_document(await self.control.request("POST", "/forks", body))

    async def _build_snapshot(self, choice: WorldChoice) -> str:
        while len(self._snapshots) >= SNAPSHOTS_MAX:
            oldest = next(iter(self._snapshots))
            await self.control.request("DELETE", f"/snapshots/{self._snapshots.pop(oldest)}")
        await self.control.request("POST", f"/snapshots/{self._empty_snapshot_id}/restore")
        if choice.now is not None:
            await self.control.request("POST", "/clock/set", {"now": choice.now})
        path = f"/worlds?seed={choice.seed}"
        await self.control.request("POST", path, data=choice.content, headers={"Content-Type": choice.media_type})
        return str((await self.control.request("POST", "/snapshots"))["id"])

    def end_fork(self, fork_id: str) -> None:
        """Stop a platform."""
        self.background.run_and_wait(self.control.request("DELETE", f"/forks/{fork_id}"))

    def close(self) -> None:
        """Stop the server process and all its forks."""
        self.background.close()
        process = self._process
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    # The server exits when its stdin is closed.
                    with contextlib.suppress(OSError):
                        stream.close()
            try:
                process.wait(STOP_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)


def _machine_time() -> str:
    from datetime import UTC, datetime

    from hubbub.sdk.clock import read_machine_ms

    return datetime.fromtimestamp(read_machine_ms() / 1000, UTC).isoformat()
