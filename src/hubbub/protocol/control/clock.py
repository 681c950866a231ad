"""The clock of a rehearsal."""

from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.ids import Timestamp

CENTURY_MS: Final = 100 * 366 * 86_400_000
"""At least one hundred years, in milliseconds."""


class SetClock(msgspec.Struct, kw_only=True):
    """The time to set."""

    now: datetime


class AdvanceClock(msgspec.Struct, kw_only=True):
    """The number of milliseconds by which to advance the clock."""

    ms: Annotated[int, Meta(ge=0, le=CENTURY_MS)]


class ClockState(msgspec.Struct, kw_only=True):
    """The time of the clock, and whether the clock is running."""

    now: Timestamp
    now_ms: int
    running: bool


GET_CLOCK: Final = control_operation("GET", "/clock", result=ClockState)
SET_CLOCK: Final = control_operation("POST", "/clock/set", body=SetClock, result=ClockState)
ADVANCE_CLOCK: Final = control_operation("POST", "/clock/advance", body=AdvanceClock, result=ClockState)
FREEZE_CLOCK: Final = control_operation("POST", "/clock/freeze", result=ClockState)
RESUME_CLOCK: Final = control_operation("POST", "/clock/resume", result=ClockState)
