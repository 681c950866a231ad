"""Test of a bot that uses the library named in the environment variable BOT_LIBRARY.

The fixture `hubbub_<library>` connects the bot to the platform.

`test_plugin.py` runs this file in the virtual environment of each library."""

# mypy: ignore-errors

import os
from importlib import import_module

import pytest

LIBRARY = os.environ["BOT_LIBRARY"]


@pytest.fixture
def platform(request):
    """The platform. The library is configured to use the URLs of the platform."""
    return request.getfixturevalue(f"hubbub_{LIBRARY}")


def _bases(mixin, client):
    return (client,) if mixin is object else (mixin, client)


def create_bot(mixin=object):
    """Return a bot that answers `!ping`; `mixin` is a base class that comes before that of the library."""
    if LIBRARY == "interactions_py":
        interactions = import_module("interactions")
        bot = type("Bot", _bases(mixin, interactions.Client), {})(intents=interactions.Intents.ALL)

        @interactions.listen("message_create")
        async def reply(event):
            if event.message.content == "!ping":
                await event.message.channel.send("pong")

        bot.add_listener(reply)
        return bot
    package = import_module({"py_cord": "discord"}.get(LIBRARY, LIBRARY))
    bot = type("Bot", _bases(mixin, package.Client), {})(intents=package.Intents.all())

    @bot.event
    async def on_message(message):
        if message.content == "!ping":
            await message.channel.send("pong")

    return bot


async def test_the_bot_replies(platform):
    async with platform.start(create_bot()):
        await platform.users["alice"].send_message("general", "!ping")
        await platform.users["alice"].expect("MESSAGE_CREATE", content="pong")


class BrokenLogin:
    """A bot whose login fails."""

    async def login(self, *arguments, **options):
        raise LookupError("no such extension")


async def test_the_error_of_the_bot_is_raised(platform):
    with pytest.raises(LookupError, match="no such extension"):
        async with platform.start(create_bot(BrokenLogin)):
            pytest.fail("the bot is not ready")


async def test_a_bot_that_is_not_ready_in_time_is_an_error(platform):
    with pytest.raises(TimeoutError, match=r"Bot was not ready after 0\.001 s"):
        async with platform.start(create_bot(), within=0.001):
            pytest.fail("the bot is not ready")


if LIBRARY != "interactions_py":  # interactions.py does not wait for further guilds.

    async def test_the_wait_for_guilds_is_short(platform):
        bot = create_bot()
        async with platform.start(bot):
            assert bot._connection.guild_ready_timeout < 1


if LIBRARY != "nextcord":  # nextcord ignores the port of the voice server.
    # Before March 2026 calls need no end-to-end encryption, which interactions.py does not have.
    @pytest.mark.hubbub(now="2026-02-20T00:00:00Z")
    async def test_the_bot_joins_a_call(platform):
        channel_id = int(platform.guilds["Town Square"].channels["Lounge"])
        bot = create_bot()
        async with platform.start(bot):
            if LIBRARY == "interactions_py":
                call = await bot.connect_to_vc(platform.guilds["Town Square"].id, channel_id)
                assert call.connected
            else:
                call = await bot.get_channel(channel_id).connect(timeout=30, reconnect=False)
                assert call.is_connected()
            await call.disconnect()
