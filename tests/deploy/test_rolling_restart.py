"""A rolling restart of all processes behind nginx, under load: no request fails, and every session continues."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import aiohttp
import discord
import pytest
import yarl

from hubbub.protocol.enums import GatewayOpcode
from tests.clients.discord_py_bot import Bot, run_bot
from tests.contract.shell import choose_free_port
from tests.deploy.test_proxies import nginx_command, run_proxy
from tests.journeys.processes import ApiUser, GatewaySession, Server, create_guild, register_user

pytestmark = [pytest.mark.program("nginx"), pytest.mark.xdist_group("many_processes")]

PROCESS_COUNT: Final = 2
SENDER_COUNT: Final = 4
CLIENT_CLOSE_CODE: Final = 4000
"""Close code with which client libraries close a connection that they want to resume."""
PROXY: Final = """
upstream hubbub {
    %(servers)s
    keepalive 32;
}
map $http_upgrade $hubbub_connection {
    default upgrade;
    ''      '';
}
server {
    listen 127.0.0.1:%(port)d;
    proxy_http_version 1.1;
    proxy_set_header Host            $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header Upgrade         $http_upgrade;
    proxy_set_header Connection      $hubbub_connection;
    location / {
        proxy_pass http://hubbub;
    }
}
"""


class Process:
    """A server process that keeps its own port over restarts; the ready file has the port of the proxy."""

    def __init__(self, folder: Path, number: int, flags: tuple[str, ...]) -> None:
        self.port = choose_free_port()
        self.server = Server(folder, "serve", "--worker", str(number), *flags)

    async def start(self) -> None:
        self.server.port = self.port
        await self.server.start()

    async def restart(self) -> None:
        """Stop the process with SIGTERM, and start it again."""
        self.server.terminate()
        assert await self.server.wait_ended() == 0
        await self.start()


class Client:
    """A gateway client that resumes whenever it is asked to reconnect or loses its connection."""

    def __init__(self, session: GatewaySession) -> None:
        self.session = session
        self.resume_count = 0
        self._seen_frame_count = len(session.other_frames)
        """Number of frames that were handled."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        session = self.session
        while True:
            await session.wait_until(self._must_reconnect, timeout_seconds=600)
            self._seen_frame_count = len(session.other_frames)
            assert session.socket is not None
            await session.socket.close(code=CLIENT_CLOSE_CODE)
            # A process that stops may answer with Reconnect instead of Hello.
            with contextlib.suppress(AssertionError, aiohttp.ClientError):
                await session.resume()
                self.resume_count += 1

    def _must_reconnect(self) -> bool:
        opcodes = [frame["op"] for frame in self.session.other_frames[self._seen_frame_count :]]
        return self.session.close_code is not None or GatewayOpcode.RECONNECT in opcodes

    async def stop(self) -> None:
        self._task.cancel()
        results = await asyncio.gather(self._task, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError), results


@contextlib.asynccontextmanager
async def running_platform(folder: Path, database_url: str, nats_url: str) -> AsyncIterator[tuple[str, list[Process]]]:
    """Run the processes behind nginx; yield the URL of nginx and the processes."""
    port = choose_free_port()
    url = f"http://127.0.0.1:{port}"
    flags = (
        "--roles",
        "api,gateway,worker",
        "--rate-limits",
        "off",
        "--public-url",
        url,
        "--http-trusted-proxies",
        "1",
    )
    flags += ("--database-url", database_url, "--nats-url", nats_url, "--data", str(folder / "data"))
    flags += ("--gateway-drain-ms", "3000")
    processes = [Process(folder, number, flags) for number in range(PROCESS_COUNT)]
    servers = " ".join(f"server 127.0.0.1:{process.port} max_fails=0;" for process in processes)
    try:
        await asyncio.gather(*(process.start() for process in processes))
        async with run_proxy(nginx_command(folder, PROXY % {"servers": servers, "port": port}), port, folder):
            yield url, processes
    finally:
        for process in processes:
            process.server.stop()


async def create_bot(owner: ApiUser, guild_id: str) -> str:
    """Create an application with a bot that is an administrator of a guild; return the bot's token."""
    application_id = (await owner.post("/applications", {"name": "crier"})).ok()["id"]
    token: str = (await owner.post(f"/applications/{application_id}/bot")).ok()["token"]
    path = f"/oauth2/authorize?client_id={application_id}&scope=bot&permissions=8"
    (await owner.post(path, {"authorize": True, "guild_id": guild_id, "permissions": "8"})).ok()
    return token


async def test_a_rolling_restart_fails_no_request_and_ends_no_session(
    tmp_path: Path, postgres_database: str, nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        running_platform(tmp_path, postgres_database, nats_url) as (url, processes),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http_client,
    ):
        alice, bob = [await register_user(http_client, processes[0].server, name) for name in ("alice", "bob")]
        guild_id, channel_id, _ = await create_guild(alice, bob)
        monkeypatch.setattr(discord.http.Route, "BASE", f"{url}/api/v10")
        gateway = f"{url.replace('http', 'ws')}/gateway"
        monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(gateway))
        bot = Bot(intents=discord.Intents(guilds=True, guild_messages=True))
        async with run_bot(bot, await create_bot(alice, guild_id)):
            clients = [Client(await GatewaySession(user, gateway).open()) for user in (alice, bob, alice, bob)]
            sent_contents: list[str] = []
            failures: list[Any] = []
            stop_event = asyncio.Event()

            async def send_messages(sender: int) -> None:
                number = 0
                while not stop_event.is_set():
                    number += 1
                    content = f"{sender} {number}"
                    try:
                        for response in (
                            await alice.post(f"/channels/{channel_id}/messages", {"content": content}),
                            await bob.get(f"/guilds/{guild_id}"),
                        ):
                            if response.status != 200:
                                failures.append((response.status, response.body))
                    except aiohttp.ClientError as error:
                        failures.append(error)
                    sent_contents.append(content)

            senders = [asyncio.create_task(send_messages(number)) for number in range(SENDER_COUNT)]
            for process in processes:
                await process.restart()
            stop_event.set()
            await asyncio.gather(*senders)
            assert not failures
            await alice.post(f"/channels/{channel_id}/messages", {"content": "end"})
            for client in clients:
                session = client.session
                await session.wait_message("end")
                await client.stop()
                assert client.resume_count >= 1
                assert GatewayOpcode.INVALID_SESSION not in [frame["op"] for frame in session.other_frames]
                assert session.sequence_numbers() == list(range(1, len(session.dispatches) + 1))
                assert sorted(session.message_contents()) == sorted([*sent_contents, "end"])
                await session.close()
            # Bots without the privileged intent receive messages without their content.
            for _ in range(len(sent_contents) + 1):
                await bot.wait_event("message")
            await bot.wait_event("resumed")
            assert {"message", "ready", "guild_available"}.isdisjoint(record[0] for record in bot.inbox.events)
