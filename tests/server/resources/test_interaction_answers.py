"""Tests of interaction responses by user-installed apps and in locked or archived threads."""

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
    user = await world.user("asker")
    guild = await world.guild(None, user)
    bot = await world.bot(guild, name="answerer")
    stage = Stage(world, guild, user, bot)
    stage.app = await bot.connect()
    return stage


@pytest.fixture
async def away(stage: Stage) -> Guild:
    """A guild without the app, in which a user with the app installed runs its commands."""
    guild = await stage.world.guild(None, stage.person)
    await take_along(stage)
    stage.channel = guild.general
    return guild


async def everywhere(stage: Stage) -> dict[str, Any]:
    """Create a global command."""
    created: dict[str, Any] = (
        await stage.bot.post(f"{stage.base}/commands", json={"name": "hi", "description": "x"})
    ).ok()
    return created


async def is_ephemeral(stage: Stage, command: dict[str, Any]) -> bool:
    """Run a command and return whether the app's response is ephemeral."""
    message = await (await stage.run(command)).say(content="hello")
    return bool(message["flags"] & EPHEMERAL)


async def open_dm(stage: Stage) -> Actor:
    """Open a direct message channel with another user and use the user-installed app there."""
    other = await stage.world.user("other")
    await take_along(stage)
    dm = (await stage.person.post("/users/@me/channels", json={"recipient_id": str(other.id)})).ok()
    stage.channel = int(dm["id"])
    return other


# Users who cannot send messages get ephemeral responses


async def test_a_response_in_a_dm_is_ephemeral_if_the_user_is_blocked(stage: Stage) -> None:
    command = await everywhere(stage)
    other = await open_dm(stage)
    assert not await is_ephemeral(stage, command)
    other_session = await other.connect()
    (await other.put(f"/users/@me/relationships/{stage.person.id}", json={"type": 2})).ok()

    assert await is_ephemeral(stage, command)

    await other_session.none_of("MESSAGE_CREATE")


async def test_followups_are_ephemeral_once_the_user_is_blocked(stage: Stage) -> None:
    command = await everywhere(stage)
    other = await open_dm(stage)
    interaction = await stage.run(command)
    assert not (await interaction.say(content="hello"))["flags"] & EPHEMERAL
    assert not (await interaction.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await other.put(f"/users/@me/relationships/{stage.person.id}", json={"type": 2})).ok()

    message = (await interaction.request("POST", json={"content": "and more"})).ok()

    assert message["flags"] & EPHEMERAL


