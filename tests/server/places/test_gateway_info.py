"""The gateway URL, the recommended number of shards, and the session start limits."""

from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.places.gateway_info import build_gateway_url
from tests.world import NOW_MS, World


async def test_every_client_gets_the_gateway_url(world: World) -> None:
    alice = await world.user()

    assert (await world.request("GET", "/gateway")).ok() == {"url": world.gateway}
    assert (await alice.get("/gateway")).ok() == {"url": world.gateway}


async def test_a_bot_gets_its_shards_and_session_start_limit(world: World) -> None:
    bot = await world.bot(await world.guild())

    bot_gateway = (await bot.get("/gateway/bot")).ok()

    assert bot_gateway["url"] == world.gateway
    assert bot_gateway["shards"] == 1
    assert bot_gateway["session_start_limit"] == {
        "total": 1000,
        "remaining": 1000,
        "reset_after": 0,
        "max_concurrency": 100,
    }


async def test_every_session_start_reduces_the_daily_limit(store_config: Config) -> None:
    limited_config = msgspec.structs.replace(store_config, rate_limits="real")
    app = App(limited_config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            bot = await world.bot()
            await bot.connect()

            start_limit = (await bot.get("/gateway/bot")).ok()["session_start_limit"]
            assert start_limit == {"total": 1000, "remaining": 999, "reset_after": 86_400_000, "max_concurrency": 100}

            world.clock.advance(86_400_000)
            start_limit = (await bot.get("/gateway/bot")).ok()["session_start_limit"]
            assert (start_limit["remaining"], start_limit["reset_after"]) == (1000, 0)
            await world.close()
    finally:
        await app.stop()


@pytest.mark.parametrize(("guild_count", "shard_count"), [(0, 1), (1000, 1), (1001, 2), (2500, 3)])
async def test_one_shard_per_thousand_guilds_is_recommended(world: World, guild_count: int, shard_count: int) -> None:
    bot = await world.bot()
    rows = [(number, bot.id) for number in range(1, guild_count + 1)]
    await world.write(
        lambda call: call.tx.run_many("INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)", rows)
    )

    assert (await bot.get("/gateway/bot")).ok()["shards"] == shard_count


async def test_a_large_bot_gets_more_starts_and_a_multiple_of_shards(store_config: Config) -> None:
    gateway = GatewayConfig(large_bot_guilds=3000)
    app = App(msgspec.structs.replace(store_config, gateway=gateway), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    try:
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            bot = await world.bot()

            async def add_to_guilds(guild_ids: range) -> dict[str, Any]:
                """Add the bot to guilds and return its shard count and session start limits."""
                rows = [(guild_id, bot.id) for guild_id in guild_ids]
                sql = "INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)"
                await world.write(lambda call: call.tx.run_many(sql, rows))
                bot_gateway = (await bot.get("/gateway/bot")).ok()
                limit = bot_gateway["session_start_limit"]
                return {
                    "shards": bot_gateway["shards"],
                    "total": limit["total"],
                    "max_concurrency": limit["max_concurrency"],
                }

            assert await add_to_guilds(range(1, 3000)) == {"shards": 3, "total": 1000, "max_concurrency": 1}
            assert await add_to_guilds(range(3000, 3001)) == {"shards": 16, "total": 2000, "max_concurrency": 16}
            await world.close()
    finally:
        await app.stop()


@pytest.mark.parametrize(
    ("guild_count", "limits"),
    [(149_999, (1000, 1)), (150_000, (2000, 16)), (400_000, (2000, 16)), (1_000_000, (5000, 16))],
)
def test_session_starts_grow_with_the_guilds_of_a_large_bot(guild_count: int, limits: tuple[int, int]) -> None:
    assert GatewayConfig().session_start_limits(guild_count) == limits
    assert GatewayConfig(large_bot_guilds=0).session_start_limits(guild_count) == (1000, 1)


async def test_gateway_bot_rejects_users_and_anonymous_clients(world: World) -> None:
    alice = await world.user()

    (await alice.get("/gateway/bot")).rejected(403, 20002)
    (await world.request("GET", "/gateway/bot")).rejected(401, 0)


@pytest.mark.parametrize(
    ("public_url", "url"),
    [
        (None, "ws://127.0.0.1:8080/gateway"),
        ("https://chat.example", "wss://chat.example/gateway"),
        ("http://localhost:9000/", "ws://localhost:9000/gateway"),
    ],
)
def test_the_gateway_url_is_derived_from_the_public_url(public_url: str | None, url: str) -> None:
    assert build_gateway_url(Config(public_url=public_url)) == url
