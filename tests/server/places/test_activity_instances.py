"""Activity instances: launch, participants, end, events, requirements, and reads."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.places import activity_instances
from tests.world import Actor, ApiResponse, Guild, Session, World

UPDATE_EVENT = "EMBEDDED_ACTIVITY_UPDATE_V2"


class ActivitySetup:
    """A guild with two connected users and an application with an activity, and requests to the activity's routes."""

    def __init__(
        self, world: World, guild: Guild, users: list[tuple[Actor, Session]], bot: Actor, bot_session: Session
    ) -> None:
        self.world, self.guild, self.bot, self.bot_session = world, guild, bot, bot_session
        (self.alice, self.alice_session), (self.bob, self.bob_session) = users

    async def launch(self, actor: Actor, session: Session, channel_id: int | None = None, **body: Any) -> ApiResponse:
        """Launch or join the activity."""
        path = f"/activities/{channel_id or self.guild.general}/{self.bot.application_id}"
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
async def activity_setup(world: World) -> ActivitySetup:
    """A guild with two connected users, and an application with an activity."""
    users = [await world.user("alice"), await world.user("bob")]
    guild = await world.guild(None, *users)
    bot = await world.bot(guild, flags=ApplicationFlags.EMBEDDED)
    connected_users = [(user, await user.connect()) for user in users]
    return ActivitySetup(
        world, guild, connected_users, bot, await bot.connect(Intents.GUILDS | Intents.GUILD_EMBEDDED_ACTIVITIES)
    )


async def test_the_first_launch_starts_an_instance_and_later_ones_join_it(activity_setup: ActivitySetup) -> None:
    assert (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).status == 204
    event = await activity_setup.bot_session.next(UPDATE_EVENT)

    general_channel_id, guild_id = str(activity_setup.guild.general), str(activity_setup.guild.id)
    location = {
        "id": f"gc-{guild_id}-{general_channel_id}",
        "kind": "gc",
        "channel_id": general_channel_id,
        "guild_id": guild_id,
    }
    assert event["location"] == location
    assert event["composite_instance_id"] == f"i-{event['instance_id']}-{location['id']}"
    (first_participant,) = event["participants"]
    assert (
        first_participant["user_id"],
        first_participant["nonce"],
        first_participant["member"]["user"]["username"],
    ) == (
        str(activity_setup.alice.id),
        None,
        "alice",
    )
    assert first_participant["session_id"] not in ("", activity_setup.alice_session.ready["session_id"])

    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()
    join_update = await activity_setup.bot_session.next(UPDATE_EVENT)
    assert join_update["instance_id"] == event["instance_id"]
    assert (await activity_setup.read(event["composite_instance_id"])).ok() == {
        "application_id": str(activity_setup.bot.application_id),
        "instance_id": event["composite_instance_id"],
        "launch_id": event["launch_id"],
        "location": location,
        "users": [str(activity_setup.alice.id), str(activity_setup.bob.id)],
    }
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()
    await activity_setup.bot_session.assert_not_received(UPDATE_EVENT)


async def test_an_instance_ends_with_its_last_participant(activity_setup: ActivitySetup) -> None:
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()
    await activity_setup.bot_session.next(UPDATE_EVENT)
    event = await activity_setup.bot_session.next(UPDATE_EVENT)

    assert (await activity_setup.leave(activity_setup.alice, activity_setup.alice_session, event)).ok() == {}
    assert len((await activity_setup.bot_session.next(UPDATE_EVENT))["participants"]) == 1
    (await activity_setup.leave(activity_setup.alice, activity_setup.alice_session, event)).rejected(404, 0)
    (await activity_setup.leave(activity_setup.bob, activity_setup.bob_session, event)).ok()

    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["participants"] == []
    (await activity_setup.read(event["composite_instance_id"])).rejected(404, 0)
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()
    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["instance_id"] != event["instance_id"]


async def test_a_participant_leaves_when_their_session_ends(activity_setup: ActivitySetup) -> None:
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()
    await activity_setup.bot_session.next(UPDATE_EVENT)
    await activity_setup.bot_session.next(UPDATE_EVENT)

    await activity_setup.alice_session.close()
    activity_setup.world.clock.advance(3_600_000)

    leave_update = await activity_setup.bot_session.next(UPDATE_EVENT, lambda data: len(data["participants"]) == 1)
    assert leave_update["participants"][0]["user_id"] == str(activity_setup.bob.id)


async def test_a_participant_without_a_session_leaves_with_their_last_session(activity_setup: ActivitySetup) -> None:
    launched_row = await activity_setup.world.write(
        lambda call: activity_instances.launch(
            call,
            activity_setup.bot.application_id,
            activity_setup.alice.id,
            activity_setup.guild.general,
            activity_setup.guild.id,
        )
    )
    assert (await activity_setup.read(launched_row.composite_id)).ok()["users"] == [str(activity_setup.alice.id)]
    await activity_setup.bot_session.next(UPDATE_EVENT)

    await activity_setup.alice_session.close()
    activity_setup.world.clock.advance(3_600_000)

    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["participants"] == []


