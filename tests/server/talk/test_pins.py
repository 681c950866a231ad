"""Pins: the paginated and the older routes, permissions, limits, events and audit log entries."""

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import AuditLogAction, ChannelType, MessageReferenceType, MessageType
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from tests.world import World

PAGINATED_ROUTE = "/channels/{channel}/messages/pins/{message}"
OLD_ROUTE = "/channels/{channel}/pins/{message}"


@pytest.mark.parametrize("route", [PAGINATED_ROUTE, OLD_ROUTE])
async def test_a_pin_is_stored_published_and_audited(world: World, route: str) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild, permissions=Permissions.PIN_MESSAGES)
    message = await guild.send_message(alice)
    session = await bot.connect()
    path = route.format(channel=guild.general, message=message["id"])

    assert (await bot.put(path, headers={"X-Audit-Log-Reason": "worth%20it"})).status == 204

    event = await session.next("CHANNEL_PINS_UPDATE")
    assert event["channel_id"] == str(guild.general)
    assert event["guild_id"] == str(guild.id)
    message_update = await session.next("MESSAGE_UPDATE")
    assert message_update["id"] == message["id"]
    assert message_update["pinned"] is True
    system_message = await session.next("MESSAGE_CREATE")
    assert system_message["type"] == MessageType.CHANNEL_PINNED_MESSAGE
    assert system_message["author"]["id"] == str(bot.id)
    assert system_message["message_reference"] == {
        "type": MessageReferenceType.DEFAULT,
        "channel_id": str(guild.general),
        "message_id": message["id"],
        "guild_id": str(guild.id),
    }
    [audit_entry] = await guild.audit_entries(AuditLogAction.MESSAGE_PIN)
    assert (audit_entry["user_id"], audit_entry["target_id"], audit_entry["reason"]) == (
        str(bot.id),
        str(alice.id),
        "worth it",
    )
    assert audit_entry["options"] == {"channel_id": str(guild.general), "message_id": message["id"]}

    page = (await bot.get(f"/channels/{guild.general}/messages/pins")).ok()
    assert page["has_more"] is False
    assert [pin["message"]["id"] for pin in page["items"]] == [message["id"]]
    assert page["items"][0]["pinned_at"] == event["last_pin_timestamp"]
    assert [pinned_message["id"] for pinned_message in (await bot.get(f"/channels/{guild.general}/pins")).ok()] == [
        message["id"]
    ]
    channel = (await bot.get(f"/channels/{guild.general}")).ok()
    assert channel["last_pin_timestamp"] == event["last_pin_timestamp"]

    assert (await bot.put(path)).status == 204
    await session.assert_not_received("CHANNEL_PINS_UPDATE", "MESSAGE_UPDATE", "MESSAGE_CREATE")


@pytest.mark.parametrize("route", [PAGINATED_ROUTE, OLD_ROUTE])
async def test_an_unpin_is_published_and_audited(world: World, route: str) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild, permissions=Permissions.PIN_MESSAGES)
    first_message, second_message = await guild.send_message(alice, "first"), await guild.send_message(alice, "second")
    for message in (first_message, second_message):
        await alice.put(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))
    session = await bot.connect()

    assert (await bot.delete(route.format(channel=guild.general, message=second_message["id"]))).status == 204
    event = await session.next("CHANNEL_PINS_UPDATE")
    updated_event = await session.next("MESSAGE_UPDATE")
    assert updated_event["id"] == second_message["id"]
    assert updated_event["pinned"] is False
    [pin] = (await bot.get(f"/channels/{guild.general}/messages/pins")).ok()["items"]
    assert pin["message"]["id"] == first_message["id"]
    assert pin["pinned_at"] == event["last_pin_timestamp"]

    assert (await bot.delete(route.format(channel=guild.general, message=first_message["id"]))).status == 204
    assert (await session.next("CHANNEL_PINS_UPDATE"))["last_pin_timestamp"] is None
    await session.next("MESSAGE_UPDATE")
    assert [entry["target_id"] for entry in await guild.audit_entries(AuditLogAction.MESSAGE_UNPIN)] == [
        str(alice.id)
    ] * 2

    assert (await bot.delete(route.format(channel=guild.general, message=first_message["id"]))).status == 204
    await session.assert_not_received("CHANNEL_PINS_UPDATE", "MESSAGE_UPDATE", "MESSAGE_CREATE")


@pytest.mark.parametrize(
    ("permissions", "status_before_pin_messages", "status_before_split", "status_since_split"),
    [
        (Permissions.PIN_MESSAGES, 403, 204, 204),
        (Permissions.MANAGE_MESSAGES, 204, 204, 403),
        (0, 403, 403, 403),
    ],
)
@pytest.mark.dated(changes.PIN_MESSAGES_INTRODUCED, changes.PERMISSION_SPLITS)
async def test_the_permission_to_pin_changes_by_date(
    world: World,
    permissions: int,
    status_before_pin_messages: int,
    status_before_split: int,
    status_since_split: int,
) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=permissions)
    message = await guild.send_message(guild.owner)
    path = PAGINATED_ROUTE.format(channel=guild.general, message=message["id"])
    for time_ms, status in (
        (changes.PIN_MESSAGES_INTRODUCED.at_ms - 1, status_before_pin_messages),
        (changes.PERMISSION_SPLITS.at_ms - 1, status_before_split),
        (changes.PERMISSION_SPLITS.at_ms, status_since_split),
    ):
        world.clock.set(time_ms)
        assert (await bot.put(path)).status == status
        assert (await bot.delete(path)).status == status


