"""Tests of a discord.py bot with the pytest plugin: run them with `pytest examples/test_bot.py` (docs/testing.md).

The fixture starts and stops the server. The bot runs in a thread, because these tests have no event loop.
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


def test_the_bot_replies_to_a_ping(hubbub: Platform, bot: discord.Client) -> None:
    """The user Alice sends !ping, and the bot replies to her message."""
    alice = hubbub.users["alice"]
    ping = alice.send_message("general", "!ping")

    reply = alice.expect("MESSAGE_CREATE", content="pong")

    assert reply["author"]["id"] == hubbub.bots["demo-bot"].id
    assert reply["referenced_message"]["id"] == ping["id"]


def test_the_bot_is_silent_in_channels_it_cannot_see(hubbub: Platform, bot: discord.Client) -> None:
    """The bot cannot see #staff, so it replies only in #general."""
    alice = hubbub.users["alice"]
    alice.send_message("staff", "!ping")
    alice.send_message("general", "!ping")

    alice.expect("MESSAGE_CREATE", content="pong", channel_id=hubbub.guilds["Town Square"].channels["general"])
    alice.expect_none("MESSAGE_CREATE", channel_id=hubbub.guilds["Town Square"].channels["staff"])
