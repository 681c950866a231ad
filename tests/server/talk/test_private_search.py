"""Search in direct messages and groups: the index of each private channel, its filters and its permissions."""

from typing import Any

from tests.server.talk.message_search import (
    create_indexed_guild,
    private_search_path,
    search_messages,
    search_private,
)
from tests.server.talk.private_channels import create_group, open_dm, send_message
from tests.world import World, befriend


async def test_the_first_search_of_a_private_channel_builds_its_index(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    channel_id = (await open_dm(alice, bob))["id"]
    for number in range(3):
        await send_message(alice, channel_id, f"hello {number}")

    (await bob.get(private_search_path(channel_id, content="hello"))).rejected(202, 110000)
    await world.run_due_jobs()

    assert await search_private(bob, channel_id, content="hello") == ["hello 2", "hello 1", "hello 0"]
    assert await search_private(alice, channel_id, content="hello", sort_order="asc", limit=2) == ["hello 0", "hello 1"]


async def test_changes_in_a_private_channel_are_found_immediately(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    channel_id = (await open_dm(alice, bob))["id"]
    await alice.get(private_search_path(channel_id))
    await world.run_due_jobs()

    first_message = await send_message(alice, channel_id, "a green apple")
    second_message = await send_message(bob, channel_id, f"see <@{alice.id}> https://a.example/pear")
    (await alice.patch(f"/channels/{channel_id}/messages/{first_message['id']}", json={"content": "a red apple"})).ok()
    (await alice.put(f"/channels/{channel_id}/messages/pins/{first_message['id']}")).ok()

    assert await search_private(bob, channel_id, content="green") == []
    assert await search_private(bob, channel_id, content="red") == ["a red apple"]
    assert await search_private(bob, channel_id, pinned="true") == ["a red apple"]
    assert await search_private(bob, channel_id, author_id=bob.id) == [second_message["content"]]
    assert await search_private(bob, channel_id, mentions=alice.id) == [second_message["content"]]
    assert await search_private(bob, channel_id, has="link") == [second_message["content"]]
    assert await search_private(bob, channel_id, channel_id=channel_id, min_id=first_message["id"]) == [
        second_message["content"]
    ]
    (await alice.delete(f"/channels/{channel_id}/messages/{first_message['id']}")).ok()
    assert await search_private(bob, channel_id, content="apple") == []


async def test_a_private_search_finds_no_messages_of_other_channels(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    guild = await create_indexed_guild(world, alice)
    await guild.send_message(guild.owner, "hello guild")
    first_channel_id, second_channel_id = (await open_dm(alice, bob))["id"], (await open_dm(alice, carol))["id"]
    for channel_id in (first_channel_id, second_channel_id):
        await send_message(alice, channel_id, f"hello {channel_id}")
        await alice.get(private_search_path(channel_id))
    await world.run_due_jobs()

    assert await search_private(alice, first_channel_id, content="hello") == [f"hello {first_channel_id}"]
    assert await search_private(alice, first_channel_id, channel_id=second_channel_id) == []
    found_messages = (await search_messages(guild.owner, guild, content="hello"))["messages"]
    assert [message["content"] for (message,) in found_messages] == ["hello guild"]


async def test_only_recipients_search_a_private_channel(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    await befriend(alice, bob)
    await befriend(alice, carol)
    group_id = (await create_group(alice, bob, carol))["id"]
    await send_message(alice, group_id, "a secret")
    await bob.get(private_search_path(group_id))
    await world.run_due_jobs()
    assert await search_private(bob, group_id, content="secret") == ["a secret"]

    (await bob.delete(f"/channels/{group_id}")).ok()

    (await bob.get(private_search_path(group_id, content="secret"))).rejected(403, 50001)
    (await (await world.user()).get(private_search_path(group_id))).rejected(403, 50001)
    (await bob.get(private_search_path(1))).rejected(404, 10003)
    guild = await world.guild()
    (await guild.owner.get(private_search_path(guild.general))).rejected(400, 50024)
    assert (await alice.get(private_search_path(group_id, limit=26))).errors("limit") == ["NUMBER_TYPE_MAX"]


async def test_deleting_a_group_deletes_its_index(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    await befriend(alice, bob)
    await befriend(alice, carol)
    group_id = (await create_group(alice, bob, carol))["id"]
    await send_message(alice, group_id, "hello")
    await alice.get(private_search_path(group_id))
    await world.run_due_jobs()
    await send_message(alice, group_id, "hello again")
    for user in (alice, bob, carol):
        (await user.delete(f"/channels/{group_id}")).ok()
    await world.run_due_jobs()

    def count_rows(call: Any) -> int:
        tables = ("search_documents", "search_guilds", "search_changes", "search_builds")
        return sum(call.tx.value(f"SELECT COUNT(*) FROM {table}") for table in tables)

    assert await world.write(count_rows) == 0
