"""Recordings from start to end: `hubbub dev --record` as a process, and the generated test with the pytest plugin."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, running_server
from tests.server.test_recordings import run_replay, write_form_program, write_program
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


@asynccontextmanager
async def running_program(command: str, ready_file: Path) -> AsyncIterator[None]:
    """Run a program until the block ends, which starts when the program is ready."""
    process = await asyncio.create_subprocess_exec(
        *command.split(), env={"REHEARSAL_READY_FILE": str(ready_file)}, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), TIMEOUT_SECONDS) == b"ready\n"
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def run_as_test(folder: Path, command: str) -> str:
    """Write the recording in a folder as a test of a program, assert that the test passes, and return its text."""
    project = folder / "project"
    project.mkdir()
    test_file = project / "test_session.py"
    assert await run_replay(folder / "session.jsonl", "--as-test", str(test_file)) == 0
    text = test_file.read_text()
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
    return text


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
        async with running_program(command, server.ready_file):
            session = await GatewaySession(author, server.gateway).open()
            sent_message = await author.create_message(guild["channels"]["general"], "hello")
            await session.wait_message("echo: hello")
            await session.close()
            await author.request("DELETE", f"/channels/{guild['channels']['general']}/messages/{sent_message['id']}")
        server.terminate()
        assert await server.wait_ended() == 0, server.log_text()

    text = await run_as_test(tmp_path, command)
    assert name in text


async def test_a_recorded_session_with_interactions_becomes_a_test_that_passes(tmp_path: Path) -> None:
    command = write_form_program(tmp_path)
    flags = ["--record", str(tmp_path / "session.jsonl")]
    async with running_server(tmp_path, "dev", *flags) as server, aiohttp.ClientSession() as client:

        async def control(path: str, **body: Any) -> Any:
            headers = {"Authorization": f"Bearer {server.document['control_token']}"}
            async with client.post(f"{server.document['control']}/{path}", json=body, headers=headers) as response:
                assert response.status == 200, await response.text()
                return await response.json()

        # With a frozen clock, a slow machine meets the time limit of responses.
        await control("clock/freeze")
        async with running_program(command, server.ready_file):
            await control("people/alice/run", channel="general", command="panel")
            await control("people/alice/click", button="Form")
            answer = await control("people/alice/submit", fields={"Name": "Ann"})
            assert answer["message"]["content"] == "thanks, Ann"
        server.terminate()
        assert await server.wait_ended() == 0, server.log_text()

    text = await run_as_test(tmp_path, command)
    for line in ("hubbub.clock.freeze()", 'alice.run("general", "panel", {})', "alice.click(", "alice.submit("):
        assert line in text
    assert '["content"] == "thanks, Ann"' in text
