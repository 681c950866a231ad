"""Guilds move between servers through the real command line: running servers, killed processes, failures, dry runs."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.fixtures.postgres import DatabasePool
from tests.journeys.processes import Server
from tests.server.test_import_chat_exports import export_document, message, user, write_export

MESSAGE_COUNT = 4000
TIMEOUT_SECONDS = 120


def start_command(*arguments: str) -> "subprocess.Popen[str]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HUBBUB_")}
    return subprocess.Popen(
        [sys.executable, "-m", "hubbub.server.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def run_hubbub(*arguments: str) -> str:
    """Run a command, which must succeed, and return its output."""
    process = start_command(*arguments)
    output, errors = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 0, errors
    return output


def create_user(name: str, *settings: str) -> str:
    """Create a user and return the token."""
    match = re.search(r"token: (\S+)", run_hubbub("admin", "create-user", name, *settings))
    assert match is not None
    return match[1]


def parse_imported_guild_id(output: str) -> str:
    match = re.search(r"as the guild (\d+)", output)
    assert match is not None, output
    return match[1]


async def fetch(server: Server, token: str, path: str) -> Any:
    async with (
        aiohttp.ClientSession(headers={"Authorization": token}) as client,
        client.get(f"{server.url}/api/v10{path}") as response,
    ):
        assert response.status == 200, await response.text()
        return await response.json()


async def test_a_guild_moves_between_running_servers(tmp_path: Path) -> None:
    folders = [tmp_path / "old", tmp_path / "new"]
    tokens = [create_user("mover", "--data", str(folder)) for folder in folders]
    old_server, new_server = [await Server(tmp_path, "serve", "--data", str(folder)).start() for folder in folders]
    try:
        export = await asyncio.to_thread(write_export, tmp_path / "export")
        command = ("import", str(export), "--owner", "mover", "--data", str(folders[0]))
        first_output = await asyncio.to_thread(run_hubbub, *command)
        archive = str(tmp_path / "guild.zip")
        await asyncio.to_thread(
            run_hubbub, "export", parse_imported_guild_id(first_output), "--output", archive, "--data", str(folders[0])
        )
        command = ("import", archive, "--owner", "mover", "--data", str(folders[1]))
        second_output = await asyncio.to_thread(run_hubbub, *command)
        third_output = await asyncio.to_thread(run_hubbub, *command)

        assert "imported before" in third_output
        channels = await fetch(new_server, tokens[1], f"/guilds/{parse_imported_guild_id(second_output)}/channels")
        (lobby,) = (channel for channel in channels if channel["name"] == "lobby")
        history = await fetch(new_server, tokens[1], f"/channels/{lobby['id']}/messages")
        assert [entry["content"][:3] for entry in history] == ["ok", "see"]
        claims = await asyncio.to_thread(
            run_hubbub, "import", "claims", parse_imported_guild_id(second_output), "--data", str(folders[1])
        )
        assert re.search(r"^[A-Z2-7]{6}(-[A-Z2-7]{6}){3}  alice$", claims, re.MULTILINE)
    finally:
        old_server.kill()
        new_server.kill()


@pytest.mark.parametrize("killed", ["command", "server"])
@pytest.mark.timeout(300)
async def test_an_import_that_is_killed_continues(tmp_path: Path, killed: str) -> None:
    data_folder = tmp_path / "data"
    token = create_user("mover", "--data", str(data_folder))
    people = [user(number, f"user{number}") for number in range(20)]
    messages = [message(number, people[number % 20], f"number {number}") for number in range(MESSAGE_COUNT)]
    path = tmp_path / "lobby.json"
    path.write_text(json.dumps(export_document(400_000_000_000_000_100, messages)))
    command = ("import", str(path), "--owner", "mover", "--data", str(data_folder))
    server = Server(tmp_path, "serve", "--data", str(data_folder), "--rate-limits", "off")
    if killed == "server":
        await server.start()
    process = start_command(*command)
    await asyncio.to_thread(wait_for_records, data_folder / "hubbub.sqlite3", process)
    if killed == "server":
        server.kill()
    else:
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=TIMEOUT_SECONDS)

    output = await asyncio.to_thread(run_hubbub, *command)

    await server.start()
    try:
        assert await read_history(server, token, parse_imported_guild_id(output)) == [
            f"number {number}" for number in range(MESSAGE_COUNT)
        ]
    finally:
        server.kill()


def wait_for_records(path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until an import has stored some, but not all, of its records."""
    while process.poll() is None:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            if connection.execute("SELECT 1 FROM imports WHERE stage = 2 AND position > 1000").fetchone():
                return
    raise AssertionError(process.communicate()[1])


async def read_history(server: Server, token: str, guild_id: str) -> list[str]:
    """Return the contents of all messages of the imported channel, oldest first."""
    channels = await fetch(server, token, f"/guilds/{guild_id}/channels")
    (lobby_channel_id,) = (channel["id"] for channel in channels if channel["name"] == "lobby")
    contents: list[str] = []
    last_message_id = "0"
    while page := await fetch(
        server, token, f"/channels/{lobby_channel_id}/messages?limit=100&after={last_message_id}"
    ):
        contents += [entry["content"] for entry in reversed(page)]
        last_message_id = page[0]["id"]
    return contents


def test_a_guild_moves_through_postgresql(tmp_path: Path, migrated_databases: DatabasePool) -> None:
    with migrated_databases.acquire() as url:
        settings = ("--database-url", url, "--files-url", str(tmp_path / "files"))
        create_user("mover", *settings)
        guild_id = parse_imported_guild_id(
            run_hubbub("import", str(write_export(tmp_path / "e")), "--owner", "mover", *settings)
        )

        output = run_hubbub("export", guild_id, "--output", str(tmp_path / "guild.zip"), *settings)

    assert "messages: 3" in output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (lambda folder: ["import", "missing.zip", "--owner", "mover"], "neither a file nor the code of a template"),
        (lambda folder: ["import", str(write_export(folder / "e")), "--owner", "stranger"], "no user named stranger"),
        (lambda folder: ["import", str(folder)], "name the owner"),
        (lambda folder: ["import", "claims", "77"], "no guild with the ID 77"),
        (lambda folder: ["export", "77", "--output", str(folder / "a.zip")], "no guild with the ID 77"),
        (lambda folder: ["export", "x", "--output", str(folder / "a.zip")], "not the ID of a guild"),
    ],
)
def test_a_failed_command_names_the_problem(
    tmp_path: Path, arguments: Callable[[Path], list[str]], problem: str
) -> None:
    data_folder = tmp_path / "data"
    create_user("mover", "--data", str(data_folder))

    process = start_command(*arguments(tmp_path), "--data", str(data_folder))

    assert problem in process.communicate(timeout=TIMEOUT_SECONDS)[1]
    assert process.returncode == 1


def test_a_dry_run_needs_no_server_and_stores_nothing(tmp_path: Path) -> None:
    output = run_hubbub("import", str(write_export(tmp_path / "export")), "--dry-run", "--data", str(tmp_path / "none"))

    assert "messages: 3" in output
    assert not (tmp_path / "none").exists()