async def test_a_response_to_an_insufficiently_verified_user_is_ephemeral(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    assert not await is_ephemeral(stage, command)
    level = "UPDATE guilds SET verification_level = 3 WHERE id = ?"
    await stage.world.write(lambda call: call.tx.run(level, away.id))

    assert await is_ephemeral(stage, command)

    await away.give(stage.person, await away.role())
    assert not await is_ephemeral(stage, command)


async def test_a_response_in_a_locked_thread_is_ephemeral_without_manage_threads(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    stage.channel = await create_thread(away)
    assert not await is_ephemeral(stage, command)
    (await away.owner.patch(f"/channels/{stage.channel}", json={"locked": True})).ok()

    assert await is_ephemeral(stage, command)

    await away.allow(stage.person, Permissions.MANAGE_THREADS)
    assert not await is_ephemeral(stage, command)


async def test_followups_are_ephemeral_once_the_user_cannot_send_or_left(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    interaction = await stage.run(command)
    await interaction.say(content="hello")
    await away.overwrite(away.general, stage.person.id, deny=Permissions.SEND_MESSAGES)
    assert (await interaction.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    await away.overwrite(away.general, stage.person.id)
    assert not (await interaction.request("POST", json={"content": "more"})).ok()["flags"] & EPHEMERAL
    (await away.owner.delete(f"/guilds/{away.id}/members/{stage.person.id}")).ok()

    message = (await interaction.request("POST", json={"content": "and more"})).ok()

    assert message["flags"] & EPHEMERAL


async def test_an_app_of_the_guild_responds_publicly_to_every_user(stage: Stage) -> None:
    command = await everywhere(stage)
    await stage.guild.overwrite(stage.guild.general, stage.person.id, deny=Permissions.SEND_MESSAGES)

    assert not await is_ephemeral(stage, command)


# Permissions of the app


LENDABLE = (
    Permissions.ATTACH_FILES | Permissions.EMBED_LINKS | Permissions.MENTION_EVERYONE | Permissions.USE_EXTERNAL_EMOJIS
)


async def usable_permissions(interaction: Heard, method: str, path: str = "") -> dict[int, bool]:
    """Return for each permission whether the app can use it in a response."""
    loud = {"content": "@everyone", "allowed_mentions": {"parse": ["everyone"]}}
    message = (await interaction.request(method, path, json=loud)).ok()
    embedding = await interaction.request(method, path, json={"embeds": [{"title": "look"}]})
    form = aiohttp.FormData()
    form.add_field("files[0]", b"x", filename="x.txt")
    attaching = await interaction.request(method, path, data=form)
    for response in (embedding, attaching):
        assert response.status == 200 or response.refused(403, 50013)
    return {
        Permissions.MENTION_EVERYONE: message["mention_everyone"],
        Permissions.EMBED_LINKS: embedding.status == 200,
        Permissions.ATTACH_FILES: attaching.status == 200,
    }


@pytest.mark.parametrize("lent", [True, False])
async def test_a_user_installed_app_can_use_the_stated_permissions(stage: Stage, away: Guild, lent: bool) -> None:
    command = await everywhere(stage)
    # @everyone has exactly the permissions that the user lacks.
    await away.overwrite(away.general, away.id, **{"deny" if lent else "allow": LENDABLE}, kind=0)
    await away.overwrite(away.general, stage.person.id, **{"allow" if lent else "deny": LENDABLE})

    interaction = await stage.run(command)
    await interaction.say(content="first")

    permissions = int(interaction.told["app_permissions"])
    assert permissions == (LENDABLE if lent else 0)
    for method, path in (("POST", ""), ("PATCH", "/messages/@original")):
        for bit, used in (await usable_permissions(interaction, method, path)).items():
            assert used is bool(permissions & bit), (method, bit)


async def test_the_users_permissions_are_checked_at_each_response(stage: Stage, away: Guild) -> None:
    command = await everywhere(stage)
    interaction = await stage.run(command)
    await interaction.say(content="first")
    await away.overwrite(away.general, stage.person.id, allow=LENDABLE)
    assert set((await usable_permissions(interaction, "PATCH", "/messages/@original")).values()) == {True}
    await away.overwrite(away.general, stage.person.id, deny=LENDABLE)

    later = await usable_permissions(interaction, "POST")

    assert set(later.values()) == {False}


async def test_an_app_cannot_set_the_loading_flag(stage: Stage) -> None:
    command = await everywhere(stage)
    interaction = await stage.run(command)

    first = await interaction.say(content="first", flags=int(MessageFlags.LOADING))
    second = (await interaction.request("POST", json={"content": "second", "flags": int(MessageFlags.LOADING)})).ok()

    assert (first["flags"], second["flags"]) == (0, 0)
    assert (await interaction.request("GET", "/messages/@original")).ok()["content"] == "first"


async def test_a_component_response_cannot_add_a_poll(stage: Stage) -> None:
    pressed = await (await stage.run(await everywhere(stage))).say(content="press", components=[BUTTON])
    poll = {"question": {"text": "?"}, "answers": [{"poll_media": {"text": "yes"}}], "duration": 1}

    response = await (await stage.press(pressed["id"])).call(7, {"content": "x", "poll": poll})

    response.refused(400, 520003)


async def test_a_file_upload_with_max_values_zero_accepts_no_files(stage: Stage) -> None:
    interaction = await stage.run(await everywhere(stage))
    upload = {"type": 19, "custom_id": "u", "max_values": 0, "required": False}
    modal = {"custom_id": "f", "title": "F", "components": [{"type": 18, "label": "x", "component": upload}]}
    (await interaction.call(9, modal)).ok()

    async def submit(*values: str) -> Answer:
        inner = {"type": 19, "custom_id": "u", "values": list(values)}
        components = [{"type": 18, "component": inner}]
        return await stage.ask(5, {"id": interaction.told["id"], "custom_id": "f", "components": components})

    assert (await submit("0")).errors("data.components.0.component.values") == ["BASE_TYPE_BAD_LENGTH"]
    assert (await submit()).status == 204
    event = await stage.app.next("INTERACTION_CREATE")
    assert event["data"]["components"][0]["component"]["values"] == []


# Locked and archived threads


async def update_thread(stage: Stage, **how: bool) -> None:
    (await stage.guild.owner.patch(f"/channels/{stage.channel}", json=how)).ok()


async def thread_state(stage: Stage) -> tuple[bool, bool]:
    """Return whether the thread is archived and whether it is locked."""
    shown = (await stage.guild.owner.get(f"/channels/{stage.channel}")).ok()["thread_metadata"]
    return shown["archived"], shown["locked"]


async def test_public_responses_in_a_locked_thread_fail(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await create_thread(stage.guild)
    pressed = await (await stage.run(command)).say(content="press", components=[BUTTON])
    deferred = await stage.run(command)
    (await deferred.call(5)).ok()
    await update_thread(stage, locked=True)

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


async def test_a_response_does_not_unarchive_a_locked_thread(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await create_thread(stage.guild)
    await update_thread(stage, locked=True, archived=True)

    (await (await stage.run(command)).call(4, {"content": "x"})).refused(400, 160005)

    assert await thread_state(stage) == (True, True)


async def test_responses_in_an_archived_thread_cannot_be_edited_or_deleted(stage: Stage) -> None:
    command = await everywhere(stage)
    stage.channel = await create_thread(stage.guild)
    pressed = await (await stage.run(command)).say(content="press", components=[BUTTON])
    interaction, deferred = await stage.run(command), await stage.run(command)
    message = await interaction.say(content="hello")
    quiet = await stage.run(command)
    await quiet.say(content="just you", flags=int(EPHEMERAL))
    (await deferred.call(5)).ok()
    await update_thread(stage, archived=True)

    (await (await stage.press(pressed["id"])).call(7, {"content": "x"})).refused(400, 50083)
    for path in ("/messages/@original", f"/messages/{message['id']}"):
        (await interaction.request("PATCH", path, json={"content": "x"})).refused(400, 50083)
        (await interaction.request("DELETE", path)).refused(400, 50083)
    (await deferred.request("PATCH", "/messages/@original", json={"content": "x"})).refused(400, 50083)
    assert (await quiet.request("PATCH", "/messages/@original", json={"content": "y"})).ok()["content"] == "y"
    assert await thread_state(stage) == (True, False)

    (await interaction.request("POST", json={"content": "more"})).ok()

    assert await thread_state(stage) == (False, False)
    (await interaction.request("DELETE", "/messages/@original")).ok()


async def create_thread(guild: Guild) -> int:
    """Create a public thread and return its id."""
    created = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "talk", "type": 11})).ok()
    return int(created["id"])
