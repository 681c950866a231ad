"""Operations before and after dated changes (spec/dated-changes.md#4) that no test of a resource covers.

`tests/contract/test_dated_changes.py` requires a test for each change."""

from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes
from hubbub.protocol.changes import Change
from hubbub.protocol.enums import AuditLogAction, ChannelType, ComponentType, MessageReferenceType
from hubbub.protocol.flags import ApplicationFlags, MessageFlags
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.rate_limits import RateLimits
from hubbub.server.places import channels
from hubbub.server.transports.gateway.limits import LARGE_GUILD_MEMBERS, MemberRequests
from tests.media import data_uri, png
from tests.server.places.expressions import OGG_DATA_URI, upload_sticker
from tests.world import Actor, ApiResponse, Guild, World


async def request_before_and_after(world: World, change: Change, request: Any) -> tuple[ApiResponse, ApiResponse]:
    """Return the responses to a request one millisecond before a change and at the change."""
    world.clock.set(change.at_ms - 1)
    response_before = await request()
    world.clock.set(change.at_ms)
    return response_before, await request()


@pytest.mark.dated(changes.ENFORCE_NONCE)
async def test_nonces_are_enforced_since_the_change(world: World) -> None:
    guild = await world.guild()
    body = {"content": "once", "nonce": "n1", "enforce_nonce": True}

    async def send_twice() -> ApiResponse:
        first_message = (await guild.owner.post(f"/channels/{guild.general}/messages", json=body)).ok()
        second_response = await guild.owner.post(f"/channels/{guild.general}/messages", json=body)
        assert (second_response.ok()["id"] == first_message["id"]) is changes.ENFORCE_NONCE.is_active(
            world.clock.now_ms()
        )
        return second_response

    await request_before_and_after(world, changes.ENFORCE_NONCE, send_twice)


@pytest.mark.dated(changes.MESSAGE_FORWARDING)
async def test_forwarding_works_since_the_change(world: World) -> None:
    guild = await world.guild()
    target_channel_id = await guild.channel("there")
    world.clock.set(changes.MESSAGE_FORWARDING.at_ms - 10_000)
    message = await guild.send_message(guild.owner, "carry me")
    reference = {"type": MessageReferenceType.FORWARD, "channel_id": str(guild.general), "message_id": message["id"]}

    before, after = await request_before_and_after(
        world,
        changes.MESSAGE_FORWARDING,
        lambda: guild.owner.post(f"/channels/{target_channel_id}/messages", json={"message_reference": reference}),
    )

    assert before.status == 400
    assert after.ok()["message_snapshots"][0]["message"]["content"] == "carry me"


