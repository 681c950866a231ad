"""Obfuscation of channels that a session cannot view (spec/gateway.md#9)."""

from typing import Any

import pytest

from hubbub.protocol import changes
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.intents import Capabilities
from tests.server.transports.gateway.harness import (
    GUILD,
    VIEW,
    VIEW_AND_SEND,
    Channel,
    Client,
    GuildRow,
    Platform,
    sample_guild,
)

OPTED = {"capabilities": Capabilities.CHANNEL_OBFUSCATION}


async def received(client: Client) -> list[tuple[str, str]]:
    """Return event and channel names received since the last call."""
    await client.fence()
    events = [(p["t"], p["d"].get("name", "")) for p in client.received]
    client.received.clear()
    return events


async def created_channels(platform: Platform, token: str, **more: Any) -> list[str]:
    client = await platform.connect()
    await client.identify(token, **more)
    guild = await client.until("GUILD_CREATE")
    return [channel["name"] for channel in guild["channels"]]


@pytest.mark.dated(changes.CHANNEL_OBFUSCATION)
async def test_guild_create_obfuscates_hidden_channels(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: [77], 7: []})
    assert await created_channels(platform, platform.bot(5)) == ["general", "staff"]
    assert await created_channels(platform, platform.bot(5), **OPTED) == ["general", "___hidden___"]
    assert await created_channels(platform, platform.bot(5, obfuscates_channels=True)) == ["general", "___hidden___"]
    assert await created_channels(platform, platform.bot(6), **OPTED) == ["general", "staff"]
    assert await created_channels(platform, platform.user(7)) == ["general", "___hidden___"]
    platform.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    assert await created_channels(platform, platform.bot(5)) == ["general", "___hidden___"]


async def test_channel_events_are_full_or_obfuscated(platform: Platform) -> None:
    row = sample_guild()
    await platform.guild(row, {5: [], 6: [77], 7: []})
    hidden = await platform.session(platform.bot(5), **OPTED)
    viewer = await platform.session(platform.bot(6), **OPTED)
    not_opted = await platform.session(platform.bot(7))
    channel = Channel(30, "vault", overwrites={GUILD: (0, VIEW), 77: (VIEW, 0)})
    await platform.create_channel(row, channel)
    await platform.put_channel(row, Channel(30, "safe", overwrites=channel.overwrites))
    await platform.put_channel(row, Channel(30, "safe", position=4, overwrites=channel.overwrites))
    await platform.delete_channel(row, Channel(30, "safe"))
    await platform.settle()
    full = [
        ("CHANNEL_CREATE", "vault"),
        ("CHANNEL_UPDATE", "safe"),
        ("CHANNEL_UPDATE", "safe"),
        ("CHANNEL_DELETE", "safe"),
    ]
    assert await received(viewer) == full
    assert await received(not_opted) == full
    # Renaming does not change an obfuscated channel, but moving it does.
    assert await received(hidden) == [
        ("CHANNEL_CREATE", "___hidden___"),
        ("CHANNEL_UPDATE", "___hidden___"),
        ("CHANNEL_DELETE", "___hidden___"),
    ]


async def test_gaining_access_by_an_overwrite_sends_the_channel_and_its_threads(platform: Platform) -> None:
    row = sample_guild(threads={99: 20})
    await platform.guild(row, {5: []})
    client = await platform.session(platform.bot(5), **OPTED)
    await platform.put_channel(row, Channel(20, "staff", position=1, overwrites={5: (VIEW, 0)}))
    await platform.settle()
    await client.fence()
    assert [(p["t"], p["d"].get("name")) for p in client.received] == [
        ("CHANNEL_UPDATE", "staff"),
        ("THREAD_LIST_SYNC", None),
    ]
    assert client.received[1]["d"] == {
        "guild_id": str(GUILD),
        "channel_ids": ["20"],
        "threads": [{"id": "99", "parent_id": "20", "member": {"flags": 0}}],
        "members": [{"id": "99", "user_id": "5", "flags": 0}],
    }


