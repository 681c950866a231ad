"""IDs of a server whose clock was ahead in an earlier run."""

from pathlib import Path

import aiohttp
import pytest

from tests.chaos.cluster import clock_shift_code
from tests.journeys.processes import ApiUser, create_guild, register_user, running_server

HOUR_MS = 3_600_000


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_ids_continue_after_a_run_whose_clock_was_ahead(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    if store == "postgres":
        flags += ["--database-url", request.getfixturevalue("postgres_database")]
    async with aiohttp.ClientSession() as client:
        async with running_server(tmp_path, "serve", *flags, startup_code=clock_shift_code(2 * HOUR_MS)) as server:
            alice = await register_user(client, server, "alice")
            _, channel_id, _ = await create_guild(alice)
            path = f"/channels/{channel_id}/messages"
            old_ids = [(await alice.create_message(channel_id, f"old {number}"))["id"] for number in range(5)]
            server.kill()
        for run in range(2):
            async with running_server(tmp_path, "serve", *flags) as server:
                user = ApiUser(client, server.url, alice.id, alice.token)
                new_ids = [(await user.create_message(channel_id, f"new {run}.{number}"))["id"] for number in range(5)]
                assert sorted(map(int, [*old_ids, *new_ids])) == list(map(int, [*old_ids, *new_ids]))
                history = (await user.get(f"{path}?after={old_ids[-1]}")).ok()
                assert [message["id"] for message in history] == new_ids[::-1]
                old_ids += new_ids
                server.terminate()
                assert await server.wait_ended() == 0
