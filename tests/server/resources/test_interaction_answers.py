"""What answers may do: of apps that a person brought along, and in places that are closed."""

from typing import Any

import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.server.resources.test_interactions import Stage, take_along
from tests.world import Actor, Guild, World

EPHEMERAL = MessageFlags.EPHEMERAL


@pytest.fixture
async def stage(world: World) -> Stage:
    person = await world.user("asker")
    guild = await world.guild(None, person)
    bot = await world.bot(guild, name="answerer")
    made = Stage(world, guild, person, bot)
    made.app = await bot.connect()
    return made


@pytest.fixture
async def away(stage: Stage) -> Guild:
    """A guild without the app, to which the person brings it along."""
    guild = await stage.world.guild(None, stage.person)
    await take_along(stage)
    stage.channel = guild.general
    return guild


async def everywhere(stage: Stage) -> dict[str, Any]:
    """A command that works wherever its app is."""
    made: dict[str, Any] = (
        await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})
    ).ok()
    return made


async def is_quiet(stage: Stage, command: dict[str, Any]) -> bool:
    """Whether the app's answer is for the person alone."""
    said = await (await stage.run(command)).say(content="hello")
    return bool(said["flags"] & EPHEMERAL)


async def friend(stage: Stage) -> Actor:
    """Somebody to whom the person talks in private, with the app brought along."""
    other = await stage.world.user("other")
    await take_along(stage)
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()
    stage.channel = int(dm["id"])
    return other


# Who may not speak does not speak through an app


async def test_a_blocked_person_does_not_reach_the_other_through_an_app(stage: Stage) -> None:
    command = await everywhere(stage)
    other = await friend(stage)
    assert not await is_quiet(stage, command)
    eyes = await other.connect()
    (await other.put(f"/users/@me/relationships/{stage.person.id}", json={"type": 2})).ok()

    assert await is_quiet(stage, command)

    await eyes.none_of("MESSAGE_CREATE")


async def test_follow_ups_are_quiet_from_the_moment_that_the_person_is_blocked(stage: Stage) -> None:
    command = await everywhere(stage)
    other = await friend(stage)
    heard = await stage.run(command)
    assert not (await heard.say(content="hello"))["flags"] & EPHEMERAL
    assert not (await heard.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await other.put(f"/users/@me/relationships/{stage.person.id}", json={"type": 2})).ok()

    said = (await heard.request("POST", json={"content": "and more"})).ok()

    assert said["flags"] & EPHEMERAL


async def test_who_is_not_verified_enough_is_answered_alone(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    assert not await is_quiet(stage, command)
    level = "UPDATE guilds SET verification_level = 3 WHERE id = ?"
    await stage.world.write(lambda call: call.tx.run(level, away.id))

    assert await is_quiet(stage, command)

    await away.give(stage.person, await away.role())
    assert not await is_quiet(stage, command)


async def test_who_may_not_speak_in_a_locked_thread_is_answered_alone(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    stage.channel = await thread(away)
    assert not await is_quiet(stage, command)
    (await away.owner.patch(f"/channels/{stage.channel}", json={"locked": True})).ok()

    assert await is_quiet(stage, command)

    await away.allow(stage.person, Permissions.MANAGE_THREADS)
    assert not await is_quiet(stage, command)


async def test_follow_ups_are_quiet_once_the_person_may_not_speak_or_is_gone(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    heard = await stage.run(command)
    await heard.say(content="hello")
    await away.overwrite(away.general, stage.person.id, deny=Permissions.SEND_MESSAGES)
    assert (await heard.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    await away.overwrite(away.general, stage.person.id)
    assert not (await heard.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await away.owner.delete(f"/guilds/{away.id}/members/{stage.person.id}")).ok()

    said = (await heard.request("POST", json={"content": "and more"})).ok()

    assert said["flags"] & EPHEMERAL


async def test_an_app_of_the_guild_answers_whoever_may_ask(stage: Stage) -> None:
    command = await everywhere(stage)
    await stage.guild.overwrite(stage.guild.general, stage.person.id, deny=Permissions.SEND_MESSAGES)

    assert not await is_quiet(stage, command)


async def thread(guild: Guild) -> int:
    """A thread that everybody sees."""
    made = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "talk", "type": 11})).ok()
    return int(made["id"])
