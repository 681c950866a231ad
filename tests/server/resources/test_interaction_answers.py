"""What answers may do: of apps that a person brought along, and in places that are closed."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.server.resources.test_interactions import BUTTON, Heard, Stage, take_along
from tests.world import Actor, Answer, Guild, World

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


# What an app is told that it may, and what it may


LENT = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)


async def uses(heard: Heard, method: str, path: str = "") -> dict[int, bool]:
    """Which of its permissions an app can use in an answer."""
    loud = {"content": "@everyone", "allowed_mentions": {"parse": ["everyone"]}}
    said = (await heard.request(method, path, json=loud)).ok()
    embedding = await heard.request(method, path, json={"embeds": [{"title": "look"}]})
    form = aiohttp.FormData()
    form.add_field("files[0]", b"x", filename="x.txt")
    attaching = await heard.request(method, path, data=form)
    for answer in (embedding, attaching):
        assert answer.status == 200 or answer.refused(403, 50013)
    return {
        Permissions.MENTION_EVERYONE: said["mention_everyone"],
        Permissions.EMBED_LINKS: embedding.status == 200,
        Permissions.ATTACH_FILES: attaching.status == 200,
    }


@pytest.mark.parametrize("lent", [True, False])
async def test_an_app_brought_along_may_what_it_is_told(stage: Stage, away: Guild, lent: bool) -> None:
    command = await everywhere(stage)
    # What @everyone may is the contrary of what the person may.
    await away.overwrite(away.general, away.id, **{"deny" if lent else "allow": LENT}, kind=0)
    await away.overwrite(away.general, stage.person.id, **{"allow" if lent else "deny": LENT})

    heard = await stage.run(command)
    await heard.say(content="first")

    told = int(heard.told["app_permissions"])
    assert told == (LENT if lent else 0)
    for method, path in (("POST", ""), ("PATCH", "/messages/@original")):
        for bit, used in (await uses(heard, method, path)).items():
            assert used is bool(told & bit), (method, bit)


async def test_what_the_person_lends_is_asked_when_the_app_answers(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    heard = await stage.run(command)
    await heard.say(content="first")
    await away.overwrite(away.general, stage.person.id, allow=LENT)
    assert set((await uses(heard, "PATCH", "/messages/@original")).values()) == {True}
    await away.overwrite(away.general, stage.person.id, deny=LENT)

    later = await uses(heard, "POST")

    assert set(later.values()) == {False}


async def test_no_app_says_of_its_answer_that_it_is_a_promise(stage: Stage) -> None:
    command = await everywhere(stage)
    heard = await stage.run(command)

    first = await heard.say(content="first", flags=int(MessageFlags.LOADING))
    second = (await heard.request("POST", json={"content": "second", "flags": int(MessageFlags.LOADING)})).ok()

    assert (first["flags"], second["flags"]) == (0, 0)
    assert (await heard.request("GET", "/messages/@original")).ok()["content"] == "first"


async def test_a_message_does_not_become_a_poll_when_a_button_is_pressed(stage: Stage) -> None:
    pressed = await (await stage.run(await everywhere(stage))).say(content="press", components=[BUTTON])
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    answer = await (await stage.press(pressed["id"])).call(7, {"content": "x", "poll": poll})

    answer.refused(400, 520003)


async def test_an_upload_of_no_files_takes_none(stage: Stage) -> None:
    heard = await stage.run(await everywhere(stage))
    upload = {"type": 19, "custom_id": "u", "max_values": 0, "required": False}
    modal = {"custom_id": "f", "title": "F", "components": [{"type": 18, "label": "x", "component": upload}]}
    (await heard.call(9, modal)).ok()

    async def submit(*values: str) -> Answer:
        inner = {"type": 19, "custom_id": "u", "values": list(values)}
        components = [{"type": 18, "component": inner}]
        return await stage.ask(5, {"id": heard.told["id"], "custom_id": "f", "components": components})

    assert (await submit("0")).errors("data.components.0.component.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit()).status == 204
    told = await stage.app.next("INTERACTION_CREATE")
    assert told["data"]["components"][0]["component"]["values"] == []


# Threads that are closed


async def close(stage: Stage, **how: bool) -> None:
    (await stage.guild.owner.patch(f"/channels/{stage.channel}", json=how)).ok()


async def state(stage: Stage) -> tuple[bool, bool]:
    """Whether the thread is archived, and locked."""
    shown = (await stage.guild.owner.get(f"/channels/{stage.channel}")).ok()["thread_metadata"]
    return shown["archived"], shown["locked"]


async def test_nothing_is_answered_to_all_in_a_locked_thread(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await thread(stage.guild)
    pressed = await (await stage.run(command)).say(content="press", components=[BUTTON])
    deferred = await stage.run(command)
    (await deferred.call(5)).ok()
    await close(stage, locked=True)

    for kind, data in ((4, {"content": "x"}), (5, None)):
        (await (await stage.run(command)).call(kind, data)).refused(400, 160005)
    (await (await stage.press(pressed["id"])).call(7, {"content": "x"})).refused(400, 160005)
    (await deferred.request("PATCH", "/messages/@original", json={"content": "x"})).refused(400, 160005)
    (await deferred.request("POST", json={"content": "x"})).refused(400, 160005)
    quiet = await stage.run(command)
    assert (await quiet.say(content="just you", flags=int(EPHEMERAL)))["content"] == "just you"
    (await quiet.request("POST", json={"content": "all of you"})).refused(400, 160005)
    await stage.guild.allow(stage.bot, Permissions.MANAGE_THREADS)
    assert (await (await stage.run(command)).say(content="a moderator's"))["content"]
    assert (await deferred.request("PATCH", "/messages/@original", json={"content": "x"})).ok()["content"] == "x"


async def test_an_answer_does_not_open_a_locked_thread(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await thread(stage.guild)
    await close(stage, locked=True, archived=True)

    (await (await stage.run(command)).call(4, {"content": "x"})).refused(400, 160005)

    assert await state(stage) == (True, True)


async def test_answers_in_a_closed_thread_stay_as_they_are(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await thread(stage.guild)
    pressed = await (await stage.run(command)).say(content="press", components=[BUTTON])
    heard, deferred = await stage.run(command), await stage.run(command)
    said = await heard.say(content="hello")
    quiet = await stage.run(command)
    await quiet.say(content="just you", flags=int(EPHEMERAL))
    (await deferred.call(5)).ok()
    await close(stage, archived=True)

    (await (await stage.press(pressed["id"])).call(7, {"content": "x"})).refused(400, 50083)
    for path in ("/messages/@original", f"/messages/{said['id']}"):
        (await heard.request("PATCH", path, json={"content": "x"})).refused(400, 50083)
        (await heard.request("DELETE", path)).refused(400, 50083)
    (await deferred.request("PATCH", "/messages/@original", json={"content": "x"})).refused(400, 50083)
    assert (await quiet.request("PATCH", "/messages/@original", json={"content": "y"})).ok()["content"] == "y"
    assert await state(stage) == (True, False)

    (await heard.request("POST", json={"content": "more"})).ok()

    assert await state(stage) == (False, False)
    (await heard.request("DELETE", "/messages/@original")).ok()


async def thread(guild: Guild) -> int:
    """A thread that everybody sees."""
    made = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "talk", "type": 11})).ok()
    return int(made["id"])
