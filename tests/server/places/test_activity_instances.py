"""Tests of activity instances: launching, joining and leaving them, their events, and reading them as a bot."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import activity_instances
from tests.world import Actor, ApiResponse, Guild, Session, World

UPDATE = "EMBEDDED_ACTIVITY_UPDATE_V2"


class ActivityStage:
    """A guild with two connected users and an application with an activity."""

    def __init__(
        self, world: World, guild: Guild, users: list[tuple[Actor, Session]], bot: Actor, app: Session
    ) -> None:
        self.world, self.guild, self.bot, self.app = world, guild, bot, app
        (self.alice, self.alices), (self.bob, self.bobs) = users

    async def launch(self, actor: Actor, session: Session, channel: int | None = None, **body: Any) -> ApiResponse:
        """Launch or join the activity."""
        path = f"/activities/{channel or self.guild.general}/{self.bot.application_id}"
        return await actor.post(path, json={"session_id": session.ready["session_id"], **body})

    async def leave(self, actor: Actor, session: Session, event: dict[str, Any]) -> ApiResponse:
        """Leave the instance of an update event."""
        path = f"/applications/{self.bot.application_id}/activities/{event['location']['id']}"
        body = {"session_id": session.ready["session_id"]}
        return await actor.post(f"{path}/instances/{event['instance_id']}/leave", json=body)

    async def read(self, composite_id: str, actor: Actor | None = None) -> ApiResponse:
        """Get an instance, by default as the application's bot."""
        path = f"/applications/{self.bot.application_id}/activity-instances/{composite_id}"
        return await (actor or self.bot).get(path)


@pytest.fixture
async def stage(world: World) -> ActivityStage:
    users = [await world.user("alice"), await world.user("bob")]
    guild = await world.guild(None, *users)
    bot = await world.bot(guild, flags=ApplicationFlags.EMBEDDED)
    connected = [(user, await user.connect()) for user in users]
    return ActivityStage(
        world, guild, connected, bot, await bot.connect(Intents.GUILDS | Intents.GUILD_EMBEDDED_ACTIVITIES)
    )


async def test_the_first_launch_starts_an_instance_and_later_ones_join_it(stage: ActivityStage) -> None:
    assert (await stage.launch(stage.alice, stage.alices)).status == 204
    event = await stage.app.next(UPDATE)

    general, guild_id = str(stage.guild.general), str(stage.guild.id)
    location = {"id": f"gc-{guild_id}-{general}", "kind": "gc", "channel_id": general, "guild_id": guild_id}
    assert event["location"] == location
    assert event["composite_instance_id"] == f"i-{event['instance_id']}-{location['id']}"
    (first,) = event["participants"]
    assert (first["user_id"], first["nonce"], first["member"]["user"]["username"]) == (
        str(stage.alice.id),
        None,
        "alice",
    )
    assert first["session_id"] not in ("", stage.alices.ready["session_id"])

    (await stage.launch(stage.bob, stage.bobs)).ok()
    joined = await stage.app.next(UPDATE)
    assert joined["instance_id"] == event["instance_id"]
    assert (await stage.read(event["composite_instance_id"])).ok() == {
        "application_id": str(stage.bot.application_id),
        "instance_id": event["composite_instance_id"],
        "launch_id": event["launch_id"],
        "location": location,
        "users": [str(stage.alice.id), str(stage.bob.id)],
    }
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.none_of(UPDATE)


