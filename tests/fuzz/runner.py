"""A run of the fuzzer, in epochs with a new platform each, and the replay of a stored input."""

import asyncio
import gc
import json
import random
import re
import signal
import time
import traceback
from pathlib import Path
from typing import Any

from tests.fuzz.gateway_target import GatewayTarget
from tests.fuzz.http_target import HttpTarget
from tests.fuzz.ipc_target import IpcTarget
from tests.fuzz.monitor import Monitor, Problem, resident_bytes
from tests.fuzz.multipart_target import MultipartTarget
from tests.fuzz.pages_target import PagesTarget
from tests.fuzz.platform import Platform, run_platform
from tests.fuzz.report import Report
from tests.fuzz.target import FuzzTarget, InvalidResponse
from tests.fuzz.voice_target import VoiceTarget

TARGETS: dict[str, tuple[type[FuzzTarget], int]] = {
    "http": (HttpTarget, 60),
    "multipart": (MultipartTarget, 13),
    "pages": (PagesTarget, 8),
    "gateway": (GatewayTarget, 8),
    "voice": (VoiceTarget, 8),
    "ipc": (IpcTarget, 3),
}
"""Targets by name, with their weight in the random choice of the next target."""

EPOCH_INPUT_COUNT = 50_000
"""Number of inputs after which a new platform replaces the old one."""

LANE_COUNT = 12
"""Number of inputs that are in flight at the same time; while one waits for a thread or the network, others use the CPU."""

INDEPENDENT_TARGETS = {"gateway", "voice"}
"""Targets whose `start` runs in every lane."""

SINGLE_LANE_TARGETS = {"ipc"}
"""Targets that only the first lane has, because there is one agent."""

INPUTS_TEXT_MAX = 20_000
"""Longest text of the inputs in flight that a problem shows."""

CHECK_INPUT_COUNT = 500
"""Number of inputs after which the shared callers are checked."""

STEP_SECONDS_MAX = 120.0
"""Deadline of one input, long enough for a busy machine. An input without an outcome is a hang."""

PROGRESS_SECONDS = 30.0


