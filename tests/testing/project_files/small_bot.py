"""Tests of the small bot with the library named in the environment variable BOT_LIBRARY.

`test_plugin.py` runs this file in the virtual environment of each library, with `small_bots.py` beside it."""

# mypy: ignore-errors

import asyncio
import os

import pytest
import small_bots

LIBRARY = os.environ["BOT_LIBRARY"]
TIMEOUT_SECONDS = 30.0


@pytest.fixture
async def platform(request):
    """The platform, at which the bot runs with its commands."""
    platform = request.getfixturevalue(f"hubbub_{LIBRARY}")
    # An application must respond within three seconds of platform time. With a frozen clock, slow machines meet this limit.
    await platform.clock.freeze()
    guild, application = platform.guilds["Tavern"], platform.applications["small-bot"]
    ids = (int(guild.id), int(guild.roles["players"]), int(guild.channels["Cellar"]))
    async with platform.start(small_bots.CREATE[LIBRARY](application.bot.token, *ids)):
        path = f"/applications/{application.id}/guilds/{guild.id}/commands"
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while len(await platform.bots["small-bot"].request("GET", path)) < 4:
                pass
        yield platform


async def test_the_bot_answers_a_command(platform):
    message = await platform.users["alice"].run("general", "greet", {"name": "Ann"})
    assert message["content"] == "hello Ann"


async def test_a_button_edits_its_message(platform):
    alice = platform.users["alice"]
    message = await alice.run("general", "panel")
    assert (await alice.click(message, "Press"))["content"] == "pressed"


async def test_a_modal_is_answered(platform):
    alice = platform.users["alice"]
    modal = await alice.run("general", "ask")
    assert (await alice.submit(modal, {"Answer": "42"}))["content"] == "answer: 42"


async def test_a_reaction_gives_a_role(platform):
    alice, bob = platform.users["alice"], platform.users["bob"]
    await bob.react(await alice.send_message("general", "React to play"), small_bots.EMOJI)
    member = await alice.expect("GUILD_MEMBER_UPDATE", user={"id": bob.id})
    assert member["roles"] == [platform.guilds["Tavern"].roles["players"]]


async def test_the_bot_joins_a_voice_channel(platform):
    alice = platform.users["alice"]
    assert (await alice.run("general", "join"))["content"] == "joined"
    voice_state = await alice.expect("VOICE_STATE_UPDATE", user_id=platform.bots["small-bot"].id)
    assert voice_state["channel_id"] == platform.guilds["Tavern"].channels["Cellar"]
