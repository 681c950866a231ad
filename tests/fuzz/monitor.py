"""Observation of the platform while inputs are sent: logged errors, tracebacks, pauses of the event loop, memory."""

import asyncio
import logging
import re
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAUSE_SECONDS_MAX = 2.0
"""Longest pause of the event loop that is not a problem; generation of inputs runs in the same loop."""

_INTERVAL_SECONDS = 0.05
_NUMBER_PATTERN = re.compile(r"\d+|0x[0-9a-f]+")


@dataclass
class Problem:
    """An error, hang or pause, with the input that caused it."""

    kind: str
    """`status`, `log`, `hang`, `pause`, or `outcome` for an exception of the target that sent the input."""
    summary: str
    """Text that is the same for every input with the same cause."""
    details: str = ""
    target: str = ""
    input: Any = None
    """The input as JSON values, or None if it is unknown."""


class Monitor(logging.Handler):
    """Collects problems of the platform in this process."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.problems: list[Problem] = []
        """Problems since the last call of `take`."""
        self.longest_pause_seconds = 0.0
        self._task: asyncio.Task[None] | None = None
        self._show_warning = warnings.showwarning

    def start(self) -> None:
        """Observe the running event loop, logs and warnings."""
        logging.getLogger().addHandler(self)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._handle_loop_exception)
        warnings.showwarning = self._handle_warning
        self._task = loop.create_task(self._measure_pauses())

    async def stop(self) -> None:
        """Stop observing."""
        logging.getLogger().removeHandler(self)
        asyncio.get_running_loop().set_exception_handler(None)
        warnings.showwarning = self._show_warning
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def take(self) -> list[Problem]:
        """Return the problems since the last call."""
        problems, self.problems = self.problems, []
        return problems

    def emit(self, record: logging.LogRecord) -> None:
        """Record an error, or a warning with a traceback."""
        if record.levelno < logging.ERROR and not record.exc_info:
            return
        error = record.exc_info[1] if record.exc_info else None
        self._add(record.getMessage(), error)

    def _handle_loop_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._add(f"event loop: {context['message']}", context.get("exception"))

    def _handle_warning(self, message: Any, category: type[Warning], *position: Any, **options: Any) -> None:
        if "never awaited" in str(message):
            self._add(str(message), None)

    def _add(self, message: str, error: BaseException | None) -> None:
        summary = _NUMBER_PATTERN.sub("0", message)[:200]
        details = message
        if error is not None:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "hubbub" in frame.filename]
            location = f" at {Path(frames[-1].filename).name}:{frames[-1].name}" if frames else ""
            summary = f"{type(error).__name__}{location}: {_NUMBER_PATTERN.sub('0', str(error))[:120]}"
            details = message + "\n" + "".join(traceback.format_exception(error))
        self.problems.append(Problem("log", summary, details))

    async def _measure_pauses(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            started_at, cpu_before = loop.time(), time.thread_time()
            await asyncio.sleep(_INTERVAL_SECONDS)
            # Time in which other processes of a busy machine ran does not count.
            pause = min(loop.time() - started_at - _INTERVAL_SECONDS, time.thread_time() - cpu_before)
            self.longest_pause_seconds = max(self.longest_pause_seconds, pause)
            if pause > PAUSE_SECONDS_MAX:
                self.problems.append(Problem("pause", "the event loop paused", f"{pause:.1f} s"))


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 where /proc is absent."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0
