"""Activities: launched, joined and left, told to those who see them, and read by the application's server."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.resources import activity_instances
from tests.world import Actor, Answer, Guild, Session, World

UPDATE = "EMBEDDED_ACTIVITY_UPDATE_V2"


class Stage:
    """A guild, two people in it who are connected, and an application with an activity."""

    def __init__(
        self, world: World, guild: Guild, people: list[tuple[Actor, Session]], bot: Actor, app: Session
    ) -> None:
        self.world, self.guild, self.bot, self.app = world, guild, bot, app
        (self.alice, self.alices), (self.bob, self.bobs) = people

    async def launch(self, actor: Actor, session: Session, channel: int | None = None, **body: Any) -> Answer:
        """Take part."""
        path = f"/activities/{channel or self.guild.general}/{self.bot.application_id}"
        return await actor.post(path, json={"session_id": session.ready["session_id"], **body})

    async def leave(self, actor: Actor, session: Session, told: dict[str, Any]) -> Answer:
        """No longer take part in what was told."""
        path = f"/applications/{self.bot.application_id}/activities/{told['location']['id']}"
        body = {"session_id": session.ready["session_id"]}
        return await actor.post(f"{path}/instances/{told['instance_id']}/leave", json=body)

    async def read(self, composite_id: str, actor: Actor | None = None) -> Answer:
        """What the application's server sees."""
        path = f"/applications/{self.bot.application_id}/activity-instances/{composite_id}"
        return await (actor or self.bot).get(path)


@pytest.fixture
async def stage(world: World) -> Stage:
    people = [await world.user("alice"), await world.user("bob")]
    guild = await world.guild(None, *people)
    bot = await world.bot(guild, flags=ApplicationFlags.EMBEDDED)
    connected = [(person, await person.connect()) for person in people]
    return Stage(world, guild, connected, bot, await bot.connect(Intents.GUILDS | Intents.GUILD_EMBEDDED_ACTIVITIES))


async def test_the_first_to_launch_begins_it_and_others_join(stage: Stage) -> None:
    assert (await stage.launch(stage.alice, stage.alices)).status == 204
    told = await stage.app.next(UPDATE)

    general, guild_id = str(stage.guild.general), str(stage.guild.id)
    location = {"id": f"gc-{guild_id}-{general}", "kind": "gc", "channel_id": general, "guild_id": guild_id}
    assert told["location"] == location
    assert told["composite_instance_id"] == f"i-{told['instance_id']}-{location['id']}"
    (first,) = told["participants"]
    assert (first["user_id"], first["nonce"], first["member"]["user"]["username"]) == (
        str(stage.alice.id),
        None,
        "alice",
    )
    assert first["session_id"] not in ("", stage.alices.ready["session_id"])

    (await stage.launch(stage.bob, stage.bobs)).ok()
    joined = await stage.app.next(UPDATE)
    assert joined["instance_id"] == told["instance_id"]
    assert (await stage.read(told["composite_instance_id"])).ok() == {
        "application_id": str(stage.bot.application_id),
        "instance_id": told["composite_instance_id"],
        "launch_id": told["launch_id"],
        "location": location,
        "users": [str(stage.alice.id), str(stage.bob.id)],
    }
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.none_of(UPDATE)


