"""Obfuscation of channels that a session cannot view (spec/gateway.md#9)."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.intents import Capabilities
from tests.server.transports.gateway.harness import (
    GUILD_ID,
    PUBLIC_CHANNEL_ID,
    STAFF_CHANNEL_ID,
    STAFF_ROLE_ID,
    VIEW_AND_SEND,
    VIEW_CHANNEL,
    Channel,
    GatewayClient,
    GatewayPlatform,
    GuildRow,
    sample_guild,
)

OBFUSCATION_CAPABILITY = {"capabilities": Capabilities.CHANNEL_OBFUSCATION}


async def take_channel_events(client: GatewayClient) -> list[tuple[str, str]]:
    """Return the names of the events received since the last call, each with its channel name or an empty string."""
    await client.wait_processed()
    events = [(payload["t"], payload["d"].get("name", "")) for payload in client.dispatches]
    client.dispatches.clear()
    return events


async def guild_create_channel_names(platform: GatewayPlatform, token: str, **fields: Any) -> list[str]:
    """Start a session and return the channel names in its GUILD_CREATE."""
    client = await platform.connect()
    await client.identify(token, **fields)
    guild = await client.next_event("GUILD_CREATE")
    return [channel["name"] for channel in guild["channels"]]


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_guild_create_obfuscates_hidden_channels(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: [STAFF_ROLE_ID], 7: []})
    assert await guild_create_channel_names(platform, platform.create_bot(user_id=5)) == ["general", "staff"]
    assert await guild_create_channel_names(platform, platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY) == [
        "general",
        "___hidden___",
    ]
    assert await guild_create_channel_names(platform, platform.create_bot(user_id=5, obfuscates_channels=True)) == [
        "general",
        "___hidden___",
    ]
    assert await guild_create_channel_names(platform, platform.create_bot(user_id=6), **OBFUSCATION_CAPABILITY) == [
        "general",
        "staff",
    ]
    assert await guild_create_channel_names(platform, platform.create_user(user_id=7)) == ["general", "___hidden___"]
    platform.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    assert await guild_create_channel_names(platform, platform.create_bot(user_id=5)) == ["general", "___hidden___"]


async def test_channel_events_are_full_or_obfuscated(platform: GatewayPlatform) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: [], 6: [STAFF_ROLE_ID], 7: []})
    non_viewer = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    viewer = await platform.start_session(platform.create_bot(user_id=6), **OBFUSCATION_CAPABILITY)
    client_without_capability = await platform.start_session(platform.create_bot(user_id=7))
    channel = Channel(30, "vault", overwrites={GUILD_ID: (0, VIEW_CHANNEL), STAFF_ROLE_ID: (VIEW_CHANNEL, 0)})
    await platform.create_channel(row, channel)
    await platform.update_channel(row, Channel(30, "safe", overwrites=channel.overwrites))
    await platform.update_channel(row, Channel(30, "safe", position=4, overwrites=channel.overwrites))
    await platform.delete_channel(row, Channel(30, "safe"))
    await platform.wait_idle()
    full_events = [
        ("CHANNEL_CREATE", "vault"),
        ("CHANNEL_UPDATE", "safe"),
        ("CHANNEL_UPDATE", "safe"),
        ("CHANNEL_DELETE", "safe"),
    ]
    assert await take_channel_events(viewer) == full_events
    assert await take_channel_events(client_without_capability) == full_events
    # Renaming does not change an obfuscated channel, but moving it does.
    assert await take_channel_events(non_viewer) == [
        ("CHANNEL_CREATE", "___hidden___"),
        ("CHANNEL_UPDATE", "___hidden___"),
        ("CHANNEL_DELETE", "___hidden___"),
    ]


async def test_gaining_access_by_an_overwrite_sends_the_channel_and_its_threads(platform: GatewayPlatform) -> None:
    row = sample_guild(parent_ids_by_thread_id={99: STAFF_CHANNEL_ID})
    await platform.create_guild(row, member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    await platform.update_channel(
        row, Channel(STAFF_CHANNEL_ID, "staff", position=1, overwrites={5: (VIEW_CHANNEL, 0)})
    )
    await platform.wait_idle()
    await client.wait_processed()
    assert [(payload["t"], payload["d"].get("name")) for payload in client.dispatches] == [
        ("CHANNEL_UPDATE", "staff"),
        ("THREAD_LIST_SYNC", None),
    ]
    assert client.dispatches[1]["d"] == {
        "guild_id": str(GUILD_ID),
        "channel_ids": ["20"],
        "threads": [{"id": "99", "parent_id": "20", "member": {"flags": 0}}],
        "members": [{"id": "99", "user_id": "5", "flags": 0}],
    }


async def test_losing_access_by_an_overwrite_sends_the_obfuscated_channel(platform: GatewayPlatform) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: [STAFF_ROLE_ID]})
    client = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    await platform.update_channel(
        row, Channel(STAFF_CHANNEL_ID, "staff", position=1, overwrites={GUILD_ID: (0, VIEW_CHANNEL)})
    )
    await platform.wait_idle()
    assert await take_channel_events(client) == [("CHANNEL_UPDATE", "___hidden___")]


async def test_gaining_and_losing_access_by_a_role_sends_channel_updates(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
    client, plain_client = (
        await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY),
        await platform.start_session(platform.create_bot(user_id=6)),
    )
    await platform.set_member_roles(GUILD_ID, 5, [STAFF_ROLE_ID])
    await platform.wait_idle()
    assert await take_channel_events(client) == [
        ("GUILD_MEMBER_UPDATE", ""),
        ("CHANNEL_UPDATE", "staff"),
        ("THREAD_LIST_SYNC", ""),
    ]
    await platform.set_member_roles(GUILD_ID, 5, [])
    await platform.wait_idle()
    assert await take_channel_events(client) == [("GUILD_MEMBER_UPDATE", ""), ("CHANNEL_UPDATE", "___hidden___")]
    assert await take_channel_events(plain_client) == [("GUILD_MEMBER_UPDATE", ""), ("GUILD_MEMBER_UPDATE", "")]


async def test_gained_access_is_sent_after_the_role_update_and_before_later_events(platform: GatewayPlatform) -> None:
    row = GuildRow(id=GUILD_ID, roles={GUILD_ID: 0, STAFF_ROLE_ID: 0}, channels=sample_guild().channels)
    await platform.create_guild(row, member_roles={5: [STAFF_ROLE_ID]})
    client = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    await platform.set_role_permissions(row, STAFF_ROLE_ID, VIEW_AND_SEND)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "later")
    await platform.wait_idle()
    assert [name for name, _ in await take_channel_events(client)] == [
        "GUILD_ROLE_UPDATE",
        "CHANNEL_UPDATE",
        "THREAD_LIST_SYNC",
        "MESSAGE_CREATE",
    ]


async def test_without_obfuscation_gaining_access_sends_only_the_threads(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    await platform.set_member_roles(GUILD_ID, 5, [STAFF_ROLE_ID])
    await platform.wait_idle()
    assert await take_channel_events(client) == [("GUILD_MEMBER_UPDATE", ""), ("THREAD_LIST_SYNC", "")]


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_a_hidden_category_with_a_visible_channel_is_obfuscated_for_bots_only(platform: GatewayPlatform) -> None:
    row = sample_guild()
    row.channels[40] = Channel(
        40, "back rooms", type=ChannelType.GUILD_CATEGORY, overwrites={GUILD_ID: (0, VIEW_CHANNEL)}
    )
    row.channels[41] = Channel(
        41, "cellar", type=ChannelType.GUILD_VOICE, parent_id=40, overwrites={STAFF_ROLE_ID: (VIEW_CHANNEL, 0)}
    )
    await platform.create_guild(row, member_roles={5: [], 7: []})
    bot, user = platform.create_bot(user_id=5), platform.create_user(user_id=7)
    obfuscated_names = ["general", "___hidden___", "___hidden___", "cellar"]
    # Before the date, a bot that did not opt in receives every channel in full.
    assert await guild_create_channel_names(platform, bot) == ["general", "staff", "back rooms", "cellar"]
    assert await guild_create_channel_names(platform, bot, **OBFUSCATION_CAPABILITY) == obfuscated_names
    shown_to_users = ["general", "___hidden___", "back rooms", "cellar"]
    assert await guild_create_channel_names(platform, user) == shown_to_users
    platform.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    assert await guild_create_channel_names(platform, bot) == obfuscated_names
    assert await guild_create_channel_names(platform, user) == shown_to_users


async def test_a_channel_in_a_hidden_category_shows_the_category_to_users_only(platform: GatewayPlatform) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: [], 7: []})
    bot = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    user = await platform.start_session(platform.create_user(user_id=7))
    await platform.create_channel(
        row, Channel(42, "attic", type=ChannelType.GUILD_CATEGORY, overwrites={GUILD_ID: (0, VIEW_CHANNEL)})
    )
    await platform.wait_idle()
    assert await take_channel_events(bot) == [("CHANNEL_CREATE", "___hidden___")]
    assert await take_channel_events(user) == [("CHANNEL_CREATE", "___hidden___")]
    # A visible channel in the category makes the category visible to the user.
    await platform.create_channel(row, Channel(43, "den", parent_id=42))
    await platform.wait_idle()
    assert ("CHANNEL_UPDATE", "attic") not in await take_channel_events(bot)
    assert ("CHANNEL_UPDATE", "attic") in await take_channel_events(user)


async def test_a_new_channel_is_created_once_and_not_also_updated(platform: GatewayPlatform) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5), **OBFUSCATION_CAPABILITY)
    for number in range(30, 36):
        await platform.create_channel(row, Channel(number, str(number)))
    await platform.wait_idle()
    assert await take_channel_events(client) == [("CHANNEL_CREATE", str(number)) for number in range(30, 36)]


@pytest.mark.parametrize("has_capability", [False, True])
async def test_obfuscation_starts_with_the_first_event_after_the_change(
    platform: GatewayPlatform, has_capability: bool
) -> None:
    row = sample_guild()
    await platform.create_guild(row, member_roles={5: []})
    client = await platform.start_session(
        platform.create_bot(user_id=5), **(OBFUSCATION_CAPABILITY if has_capability else {})
    )
    platform.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    staff_channel = row.channels[STAFF_CHANNEL_ID]
    await platform.update_channel(
        row, Channel(STAFF_CHANNEL_ID, "staff", position=7, overwrites=staff_channel.overwrites)
    )
    await platform.wait_idle()
    assert await take_channel_events(client) == [("CHANNEL_UPDATE", "___hidden___")]