async def test_losing_access_by_an_overwrite_sends_the_obfuscated_channel(platform: Platform) -> None:
    row = sample_guild()
    await platform.guild(row, {5: [77]})
    client = await platform.session(platform.bot(5), **OPTED)
    await platform.put_channel(row, Channel(20, "staff", position=1, overwrites={GUILD: (0, VIEW)}))
    await platform.settle()
    assert await received(client) == [("CHANNEL_UPDATE", "___hidden___")]


async def test_gaining_and_losing_access_by_a_role_sends_channel_updates(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: [], 6: []})
    client, plain = await platform.session(platform.bot(5), **OPTED), await platform.session(platform.bot(6))
    await platform.put_member(GUILD, 5, [77])
    await platform.settle()
    assert await received(client) == [
        ("GUILD_MEMBER_UPDATE", ""),
        ("CHANNEL_UPDATE", "staff"),
        ("THREAD_LIST_SYNC", ""),
    ]
    await platform.put_member(GUILD, 5, [])
    await platform.settle()
    assert await received(client) == [("GUILD_MEMBER_UPDATE", ""), ("CHANNEL_UPDATE", "___hidden___")]
    assert await received(plain) == [("GUILD_MEMBER_UPDATE", ""), ("GUILD_MEMBER_UPDATE", "")]


async def test_gained_access_is_sent_after_the_role_update_and_before_later_events(platform: Platform) -> None:
    row = GuildRow(id=GUILD, roles={GUILD: 0, 77: 0}, channels=sample_guild().channels)
    await platform.guild(row, {5: [77]})
    client = await platform.session(platform.bot(5), **OPTED)
    await platform.put_role(row, 77, VIEW_AND_SEND)
    await platform.message(10, "later")
    await platform.settle()
    assert [name for name, _ in await received(client)] == [
        "GUILD_ROLE_UPDATE",
        "CHANNEL_UPDATE",
        "THREAD_LIST_SYNC",
        "MESSAGE_CREATE",
    ]


async def test_without_obfuscation_gaining_access_sends_only_the_threads(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.session(platform.bot(5))
    await platform.put_member(GUILD, 5, [77])
    await platform.settle()
    assert await received(client) == [("GUILD_MEMBER_UPDATE", ""), ("THREAD_LIST_SYNC", "")]


async def test_a_category_is_visible_with_any_of_its_channels(platform: Platform) -> None:
    row = sample_guild()
    row.channels[40] = Channel(40, "back rooms", type=ChannelType.GUILD_CATEGORY, overwrites={GUILD: (0, VIEW)})
    row.channels[41] = Channel(41, "cellar", type=ChannelType.GUILD_VOICE, parent_id=40, overwrites={77: (VIEW, 0)})
    await platform.guild(row, {5: []})
    assert await created_channels(platform, platform.bot(5), **OPTED) == [
        "general",
        "___hidden___",
        "back rooms",
        "cellar",
    ]


async def test_a_new_channel_is_created_once_and_not_also_updated(platform: Platform) -> None:
    row = sample_guild()
    await platform.guild(row, {5: []})
    client = await platform.session(platform.bot(5), **OPTED)
    for number in range(30, 36):
        await platform.create_channel(row, Channel(number, str(number)))
    await platform.settle()
    assert await received(client) == [("CHANNEL_CREATE", str(number)) for number in range(30, 36)]


@pytest.mark.parametrize("opted", [False, True])
async def test_obfuscation_starts_with_the_first_event_after_the_change(platform: Platform, opted: bool) -> None:
    row = sample_guild()
    await platform.guild(row, {5: []})
    client = await platform.session(platform.bot(5), **(OPTED if opted else {}))
    platform.clock.set(changes.CHANNEL_OBFUSCATION.at_ms)
    staff = row.channels[20]
    await platform.put_channel(row, Channel(20, "staff", position=7, overwrites=staff.overwrites))
    await platform.settle()
    assert await received(client) == [("CHANNEL_UPDATE", "___hidden___")]
