"""Network partitions: all processes apply a change that an API process without a connection to NATS has acknowledged."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.chaos.cluster import Node, open_session, running_cluster, running_proxy
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, create_guild, register_user
from tests.time_bounds import check_seconds
from tests.world import ApiResponse

NOT_READY_SECONDS_MAX = 15.0
"""Maximum seconds until a process without the bus reports that it is not ready.

The documented time is two seconds; the rest is tolerance for a busy machine."""
VIEW_CHANNEL = str(int(Permissions.VIEW_CHANNEL))

Change = Callable[[ApiUser, str, str, ApiUser], Awaitable[ApiResponse]]
"""A change by the owner of a guild (guild ID, channel ID, affected user) that hides the channel from the user."""


async def deny_by_overwrite(owner: ApiUser, guild_id: str, channel_id: str, user: ApiUser) -> ApiResponse:
    overwrite = {"type": OverwriteType.MEMBER, "allow": "0", "deny": VIEW_CHANNEL}
    return await owner.request("PUT", f"/channels/{channel_id}/permissions/{user.id}", json=overwrite)


async def remove_everyone_permissions(owner: ApiUser, guild_id: str, channel_id: str, user: ApiUser) -> ApiResponse:
    # The role @everyone has the ID of the guild.
    return await owner.request("PATCH", f"/guilds/{guild_id}/roles/{guild_id}", json={"permissions": "0"})


async def kick(owner: ApiUser, guild_id: str, channel_id: str, user: ApiUser) -> ApiResponse:
    return await owner.request("DELETE", f"/guilds/{guild_id}/members/{user.id}")


async def ban(owner: ApiUser, guild_id: str, channel_id: str, user: ApiUser) -> ApiResponse:
    return await owner.request("PUT", f"/guilds/{guild_id}/bans/{user.id}", json={})


CHANGES: tuple[Change, ...] = (deny_by_overwrite, remove_everyone_permissions, kick, ban)


async def wait_status(client: aiohttp.ClientSession, server: Server, status: int) -> float:
    """Wait until a process reports this readiness and return how long it took in seconds."""
    started_at = time.monotonic()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            async with client.get(f"{server.url}/readyz") as response:
                if response.status == status:
                    return time.monotonic() - started_at
            await asyncio.sleep(0.05)


async def restart_session(session: GatewaySession) -> None:
    """Wait for Invalid Session and start a new session on the same connection."""
    assert (await session.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False
    session.other_frames.clear()
    frame_count = len(session.dispatches)
    await session.identify()
    for _ in session.ready["guilds"]:
        await session.wait_event("GUILD_CREATE", since=frame_count)


@pytest.mark.parametrize("mode", ["refuse", "swallow"])
async def test_permission_changes_are_enforced_when_a_process_loses_the_bus(
    tmp_path: Path, postgres_database: str, nats_url: str, mode: str
) -> None:
    async with (
        running_proxy(nats_url) as proxy,
        running_cluster(
            tmp_path, postgres_database, nats_url, [Node(nats_url=proxy.url), Node(), Node(roles="gateway")]
        ) as (client, (partitioned_api, api, gateway)),
    ):
        alice, outsider = [await register_user(client, api, "user") for _ in range(2)]
        users = [await register_user(client, api, "user") for _ in CHANGES]
        guilds = [await create_guild(alice, user) for user in users]
        _, outsider_channel_id, _ = await create_guild(outsider)
        logged_out = await register_user(client, api, "user")
        (await logged_out.get("/users/@me")).ok()
        owner_session = await open_session(alice, gateway)
        sessions = [await open_session(user, gateway) for user in users]
        logged_out_session = await open_session(logged_out, gateway)
        outsider_session = await open_session(outsider, gateway)

        getattr(proxy, mode)()
        if mode == "refuse":
            # With `swallow`, the first changes are made before the process notices that it lost the bus.
            await wait_status(client, partitioned_api, 503)
        for index, (change, user, session) in enumerate(zip(CHANGES, users, sessions, strict=True)):
            guild_id, channel_id, _ = guilds[index]
            (await change(alice.at_server(partitioned_api), guild_id, channel_id, user)).ok()
            # A process that did not receive the change on the bus invalidates the sessions of the guild.
            await restart_session(owner_session)
            await restart_session(session)
            await alice.at_server(api).create_message(channel_id, f"secret {index}")
            await owner_session.wait_message(f"secret {index}")
            assert session.message_contents() == []
        (await logged_out.at_server(partitioned_api).post("/auth/logout")).ok()
        (await logged_out.at_server(api).get("/users/@me")).rejected(401, 0)
        assert await logged_out_session.wait_closed() == CloseCode.AUTHENTICATION_FAILED
        check_seconds(await wait_status(client, partitioned_api, 503), NOT_READY_SECONDS_MAX)

        # Sessions of other guilds continue.
        await outsider.create_message(outsider_channel_id, "not affected")
        await outsider_session.wait_message("not affected")
        assert [frame["op"] for frame in outsider_session.other_frames] == [GatewayOpcode.HELLO]

        proxy.heal()
        await wait_status(client, partitioned_api, 200)
        for index, (_, channel_id, _) in enumerate(guilds):
            await alice.at_server(partitioned_api).create_message(channel_id, f"after {index}")
            await owner_session.wait_message(f"after {index}")
        assert all(session.message_contents() == [] for session in sessions)
        for session in (owner_session, *sessions, outsider_session):
            await session.close()


async def test_a_black_hole_makes_a_process_not_ready(tmp_path: Path, postgres_database: str, nats_url: str) -> None:
    async with (
        running_proxy(nats_url) as proxy,
        running_cluster(tmp_path, postgres_database, nats_url, [Node(nats_url=proxy.url)]) as (client, (server,)),
    ):
        await wait_status(client, server, 200)
        proxy.swallow()
        check_seconds(await wait_status(client, server, 503), NOT_READY_SECONDS_MAX)
        proxy.heal()
        await wait_status(client, server, 200)
