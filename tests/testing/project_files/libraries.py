"""Tests with hikari under anyio, and with discord.py in a thread beside a synchronous test.

`test_plugin.py` runs this file in a separate project."""

import asyncio
import threading
from collections.abc import Iterator

import discord
import hikari
import hikari.urls
import pytest
from discord.http import Route

from hubbub.testing import Platform


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_hikari_bot_replies(hubbub_hikari: Platform) -> None:
    hubbub = hubbub_hikari
    application = hubbub.applications["demo-bot"]
    assert application.bot is not None
    bot = hikari.GatewayBot(
        application.bot.token, intents=hikari.Intents.ALL, banner=None, suppress_optimization_warning=True
    )

    @bot.listen()
    async def reply(event: hikari.GuildMessageCreateEvent) -> None:
        if event.content == "!ping":
            await event.message.respond("pong")

    async with hubbub.start(bot):
        await hubbub.users["alice"].send_message("general", "!ping")
        await hubbub.users["alice"].expect("MESSAGE_CREATE", content="pong")


@pytest.mark.anyio
async def test_the_error_of_a_hikari_bot_is_raised(hubbub_hikari: Platform) -> None:
    token = hubbub_hikari.bots["demo-bot"].token[:-4] + "0000"
    bot = hikari.GatewayBot(token, banner=None, suppress_optimization_warning=True)
    with pytest.raises(hikari.UnauthorizedError):
        async with hubbub_hikari.start(bot):
            pytest.fail("the bot is not ready")


@pytest.mark.anyio
async def test_a_hikari_bot_that_is_not_ready_in_time_is_an_error(hubbub_hikari: Platform) -> None:
    bot = hikari.GatewayBot(hubbub_hikari.bots["demo-bot"].token, banner=None, suppress_optimization_warning=True)
    with pytest.raises(TimeoutError):
        async with hubbub_hikari.start(bot, within=0.001):
            pytest.fail("the bot is not ready")


def test_library_urls_are_restored(hubbub: Platform) -> None:
    assert hikari.urls.REST_API_URL == "https://discord.com/api/v10"
    assert Route.BASE == "https://discord.com/api/v10"


@pytest.fixture
def ping_bot(hubbub_discord_py: Platform) -> Iterator[None]:
    """A bot in its own thread, for tests without an event loop."""
    application = hubbub_discord_py.applications["demo-bot"]
    assert application.bot is not None
    token = application.bot.token
    client = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.5)
    ready = threading.Event()

    @client.event
    async def on_ready() -> None:
        ready.set()

    @client.event
    async def on_message(message: discord.Message) -> None:
        if message.content == "!ping":
            await message.reply("pong")

    thread = threading.Thread(target=lambda: asyncio.run(client.start(token)))
    thread.start()
    assert ready.wait(60)
    yield
    asyncio.run_coroutine_threadsafe(client.close(), client.loop)
    thread.join(60)


def test_a_bot_in_a_thread_replies_to_a_synchronous_test(hubbub: Platform, ping_bot: None) -> None:
    alice = hubbub.users["alice"]
    ping = alice.send_message("general", "!ping")
    reply = alice.expect("MESSAGE_CREATE", content="pong")
    assert reply["referenced_message"]["id"] == ping["id"]