async def test_a_session_participates_in_one_activity(activity_setup: ActivitySetup) -> None:
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    first_update = await activity_setup.bot_session.next(UPDATE_EVENT)
    (
        await activity_setup.launch(
            activity_setup.alice, activity_setup.alice_session, await activity_setup.guild.channel("other")
        )
    ).ok()

    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["participants"] == []
    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["location"]["channel_id"] == str(
        activity_setup.guild.channels["other"]
    )
    (await activity_setup.read(first_update["composite_instance_id"])).rejected(404, 0)


async def test_an_instance_ends_with_its_channel_and_with_the_membership(activity_setup: ActivitySetup) -> None:
    channel_id = await activity_setup.guild.channel("room")
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session, channel_id)).ok()
    event = await activity_setup.bot_session.next(UPDATE_EVENT)
    (await activity_setup.guild.owner.delete(f"/channels/{channel_id}")).ok()
    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["participants"] == []
    (await activity_setup.read(event["composite_instance_id"])).rejected(404, 0)

    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    await activity_setup.bot_session.next(UPDATE_EVENT)
    (
        await activity_setup.guild.owner.delete(f"/guilds/{activity_setup.guild.id}/members/{activity_setup.alice.id}")
    ).ok()
    assert (await activity_setup.bot_session.next(UPDATE_EVENT))["participants"] == []


async def test_guild_create_lists_the_instances_in_visible_channels(activity_setup: ActivitySetup) -> None:
    hidden_channel_id = await activity_setup.guild.channel("hidden")
    await activity_setup.guild.overwrite(hidden_channel_id, activity_setup.bot.id, deny=Permissions.VIEW_CHANNEL)
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session, hidden_channel_id)).ok()

    instances = (await activity_setup.bot.connect(activity_setup.bot_session.intents)).guilds[
        str(activity_setup.guild.id)
    ]["activity_instances"]

    assert [instance["location"]["channel_id"] for instance in instances] == [str(activity_setup.guild.general)]
    assert [participant["user_id"] for participant in instances[0]["participants"]] == [str(activity_setup.alice.id)]
    await activity_setup.bot_session.next(UPDATE_EVENT)
    await activity_setup.bot_session.assert_not_received(UPDATE_EVENT)


async def test_an_activity_can_be_launched_in_a_direct_message_channel(activity_setup: ActivitySetup) -> None:
    direct_channel = (
        await activity_setup.alice.post("/users/@me/channels", json={"recipient_id": str(activity_setup.bob.id)})
    ).ok()

    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session, int(direct_channel["id"]))).ok()

    event = await activity_setup.bob_session.next(UPDATE_EVENT)
    assert event["location"] == {"id": f"pc-{direct_channel['id']}", "kind": "pc", "channel_id": direct_channel["id"]}
    assert "member" not in event["participants"][0]
    assert (await activity_setup.read(event["composite_instance_id"])).ok()["location"]["kind"] == "pc"


async def test_launching_requires_permissions_and_a_suitable_channel(activity_setup: ActivitySetup) -> None:
    general_channel_id = activity_setup.guild.general
    await activity_setup.guild.overwrite(
        general_channel_id, activity_setup.alice.id, deny=Permissions.USE_EMBEDDED_ACTIVITIES
    )
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).rejected(403, 50013)
    await activity_setup.guild.overwrite(general_channel_id, activity_setup.alice.id, deny=Permissions.VIEW_CHANNEL)
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).rejected(403, 50001)
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session, 1)).rejected(404, 10003)
    (
        await activity_setup.launch(
            activity_setup.bob,
            activity_setup.bob_session,
            await activity_setup.guild.channel("forum", type=ChannelType.GUILD_FORUM),
        )
    ).rejected(400, 50024)
    assert (await activity_setup.launch(activity_setup.bob, activity_setup.alice_session)).errors("session_id") == [
        "SESSION_UNKNOWN"
    ]
    assert (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session, session_id="")).errors(
        "session_id"
    )
    session = {"session_id": activity_setup.bob_session.ready["session_id"]}
    (await activity_setup.bob.post(f"/activities/{general_channel_id}/1", json=session)).rejected(404, 10002)
    app_without_activities = await activity_setup.world.bot(activity_setup.guild, flags=0)
    (
        await activity_setup.bob.post(
            f"/activities/{general_channel_id}/{app_without_activities.application_id}", json=session
        )
    ).rejected(400, 50039)
    external_app = await activity_setup.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{general_channel_id}/{external_app.application_id}"
    (await activity_setup.bob.post(path, json=session)).ok()
    await activity_setup.guild.overwrite(general_channel_id, activity_setup.bob.id, deny=Permissions.USE_EXTERNAL_APPS)
    (await activity_setup.bob.post(path, json=session)).rejected(403, 50013)
    # An application installed with commands only, without its bot, counts as installed.
    authorize_path = (
        f"/oauth2/authorize?client_id={external_app.application_id}&scope=applications.commands&integration_type=0"
    )
    consent = {"authorize": True, "guild_id": str(activity_setup.guild.id)}
    (await activity_setup.guild.owner.post(authorize_path, json=consent)).ok()
    (await activity_setup.bob.post(path, json=session)).ok()
    afk_channel_id = await activity_setup.guild.channel("afk", type=ChannelType.GUILD_VOICE)
    (
        await activity_setup.guild.owner.patch(
            f"/guilds/{activity_setup.guild.id}", json={"afk_channel_id": str(afk_channel_id)}
        )
    ).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session, afk_channel_id)).rejected(400, 50039)


