"""Accepted invites: the agent starts a game that is not running with its registered command (spec/sdk.md#10.2)."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest

from hubbub.agent.terminal import Terminal
from hubbub.protocol.enums import ActivityActionType
from hubbub.sdk import Client
from tests.agent.setups import JOINABLE_ACTIVITY, TwoMachines
from tests.machine import Machine
from tests.world import WAIT_TIMEOUT_SECONDS

pytestmark = [
    pytest.mark.parametrize("store_config", ["sqlite"], indirect=True),
    pytest.mark.skipif(
        sys.platform != "linux", reason="requires Linux: launch commands are registered as desktop entries"
    ),
]

GAME_SCRIPT = """\
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


async def send_invite(two_machines: TwoMachines) -> str:
    """Send an invite from Mary to Zoe, wait until Zoe's agent has received it, and return the ID of its message."""
    host = await two_machines.mary_machine.connect_program(two_machines.game.id)
    await host.call("SET_ACTIVITY", {"activity": JOINABLE_ACTIVITY})
    await host.call(
        "ACTIVITY_INVITE_USER", {"user_id": str(two_machines.zoe.id), "type": ActivityActionType.JOIN, "pid": 0}
    )
    invites = two_machines.zoe_machine.agent.context.invites
    assert await two_machines.zoe_machine.agent.account.wait_until(lambda: invites, WAIT_TIMEOUT_SECONDS)
    return next(iter(invites))


async def accept_invite(machine: Machine, message_id: str) -> list[str]:
    output: list[str] = []
    await Terminal(write_line=output.append).run_command(machine.agent.context, "accept", message_id)
    return output


async def test_a_game_that_is_not_running_is_started_and_joins(
    two_machines: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(two_machines.zoe_machine.directory))
    program, report = tmp_path / "my game.py", tmp_path / "report 100%"
    program.write_text(GAME_SCRIPT)
    client = Client()
    command = shlex.join([sys.executable, str(program), str(two_machines.game.id), str(report)])
    assert client.register_launch_command(two_machines.game.id, command)
    await client.close()

    output = await accept_invite(two_machines.zoe_machine, await send_invite(two_machines))

    assert output == ["  The game is joining."]
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS * 3):
        while not (report.exists() and report.read_text() == "come-in\n"):
            await asyncio.sleep(0.02)
        # The game has exited, and another invite would start it again.
        while two_machines.zoe_machine.agent.context.connections:
            await asyncio.sleep(0.02)
    assert not two_machines.zoe_machine.agent.context.launcher._pending


async def test_a_running_game_receives_the_join_once_it_subscribes(
    two_machines: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    game = await two_machines.zoe_machine.connect_program(two_machines.game.id)

    assert await accept_invite(two_machines.zoe_machine, await send_invite(two_machines)) == ["  The game is joining."]

    await game.subscribe("ACTIVITY_JOIN")
    assert await game.next("ACTIVITY_JOIN") == {"secret": "come-in", "application_id": str(two_machines.game.id)}


async def test_a_game_without_a_launch_command_is_not_started(
    two_machines: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    output = await accept_invite(two_machines.zoe_machine, await send_invite(two_machines))

    assert output == ["  Invite accepted. The agent cannot start the game; start it yourself to join."]
    program = await two_machines.zoe_machine.connect_program(two_machines.game.id)
    await program.subscribe("ACTIVITY_JOIN")
    assert (await program.call("SET_ACTIVITY", {"activity": None}), program.events) == (None, [])


async def test_a_game_that_fails_or_is_slow_to_start_is_abandoned(
    two_machines: TwoMachines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    client = Client()
    assert client.register_launch_command(two_machines.game.id, str(tmp_path / "missing"))
    assert (
        "cannot start the game" in (await accept_invite(two_machines.zoe_machine, await send_invite(two_machines)))[0]
    )

    launcher = two_machines.zoe_machine.agent.context.launcher
    launcher.timeout_seconds = 0.01
    assert client.register_launch_command(two_machines.game.id, "true")
    await client.close()
    assert await launcher.join_game(str(two_machines.game.id), {"secret": "come-in"})
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while launcher._pending:
            await asyncio.sleep(0.01)