@pytest.mark.dated(changes.COMPONENTS_V2)
async def test_components_v2_work_since_the_change(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    body = {
        "flags": MessageFlags.IS_COMPONENTS_V2,
        "components": [{"type": ComponentType.TEXT_DISPLAY, "content": "text"}],
    }

    before, after = await request_before_and_after(
        world, changes.COMPONENTS_V2, lambda: bot.post(f"/channels/{guild.general}/messages", json=body)
    )

    assert before.status == 400
    assert after.ok()["components"][0]["content"] == "text"


@pytest.mark.dated(changes.COMPONENTS_40)
async def test_forty_components_are_allowed_since_the_change_and_nested_limits_before(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    def text_displays(count: int) -> list[dict[str, Any]]:
        return [{"type": ComponentType.TEXT_DISPLAY, "content": "x"} for _ in range(count)]

    def containers(*counts: int) -> list[dict[str, Any]]:
        return [{"type": ComponentType.CONTAINER, "components": text_displays(count)} for count in counts]

    def send(components: list[dict[str, Any]]) -> Any:
        body = {"flags": MessageFlags.IS_COMPONENTS_V2, "components": components}
        return lambda: bot.post(f"/channels/{guild.general}/messages", json=body)

    for allowed_components, excess_components, path in (
        (text_displays(10), text_displays(11), "components"),
        (containers(10), containers(11), "components.0.components"),
        (containers(10, 10, 7), containers(10, 10, 8), "components"),
    ):
        for response in await request_before_and_after(world, changes.COMPONENTS_40, send(allowed_components)):
            response.ok()
        before, after = await request_before_and_after(world, changes.COMPONENTS_40, send(excess_components))
        assert before.errors(path) == ["BASE_TYPE_BAD_LENGTH"]
        after.ok()
    (await send(text_displays(40))()).ok()
    for excess_components in (text_displays(41), containers(39, 1)):
        assert (await send(excess_components)()).errors("components") == ["BASE_TYPE_BAD_LENGTH"]


@pytest.mark.dated(changes.MEMBER_REQUEST_LIMIT_LARGE, changes.MEMBER_REQUEST_LIMIT)
def test_member_requests_are_limited_for_large_guilds_first_and_then_for_all() -> None:
    clock = ControlledClock(changes.MEMBER_REQUEST_LIMIT_LARGE.at_ms - 1, running=False)
    requests = MemberRequests(clock, RateLimits(clock.now_ms))

    def request_twice(guild_id: int, member_count: int) -> list[int]:
        return [requests.record_request(1, guild_id, member_count)[0] for _ in range(2)]

    assert request_twice(10, LARGE_GUILD_MEMBERS) == [0, 0]
    clock.set(changes.MEMBER_REQUEST_LIMIT_LARGE.at_ms)
    assert request_twice(10, LARGE_GUILD_MEMBERS) == [0, 30_000]
    assert request_twice(11, LARGE_GUILD_MEMBERS - 1) == [0, 0]
    clock.set(changes.MEMBER_REQUEST_LIMIT.at_ms)
    assert request_twice(11, LARGE_GUILD_MEMBERS - 1) == [0, 30_000]


@pytest.mark.dated(changes.PRUNE_PERMISSIONS)
async def test_pruning_requires_two_permissions_since_the_change_and_one_before(world: World) -> None:
    guild = await world.guild()
    kicker = await guild.member(Permissions.KICK_MEMBERS)
    manager = await guild.member(Permissions.KICK_MEMBERS | Permissions.MANAGE_GUILD)
    path = f"/guilds/{guild.id}/prune"

    before, after = await request_before_and_after(world, changes.PRUNE_PERMISSIONS, lambda: kicker.get(path))

    before.ok()
    after.rejected(403, 50013)
    (await kicker.post(path, json={})).rejected(403, 50013)
    (await manager.get(path)).ok()
    world.clock.set(changes.PRUNE_PERMISSIONS.at_ms - 1)
    (await kicker.post(path, json={})).ok()


@pytest.mark.dated(changes.GUILD_LIST_BANNER)
async def test_the_guild_list_contains_banners_since_the_change(world: World) -> None:
    guild = await world.guild()
    await world.write(lambda call: call.tx.run("UPDATE guilds SET banner = 'abc' WHERE id = ?", guild.id))

    before, after = await request_before_and_after(
        world, changes.GUILD_LIST_BANNER, lambda: guild.owner.get("/users/@me/guilds")
    )

    assert "banner" not in before.ok()[0]
    assert after.ok()[0]["banner"] == "abc"


@pytest.mark.dated(changes.VOICE_STATE_READS)
async def test_voice_states_can_be_read_over_http_since_the_change(world: World) -> None:
    guild = await world.guild()
    for path in ("@me", str(guild.owner.id)):
        before, after = await request_before_and_after(
            world,
            changes.VOICE_STATE_READS,
            lambda path=path: guild.owner.get(f"/guilds/{guild.id}/voice-states/{path}"),
        )
        before.rejected(404, 0)
        after.rejected(404, 10065)


@pytest.mark.dated(changes.PAGINATED_PINS)
async def test_paginated_pins_work_since_the_change_and_old_routes_always(world: World) -> None:
    guild = await world.guild()
    world.clock.set(changes.PAGINATED_PINS.at_ms - 10_000)
    message = await guild.send_message(guild.owner)
    new_path, old_path = f"/channels/{guild.general}/messages/pins", f"/channels/{guild.general}/pins"

    for method, path in (("PUT", f"/{message['id']}"), ("GET", ""), ("DELETE", f"/{message['id']}")):
        world.clock.set(changes.PAGINATED_PINS.at_ms - 1)
        (await guild.owner.request(method, new_path + path)).rejected(404, 0)
        (await guild.owner.request(method, old_path + path)).ok()
        world.clock.set(changes.PAGINATED_PINS.at_ms)
        (await guild.owner.request(method, new_path + path)).ok()


@pytest.mark.dated(changes.BYPASS_SLOWMODE_INTRODUCED)
async def test_bypass_slowmode_works_since_the_change(world: World) -> None:
    guild = await world.guild()
    slow_channel_id = await guild.channel("slow", rate_limit_per_user=21600)
    message_manager, bypasser = (
        await guild.member(Permissions.MANAGE_MESSAGES),
        await guild.member(Permissions.BYPASS_SLOWMODE),
    )

    async def send_twice(member: Actor) -> ApiResponse:
        await member.post(f"/channels/{slow_channel_id}/messages", json={"content": "first"})
        return await member.post(f"/channels/{slow_channel_id}/messages", json={"content": "second"})

    before, after = await request_before_and_after(
        world, changes.BYPASS_SLOWMODE_INTRODUCED, lambda: send_twice(bypasser)
    )
    before.rejected(429, 20016)
    after.ok()
    (await send_twice(message_manager)).ok()
    threads_path = f"/channels/{slow_channel_id}/threads"
    body = {"name": "thread", "type": ChannelType.PUBLIC_THREAD}
    (await bypasser.post(threads_path, json=body)).ok()
    world.clock.set(changes.BYPASS_SLOWMODE_INTRODUCED.at_ms - 1)
    (await bypasser.post(threads_path, json=body)).ok()
    (await bypasser.post(threads_path, json=body)).rejected(429, 20016)


async def create_expression(actor: Actor, guild: Guild, kind: str) -> ApiResponse:
    """Add an emoji, sticker or sound to a guild."""
    if kind == "stickers":
        return await upload_sticker(actor, guild)
    body = {"name": "fresh", "image": data_uri(png())} if kind == "emojis" else {"name": "fresh", "sound": OGG_DATA_URI}
    return await actor.post(f"/guilds/{guild.id}/{kind}", json=body)


FOR_EACH_EXPRESSION_KIND = pytest.mark.parametrize("kind", ["emojis", "stickers", "soundboard-sounds"])


@FOR_EACH_EXPRESSION_KIND
@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_manage_expressions_permits_creation_until_the_split(world: World, kind: str) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.MANAGE_GUILD_EXPRESSIONS)

    before, after = await request_before_and_after(
        world, changes.PERMISSION_SPLITS, lambda: create_expression(bot, guild, kind)
    )

    before.ok()
    after.rejected(403, 50013)


@FOR_EACH_EXPRESSION_KIND
@pytest.mark.dated(changes.CREATE_PERMISSIONS_FOR_BOTS)
async def test_bots_create_and_change_own_expressions_since_the_change(world: World, kind: str) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.CREATE_GUILD_EXPRESSIONS)
    member = await guild.member(Permissions.CREATE_GUILD_EXPRESSIONS)

    before, after = await request_before_and_after(
        world, changes.CREATE_PERMISSIONS_FOR_BOTS, lambda: create_expression(bot, guild, kind)
    )

    before.rejected(403, 50013)
    created_expression = after.ok()
    path = f"/guilds/{guild.id}/{kind}/{created_expression.get('id') or created_expression['sound_id']}"
    before, after = await request_before_and_after(
        world, changes.CREATE_PERMISSIONS_FOR_BOTS, lambda: bot.patch(path, json={"name": "other"})
    )
    before.rejected(403, 50013)
    after.ok()
    before, after = await request_before_and_after(world, changes.CREATE_PERMISSIONS_FOR_BOTS, lambda: bot.get(path))
    assert ("user" in before.ok(), "user" in after.ok()) == (False, True)
    world.clock.set(changes.CREATE_PERMISSIONS_FOR_BOTS.at_ms - 1)
    (await create_expression(member, guild, kind)).ok()


