"""Both sides of the dated changes of interactions (dated-changes.md): what apps hear, and how far they may answer."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.changes import Change
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.permissions import Permissions
from tests.server.resources.test_interactions import BUTTON, Stage, take_along
from tests.world import PRIVILEGED, Guild, World

EPHEMERAL = MessageFlags.EPHEMERAL
BEFORE_AND_AFTER = (-1, 0)


@pytest.fixture
async def stage(world: World) -> Stage:
    person = await world.user("asker")
    guild = await world.guild(None, person)
    bot = await world.bot(guild, name="answerer", flags=PRIVILEGED | ApplicationFlags.EMBEDDED)
    made = Stage(world, guild, person, bot)
    made.app = await bot.connect()
    made.eyes = await person.connect()
    return made


async def everywhere(stage: Stage) -> dict[str, Any]:
    """A command that works wherever its app is."""
    body = {"name": "hi", "description": "x"}
    made: dict[str, Any] = (await stage.bot.post(f"{stage.base}/commands", json=body)).ok()
    return made


async def away(stage: Stage) -> Guild:
    """A guild without the app, to which the person brings it along."""
    guild = await stage.world.guild(None, stage.person)
    await take_along(stage)
    stage.channel = guild.general
    return guild


async def conversation(stage: Stage) -> int:
    """The person and the app alone."""
    dm = await stage.person.post("/users/@me/channels", json={"recipient_id": str(stage.bot.id)})
    stage.channel = int(dm.ok()["id"])
    return stage.channel


def go_to(stage: Stage, change: Change, moment: int) -> None:
    stage.world.clock.set(change.at_ms + moment)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_an_app_brought_along_says_five_things_more_from_the_date(stage: Stage) -> None:
    command = await everywhere(stage)
    await away(stage)
    statuses = []
    for moment in BEFORE_AND_AFTER:
        go_to(stage, changes.EXTERNAL_APPS, moment)
        heard = await stage.run(command)
        await heard.say(content="first")
        for _ in range(5):
            (await heard.request("POST", json={"content": "more"})).ok()

        sixth = await heard.request("POST", json={"content": "too much"})

        statuses.append(sixth.status)
    assert statuses == [200, 400]
    sixth.refused(400, 40094)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_a_permission_quiets_apps_brought_along_from_the_date_and_a_large_guild_before(stage: Stage) -> None:
    command = await everywhere(stage)
    guild = await away(stage)

    async def is_quiet(members: int, *, denied: int = 0) -> bool:
        await guild.overwrite(guild.general, guild.id, deny=denied, kind=0)
        resize = "UPDATE guilds SET member_count = ? WHERE id = ?"
        await stage.world.write(lambda call: call.tx.run(resize, members, guild.id))
        said = await (await stage.run(command)).say(content="hello")
        return bool(said["flags"] & EPHEMERAL)

    go_to(stage, changes.EXTERNAL_APPS, -1)
    assert not await is_quiet(25, denied=Permissions.USE_EXTERNAL_APPS)
    assert await is_quiet(26)
    go_to(stage, changes.EXTERNAL_APPS, 0)
    assert await is_quiet(25, denied=Permissions.USE_EXTERNAL_APPS)
    assert not await is_quiet(26)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_the_owner_of_a_conversation_is_a_string_from_the_date(stage: Stage) -> None:
    command = await everywhere(stage)
    channel = await conversation(stage)
    for moment, zero in zip(BEFORE_AND_AFTER, (0, "0"), strict=True):
        go_to(stage, changes.EXTERNAL_APPS, moment)
        heard = await stage.run(command)
        assert heard.told["authorizing_integration_owners"] == {"0": zero}

        assert (await heard.call(4, {"content": "hello"}, query="")).status == 204

        said = await stage.eyes.next("MESSAGE_CREATE", lambda data: data["channel_id"] == str(channel))
        assert said["interaction_metadata"]["authorizing_integration_owners"] == {"0": zero}


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_apps_are_told_everywhere_what_they_may_from_the_date_and_in_guilds_before(stage: Stage) -> None:
    command = await everywhere(stage)
    own = stage.channel
    alone = await conversation(stage)
    for moment in BEFORE_AND_AFTER:
        go_to(stage, changes.USER_INSTALLS, moment)
        for channel in (own, alone):
            stage.channel = channel
            heard = await stage.run(command)
            assert ("app_permissions" in heard.told) is (moment == 0 or channel == own)


@pytest.mark.dated(changes.USER_INSTALLS)
async def test_commands_say_where_they_work_from_the_date(stage: Stage) -> None:
    body = {"name": "hi", "description": "x", "contexts": [1], "integration_types": [1]}
    kept = []
    for moment in BEFORE_AND_AFTER:
        go_to(stage, changes.USER_INSTALLS, moment)
        made = (await stage.bot.post(f"{stage.base}/commands", json=body)).ok()
        go_to(stage, changes.USER_INSTALLS, 0)
        shown = (await stage.bot.get(f"{stage.base}/commands/{made['id']}")).ok()
        kept.append((shown["contexts"], shown["integration_types"]))

    assert kept == [(None, [0, 1]), ([1], [1])]


@pytest.mark.dated(changes.PER_ATTACHMENT_LIMIT)
async def test_apps_are_told_how_much_they_may_send_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    for moment in BEFORE_AND_AFTER:
        go_to(stage, changes.PER_ATTACHMENT_LIMIT, moment)
        heard = await stage.run(command)
        said = await heard.say(content="press", components=[BUTTON])
        pressed = await stage.press(said["id"])

        limits = [each.told.get("attachment_size_limit") for each in (heard, pressed)]

        assert limits == [None if moment else 10 << 20] * 2


@pytest.mark.dated(changes.WEBHOOK_UPLOAD_10MIB)
async def test_answers_carry_ten_mebibytes_from_the_date_and_twenty_five_before(stage: Stage) -> None:
    command = await stage.command()
    for moment in BEFORE_AND_AFTER:
        go_to(stage, changes.WEBHOOK_UPLOAD_10MIB, moment)
        heard = await stage.run(command)
        await heard.say(content="first")
        for method, path in (("POST", ""), ("PATCH", "/messages/@original")):
            form = aiohttp.FormData()
            form.add_field("files[0]", b"x" * (12 << 20), filename="large.bin")

            answer = await heard.request(method, path, data=form)

            if moment:
                assert answer.ok()["attachments"][0]["size"] == 12 << 20
            else:
                answer.refused(413, 50045)


@pytest.mark.dated(changes.ENTRY_POINT_COMMANDS)
async def test_an_answer_launches_an_activity_from_the_date(stage: Stage) -> None:
    command = await stage.command()
    go_to(stage, changes.ENTRY_POINT_COMMANDS, -1)
    refused = await (await stage.run(command)).call(12)
    go_to(stage, changes.ENTRY_POINT_COMMANDS, 0)
    launched = await (await stage.run(command)).call(12)

    assert refused.errors("type") == ["BASE_TYPE_CHOICES"]
    assert launched.ok()["resource"]["activity_instance"]["id"]