async def test_max_participants_limits_an_instance(activity_setup: ActivitySetup) -> None:
    (await activity_setup.bot.patch("/applications/@me", json={"max_participants": 1})).ok()
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).rejected(400, 50039)
    (await activity_setup.bot.patch("/applications/@me", json={"max_participants": -1})).ok()
    (await activity_setup.launch(activity_setup.bob, activity_setup.bob_session)).ok()


async def test_only_the_bot_of_the_application_reads_its_instances(activity_setup: ActivitySetup) -> None:
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    event = await activity_setup.bot_session.next(UPDATE_EVENT)
    composite_id = event["composite_instance_id"]

    (await activity_setup.read(composite_id, await activity_setup.world.bot())).rejected(403, 20012)
    (await activity_setup.read(composite_id, activity_setup.alice)).rejected(403, 20002)
    for invalid_id in ("x", "i-x-y", f"i-{event['instance_id']}-pc-1", f"i-{'9' * 40}-pc-1", composite_id + "0"):
        (await activity_setup.read(invalid_id)).rejected(404, 0)


@pytest.mark.dated(changes.EXTERNAL_APPS)
async def test_external_apps_require_a_permission_from_the_date(activity_setup: ActivitySetup) -> None:
    external_app = await activity_setup.world.bot(flags=ApplicationFlags.EMBEDDED)
    path = f"/activities/{activity_setup.guild.general}/{external_app.application_id}"
    body = {"session_id": activity_setup.bob_session.ready["session_id"]}
    await activity_setup.guild.overwrite(
        activity_setup.guild.general, activity_setup.bob.id, deny=Permissions.USE_EXTERNAL_APPS
    )

    activity_setup.world.clock.set(changes.EXTERNAL_APPS.at_ms)
    (await activity_setup.bob.post(path, json=body)).rejected(403, 50013)
    activity_setup.world.clock.set(changes.EXTERNAL_APPS.at_ms - 1)
    assert (await activity_setup.bob.post(path, json=body)).status == 204


async def test_the_older_route_lists_the_instances_in_a_channel(activity_setup: ActivitySetup) -> None:
    path = f"/activities/{activity_setup.bot.application_id}/instances/{activity_setup.guild.general}"
    assert (await activity_setup.alice.get(path)).ok() == {"instances": []}
    (await activity_setup.launch(activity_setup.alice, activity_setup.alice_session)).ok()
    event = await activity_setup.bot_session.next(UPDATE_EVENT)

    for actor in (activity_setup.alice, activity_setup.bot):
        assert (await actor.get(path)).ok() == {"instances": [event]}
    (await activity_setup.alice.get(f"/activities/1/instances/{activity_setup.guild.general}")).rejected(404, 10002)
    (await activity_setup.alice.get(f"/activities/{activity_setup.bot.application_id}/instances/1")).rejected(
        404, 10003
    )
    await activity_setup.guild.overwrite(
        activity_setup.guild.general, activity_setup.bob.id, deny=Permissions.VIEW_CHANNEL
    )
    (await activity_setup.bob.get(path)).rejected(403, 50001)


@pytest.mark.parametrize("cause", ["activities disabled", "deleted"])
async def test_instances_end_when_the_application_loses_its_activities(
    activity_setup: ActivitySetup, cause: str
) -> None:
    application_id = (await activity_setup.alice.post("/applications", json={"name": "Game"})).ok()["id"]
    path = f"/applications/{application_id}"
    (await activity_setup.alice.patch(path, json={"activities": True})).ok()
    body = {"session_id": activity_setup.alice_session.ready["session_id"]}
    (await activity_setup.alice.post(f"/activities/{activity_setup.guild.general}/{application_id}", json=body)).ok()
    event = await activity_setup.bob_session.next(UPDATE_EVENT)
    assert len(event["participants"]) == 1

    if cause == "deleted":
        (await activity_setup.alice.delete(path, json={})).ok()
    else:
        (await activity_setup.alice.patch(path, json={"activities": False})).ok()

    end_update = await activity_setup.bob_session.next(UPDATE_EVENT)
    assert (end_update["instance_id"], end_update["participants"]) == (event["instance_id"], [])
    instances = await activity_setup.world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM activity_instances"))
    assert instances == 0