async def test_pinning_and_listing_pins_require_read_message_history(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.PIN_MESSAGES)
    message = await guild.send_message(guild.owner)
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))).ok()
    await guild.overwrite(guild.general, bot.id, deny=Permissions.READ_MESSAGE_HISTORY)
    for route in (PAGINATED_ROUTE, OLD_ROUTE):
        (await bot.put(route.format(channel=guild.general, message=message["id"]))).rejected(403, 50013)
    assert (await bot.get(f"/channels/{guild.general}/messages/pins")).ok() == {"items": [], "has_more": False}
    assert (await bot.get(f"/channels/{guild.general}/pins")).ok() == []
    assert (await bot.delete(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))).status == 204


async def test_only_user_messages_of_the_channel_can_be_pinned(world: World) -> None:
    guild = await world.guild()
    message = await guild.send_message(guild.owner)
    other_channel_id = await guild.channel("other")
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=other_channel_id, message=message["id"]))).rejected(
        404, 10008
    )
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=1, message=message["id"]))).rejected(404, 10003)
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))).ok()
    system_message = (await guild.owner.get(f"/channels/{guild.general}/messages", params={"limit": "1"})).ok()[0]
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=guild.general, message=system_message["id"]))).rejected(
        403, 50021
    )


async def test_pins_are_paged_by_pin_time(world: World) -> None:
    guild = await world.guild()
    messages = [await guild.send_message(guild.owner, f"number {number}") for number in range(5)]
    for message in reversed(messages):
        (await guild.owner.put(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))).ok()
    path = f"/channels/{guild.general}/messages/pins"

    listed_ids: list[str] = []
    page = (await guild.owner.get(path, params={"limit": "2"})).ok()
    while True:
        listed_ids += [pin["message"]["id"] for pin in page["items"]]
        if not page["has_more"]:
            break
        before_time = page["items"][-1]["pinned_at"]
        page = (await guild.owner.get(path, params={"limit": "2", "before": before_time})).ok()

    assert listed_ids == [message["id"] for message in messages]
    assert (await guild.owner.get(path, params={"limit": "51"})).errors("limit")
    assert (await guild.owner.get(path, params={"before": "yesterday"})).errors("before")


async def test_a_channel_has_at_most_250_pins_and_the_old_route_lists_50(world: World) -> None:
    guild = await world.guild()
    message = await guild.send_message(guild.owner)

    def insert_pins(call: Call) -> None:
        rows = [(guild.general, number, guild.owner.id, number) for number in range(1, 251)]
        call.tx.run_many(
            "INSERT INTO messages (channel_id, id, author_id, type, flags, content, pinned_ms) VALUES (?, ?, ?, 0, 0, '', ?)",
            rows,
        )

    await world.write(insert_pins)
    (await guild.owner.put(OLD_ROUTE.format(channel=guild.general, message=message["id"]))).rejected(400, 30003)
    assert len((await guild.owner.get(f"/channels/{guild.general}/pins")).ok()) == 50
    assert (await guild.owner.delete(OLD_ROUTE.format(channel=guild.general, message=250))).status == 204
    assert (await guild.owner.put(OLD_ROUTE.format(channel=guild.general, message=message["id"]))).status == 204


async def test_both_participants_can_pin_in_a_direct_message(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    channel_id = int((await bot.post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"])
    message = (await bot.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).ok()
    session = await bot.connect()

    assert (await alice.put(PAGINATED_ROUTE.format(channel=channel_id, message=message["id"]))).status == 204

    event = await session.next("CHANNEL_PINS_UPDATE")
    assert "guild_id" not in event
    assert "guild_id" not in (await session.next("MESSAGE_CREATE"))["message_reference"]
    assert (await bot.delete(OLD_ROUTE.format(channel=channel_id, message=message["id"]))).status == 204


async def test_pins_in_an_archived_or_locked_thread_cannot_change(world: World) -> None:
    guild = await world.guild()
    body = {"name": "thread", "type": ChannelType.PUBLIC_THREAD}
    thread_id = int((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    bot = await world.bot(guild, permissions=Permissions.PIN_MESSAGES)
    message = await guild.send_message(guild.owner, channel_id=thread_id)
    path = PAGINATED_ROUTE.format(channel=thread_id, message=message["id"])
    assert (await bot.put(path)).status == 204
    (await guild.owner.patch(f"/channels/{thread_id}", json={"locked": True})).ok()
    (await bot.delete(path)).rejected(400, 160005)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    (await guild.owner.delete(path)).rejected(400, 50083)


async def test_deleting_a_pinned_message_publishes_no_pins_update(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    message = await guild.send_message(guild.owner)
    (await guild.owner.put(PAGINATED_ROUTE.format(channel=guild.general, message=message["id"]))).ok()
    session = await bot.connect()
    assert (await guild.owner.delete(f"/channels/{guild.general}/messages/{message['id']}")).status == 204
    await session.next("MESSAGE_DELETE")
    await session.assert_not_received("CHANNEL_PINS_UPDATE")
    assert (await guild.owner.get(f"/channels/{guild.general}/messages/pins")).ok()["items"] == []
