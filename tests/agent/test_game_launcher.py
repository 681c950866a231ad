"""Accepting an invite while the game is not running: the agent starts it with its registered command (spec/sdk.md#10.2)."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from hubbub.agent.terminal import Terminal
from hubbub.sdk import Client
from tests.agent.test_events import PARTY, TwoMachines, two
from tests.machine import Machine
from tests.world import WAIT_TIMEOUT_SECONDS

pytestmark = [
    pytest.mark.parametrize("store_config", ["sqlite"], indirect=True),
    pytest.mark.skipif("sys.platform != 'linux'"),
]

__all__ = ["two"]

GAME = """\
import sys, time
from hubbub.sdk import Client

client = Client()
client.set_application_id(int(sys.argv[1]))
joined = []
client.set_activity_join_callback(joined.append)
while not joined:
    client.run_callbacks()
    time.sleep(0.01)
with open(sys.argv[2], "a") as report:
    report.write(joined[0] + "\\n")
client.close()
"""


async def invited(scene: TwoMachines) -> str:
    """Send an invite from Mary to Zoe, whose machine does not run the game."""
    host = await scene.one.connect_program(scene.game.id)
    await host.call("SET_ACTIVITY", {"activity": PARTY})
    await host.call("ACTIVITY_INVITE_USER", {"user_id": str(scene.zoe.id), "type": 1, "pid": 0})
    invites = scene.other.agent.context.invites
    assert await scene.other.agent.account.wait_until(lambda: invites, WAIT_TIMEOUT_SECONDS)
    return next(iter(invites))


async def accept(machine: Machine, message_id: str) -> list[str]:
    output: list[str] = []
    await Terminal(write_line=output.append).run_command(machine.agent.context, "accept", message_id)
    return output


async def test_a_game_that_is_not_running_is_started_and_joins(
    two: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(two.other.directory))
    program, report = tmp_path / "my game.py", tmp_path / "report 100%"
    program.write_text(GAME)
    client = Client()
    command = shlex.join([sys.executable, str(program), str(two.game.id), str(report)])
    assert client.register_launch_command(two.game.id, command)
    await client.close()

    output = await accept(two.other, await invited(two))

    assert output == ["  The game is joining."]
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS * 3):
        while not (report.exists() and report.read_text() == "come-in\n"):
            await asyncio.sleep(0.02)
        # The game has exited, and another invite would start it again.
        while two.other.agent.context.connections:
            await asyncio.sleep(0.02)
    assert not two.other.agent.context.launcher._pending


async def test_a_running_game_receives_the_join_once_it_subscribes(
    two: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    game = await two.other.connect_program(two.game.id)

    assert await accept(two.other, await invited(two)) == ["  The game is joining."]

    await game.subscribe("ACTIVITY_JOIN")
    assert await game.next("ACTIVITY_JOIN") == {"secret": "come-in", "application_id": str(two.game.id)}


async def test_a_game_without_a_launch_command_is_not_started(
    two: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    output = await accept(two.other, await invited(two))

    assert output == ["  Invite accepted. The agent cannot start the game; start it yourself to join."]
    late = await two.other.connect_program(two.game.id)
    await late.subscribe("ACTIVITY_JOIN")
    assert (await late.call("SET_ACTIVITY", {"activity": None}), late.events) == (None, [])


async def test_a_game_that_fails_or_is_slow_to_start_is_abandoned(
    two: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    client = Client()
    assert client.register_launch_command(two.game.id, str(tmp_path / "gone"))
    assert "cannot start the game" in (await accept(two.other, await invited(two)))[0]

    launcher = two.other.agent.context.launcher
    launcher.timeout_seconds = 0.01
    assert client.register_launch_command(two.game.id, "true")
    await client.close()
    assert await launcher.join_game(str(two.game.id), {"secret": "come-in"})
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while launcher._pending:
            await asyncio.sleep(0.01)
