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


def create_bot():
    """Return a bot that answers `!ping`."""
    if LIBRARY == "interactions_py":
        interactions = import_module("interactions")
        bot = interactions.Client(intents=interactions.Intents.ALL)

        @interactions.listen("message_create")
        async def reply(event):
            if event.message.content == "!ping":
                await event.message.channel.send("pong")

        bot.add_listener(reply)
        return bot
    package = import_module({"py_cord": "discord"}.get(LIBRARY, LIBRARY))
    bot = package.Client(intents=package.Intents.all())

    @bot.event
    async def on_message(message):
        if message.content == "!ping":
            await message.channel.send("pong")

    return bot


async def test_the_bot_replies(platform):
    async with platform.start(create_bot()):
        await platform.users["alice"].send_message("general", "!ping")
        await platform.users["alice"].expect("MESSAGE_CREATE", content="pong")
