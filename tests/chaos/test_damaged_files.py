"""A SQLite file with a destroyed page: responses, readiness and log of the server."""

import sqlite3
from pathlib import Path

import aiohttp

from tests.journeys.processes import ApiUser, create_guild, register_user, running_server


def destroy_table(path: Path, table: str) -> None:
    """Overwrite the root page of a table in a SQLite file."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * page_bytes)


async def test_a_destroyed_page_gives_503_and_is_reported_with_the_repair(tmp_path: Path) -> None:
    flags = ["--data", str(tmp_path / "data"), "--rate-limits", "off"]
    async with aiohttp.ClientSession() as client:
        async with running_server(tmp_path, "serve", *flags) as server:
            alice = await register_user(client, server, "alice")
            _, channel_id, _ = await create_guild(alice)
            await alice.create_message(channel_id, "hello")
            server.terminate()
            assert await server.wait_ended() == 0
        destroy_table(tmp_path / "data" / "hubbub.sqlite3", "messages")
        async with running_server(tmp_path, "serve", *flags) as server:
            user = ApiUser(client, server.url, alice.id, alice.token)
            assert (await user.get(f"/channels/{channel_id}/messages")).status == 503
            async with client.get(f"{server.url}/readyz") as response:
                assert (response.status, await response.text()) == (503, "not ready: damaged database file\n")
            assert "hubbub doctor" in server.log_text()
            # Data on other pages stays available.
            (await user.get("/users/@me")).ok()
