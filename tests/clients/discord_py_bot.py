"""discord.py clients for tests: unmodified, connected to the tested server, with recorded events."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import discord
import pytest
import yarl

from tests.clients.client_setup import TIMEOUT_SECONDS, Inbox
from tests.world import World

GUILD_READY_TIMEOUT_SECONDS = 0.1
"""Time that discord.py waits after the last GUILD_CREATE before it is ready; its default is two seconds."""


class Bot(discord.Client):
    """A discord.py client that records its events."""

    def __init__(self, **options: Any) -> None:
        settings: dict[str, Any] = {
            "intents": discord.Intents.all(),
            "guild_ready_timeout": GUILD_READY_TIMEOUT_SECONDS,
        }
        super().__init__(**(settings | options))
        self.inbox = Inbox()

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        """Record an event. The library calls this for every event, after it updated its cache."""
        self.inbox.put((event, args))
        super().dispatch(event, *args, **kwargs)

    async def wait_event(self, event: str, matches: Callable[..., bool] = lambda *_: True) -> Any:
        """Wait for an event and return its argument, or a tuple if it has several."""
        _, args = await self.inbox.take(lambda record: record[0] == event and matches(*record[1]), event)
        return args[0] if len(args) == 1 else args

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        """Skip the library's five-second wait between shards, which the tested server does not require."""


class ShardedBot(Bot, discord.AutoShardedClient):
    """A client with several shards that records its events."""


@asynccontextmanager
async def run_bot(bot: Bot, token: str, guild_count: int = 1) -> AsyncIterator[Bot]:
    """Log the bot in, wait until it is ready with this many guilds in its cache, and close it on exit."""
    async with bot:
        task = asyncio.create_task(bot.start(token))
        task.add_done_callback(lambda task: bot.inbox.end(None if task.cancelled() else task.exception()))
        for _ in range(guild_count):
            await bot.wait_event("guild_available")
        await bot.wait_event("ready")
        yield bot
        await bot.close()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, TIMEOUT_SECONDS)


def use_server_urls(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Replace the library's three built-in URLs by those of the tested server."""
    monkeypatch.setattr(discord.http.Route, "BASE", world.api)
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(world.gateway))
    monkeypatch.setattr(discord.asset.Asset, "BASE", f"{world.url}/cdn")
