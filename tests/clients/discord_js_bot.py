"""discord.js clients for tests: unmodified, in Node processes that run `js/driver.mjs` and report their events."""

import asyncio
import itertools
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.client_setup import TIMEOUT_SECONDS, ClientSetup, Inbox

JS_FOLDER = Path(__file__).parent / "js"
NODE = shutil.which("node")
"""Path of Node, or None if it is not installed."""

REQUIRES_DISCORD_JS = [
    pytest.mark.skipif(NODE is None, reason="Node.js is not installed"),
    pytest.mark.skipif(
        not (JS_FOLDER / "node_modules" / "discord.js").is_dir(), reason="discord.js is not installed: make client-deps"
    ),
]
"""Marks of tests that skip them where discord.js is not installed."""


def requires_package(name: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where an npm package is not installed."""
    is_installed = NODE is not None and (JS_FOLDER / "node_modules" / name).is_dir()
    return pytest.mark.skipif(not is_installed, reason=f"{name} is not installed: make client-deps")


class StepError(Exception):
    """Failure of a step in the Node process; `code` and `status` are those of the library's error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.name: str = error["name"]
        self.code: int | str | None = error["code"]
        self.status: int | None = error["status"]


class JsBot:
    """A discord.js client in its own process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.inbox = Inbox()
        self._process = process
        self._numbers = itertools.count()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            record = json.loads(line)
            self.inbox.put((record.get("event", record.get("id")), record))
        self.inbox.end()

    async def wait_event(self, event: str, matches: Callable[[Any], bool] = lambda _: True) -> Any:
        """Wait for an event and return its data."""
        _, line = await self.inbox.take(lambda record: record[0] == event and matches(record[1]["data"]), event)
        return line["data"]

    async def run_step(self, step: str, **args: Any) -> Any:
        """Run a function of steps.mjs or voice.mjs on the client and return its result."""
        assert self._process.stdin is not None
        number = next(self._numbers)
        self._process.stdin.write(json.dumps({"id": number, "step": step, "args": args}).encode() + b"\n")
        _, line = await self.inbox.take(lambda record: record[0] == number, f"the result of {step}")
        if "error" in line:
            raise StepError(line["error"])
        return line["result"]

    async def close(self) -> None:
        """End the process and assert that the client reported no error."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), TIMEOUT_SECONDS)
        except TimeoutError:
            self._process.kill()
            raise
        finally:
            await self._reader
        errors = [event for event in self.inbox.events if event[0] in ("error", "warn", "shardDisconnect")]
        assert not errors, errors


@asynccontextmanager
async def run_js_bot(
    setup: ClientSetup, token: str | None = None, environment: dict[str, str] | None = None, **options: Any
) -> AsyncIterator[JsBot]:
    """Start a client that logs in with the token, by default that of the setup's bot, and end it on exit."""
    settings = {
        "token": token or setup.bot.token,
        "api": f"{setup.world.url}/api",
        "cdn": f"{setup.world.url}/cdn",
        "options": options,
    }
    process = await asyncio.create_subprocess_exec(
        "node",
        "driver.mjs",
        json.dumps(settings),
        cwd=JS_FOLDER,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
        env=os.environ | (environment or {}),
    )
    bot = JsBot(process)
    try:
        yield bot
    finally:
        await bot.close()
