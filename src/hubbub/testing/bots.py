"""Bots under test, which run in the event loop of the test."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, TypeVar

import aiohttp

from hubbub.protocol.control.ready import ReadyDocument
from hubbub.testing import libraries

BotT = TypeVar("BotT")

GUILD_READY_TIMEOUT_SECONDS: Final = 0.3
"""Maximum time in seconds that a library of the discord.py family waits for the next guild; the library's default is 2."""
READY_TIMEOUT_SECONDS: Final = 30.0
"""Default time limit until a bot is ready."""


@asynccontextmanager
async def run(ready: ReadyDocument, bot: BotT, token: str, timeout_seconds: float) -> AsyncIterator[BotT]:
    """Start a bot, wait until it is ready, and stop it on exit. Errors of the bot itself are raised."""
    __tracebackhide__ = True
    library = libraries.library_of(bot)
    if library is None:
        raise TypeError(f"{type(bot).__name__} is not a bot of {', '.join(libraries.LIBRARIES)}")
    client: Any = bot
    with libraries.pointed_at(library, ready):
        if library == "hikari":
            # A hikari bot has its own token, and its `start` returns when all shards are ready.
            await asyncio.wait_for(client.start(), timeout_seconds)
            try:
                yield bot
            finally:
                await client.close()
            return
        async with AsyncExitStack() as stack:
            if library != "interactions_py":
                # interactions.py does not wait for guilds after the last one has arrived.
                state = client._connection
                state.guild_ready_timeout = min(state.guild_ready_timeout, GUILD_READY_TIMEOUT_SECONDS)
            _trust_authority(client, ready)
            if library == "discord_py":
                # Entering the client makes `wait_until_ready` usable before the login.
                await stack.enter_async_context(client)
            start = client.astart if library == "interactions_py" else client.start
            bot_task = asyncio.ensure_future(start(token))
            try:
                await _wait_until_ready(client, bot_task, timeout_seconds)
                yield bot
            finally:
                await _stop(library, client, bot_task)


async def _stop(library: str, client: Any, bot_task: "asyncio.Future[None]") -> None:
    """Stop a bot. Raise the error of a bot that stopped by itself; ignore errors of the shutdown."""
    __tracebackhide__ = True
    if bot_task.done() or (library != "interactions_py" and client.is_closed()):
        # The bot stopped by itself, or is doing so.
        await asyncio.wait([bot_task])
        # A future that is awaited a second time raises its error without the traceback, which names the line of the bot.
        error = None if bot_task.cancelled() else bot_task.exception()
        if error is not None:
            raise error
        return
    if library == "interactions_py":
        # The `stop` of interactions.py waits for a heartbeat; canceling the task ends the bot without this wait.
        bot_task.cancel()
    else:
        await client.close()
    await asyncio.wait([bot_task])
    if not bot_task.cancelled():
        bot_task.exception()


async def _wait_until_ready(client: Any, bot_task: "asyncio.Future[None]", timeout_seconds: float) -> None:
    __tracebackhide__ = True
    ready_task = asyncio.ensure_future(client.wait_until_ready())
    try:
        await asyncio.wait([bot_task, ready_task], timeout=timeout_seconds, return_when=asyncio.FIRST_COMPLETED)
        if bot_task.done():
            bot_task.result()
            raise RuntimeError(f"{type(client).__name__} stopped before it was ready")
        if not ready_task.done():
            raise TimeoutError(f"{type(client).__name__} was not ready after {timeout_seconds:g} s")
    finally:
        ready_task.cancel()


def _trust_authority(client: Any, ready: ReadyDocument) -> None:
    """Let a bot trust the certificate authority of the voice server, unless its program has chosen a connector."""
    if ready.voice is not None and ready.voice.authority is not None and not client.http.connector:
        context = ssl.create_default_context()
        context.load_verify_locations(ready.voice.authority)
        client.http.connector = aiohttp.TCPConnector(limit=0, ssl=context)
