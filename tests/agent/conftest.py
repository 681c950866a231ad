"""What tests of the agent have in common."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.agent.machine import Machine
from tests.world import Actor, World

NewMachine = Callable[..., Awaitable[Machine]]


@pytest.fixture
async def new_machine(tmp_path: Path, world: World) -> AsyncIterator[NewMachine]:
    """Makes a machine of somebody's, whose agent runs."""
    made: list[Machine] = []

    async def make(owner: Actor, *, started: bool = True, **settings: object) -> Machine:
        directory = tmp_path / f"m{len(made)}"
        directory.mkdir()
        machine = Machine(world, owner, directory)
        machine.settings |= settings
        made.append(machine)
        return await machine.start() if started else machine

    yield make
    for machine in made:
        await machine.stop()
