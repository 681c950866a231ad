"""The time of the test process, which follows the platform's clock (needs the package time-machine)."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from hubbub.protocol.control.clock import GET_CLOCK, ClockState
from hubbub.testing.platform import Platform


@contextmanager
def follow_platform(platform: Platform) -> Iterator[None]:
    """Set the time of this process to the platform's, and move it with every change of the platform's clock."""
    time_machine: Any = import_module("time_machine")
    state = platform.background.run_and_wait(platform.context.control.call(GET_CLOCK))
    traveler = time_machine.travel(state.now_ms / 1000, tick=state.running)
    coordinates = traveler.start()

    def move(state: ClockState) -> None:
        coordinates.move_to(state.now_ms / 1000, tick=state.running)

    platform.clock.on_change = move
    try:
        yield
    finally:
        platform.clock.on_change = None
        traveler.stop()
