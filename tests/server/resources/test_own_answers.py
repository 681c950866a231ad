"""What a bot does with its answers as with any message of its own, once the interaction's token is gone."""

from typing import Any

import pytest

from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.resources.interactions import TOKEN_MS
from tests.server.resources.test_interaction_answers import everywhere
from tests.server.resources.test_interactions import Heard, Stage
from tests.world import Answer, World

POLL = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}


@pytest.fixture(params=["guild", "dm"])
async def stage(world: World, request: pytest.FixtureRequest) -> Stage:
    """A person and an app, in a guild or in its conversation."""
    person = await world.user("asker")
    guild = await world.guild(None, person)
    bot = await world.bot(guild, name="answerer")
    made = Stage(world, guild, person, bot)
    if request.param == "dm":
        dm = (await person.post("/users/@me/channels", json={"recipient_id": str(bot.id)})).ok()
        made.channel = int(dm["id"])
    made.app, made.eyes = await bot.connect(), await person.connect()
    return made


async def answered(stage: Stage, kind: int = 4, **data: Any) -> tuple[str, Heard]:
    """Where an answer is, long after it was given."""
    heard = await stage.run(await everywhere(stage))
    made = (await heard.call(kind, data or None)).ok()["interaction"]["response_message_id"]
    stage.world.clock.advance(TOKEN_MS + 60_000)
    return f"/channels/{stage.channel}/messages/{made}", heard


async def test_a_bot_changes_its_answer(stage: Stage) -> None:
    path, heard = await answered(stage, content="before")
    (await heard.request("PATCH", "/messages/@original", json={"content": "too late"})).refused(404, 10015)

    changed = (await stage.bot.patch(path, json={"content": "after"})).ok()

    assert (changed["content"], changed["author"]["id"]) == ("after", str(stage.bot.id))
    assert changed["webhook_id"] == str(stage.application_id)
    assert changed["edited_timestamp"] is not None
    told = await stage.eyes.next("MESSAGE_UPDATE")
    assert (told["content"], told["interaction"]["name"]) == ("after", "hi")
    (await stage.person.patch(path, json={"content": "mine"})).refused(403, 50005)


async def test_a_bot_takes_its_answer_back(stage: Stage) -> None:
    path, _ = await answered(stage, content="hello")
    (await stage.person.delete(path)).refused(*((403, 50013) if stage.channel == stage.guild.general else (400, 50003)))

    (await stage.bot.delete(path)).ok()

    assert (await stage.eyes.next("MESSAGE_DELETE"))["id"] == path.rpartition("/")[2]
    (await stage.bot.get(path)).refused(404, 10008)


async def test_a_bot_ends_the_poll_of_its_answer(stage: Stage) -> None:
    heard = await stage.run(await everywhere(stage))
    made = await heard.say(poll=POLL)
    stage.world.clock.advance(TOKEN_MS + 60_000)

    async def end(who: Any) -> Answer:
        answer: Answer = await who.post(f"/channels/{stage.channel}/polls/{made['id']}/expire")
        return answer

    (await end(stage.person)).refused(403, 50005)
    assert (await end(stage.bot)).ok()["poll"]["results"]["is_finalized"]
    result = await stage.eyes.next("MESSAGE_CREATE", lambda told: told["type"] == 46)
    assert result["author"]["id"] == str(stage.bot.id)


async def test_a_bot_keeps_its_promise_when_the_token_is_gone(stage: Stage) -> None:
    path, _ = await answered(stage, kind=5)
    (await stage.bot.patch(path, json={"flags": int(MessageFlags.SUPPRESS_EMBEDS)})).refused(400, 50006)

    said = (await stage.bot.patch(path, json={"content": "at last"})).ok()

    # As by the token: said only now, so nothing was edited.
    assert (said["content"], said["flags"], said["edited_timestamp"]) == ("at last", 0, None)
    assert (await stage.eyes.next("MESSAGE_UPDATE"))["flags"] == 0
    again = (await stage.bot.patch(path, json={"content": "better"})).ok()
    assert again["edited_timestamp"] is not None


async def test_a_reaction_names_the_bot_that_answered(stage: Stage) -> None:
    path, _ = await answered(stage, content="react to me")

    (await stage.person.put(f"{path}/reactions/🔥/@me")).ok()

    assert (await stage.app.next("MESSAGE_REACTION_ADD"))["message_author_id"] == str(stage.bot.id)
