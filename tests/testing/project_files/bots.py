"""Tests of bots that `hubbub.start` runs, and of the ready document. `test_plugin.py` runs this file in a separate project."""

import asyncio

import discord
import pytest
from discord import app_commands

from hubbub.testing import Platform


class Greeter(discord.Client):
    """A bot with one command."""

    def __init__(self) -> None:
        super().__init__(intents=discord.Intents.default())
        self.tree = app_commands.CommandTree(self)

        @self.tree.command(description="Greet")
        async def greet(interaction: discord.Interaction) -> None:
            await interaction.response.send_message("hello")

    async def setup_hook(self) -> None:
        await self.tree.sync()


class BrokenSetup(discord.Client):
    """A bot whose setup fails."""

    async def setup_hook(self) -> None:
        raise LookupError("no such extension")


async def test_a_bot_runs_while_the_block_runs(hubbub: Platform) -> None:
    await hubbub.clock.freeze()
    bot = Greeter()
    async with hubbub.start(bot) as started_bot:
        assert started_bot is bot
        assert bot._connection.guild_ready_timeout < 1
        assert (await hubbub.users["alice"].run("general", "greet"))["content"] == "hello"
    assert bot.is_closed()


async def test_the_error_of_a_bot_is_raised(hubbub: Platform) -> None:
    with pytest.raises(LookupError, match="no such extension") as error_info:
        async with hubbub.start(BrokenSetup(intents=discord.Intents.default()), "demo-bot"):
            pytest.fail("the bot is not ready")
    # The report of a failed test shows the line of the bot.
    assert error_info.traceback[-1].name == "setup_hook"


async def test_a_missing_privileged_intent_is_raised(hubbub: Platform) -> None:
    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with hubbub.start(discord.Client(intents=discord.Intents.all()), "quiet-bot"):
            pytest.fail("the bot is not ready")


async def test_a_bot_that_fails_later_raises_its_error(hubbub: Platform) -> None:
    async def run_until_closed() -> None:
        bot = Greeter()
        async with hubbub.start(bot, "demo-bot"), asyncio.timeout(30):
            await hubbub.faults.close_session(hubbub.bots["demo-bot"], code=4013)
            while not bot.is_closed():
                await asyncio.sleep(0)

    with pytest.raises(discord.ConnectionClosed):
        await run_until_closed()


async def test_an_object_of_another_library_is_rejected(hubbub: Platform) -> None:
    with pytest.raises(TypeError, match="object is not a bot of discord_py, disnake, hikari"):
        async with hubbub.start(object(), "demo-bot"):
            pass


async def test_a_bot_joins_a_call(hubbub: Platform) -> None:
    bot = Greeter()
    async with hubbub.start(bot, "demo-bot"):
        channel = bot.get_channel(int(hubbub.guilds["Town Square"].channels["Lounge"]))
        assert isinstance(channel, discord.VoiceChannel)
        call = await channel.connect(timeout=30, reconnect=False)
        assert call.is_connected()
        await call.disconnect()


def test_the_ready_document_is_subscriptable(hubbub: Platform) -> None:
    assert hubbub.ready["users"]["alice"].token == hubbub.users["alice"].token
    with pytest.raises(KeyError, match="no key 'user'; it has: api, gateway"):
        hubbub.ready["user"]