async def test_it_ends_with_the_last_one_and_the_next_is_another(stage: Stage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.next(UPDATE)
    told = await stage.app.next(UPDATE)

    assert (await stage.leave(stage.alice, stage.alices, told)).ok() == {}
    assert len((await stage.app.next(UPDATE))["participants"]) == 1
    (await stage.leave(stage.alice, stage.alices, told)).refused(404, 0)
    (await stage.leave(stage.bob, stage.bobs, told)).ok()

    assert (await stage.app.next(UPDATE))["participants"] == []
    (await stage.read(told["composite_instance_id"])).refused(404, 0)
    (await stage.launch(stage.bob, stage.bobs)).ok()
    assert (await stage.app.next(UPDATE))["instance_id"] != told["instance_id"]


async def test_whose_session_ends_takes_part_no_longer(stage: Stage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.next(UPDATE)
    await stage.app.next(UPDATE)

    await stage.alices.close()
    stage.world.clock.advance(3_600_000)

    left = await stage.app.next(UPDATE, lambda data: len(data["participants"]) == 1)
    assert left["participants"][0]["user_id"] == str(stage.bob.id)


async def test_who_was_brought_in_without_a_session_goes_with_their_last_one(stage: Stage) -> None:
    launched = await stage.world.write(
        lambda call: activity_instances.launch(
            call, stage.bot.application_id, stage.alice.id, stage.guild.general, stage.guild.id
        )
    )
    assert (await stage.read(launched.composite_id)).ok()["users"] == [str(stage.alice.id)]
    await stage.app.next(UPDATE)

    await stage.alices.close()
    stage.world.clock.advance(3_600_000)

    assert (await stage.app.next(UPDATE))["participants"] == []


async def test_a_session_takes_part_in_one_activity(stage: Stage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    first = await stage.app.next(UPDATE)
    (await stage.launch(stage.alice, stage.alices, await stage.guild.channel("other"))).ok()

    assert (await stage.app.next(UPDATE))["participants"] == []
    assert (await stage.app.next(UPDATE))["location"]["channel_id"] == str(stage.guild.channels["other"])
    (await stage.read(first["composite_instance_id"])).refused(404, 0)


async def test_it_goes_with_its_channel_and_with_the_membership(stage: Stage) -> None:
    room = await stage.guild.channel("room")
    (await stage.launch(stage.alice, stage.alices, room)).ok()
    told = await stage.app.next(UPDATE)
    (await stage.guild.owner.delete(f"/channels/{room}")).ok()
    assert (await stage.app.next(UPDATE))["participants"] == []
    (await stage.read(told["composite_instance_id"])).refused(404, 0)

    (await stage.launch(stage.alice, stage.alices)).ok()
    await stage.app.next(UPDATE)
    (await stage.guild.owner.delete(f"/guilds/{stage.guild.id}/members/{stage.alice.id}")).ok()
    assert (await stage.app.next(UPDATE))["participants"] == []


async def test_who_arrives_is_told_what_runs_where_they_see_it(stage: Stage) -> None:
    hidden = await stage.guild.channel("hidden")
    await stage.guild.overwrite(hidden, stage.bot.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs, hidden)).ok()

    seen = (await stage.bot.connect(stage.app.intents)).guilds[str(stage.guild.id)]["activity_instances"]

    assert [each["location"]["channel_id"] for each in seen] == [str(stage.guild.general)]
    assert [each["user_id"] for each in seen[0]["participants"]] == [str(stage.alice.id)]
    await stage.app.next(UPDATE)
    await stage.app.none_of(UPDATE)


async def test_two_people_play_in_private(stage: Stage) -> None:
    private = (await stage.alice.post("/users/@me/channels", json={"recipient_id": str(stage.bob.id)})).ok()

    (await stage.launch(stage.alice, stage.alices, int(private["id"]))).ok()

    told = await stage.bobs.next(UPDATE)
    assert told["location"] == {"id": f"pc-{private['id']}", "kind": "pc", "channel_id": private["id"]}
    assert "member" not in told["participants"][0]
    assert (await stage.read(told["composite_instance_id"])).ok()["location"]["kind"] == "pc"


async def test_who_may_launch_what_and_where(stage: Stage) -> None:
    general = stage.guild.general
    await stage.guild.overwrite(general, stage.alice.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES)
    (await stage.launch(stage.alice, stage.alices)).refused(403, 50013)
    await stage.guild.overwrite(general, stage.alice.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.launch(stage.alice, stage.alices)).refused(403, 50001)
    (await stage.launch(stage.bob, stage.bobs, 1)).refused(404, 10003)
    (await stage.launch(stage.bob, stage.bobs, await stage.guild.channel("forum", type=15))).refused(400, 50024)
    assert (await stage.launch(stage.bob, stage.alices)).errors("session_id") == ["SESSION_UNKNOWN"]
    assert (await stage.launch(stage.bob, stage.bobs, session_id="")).errors("session_id")
    session = {"session_id": stage.bobs.ready["session_id"]}
    (await stage.bob.post(f"/activities/{general}/1", json=session)).refused(404, 10002)
    plain = await stage.world.bot(stage.guild, flags=0)
    (await stage.bob.post(f"/activities/{general}/{plain.application_id}", json=session)).refused(400, 50039)
    stranger = await stage.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{general}/{stranger.application_id}"
    (await stage.bob.post(path, json=session)).ok()
    await stage.guild.overwrite(general, stage.bob.id, deny=Permissions.USE_EXTERNAL_APPS)
    (await stage.bob.post(path, json=session)).refused(403, 50013)
    # Without its bot, with its commands alone: it is installed all the same.
    address = f"/oauth2/authorize?client_id={stranger.application_id}&scope=applications.commands&integration_type=0"
    consent = {"authorize": True, "guild_id": str(stage.guild.id)}
    (await stage.guild.owner.post(address, json=consent)).ok()
    (await stage.bob.post(path, json=session)).ok()
    afk = await stage.guild.channel("afk", type=2)
    (await stage.guild.owner.patch(f"/guilds/{stage.guild.id}", json={"afk_channel_id": str(afk)})).ok()
    (await stage.launch(stage.bob, stage.bobs, afk)).refused(400, 50039)


async def test_an_activity_takes_in_as_many_as_its_application_says(stage: Stage) -> None:
    (await stage.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).refused(400, 50039)
    (await stage.bot.patch("/applications/@me", json={"max_participants": -1})).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()


async def test_only_the_applications_own_bot_reads_its_instances(stage: Stage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    told = await stage.app.next(UPDATE)
    composite = told["composite_instance_id"]

    (await stage.read(composite, await stage.world.bot())).refused(403, 20012)
    (await stage.read(composite, stage.alice)).refused(403, 20002)
    for wrong in ("x", "i-x-y", f"i-{told['instance_id']}-pc-1", f"i-{'9' * 40}-pc-1", composite + "0"):
        (await stage.read(wrong)).refused(404, 0)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_apps_from_elsewhere_need_a_permission_to_be_played_from_its_day(stage: Stage) -> None:
    elsewhere = await stage.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{stage.guild.general}/{elsewhere.application_id}"
    body = {"session_id": stage.bobs.ready["session_id"]}
    await stage.guild.overwrite(stage.guild.general, stage.bob.id, deny=Permissions.USE_EXTERNAL_APPS)

    stage.world.clock.set(changes.EXTERNAL_APPS.at_ms)
    (await stage.bob.post(path, json=body)).refused(403, 50013)
    stage.world.clock.set(changes.EXTERNAL_APPS.at_ms - 1)
    assert (await stage.bob.post(path, json=body)).status == 204


async def test_the_older_route_lists_what_runs_in_a_channel(stage: Stage) -> None:
    path = f"/activities/{stage.bot.application_id}/instances/{stage.guild.general}"
    assert (await stage.alice.get(path)).ok() == {"instances": []}
    (await stage.launch(stage.alice, stage.alices)).ok()
    told = await stage.app.next(UPDATE)

    for actor in (stage.alice, stage.bot):
        assert (await actor.get(path)).ok() == {"instances": [told]}
    (await stage.alice.get(f"/activities/1/instances/{stage.guild.general}")).refused(404, 10002)
    (await stage.alice.get(f"/activities/{stage.bot.application_id}/instances/1")).refused(404, 10003)
    await stage.guild.overwrite(stage.guild.general, stage.bob.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.bob.get(path)).refused(403, 50001)


@pytest.mark.parametrize("how", ["switched off", "deleted"])
async def test_what_runs_of_an_application_ends_with_its_activities(stage: Stage, how: str) -> None:
    path = f"/applications/{(await stage.alice.post('/applications', json={'name': 'Game'})).ok()['id']}"
    (await stage.alice.patch(path, json={"activities": True})).ok()
    body = {"session_id": stage.alices.ready["session_id"]}
    (await stage.alice.post(f"/activities/{stage.guild.general}/{path.rpartition('/')[2]}", json=body)).ok()
    told = await stage.bobs.next(UPDATE)
    assert len(told["participants"]) == 1

    if how == "deleted":
        (await stage.alice.delete(path, json={})).ok()
    else:
        (await stage.alice.patch(path, json={"activities": False})).ok()

    ended = await stage.bobs.next(UPDATE)
    assert (ended["instance_id"], ended["participants"]) == (told["instance_id"], [])
    assert (await stage.alice.get(f"/activities/{stage.bot.application_id}/instances/{stage.guild.general}")).ok() == {
        "instances": []
    }
