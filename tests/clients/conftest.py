"""Fixtures for unmodified client libraries: the real App behind a proxy that can abort connections, and a check of the logs."""

import logging
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
import pytest

if TYPE_CHECKING:
    from tests.clients.client_setup import AbortableProxy, ClientSetup
    from tests.fixtures.validator import ResponseMonitor
    from tests.world import World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test in this folder as one that drives a client library."""
    for item in items:
        if "/tests/clients/" in item.path.as_posix():
            item.add_marker(pytest.mark.clients)


EXPECTED_LOG_PREFIXES = (
    # discord.py and hikari log these when the connection breaks.
    "Attempting a reconnect in",
    "failed to communicate with server, reason was: 'Socket has closed'",
    # The libraries log these when the machine is too busy to heartbeat in time.
    "Shard ID None heartbeat blocked for more than",
    "Can't keep up, shard ID None websocket is",
    "Shard ID None voice heartbeat blocked for more than",
    "High socket latency, shard ID None heartbeat is",
)
"""Prefixes of log messages that are not caused by the server."""


@pytest.fixture(autouse=True)
def fail_on_library_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on warnings and errors in the logs of the libraries and the server: a library only logs undecodable data."""
    yield
    records = [record for when in ("setup", "call") for record in caplog.get_records(when)]
    messages = [
        f"{record.name}: {record.getMessage()} {record.exc_text or ''}"
        for record in records
        if record.levelno >= logging.WARNING
        and record.name.split(".")[0] in ("discord", "hikari", "hubbub")
        and not record.getMessage().startswith(EXPECTED_LOG_PREFIXES)
    ]
    assert not messages, "\n".join(messages)


@pytest.fixture
async def proxy() -> "AsyncIterator[AbortableProxy]":
    """The proxy in front of the server."""
    from tests.clients.client_setup import AbortableProxy

    proxy = AbortableProxy()
    yield proxy
    await proxy.close()


@pytest.fixture
async def client_world(
    proxy: "AbortableProxy", response_monitor: "ResponseMonitor", tmp_path: Path
) -> "AsyncIterator[World]":
    """A running, empty server. Its clock runs, because libraries heartbeat and compare times by the wall clock."""
    from hubbub.server.app import App
    from hubbub.server.commands import certificates
    from hubbub.server.core.clock import ControlledClock, RealClock
    from hubbub.server.core.config import VoiceConfig
    from tests.world import NOW_MS, World, small_config

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    proxy.target_port = listener.getsockname()[1]
    certificate_files = certificates.issue(tmp_path / "voice", [])
    voice = VoiceConfig(
        certificate_file=str(certificate_files.certificate_path),
        key_file=str(certificate_files.key_path),
        ca_file=str(certificate_files.authority_path),
    )
    config = small_config(public_url=f"http://127.0.0.1:{await proxy.open()}", allow_private_targets=True, voice=voice)
    # A time after every dated change, even if the real date is earlier.
    app = App(config, clock=ControlledClock(max(NOW_MS, RealClock().now_ms())))
    await app.start(listener)
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


@pytest.fixture
async def setup(client_world: "World", proxy: "AbortableProxy") -> "ClientSetup":
    """Alice's guild with Bob in it, and a bot that administers it."""
    from hubbub.protocol.permissions import Permissions
    from tests.clients.client_setup import ClientSetup

    alice = await client_world.user("alice")
    bob = await client_world.user("bob")
    guild = await client_world.guild(alice, bob, name="Town Square")
    bot = await client_world.bot(guild, name="crier", permissions=Permissions.ADMINISTRATOR)
    return ClientSetup(client_world, proxy, alice, bob, guild, bot)


@pytest.fixture
def discord_py_urls(client_world: "World", monkeypatch: pytest.MonkeyPatch) -> None:
    """Connect discord.py to the tested server."""
    from tests.clients.discord_py_bot import use_server_urls

    use_server_urls(monkeypatch, client_world)
