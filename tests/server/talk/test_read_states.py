"""Read states: acks of messages, their sync to all sessions of a user, mention counts, and the inbox of mentions."""

import pytest

from hubbub.protocol.enums import OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.talk.read_states import mentions
from tests.game import create_game
from tests.server.identity.accounts import PASSWORD, register_user
from tests.server.talk.private_channels import open_dm, send_message
from tests.world import Actor, World


def ack_path(channel_id: int | str, message: int | str) -> str:
    return f"/channels/{channel_id}/messages/{message}/ack"


async def fetch_read_states(user: Actor) -> dict[str, str]:
    """Return the read states in READY: the ID of the last read message by channel ID."""
    session = await user.connect()
    state = session.ready["read_state"]
    assert (state["partial"], state["version"]) == (False, 0)
    await session.close()
    return {read_state["id"]: read_state["last_message_id"] for read_state in state["entries"]}


async def test_an_ack_is_stored_sent_to_own_sessions_and_only_moves_forward(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    first_message, second_message = await guild.send_message(bob), await guild.send_message(bob)
    channel_id, bob_session = str(guild.general), await bob.connect()
    session = await alice.connect()
    assert session.ready["read_state"] == {"entries": [], "partial": False, "version": 0}

    assert (await alice.post(ack_path(channel_id, second_message["id"]), json={"token": None})).ok() == {"token": None}

    assert await session.next("MESSAGE_ACK") == {"channel_id": channel_id, "message_id": second_message["id"]}
    assert await fetch_read_states(alice) == {channel_id: second_message["id"]}
    (await alice.post(ack_path(channel_id, first_message["id"]))).ok()
    (await alice.post(ack_path(channel_id, second_message["id"]))).ok()
    await session.assert_not_received("MESSAGE_ACK")
    await bob_session.assert_not_received("MESSAGE_ACK")
    assert (await fetch_read_states(alice), await fetch_read_states(bob)) == ({channel_id: second_message["id"]}, {})

    (await alice.post(ack_path(channel_id, first_message["id"]), json={"manual": True})).ok()

    assert await session.next("MESSAGE_ACK") == {
        "channel_id": channel_id,
        "message_id": first_message["id"],
        "manual": True,
        "mention_count": 0,
    }
    assert await fetch_read_states(alice) == {channel_id: first_message["id"]}


async def test_only_users_can_ack_visible_channels(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    hidden_channel_id = await guild.channel("hidden")
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    player = await (await create_game(world)).add_player(bob)

    (await bob.post(ack_path(hidden_channel_id, 1))).rejected(403, 50001)
    (await bob.post(ack_path(12345, 1))).rejected(404, 10003)
    (await (await world.user()).post(ack_path(guild.general, 1))).rejected(403, 50001)
    (await bot.post(ack_path(guild.general, 1))).rejected(403, 20001)
    (await player.post(ack_path(guild.general, 1))).rejected(401, 0)
    assert (await bob.post(ack_path(guild.general, 1), json={"manual": "yes"})).errors("manual")
    assert await fetch_read_states(bob) == {}


async def test_a_bulk_ack_skips_inaccessible_channels(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    private_channel_id = (await open_dm(alice, bob))["id"]
    inaccessible_channel_id = (await open_dm(bob, carol))["id"]
    message = await send_message(bob, private_channel_id)
    session = await alice.connect()
    acks = [(guild.general, 5), (private_channel_id, message["id"]), (inaccessible_channel_id, 5), (999, 5)]
    body = [{"channel_id": str(channel_id), "message_id": str(message_id)} for channel_id, message_id in acks]

    assert (await alice.post("/read-states/ack-bulk", json={"read_states": body})).status == 204

    events = [await session.next("MESSAGE_ACK"), await session.next("MESSAGE_ACK")]
    assert {event["channel_id"] for event in events} == {str(guild.general), private_channel_id}
    assert await fetch_read_states(alice) == {str(guild.general): "5", private_channel_id: message["id"]}


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("body", "error_path"),
    [
        ({}, "read_states"),
        ({"read_states": []}, "read_states"),
        ({"read_states": [{"channel_id": "1", "message_id": "1"}] * 101}, "read_states"),
        ({"read_states": [{"channel_id": "1"}]}, "read_states.0.message_id"),
        ({"read_states": [{"channel_id": "x", "message_id": "1"}]}, "read_states.0.channel_id"),
    ],
)
async def test_an_invalid_bulk_ack_is_rejected(world: World, body: object, error_path: str) -> None:
    assert (await (await world.user()).post("/read-states/ack-bulk", json=body)).errors(error_path)


async def test_read_states_are_deleted_with_channel_guild_and_account(world: World) -> None:
    alice = await register_user(world, "alice")
    guild = await world.guild(alice)
    other_guild = await world.guild(await world.user(), alice)
    extra_channel_id = await guild.channel("extra")
    for channel_id in (guild.general, extra_channel_id, other_guild.general):
        (await alice.post(ack_path(channel_id, 7))).ok()
    export = (await alice.get("/users/@me/harvest")).ok()
    assert len(export["records"]["read_states"]) == 3

    (await alice.delete(f"/channels/{extra_channel_id}")).ok()
    assert set(await fetch_read_states(alice)) == {str(guild.general), str(other_guild.general)}
    (await alice.delete(f"/guilds/{guild.id}")).ok()
    assert set(await fetch_read_states(alice)) == {str(other_guild.general)}
    (await alice.post("/users/@me/delete", json={"password": PASSWORD})).ok()
    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM read_states")) == 0


# Mentions


async def fetch_counts(user: Actor) -> dict[int, int]:
    """Return the mention counts in READY that are not 0, by channel ID. Assert that GET returns the same counts."""
    session = await user.connect()
    read_state = session.ready["read_state"]
    await session.close()
    assert (await user.get("/users/@me/read-states")).ok() == read_state
    return {int(state["id"]): state["mention_count"] for state in read_state["entries"] if state["mention_count"]}


async def send_text(author: Actor, channel_id: int | str, content: str, **fields: object) -> str:
    """Send a message with this content and these fields, and return its ID."""
    message = (await author.post(f"/channels/{channel_id}/messages", json={"content": content, **fields})).ok()
    return str(message["id"])


async def test_mentions_are_counted_for_later_sessions_until_they_are_acked(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    role_id = await guild.role("crew", mentionable=True)
    (await alice.put(f"/guilds/{guild.id}/members/{bob.id}/roles/{role_id}")).ok()
    first_message_id = await send_text(alice, guild.general, f"<@{bob.id}> hello")
    await send_text(alice, guild.general, "not for bob")
    await send_text(alice, guild.general, f"<@&{role_id}> and <@{bob.id}> count once")
    last_message_id = await send_text(alice, guild.general, "@everyone")
    own_session = await bob.connect()

    assert await fetch_counts(bob) == {guild.general: 3}
    assert await fetch_counts(alice) == {}

    (await bob.post(ack_path(guild.general, last_message_id))).ok()
    assert await own_session.next("MESSAGE_ACK") == {"channel_id": str(guild.general), "message_id": last_message_id}
    assert await fetch_counts(bob) == {}

    (await bob.post(ack_path(guild.general, first_message_id), json={"manual": True})).ok()
    assert (await own_session.next("MESSAGE_ACK"))["mention_count"] == 2
    assert await fetch_counts(bob) == {guild.general: 2}
    (await alice.delete(f"/channels/{guild.general}/messages/{last_message_id}")).ok()
    assert await fetch_counts(bob) == {guild.general: 1}


async def test_every_private_message_of_others_counts(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    private_channel_id = (await open_dm(alice, bob))["id"]
    for _ in range(3):
        await send_message(bob, private_channel_id)
    await send_message(alice, private_channel_id)

    assert await fetch_counts(alice) == {int(private_channel_id): 3}
    assert await fetch_counts(bob) == {int(private_channel_id): 1}


async def test_mentions_of_hidden_channels_blocked_users_and_left_guilds_do_not_count(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await world.guild(alice, bob, carol)
    other_guild = await world.guild(alice, bob)
    hidden_channel_id = await guild.channel("hidden")
    await send_text(alice, hidden_channel_id, f"<@{bob.id}>")
    await send_text(carol, guild.general, f"<@{bob.id}>")
    await send_text(alice, other_guild.general, f"<@{bob.id}>")
    assert await fetch_counts(bob) == {hidden_channel_id: 1, guild.general: 1, other_guild.general: 1}

    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=0)
    (await bob.put(f"/users/@me/relationships/{carol.id}", json={"type": 2})).ok()
    (await bob.delete(f"/users/@me/guilds/{other_guild.id}")).ok()

    assert await fetch_counts(bob) == {}
    assert (await bob.get("/users/@me/mentions")).ok() == []


async def test_mentions_before_joining_do_not_count(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    await send_text(alice, guild.general, "@everyone")
    world.clock.advance(5_000)
    bob = await guild.member()

    assert await fetch_counts(bob) == {}

    world.clock.advance(5_000)
    await send_text(alice, guild.general, "@everyone")
    assert await fetch_counts(bob) == {guild.general: 1}


async def test_a_mention_of_everyone_is_one_row(world: World) -> None:
    users = [await world.user() for _ in range(5)]
    guild = await world.guild(*users)

    await send_text(users[0], guild.general, "@everyone")

    assert await world.write(lambda call: call.tx.value("SELECT COUNT(*) FROM mentions")) == 1
    assert [await fetch_counts(user) for user in users[1:]] == [{guild.general: 1}] * 4


async def test_the_inbox_lists_mentions_newest_first_with_filters(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild, other_guild = await world.guild(alice, bob), await world.guild(alice, bob)
    role_id = await guild.role("crew", mentionable=True)
    (await alice.put(f"/guilds/{guild.id}/members/{bob.id}/roles/{role_id}")).ok()
    direct_message_id = await send_text(alice, guild.general, f"<@{bob.id}>")
    role_message_id = await send_text(alice, guild.general, f"<@&{role_id}>")
    everyone_message_id = await send_text(alice, other_guild.general, "@everyone")

    async def list_ids(**query: object) -> list[str]:
        return [message["id"] for message in (await bob.get("/users/@me/mentions", params=query)).ok()]

    assert await list_ids() == [everyone_message_id, role_message_id, direct_message_id]
    assert await list_ids(limit=1, before=everyone_message_id) == [role_message_id]
    assert await list_ids(roles="false", everyone="false") == [direct_message_id]
    assert await list_ids(guild_id=other_guild.id) == [everyone_message_id]
    (await bob.post(ack_path(guild.general, role_message_id))).ok()
    assert await list_ids(guild_id=guild.id) == [role_message_id, direct_message_id]
    assert (await bob.get("/users/@me/mentions", params={"limit": 101})).errors("limit")


async def test_the_inbox_reads_as_many_pages_of_mentions_as_it_needs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "MENTION_ROWS_PER_QUERY", 2)
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    hidden_channel_id = await guild.channel("hidden")
    role_id = await guild.role("crew", mentionable=True)
    (await alice.put(f"/guilds/{guild.id}/members/{bob.id}/roles/{role_id}")).ok()
    readable = [
        await send_text(alice, guild.general, f"<@{bob.id}>"),
        await send_text(alice, guild.general, f"<@&{role_id}>"),
    ]
    for _ in range(3):
        await send_text(alice, hidden_channel_id, f"<@{bob.id}>")
    readable.append(await send_text(alice, guild.general, f"<@{bob.id}>"))
    await guild.overwrite(hidden_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)

    messages = (await bob.get("/users/@me/mentions")).ok()

    assert [message["id"] for message in messages] == readable[::-1]
