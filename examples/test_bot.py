"""A test of a discord.py bot with the pytest plugin: run it with `pytest examples/test_bot.py` (docs/testing.md).

The platform is started by the fixture and gone afterwards; the bot runs in a thread, since these tests have no event loop.
"""

import asyncio
import threading
from collections.abc import Iterator

import discord
import pytest

from hubbub.testing import Platform


@pytest.fixture
def bot(hubbub_discord_py: Platform) -> Iterator[discord.Client]:
    """The bot of the README, online."""
    client = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.5)
    ready = threading.Event()

    @client.event
    async def on_ready() -> None:
        ready.set()

    @client.event
    async def on_message(message: discord.Message) -> None:
        if message.content == "!ping":
            await message.reply("pong")

    token = hubbub_discord_py.bots["demo-bot"].token
    thread = threading.Thread(target=lambda: asyncio.run(client.start(token)))
    thread.start()
    assert ready.wait(30)
    yield client
    asyncio.run_coroutine_threadsafe(client.close(), client.loop)
    thread.join()


def test_a_ping_is_answered(hubbub: Platform, bot: discord.Client) -> None:
    """Alice, a person, asks; the answer is a reply to her."""
    alice = hubbub.users["alice"]
    asked = alice.say("general", "!ping")

    answer = alice.expect("MESSAGE_CREATE", content="pong")

    assert answer["author"]["id"] == hubbub.bots["demo-bot"].id
    assert answer["referenced_message"]["id"] == asked["id"]


def test_nothing_is_said_where_the_bot_may_not_be(hubbub: Platform, bot: discord.Client) -> None:
    """The bot is not in #staff, so it hears nothing there; in #general it still does."""
    alice = hubbub.users["alice"]
    alice.say("staff", "!ping")
    alice.say("general", "!ping")

    alice.expect("MESSAGE_CREATE", content="pong", channel_id=hubbub.guilds["Town Square"].channels["general"])
    alice.expect_none("MESSAGE_CREATE", channel_id=hubbub.guilds["Town Square"].channels["staff"])