@pytest.mark.dated(changes.BOT_GUILD_PROFILES)
async def test_a_bot_sets_its_guild_profile_since_the_change(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    body = {"avatar": data_uri(png()), "banner": data_uri(png()), "bio": "a bot of this guild"}

    bios = []

    async def update_profile() -> ApiResponse:
        response = await bot.patch(f"/guilds/{guild.id}/members/@me", json=body)
        # No response contains the bio.
        query = "SELECT bio FROM members WHERE user_id = ?"
        bios.append(await world.write(lambda call: call.tx.value(query, bot.id)))
        return response

    before, after = await request_before_and_after(world, changes.BOT_GUILD_PROFILES, update_profile)

    assert (before.ok()["avatar"], before.ok()["banner"]) == (None, None)
    assert None not in (after.ok()["avatar"], after.ok()["banner"])
    assert bios == ["", "a bot of this guild"]
    world.clock.set(changes.BOT_GUILD_PROFILES.at_ms - 1)
    owner_member = (await guild.owner.patch(f"/guilds/{guild.id}/members/@me", json=body)).ok()
    assert owner_member["avatar"] is not None


@pytest.mark.dated(changes.PER_ATTACHMENT_LIMIT)
async def test_file_sizes_of_apps_are_checked_per_file_since_the_change(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    path = f"/channels/{guild.general}/messages"

    def create_form() -> aiohttp.FormData:
        form = aiohttp.FormData()
        for number in range(2):
            form.add_field(f"files[{number}]", b"x" * (6 << 20), filename=f"{number}.bin")
        return form

    before, after = await request_before_and_after(
        world,
        changes.PER_ATTACHMENT_LIMIT,
        lambda: bot.post(path, data=create_form()),
    )

    before.rejected(413, 50045)
    assert len(after.ok()["attachments"]) == 2
    world.clock.set(changes.PER_ATTACHMENT_LIMIT.at_ms - 1)
    assert len((await guild.owner.post(path, data=create_form())).ok()["attachments"]) == 2


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_splitting_permissions_adds_the_permissions_that_were_split_off(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, permissions=Permissions.MANAGE_MESSAGES)
    member = await guild.member(0)
    await guild.overwrite(guild.general, member.id, allow=Permissions.MANAGE_EVENTS, deny=Permissions.MANAGE_MESSAGES)
    pin_path = f"/channels/{guild.general}/messages/pins/{(await guild.send_message(guild.owner))['id']}"
    before, after = await request_before_and_after(world, changes.PERMISSION_SPLITS, lambda: bot.put(pin_path))
    before.ok()
    after.rejected(403, 50013)
    session = await guild.owner.connect()

    assert await world.write(lambda call: channels.overwrites.split_permissions(call, guild.id)) == (1, 1)

    (await bot.put(pin_path)).ok()
    await session.next("GUILD_ROLE_UPDATE")
    event = await session.next("CHANNEL_UPDATE")
    (overwrite,) = (entry for entry in event["permission_overwrites"] if entry["id"] == str(member.id))
    assert int(overwrite["allow"]) == Permissions.MANAGE_EVENTS | Permissions.CREATE_EVENTS
    assert int(overwrite["deny"]) == Permissions.MANAGE_MESSAGES | Permissions.PIN_MESSAGES
    for action in (
        AuditLogAction.GUILD_MIGRATE_PIN_PERMISSION,
        AuditLogAction.GUILD_MIGRATE_BYPASS_SLOWMODE_PERMISSION,
    ):
        audit_log = (await guild.owner.get(f"/guilds/{guild.id}/audit-logs?action_type={int(action)}")).ok()
        assert len(audit_log["audit_log_entries"]) == 1
    assert await world.write(lambda call: channels.overwrites.split_permissions(call, guild.id)) == (0, 0)


@pytest.mark.dated(changes.PRIVILEGED_INTENTS_BY_USERS)
async def test_privileged_intents_depend_on_users_since_the_change_and_on_guilds_before(world: World) -> None:
    bot = await world.bot(flags=0)
    intent_flag = ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED

    def insert_memberships(call: Any) -> None:
        for number in range(100):
            call.tx.run("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 0)", 1000 + number, bot.id)

    await world.write(insert_memberships)

    before, after = await request_before_and_after(
        world,
        changes.PRIVILEGED_INTENTS_BY_USERS,
        lambda: bot.patch("/applications/@me", json={"flags": intent_flag}),
    )

    assert before.errors("flags") == ["APPLICATION_INTENTS_NEED_REVIEW"]
    assert after.ok()["flags"] & intent_flag
