"""Recordings from start to end: `hubbub dev --record` as a process, and the generated test with the pytest plugin."""

import asyncio
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, running_server
from tests.server.test_recordings import run_replay, write_program
from tests.testing.test_plugin import PLUGIN_ARGUMENTS, WITHOUT_SUITE_PLUGINS

WORLD = """
[users.mira]
[users.jonas]

[applications.demo-bot]
owner = "mira"
intents = ["MESSAGE_CONTENT"]

[guilds.Workshop]
owner = "mira"
members = { jonas = {} }
bots = { demo-bot = {} }

[guilds.Workshop.channels.general]
"""

STARTED_PROGRAM = """
    import os, subprocess

    environment = {**os.environ, "REHEARSAL_READY_FILE": "ready.json"}
    with open("ready.json", "wb") as file:
        file.write(msgspec.json.encode(hubbub.ready))
    process = subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\\n"
    yield
    process.kill()
    process.communicate()
"""
"""Body of the fixture of a generated test, which users write themselves: start the program and stop it."""


@pytest.mark.parametrize("world", [None, WORLD], ids=["demo world", "own world"])
async def test_a_recorded_session_becomes_a_test_that_passes(tmp_path: Path, world: str | None) -> None:
    flags = ["--record", str(tmp_path / "session.jsonl")]
    if world is not None:
        (tmp_path / "world.toml").write_text(world)
        flags += ["--world", str(tmp_path / "world.toml"), "--seed", "7"]
    command = write_program(tmp_path)
    async with running_server(tmp_path, "dev", *flags) as server, aiohttp.ClientSession() as client:
        name, user = next(iter(server.document["users"].items()))
        guild = next(iter(server.document["guilds"].values()))
        author = ApiUser(client, server.url, user["id"], user["token"])
        process = await asyncio.create_subprocess_exec(
            *command.split(),
            env={"REHEARSAL_READY_FILE": str(server.ready_file)},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), TIMEOUT_SECONDS) == b"ready\n"
        session = await GatewaySession(author, server.gateway).open()
        sent_message = await author.create_message(guild["channels"]["general"], "hello")
        await session.wait_message("echo: hello")
        await session.close()
        await author.request("DELETE", f"/channels/{guild['channels']['general']}/messages/{sent_message['id']}")
        process.kill()
        await process.wait()
        server.terminate()
        assert await server.wait_ended() == 0, server.log_text()

    project = tmp_path / "project"
    project.mkdir()
    test_file = project / "test_session.py"
    assert await run_replay(tmp_path / "session.jsonl", "--as-test", str(test_file)) == 0
    text = test_file.read_text()
    assert name in text
    assert text.count("    yield\n") == 1
    text = text.replace("    yield\n", STARTED_PROGRAM).replace("import pytest\n", "import msgspec\nimport pytest\n")
    test_file.write_text(f"{text}\n\nCOMMAND = {command.split()!r}\n")

    arguments = (*PLUGIN_ARGUMENTS, *WITHOUT_SUITE_PLUGINS, "-o", "hubbub_within=30", test_file.name)
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "pytest", "-q", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stdout
