"""How far people have read, and that all of their clients know."""

import pytest

from hubbub.protocol.permissions import Permissions
from tests.game import game
from tests.server.resources.test_account_deletion import PASSWORD, register
from tests.server.resources.test_direct_messages import direct, say
from tests.world import Actor, World


def path(channel: int | str, message: int | str) -> str:
    """Where a mark is set."""
    return f"/channels/{channel}/messages/{message}/ack"


async def marks(person: Actor) -> dict[str, str]:
    """What READY says."""
    session = await person.connect()
    told = session.ready["read_state"]
    assert (told["partial"], told["version"]) == (False, 0)
    await session.close()
    return {each["id"]: each["last_message_id"] for each in told["entries"]}


async def test_a_mark_is_kept_told_to_ones_own_clients_and_only_goes_forward(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    first, second = await guild.say(bob), await guild.say(bob)
    here, other = str(guild.general), await bob.connect()
    mine = await alice.connect()
    assert mine.ready["read_state"] == {"entries": [], "partial": False, "version": 0}

    assert (await alice.post(path(here, second["id"]), json={"token": None})).ok() == {"token": None}

    assert await mine.next("MESSAGE_ACK") == {"channel_id": here, "message_id": second["id"]}
    assert await marks(alice) == {here: second["id"]}
    (await alice.post(path(here, first["id"]))).ok()
    (await alice.post(path(here, second["id"]))).ok()
    await mine.none_of("MESSAGE_ACK")
    await other.none_of("MESSAGE_ACK")
    assert (await marks(alice), await marks(bob)) == ({here: second["id"]}, {})

    (await alice.post(path(here, first["id"]), json={"manual": True})).ok()

    assert await mine.next("MESSAGE_ACK") == {"channel_id": here, "message_id": first["id"], "manual": True}
    assert await marks(alice) == {here: first["id"]}


async def test_only_people_mark_what_they_can_see(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    hidden = await guild.channel("hidden")
    await guild.overwrite(hidden, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    player = await (await game(world)).player(bob)

    (await bob.post(path(hidden, 1))).refused(403, 50001)
    (await bob.post(path(12345, 1))).refused(404, 10003)
    (await (await world.user()).post(path(guild.general, 1))).refused(403, 50001)
    (await bot.post(path(guild.general, 1))).refused(403, 20001)
    (await player.post(path(guild.general, 1))).refused(401, 0)
    assert (await bob.post(path(guild.general, 1), json={"manual": "yes"})).errors("manual")
    assert await marks(bob) == {}


async def test_several_channels_are_marked_at_once_and_those_of_others_are_not(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    private = (await direct(alice, bob))["id"]
    theirs = (await direct(bob, carol))["id"]
    said = await say(bob, private)
    session = await alice.connect()
    asked = [(guild.general, 5), (private, said["id"]), (theirs, 5), (999, 5)]
    body = [{"channel_id": str(channel), "message_id": str(message)} for channel, message in asked]

    assert (await alice.post("/read-states/ack-bulk", json={"read_states": body})).status == 204

    told = [await session.next("MESSAGE_ACK"), await session.next("MESSAGE_ACK")]
    assert {each["channel_id"] for each in told} == {str(guild.general), private}
    assert await marks(alice) == {str(guild.general): "5", private: said["id"]}


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "read_states"),
        ({"read_states": []}, "read_states"),
        ({"read_states": [{"channel_id": "1", "message_id": "1"}] * 101}, "read_states"),
        ({"read_states": [{"channel_id": "1"}]}, "read_states.0.message_id"),
        ({"read_states": [{"channel_id": "x", "message_id": "1"}]}, "read_states.0.channel_id"),
    ],
)
async def test_what_is_no_list_of_marks_is_refused(world: World, body: object, at: str) -> None:
    assert (await (await world.user()).post("/read-states/ack-bulk", json=body)).errors(at)


async def test_marks_go_with_their_channel_their_guild_and_their_account(world: World) -> None:
    alice = await register(world, "alice")
    guild = await world.guild(alice)
    other = await world.guild(await world.user(), alice)
    extra = await guild.channel("extra")
    for channel in (guild.general, extra, other.general):
        (await alice.post(path(channel, 7))).ok()
    told = (await alice.get("/users/@me/harvest")).ok()
    assert len(told["records"]["read_states"]) == 3

    (await alice.delete(f"/channels/{extra}")).ok()
    assert set(await marks(alice)) == {str(guild.general), str(other.general)}
    (await alice.delete(f"/guilds/{guild.id}")).ok()
    assert set(await marks(alice)) == {str(other.general)}
    (await alice.post("/users/@me/delete", json={"password": PASSWORD})).ok()
    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM read_states")) == 0