async def test_an_instance_ends_with_its_last_participant(stage: ActivityStage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.next(UPDATE)
    event = await stage.app.next(UPDATE)

    assert (await stage.leave(stage.alice, stage.alices, event)).ok() == {}
    assert len((await stage.app.next(UPDATE))["participants"]) == 1
    (await stage.leave(stage.alice, stage.alices, event)).rejected(404, 0)
    (await stage.leave(stage.bob, stage.bobs, event)).ok()

    assert (await stage.app.next(UPDATE))["participants"] == []
    (await stage.read(event["composite_instance_id"])).rejected(404, 0)
    (await stage.launch(stage.bob, stage.bobs)).ok()
    assert (await stage.app.next(UPDATE))["instance_id"] != event["instance_id"]


async def test_a_participant_leaves_when_their_session_ends(stage: ActivityStage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()
    await stage.app.next(UPDATE)
    await stage.app.next(UPDATE)

    await stage.alices.close()
    stage.world.clock.advance(3_600_000)

    left = await stage.app.next(UPDATE, lambda data: len(data["participants"]) == 1)
    assert left["participants"][0]["user_id"] == str(stage.bob.id)


async def test_a_participant_without_a_session_leaves_with_their_last_session(stage: ActivityStage) -> None:
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


async def test_a_session_participates_in_one_activity(stage: ActivityStage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    first = await stage.app.next(UPDATE)
    (await stage.launch(stage.alice, stage.alices, await stage.guild.channel("other"))).ok()

    assert (await stage.app.next(UPDATE))["participants"] == []
    assert (await stage.app.next(UPDATE))["location"]["channel_id"] == str(stage.guild.channels["other"])
    (await stage.read(first["composite_instance_id"])).rejected(404, 0)


async def test_an_instance_ends_with_its_channel_and_with_the_membership(stage: ActivityStage) -> None:
    channel = await stage.guild.channel("room")
    (await stage.launch(stage.alice, stage.alices, channel)).ok()
    event = await stage.app.next(UPDATE)
    (await stage.guild.owner.delete(f"/channels/{channel}")).ok()
    assert (await stage.app.next(UPDATE))["participants"] == []
    (await stage.read(event["composite_instance_id"])).rejected(404, 0)

    (await stage.launch(stage.alice, stage.alices)).ok()
    await stage.app.next(UPDATE)
    (await stage.guild.owner.delete(f"/guilds/{stage.guild.id}/members/{stage.alice.id}")).ok()
    assert (await stage.app.next(UPDATE))["participants"] == []


async def test_guild_create_lists_the_instances_in_visible_channels(stage: ActivityStage) -> None:
    hidden = await stage.guild.channel("hidden")
    await stage.guild.overwrite(hidden, stage.bot.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs, hidden)).ok()

    seen = (await stage.bot.connect(stage.app.intents)).guilds[str(stage.guild.id)]["activity_instances"]

    assert [each["location"]["channel_id"] for each in seen] == [str(stage.guild.general)]
    assert [each["user_id"] for each in seen[0]["participants"]] == [str(stage.alice.id)]
    await stage.app.next(UPDATE)
    await stage.app.none_of(UPDATE)


async def test_an_activity_can_be_launched_in_a_direct_message_channel(stage: ActivityStage) -> None:
    private = (await stage.alice.post("/users/@me/channels", json={"recipient_id": str(stage.bob.id)})).ok()

    (await stage.launch(stage.alice, stage.alices, int(private["id"]))).ok()

    event = await stage.bobs.next(UPDATE)
    assert event["location"] == {"id": f"pc-{private['id']}", "kind": "pc", "channel_id": private["id"]}
    assert "member" not in event["participants"][0]
    assert (await stage.read(event["composite_instance_id"])).ok()["location"]["kind"] == "pc"


async def test_launching_requires_permissions_and_a_suitable_channel(stage: ActivityStage) -> None:
    general = stage.guild.general
    await stage.guild.overwrite(general, stage.alice.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES)
    (await stage.launch(stage.alice, stage.alices)).rejected(403, 50013)
    await stage.guild.overwrite(general, stage.alice.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.launch(stage.alice, stage.alices)).rejected(403, 50001)
    (await stage.launch(stage.bob, stage.bobs, 1)).rejected(404, 10003)
    (await stage.launch(stage.bob, stage.bobs, await stage.guild.channel("forum", type=15))).rejected(400, 50024)
    assert (await stage.launch(stage.bob, stage.alices)).errors("session_id") == ["SESSION_UNKNOWN"]
    assert (await stage.launch(stage.bob, stage.bobs, session_id="")).errors("session_id")
    session = {"session_id": stage.bobs.ready["session_id"]}
    (await stage.bob.post(f"/activities/{general}/1", json=session)).rejected(404, 10002)
    plain = await stage.world.bot(stage.guild, flags=0)
    (await stage.bob.post(f"/activities/{general}/{plain.application_id}", json=session)).rejected(400, 50039)
    stranger = await stage.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{general}/{stranger.application_id}"
    (await stage.bob.post(path, json=session)).ok()
    await stage.guild.overwrite(general, stage.bob.id, deny=Permissions.USE_EXTERNAL_APPS)
    (await stage.bob.post(path, json=session)).rejected(403, 50013)
    # An application installed with commands only, without its bot, counts as installed.
    authorize = f"/oauth2/authorize?client_id={stranger.application_id}&scope=applications.commands&integration_type=0"
    consent = {"authorize": True, "guild_id": str(stage.guild.id)}
    (await stage.guild.owner.post(authorize, json=consent)).ok()
    (await stage.bob.post(path, json=session)).ok()
    afk = await stage.guild.channel("afk", type=2)
    (await stage.guild.owner.patch(f"/guilds/{stage.guild.id}", json={"afk_channel_id": str(afk)})).ok()
    (await stage.launch(stage.bob, stage.bobs, afk)).rejected(400, 50039)


async def test_max_participants_limits_an_instance(stage: ActivityStage) -> None:
    (await stage.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
    (await stage.launch(stage.alice, stage.alices)).ok()
    (await stage.launch(stage.bob, stage.bobs)).rejected(400, 50039)
    (await stage.bot.patch("/applications/@me", json={"max_participants": -1})).ok()
    (await stage.launch(stage.bob, stage.bobs)).ok()


async def test_only_the_bot_of_the_application_reads_its_instances(stage: ActivityStage) -> None:
    (await stage.launch(stage.alice, stage.alices)).ok()
    event = await stage.app.next(UPDATE)
    composite = event["composite_instance_id"]

    (await stage.read(composite, await stage.world.bot())).rejected(403, 20012)
    (await stage.read(composite, stage.alice)).rejected(403, 20002)
    for wrong in ("x", "i-x-y", f"i-{event['instance_id']}-pc-1", f"i-{'9' * 40}-pc-1", composite + "0"):
        (await stage.read(wrong)).rejected(404, 0)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_external_apps_require_a_permission_from_the_date(stage: ActivityStage) -> None:
    elsewhere = await stage.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{stage.guild.general}/{elsewhere.application_id}"
    body = {"session_id": stage.bobs.ready["session_id"]}
    await stage.guild.overwrite(stage.guild.general, stage.bob.id, deny=Permissions.USE_EXTERNAL_APPS)

    stage.world.clock.set(changes.EXTERNAL_APPS.at_ms)
    (await stage.bob.post(path, json=body)).rejected(403, 50013)
    stage.world.clock.set(changes.EXTERNAL_APPS.at_ms - 1)
    assert (await stage.bob.post(path, json=body)).status == 204


async def test_the_older_route_lists_the_instances_in_a_channel(stage: ActivityStage) -> None:
    path = f"/activities/{stage.bot.application_id}/instances/{stage.guild.general}"
    assert (await stage.alice.get(path)).ok() == {"instances": []}
    (await stage.launch(stage.alice, stage.alices)).ok()
    event = await stage.app.next(UPDATE)

    for actor in (stage.alice, stage.bot):
        assert (await actor.get(path)).ok() == {"instances": [event]}
    (await stage.alice.get(f"/activities/1/instances/{stage.guild.general}")).rejected(404, 10002)
    (await stage.alice.get(f"/activities/{stage.bot.application_id}/instances/1")).rejected(404, 10003)
    await stage.guild.overwrite(stage.guild.general, stage.bob.id, deny=Permissions.VIEW_CHANNEL)
    (await stage.bob.get(path)).rejected(403, 50001)


@pytest.mark.parametrize("how", ["switched off", "deleted"])
async def test_instances_end_when_the_application_loses_its_activities(stage: ActivityStage, how: str) -> None:
    path = f"/applications/{(await stage.alice.post('/applications', json={'name': 'Game'})).ok()['id']}"
    (await stage.alice.patch(path, json={"activities": True})).ok()
    body = {"session_id": stage.alices.ready["session_id"]}
    (await stage.alice.post(f"/activities/{stage.guild.general}/{path.rpartition('/')[2]}", json=body)).ok()
    event = await stage.bobs.next(UPDATE)
    assert len(event["participants"]) == 1

    if how == "deleted":
        (await stage.alice.delete(path, json={})).ok()
    else:
        (await stage.alice.patch(path, json={"activities": False})).ok()

    ended = await stage.bobs.next(UPDATE)
    assert (ended["instance_id"], ended["participants"]) == (event["instance_id"], [])
    assert (await stage.alice.get(f"/activities/{stage.bot.application_id}/instances/{stage.guild.general}")).ok() == {
        "instances": []
    }
