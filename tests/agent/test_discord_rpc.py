"""Unmodified @xhayper/discord-rpc against the agent (spec/rpc.md#11)."""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.setups import create_presence_setup
from tests.machine import NewMachine
from tests.world import World

JS_DIRECTORY = Path(__file__).parents[1] / "clients" / "js"
NODE = shutil.which("node")
NODE_VERSION_MIN = 20


def is_node_supported() -> bool:
    if NODE is None:
        return False
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
    return int(version.lstrip("v").partition(".")[0]) >= NODE_VERSION_MIN


pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(
        not (JS_DIRECTORY / "node_modules" / "@xhayper" / "discord-rpc").is_dir(),
        reason="@xhayper/discord-rpc is not installed: make client-deps",
    ),
    pytest.mark.skipif(not is_node_supported(), reason=f"Node.js {NODE_VERSION_MIN} or newer is not installed"),
    pytest.mark.parametrize("store_config", ["sqlite"], indirect=True),
]


async def test_a_friend_sees_the_activity_set_by_the_library(world: World, new_machine: NewMachine) -> None:
    setup = await create_presence_setup(world, new_machine)
    assert NODE is not None
    process = await asyncio.create_subprocess_exec(
        NODE,
        str(JS_DIRECTORY / "presence.mjs"),
        str(setup.game.id),
        env={**os.environ, "XDG_RUNTIME_DIR": str(setup.machine.directory)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    async def wait_for_line(name: str) -> Any:
        async with asyncio.timeout(60):
            while True:
                line = await process.stdout.readline()  # type: ignore[union-attr]
                assert line, f"the program ended before it printed {name}"
                report = json.loads(line)
                if report["name"] == name:
                    return report["data"]

    # The setup names the user, and presence.mjs sets the start time.
    assert await wait_for_line("ready") == setup.mary.name
    set_activity = await wait_for_line("activity_set")
    assert (set_activity["application_id"], set_activity["timestamps"]) == (
        str(setup.game.id),
        {"start": 1_794_999_000_000},
    )
    (activity,) = await setup.wait_activities(lambda activities: len(activities) > 0)
    assert (activity["state"], activity["party"]) == ("In a puddle", {"id": "party-1", "size": [1, 4]})
    await wait_for_line("subscribed")
    process.stdin.close()
    await wait_for_line("cleared")
    await setup.wait_activities(lambda activities: not activities)
    assert await process.wait() == 0