class Runner:
    """Sends inputs until a number of inputs or a time is reached."""

    def __init__(self, *, seed: str, targets: list[str], request_count: int, seconds: float) -> None:
        self._seed, self._targets, self._request_count, self._seconds = seed, targets, request_count, seconds
        self.report = Report()
        self._is_stopped = False
        self._lanes: list[dict[str, FuzzTarget]] = []
        """Targets of each lane by name. A lane sends one input at a time."""
        self._first_input_number = 0
        self._next_check = 0
        self._is_epoch_done = False
        self._monitor = Monitor()
        self._printed_at = time.monotonic()

    async def run(self) -> Report:
        """Run all epochs and return the report. SIGINT and SIGTERM end the run after the current input."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        self._monitor.start()
        epoch = 0
        while not self._is_done():
            async with run_platform() as platform:
                await self._run_epoch(platform, random.Random(f"{self._seed}/{epoch}"))
            epoch += 1
            gc.collect()
            self.report.memory_bytes.append(resident_bytes())
        await self._monitor.stop()
        return self.report

    def stop(self) -> None:
        """End the run after the current input."""
        self._is_stopped = True

    def _is_done(self) -> bool:
        elapsed = time.monotonic() - self.report.started_at
        return self._is_stopped or self.report.message_count >= self._request_count or elapsed >= self._seconds

    async def _run_epoch(self, platform: Platform, rng: random.Random) -> None:
        prepared_targets = {name: TARGETS[name][0](platform, rng, self.report) for name in self._targets}
        self._first_input_number = self.report.input_count
        self._next_check = self._first_input_number + CHECK_INPUT_COUNT
        self._is_epoch_done = False
        self._lanes = [prepared_targets]
        self._monitor.take()
        try:
            for target in prepared_targets.values():
                await self._record_problems(target, target.start())
            for _ in range(LANE_COUNT - 1):
                self._lanes.append(await self._clone(prepared_targets, random.Random(rng.getrandbits(64))))
            await asyncio.gather(*(self._run_lane(platform, lane) for lane in self._lanes))
        finally:
            for lane in self._lanes:
                for target in lane.values():
                    await target.close()

    async def _clone(self, targets: dict[str, FuzzTarget], rng: random.Random) -> dict[str, FuzzTarget]:
        """Return the targets of a further lane."""
        lane = {name: target.clone(rng) for name, target in targets.items() if name not in SINGLE_LANE_TARGETS}
        for name in lane.keys() & INDEPENDENT_TARGETS:
            await self._record_problems(lane[name], lane[name].start())
        return lane

    async def _run_lane(self, platform: Platform, targets: dict[str, FuzzTarget]) -> None:
        """Send inputs one after another, while the other lanes do the same."""
        rng = next(iter(targets.values())).random
        names = list(targets)
        weights = [TARGETS[name][1] * (LANE_COUNT if name in SINGLE_LANE_TARGETS else 1) for name in names]
        while not self._is_done() and not self._is_epoch_done:
            target = targets[rng.choices(names, weights)[0]]
            await self._record_problems(target, target.step())
            self._print_progress()
            if self.report.input_count - self._first_input_number >= EPOCH_INPUT_COUNT:
                self._is_epoch_done = True
            elif self.report.input_count >= self._next_check:
                self._next_check = self.report.input_count + CHECK_INPUT_COUNT
                rejection = await self._find_rejection(platform)
                if rejection is not None:
                    self.report.outcome_counts[f"epoch ended: {rejection}"] += 1
                    self._is_epoch_done = True

    async def _record_problems(self, target: FuzzTarget, step: Any) -> None:
        """Await a step, or the start of a target, and record the problems that it causes."""
        problems: list[Problem] = []
        try:
            async with asyncio.timeout(STEP_SECONDS_MAX if step.__name__ == "step" else None):
                await step
        except InvalidResponse as error:
            problems.append(Problem("status", str(error)))
        except TimeoutError:
            problems.append(Problem("hang", "no outcome before the deadline"))
        except Exception as error:
            # The target did not expect the outcome.
            location = traceback.extract_tb(error.__traceback__)[-1]
            summary = f"{type(error).__name__} in {Path(location.filename).name}:{location.lineno}"
            problems.append(Problem("outcome", summary, traceback.format_exc()))
        logged_problems = self._monitor.take()
        if any(problem.kind == "log" for problem in logged_problems):
            # The traceback names the cause of the status.
            details = "; ".join(problem.summary for problem in problems)
            problems = []
            for problem in logged_problems:
                problem.details = f"{details}\n{problem.details}"
        for problem in [*problems, *logged_problems]:
            problem.target, problem.input = target.name, target.last_input
            if problem.kind != "status":
                # The input of another lane may be the cause.
                problem.details += f"\ninputs of all lanes: {self._list_last_inputs()}"
            if self.report.add(problem) and problem.kind in ("log", "status"):
                problem.input = await target.minimize(problem.summary)
        self._monitor.take()
        self.report.longest_pause_seconds = max(self.report.longest_pause_seconds, self._monitor.longest_pause_seconds)

    def _list_last_inputs(self) -> str:
        inputs = [[target.name, target.last_input] for lane in self._lanes for target in lane.values()]
        return json.dumps(inputs, default=str)[:INPUTS_TEXT_MAX]

    async def _find_rejection(self, platform: Platform) -> str | None:
        """Return the path of a shared object that its caller can no longer read, with the response, or None."""
        for caller, path in (
            (platform.owner, f"/guilds/{platform.guild.id}"),
            (platform.bot, f"/channels/{platform.guild.general}"),
            (platform.operator, "/admin/operators/@me"),
        ):
            response = await caller.get(path)
            if response.status != 200:
                return f"{re.sub('[0-9]+', '0', path)} {response.body[:80]!r}"
        return None

    def _print_progress(self) -> None:
        now = time.monotonic()
        if now - self._printed_at >= PROGRESS_SECONDS:
            self._printed_at = now
            self.report.print_progress()


async def replay(platform: Platform, stored_input: Any, monitor: Monitor) -> list[str]:
    """Send a stored input and return the problems that it causes, except pauses of the event loop."""
    report = Report()
    target = TARGETS[stored_input["target"]][0](platform, random.Random(0), report)
    problems = []
    monitor.take()
    try:
        async with asyncio.timeout(STEP_SECONDS_MAX):
            await target.replay(stored_input["input"])
    except InvalidResponse as error:
        problems.append(str(error))
    except TimeoutError:
        problems.append("no outcome before the deadline")
    finally:
        await target.close()
    return problems + [problem.summary for problem in monitor.take() if problem.kind != "pause"]
