"""A server for unmodified client libraries: the real App on a running clock, behind a proxy that can cut connections."""

import logging
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

if TYPE_CHECKING:
    from tests.clients.scene import ClientScene, CuttableProxy
    from tests.fixtures.validator import ResponseMonitor
    from tests.world import World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here as one that drives a client library."""
    for item in items:
        if "/tests/clients/" in item.path.as_posix():
            item.add_marker(pytest.mark.clients)


EXPECTED = (
    # When the connection breaks.
    "Attempting a reconnect in",
    "failed to communicate with server, reason was: 'Socket has closed'",
    # When the machine is too busy to heartbeat in time.
    "Shard ID None heartbeat blocked for more than",
    "Can't keep up, shard ID None websocket is",
    "Shard ID None voice heartbeat blocked for more than",
    "High socket latency, shard ID None heartbeat is",
)
"""Prefixes of log messages that are not caused by the server."""


@pytest.fixture(autouse=True)
def fail_on_library_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on log messages of a library: it reports undecodable data in its log and continues."""
    yield
    records = [record for when in ("setup", "call") for record in caplog.get_records(when)]
    complaints = [
        f"{record.name}: {record.getMessage()} {record.exc_text or ''}"
        for record in records
        if record.levelno >= logging.WARNING
        and record.name.split(".")[0] in ("discord", "hikari", "hubbub")
        and not record.getMessage().startswith(EXPECTED)
    ]
    assert not complaints, "\n".join(complaints)


@pytest.fixture
async def line() -> "AsyncIterator[CuttableProxy]":
    """The proxy in front of the server."""
    from tests.clients.scene import CuttableProxy

    line = CuttableProxy()
    yield line
    await line.close()


@pytest.fixture
async def client_world(line: "CuttableProxy", watch: "ResponseMonitor", tmp_path: Path) -> "AsyncIterator[World]":
    """A running, empty server. Its clock runs, because libraries heartbeat and compare times by the wall clock."""
    from hubbub.server.app import App
    from hubbub.server.commands import certificates
    from hubbub.server.core.clock import ControlledClock, RealClock
    from hubbub.server.core.config import VoiceConfig
    from tests.world import NOW_MS, World, small_config

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    line.target = listener.getsockname()[1]
    made = certificates.issue(tmp_path / "voice", [])
    voice = VoiceConfig(certificate=str(made.certificate), key=str(made.key), authority=str(made.authority))
    config = small_config(public_url=f"http://127.0.0.1:{await line.open()}", private_targets=True, voice=voice)
    # After every dated change, whatever the current date.
    app = App(config, clock=ControlledClock(max(NOW_MS, RealClock().now_ms())))
    await app.start(listener)
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


@pytest.fixture
async def town(client_world: "World", line: "CuttableProxy") -> "ClientScene":
    """Alice's guild with Bob in it, and a bot that administers it."""
    from tests.clients.scene import ADMINISTRATOR, ClientScene

    alice = await client_world.user("alice")
    bob = await client_world.user("bob")
    guild = await client_world.guild(alice, bob, name="Town Square")
    bot = await client_world.bot(guild, name="crier", permissions=ADMINISTRATOR)
    return ClientScene(client_world, line, alice, bob, guild, bot)
