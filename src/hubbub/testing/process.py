"""The platform's own process: one for a test run, from which every test gets a fork.

A fork is a whole platform on a port of its own: store, clock, faults, limits and sessions are no other test's. The process keeps
one snapshot for each world that tests ask for, so a world file is built once.
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

from hubbub.testing.background import Background
from hubbub.testing.control import Control
from hubbub.testing.errors import BrokenPlatform
from hubbub.testing.ready import Ready, read

START_S: Final = 120.0
"""A platform that says nothing for so long will not start any more."""
STOP_S: Final = 10.0
SNAPSHOTS_MOST: Final = 32
LOG_MOST: Final = 4000
"""Bytes of the platform's log that a report shows."""


class Choice(NamedTuple):
    """Which world a test asks for."""

    text: bytes
    """A world file, as TOML or JSON; empty: the demo world."""
    media_type: str
    seed: int
    now: str | None
    """What time it is when the world begins; None: the machine's time."""


class Process:
    """A running `hubbub dev` that no test uses itself."""

    def __init__(self) -> None:
        self.background = Background()
        self._folder = Path(tempfile.mkdtemp(prefix="hubbub-testing-"))
        self._log = self._folder / "log"
        self._snapshots: dict[Choice, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        empty, ready = self._folder / "empty.toml", self._folder / "ready.json"
        empty.write_text("")
        arguments = ["--port", "0", "--world", str(empty), "--ready-file", str(ready), "--seed", "0"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hubbub.testing.child", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Settings of a platform that somebody runs from this shell are not the rehearsal's.
                env={name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")},
            )
        watchdog = threading.Timer(START_S, self._process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise BrokenPlatform(self._why_not())
        document = read(msgspec.json.decode(ready.read_bytes()))
        self.control = Control(self.background.http, document.control, document.control_token)
        self._empty = str(self.background.wait(self.control.ask("POST", "/snapshots"))["id"])

    def _why_not(self) -> str:
        said = self.log_since(0)
        if "ModuleNotFoundError" in said:
            missing = said.rsplit("ModuleNotFoundError: ", 1)[-1].strip().partition("\n")[0]
            return f"the platform needs libraries of its own ({missing}): pip install 'hubbub[server]'"
        return f"the platform did not start:\n{said}"

    def log_size(self) -> int:
        """Where the platform's log ends now."""
        return self._log.stat().st_size

    def log_since(self, position: int) -> str:
        """What the platform logged since then, the end of it where that is much."""
        with self._log.open("rb") as log:
            log.seek(max(position, self.log_size() - LOG_MOST))
            return log.read().decode("utf-8", "replace")

    def fork(self, choice: Choice, rate_limits: str) -> Ready:
        """A platform of one's own, with this world in it."""
        return self.background.wait(self._fork(choice, rate_limits))

    async def _fork(self, choice: Choice, rate_limits: str) -> Ready:
        snapshot_id = self._snapshots.pop(choice, None)
        if snapshot_id is None:
            snapshot_id = await self._build(choice)
        # The latest used is the last.
        self._snapshots[choice] = snapshot_id
        # Libraries compare the platform's times with the machine's, so that is what it is unless a test says otherwise.
        body = {"snapshot_id": snapshot_id, "now": choice.now or _machine_time(), "rate_limits": rate_limits}
        return read(await self.control.ask("POST", "/forks", body))

    async def _build(self, choice: Choice) -> str:
        while len(self._snapshots) >= SNAPSHOTS_MOST:
            oldest = next(iter(self._snapshots))
            await self.control.ask("DELETE", f"/snapshots/{self._snapshots.pop(oldest)}")
        await self.control.ask("POST", f"/snapshots/{self._empty}/restore")
        if choice.now is not None:
            await self.control.ask("POST", "/clock/set", {"now": choice.now})
        path = f"/worlds?seed={choice.seed}"
        await self.control.ask("POST", path, data=choice.text, headers={"Content-Type": choice.media_type})
        return str((await self.control.ask("POST", "/snapshots"))["id"])

    def end_fork(self, fork_id: str) -> None:
        """Let go of a platform."""
        self.background.wait(self.control.ask("DELETE", f"/forks/{fork_id}"))

    def close(self) -> None:
        """End the process, and with it every fork."""
        self.background.close()
        process = self._process
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    # Its end is what the process waits for.
                    with contextlib.suppress(OSError):
                        stream.close()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _machine_time() -> str:
    from datetime import UTC, datetime

    from hubbub.sdk.clock import machine_ms

    return datetime.fromtimestamp(machine_ms() / 1000, UTC).isoformat()
