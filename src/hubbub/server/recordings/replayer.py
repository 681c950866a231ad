"""The replay of a recorded session: it performs the actions of users, and compares those of the program with the recorded ones.

The platform's clock is frozen and set to the recorded time of each input, so that the speed of the machine does not
matter. After each input of people the replay waits for as many writes of the program as were recorded.
"""

import asyncio
import os
import shlex
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from hubbub.people.sessions import ActorSession
from hubbub.protocol.enums import GatewayOpcode
from hubbub.server import ready_document, worlds
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from hubbub.server.core.config import Config
from hubbub.server.core.traffic import PERSON_HEADER, TrafficRecord
from hubbub.server.recordings.differences import Difference, compare_audio, describe, match_actions
from hubbub.server.recordings.id_maps import IdMapping, decode_json
from hubbub.server.recordings.recorder import convert_record
from hubbub.server.recordings.recording_file import RecordedInput, Recording, RecordingError

START_TIMEOUT_SECONDS: Final = 60.0
"""Seconds to wait for the program to connect and to repeat its recorded writes at the start."""
STOP_TIMEOUT_SECONDS: Final = 5.0
"""Seconds that the program has to end before it is killed."""
QUIET_SECONDS: Final = 0.3
"""Seconds without a write of the program after which a step that has all recorded writes ends."""
POLL_SECONDS: Final = 0.1
"""Longest interval in seconds between two checks of the program."""
WAITING_ROUTES: Final = frozenset(
    ("/control/settle", *(f"/control/people/{{name}}/{name}" for name in ("expect", "expect-message", "expect-none")))
)
"""Routes of control requests that wait for the program or the platform and change nothing."""
READY_FILE_VARIABLE: Final = "REHEARSAL_READY_FILE"
"""Environment variable with the path of the ready file, as in the recipes for CI."""


class Step(msgspec.Struct, frozen=True):
    """An input of people with the inputs of the program that followed it."""

    number: int
    cause: RecordedInput | None
    """The input; None for the start of the program."""
    actions: list[RecordedInput]


class Repetition(msgspec.Struct, frozen=True):
    """The result of repeating an input of people."""

    problem: str | None = None
    """Why the input could not be repeated; None if it was."""
    response: str = ""
    """Body of the response to a request; empty for frames."""


class StepResult(msgspec.Struct, frozen=True):
    """The differences of one step."""

    step: Step
    differences: list[Difference]
    problem: str | None
    """Why the input of people could not be repeated; None if it was."""


class ReplayReport(msgspec.Struct, frozen=True):
    """The results of all steps of a replay."""

    results: list[StepResult]
    action_count: int
    """Number of writes of the program in the recording."""

    @property
    def difference_count(self) -> int:
        """Number of differences and of inputs that could not be repeated."""
        return sum(len(result.differences) + (result.problem is not None) for result in self.results)


def split_steps(recording: Recording) -> list[Step]:
    """Return the writes of people, each with the inputs of the program that followed; the first step is the start.

    An input that only waits causes nothing, so the inputs of the program that followed it belong to an earlier step."""
    steps = [Step(0, None, [])]
    causal_step = steps[0]
    for recorded_input in recording.inputs:
        if recorded_input.is_program:
            causal_step.actions.append(recorded_input)
        elif recorded_input.kind == "frame" or recorded_input.is_write:
            steps.append(Step(len(steps), recorded_input, []))
            if recorded_input.route not in WAITING_ROUTES:
                causal_step = steps[-1]
    return steps


def take_counterparts(
    early_actions: Iterable[RecordedInput],
    recorded_actions: Iterable[RecordedInput],
    new_actions: Iterable[RecordedInput],
) -> tuple[list[RecordedInput], list[RecordedInput]]:
    """Return the early actions whose names are those of recorded actions that are not among the new ones, and all others."""
    missing_names = Counter(describe(action) for action in recorded_actions if action.is_write)
    missing_names -= Counter(describe(action) for action in new_actions if action.is_write)
    counterparts: list[RecordedInput] = []
    other_actions: list[RecordedInput] = []
    for action in early_actions:
        name = describe(action)
        (counterparts if missing_names[name] else other_actions).append(action)
        missing_names -= Counter((name,))
    return counterparts, other_actions


class Replayer:
    """The replay of one recording on a platform of its own."""

    def __init__(self, recording: Recording, config: Config, *, wait_seconds: float) -> None:
        """Create a replay; `wait_seconds` is the time to wait for writes of the program that were recorded."""
        self._recording = recording
        self._config = msgspec.structs.replace(config, control=True)
        self._wait_seconds = wait_seconds
        self._mapping = IdMapping()
        self._actions: list[RecordedInput] = []
        """Inputs of the program in the current step of the replay."""
        self._changed = asyncio.Event()
        self._sessions: dict[int, ActorSession] = {}
        """Gateway sessions of people by the recorded number of the connection."""

    async def run(self, program: str | None, on_ready: Callable[[App], None] = lambda app: None) -> ReplayReport:
        """Replay the recording. `program` is a command line that starts the program, or None if it runs already."""
        header = self._recording.header
        world = worlds.demo_world() if header.world is None else worlds.read_text(header.world)
        app = App(self._config)
        self._control = control = ControlApi(app)
        control.clock.freeze()
        control.clock.set(header.now_ms)
        await app.start()
        self._app = app
        try:
            control.built_world = await worlds.load_initial(app, world, header.seed)
            control.traffic_api.keep_on()
            app.trace.traffic.listeners.append(self._observe)
            on_ready(app)
            with tempfile.TemporaryDirectory(prefix="hubbub-replay-") as folder:
                ready_file = str(Path(folder) / "ready.json")
                ready_document.write(ready_file, await control.get_ready_document())
                async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as self._http:
                    process = None if program is None else await _start_program(program, ready_file)
                    try:
                        return await self._replay(process)
                    finally:
                        for session in self._sessions.values():
                            await session.close()
                        if process is not None:
                            await _stop_program(process)
        finally:
            await control.close()
            await app.stop()

    def _observe(self, record: TrafficRecord) -> None:
        program_input = convert_record(record, self._control.built_world)
        if program_input is not None and program_input.is_program:
            self._actions.append(program_input)
            self._changed.set()

    async def _replay(self, process: asyncio.subprocess.Process | None) -> ReplayReport:
        steps = split_steps(self._recording)
        differences_by_step: list[list[Difference]] = []
        problems: list[str | None] = []
        early_actions: list[RecordedInput] = []
        step_numbers_by_action_id: dict[int, int] = {}
        for step in steps:
            # The program may act before the first step is replayed, so the first step keeps the actions that have arrived.
            self._actions = [] if step.cause is not None else self._actions
            repetition = Repetition() if step.cause is None else await self._repeat(step.cause)
            await self._wait_for_program(step, early_actions, process)
            new_actions = sorted(self._actions, key=lambda action: action.sort_key)
            step_numbers_by_action_id |= dict.fromkeys((action.id for action in new_actions), step.number)
            # The replay waits longer after a step than people did, so an action may have arrived in an earlier step.
            counterparts, early_actions = take_counterparts(early_actions, step.actions, new_actions)
            differences, missing_actions, added_actions = match_actions(
                step.actions, [*counterparts, *new_actions], self._mapping
            )
            early_actions += added_actions
            differences += [Difference(kind="missing", action=describe(action)) for action in missing_actions]
            if step.cause is not None:
                differences += compare_audio(step.cause, repetition.response)
            differences_by_step.append(differences)
            problems.append(repetition.problem)
        for action in early_actions:
            difference = Difference(kind="added", action=describe(action))
            differences_by_step[step_numbers_by_action_id[action.id]].append(difference)
        results = [StepResult(*values) for values in zip(steps, differences_by_step, problems, strict=True)]
        action_count = sum(action.is_write for step in steps for action in step.actions)
        return ReplayReport(results, action_count)

    async def _wait_for_program(
        self, step: Step, early_actions: Iterable[RecordedInput], process: asyncio.subprocess.Process | None
    ) -> None:
        """Wait until the program has sent the recorded number of writes and is quiet, for a limited time.

        `early_actions` arrived in earlier steps and have no counterpart there. Raise RecordingError if the program ends at the
        start."""
        recorded_names = Counter(describe(action) for action in step.actions if action.is_write)
        early_names = Counter(describe(action) for action in early_actions)
        expected_write_count = (recorded_names - early_names).total()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (START_TIMEOUT_SECONDS if step.cause is None else self._wait_seconds)
        while True:
            self._changed.clear()
            is_complete = sum(
                action.is_write for action in self._actions
            ) >= expected_write_count and self._has_sessions(step)
            timeout_seconds = QUIET_SECONDS if is_complete else min(deadline - loop.time(), POLL_SECONDS)
            try:
                await asyncio.wait_for(self._changed.wait(), max(timeout_seconds, 0.001))
            except TimeoutError:
                if is_complete or loop.time() >= deadline:
                    return
            if process is not None and process.returncode is not None and step.cause is None:
                raise RecordingError(f"the program ended with code {process.returncode} before it connected")
            if loop.time() >= deadline:
                return

    def _has_sessions(self, step: Step) -> bool:
        """Return whether the bots that identified in a step have sessions; an Identify arrives before its session."""
        bot_names = {action.actor for action in step.actions if action.opcode_name == "IDENTIFY"}
        if not bot_names or self._app.gateway is None:
            return True
        connected_user_ids = {
            session.user_id for session in self._app.gateway.sessions if session.connection is not None
        }
        applications = self._control.built_world.applications
        bots = [applications[name].bot for name in bot_names if name in applications]
        return all(bot is None or int(bot.id) in connected_user_ids for bot in bots)

    async def _repeat(self, recorded_input: RecordedInput) -> Repetition:
        """Perform an input of people."""
        if recorded_input.now_ms > self._control.clock.now_ms():
            await self._control.clock.run_until(recorded_input.now_ms)
        if recorded_input.kind == "frame":
            return Repetition(await self._repeat_frame(recorded_input))
        headers = {PERSON_HEADER: "1"}
        if recorded_input.content_type:
            headers["Content-Type"] = recorded_input.content_type
        if recorded_input.kind == "control":
            headers["Authorization"] = f"Bearer {self._control.token}"
        elif recorded_input.actor:
            headers["Authorization"] = self._control.built_world.users[recorded_input.actor].token
        request_body = (
            recorded_input.body_bytes
            if recorded_input.encoding == "base64"
            else self._mapping.translate(recorded_input.body).encode()
        )
        url = f"{self._app.config.web_url}{self._mapping.translate(recorded_input.path)}"
        async with self._http.request(
            recorded_input.method, url, headers=headers, data=request_body or None, allow_redirects=False
        ) as response:
            response_text = (await response.read()).decode("utf-8", "replace")
        self._mapping.add_responses(recorded_input.response, response_text)
        problem = None
        if response.status != recorded_input.status:
            problem = f"the response was {recorded_input.status} in the recording and is {response.status} now"
        return Repetition(problem, response_text)

    async def _repeat_frame(self, recorded_input: RecordedInput) -> str | None:
        """Repeat a frame of a person's gateway client, for which Identify and Resume open a new session.

        Return why it failed, or None."""
        session = self._sessions.get(recorded_input.connection_number)
        if recorded_input.opcode_name in ("IDENTIFY", "RESUME"):
            if session is not None:
                await session.close()
            user = self._control.built_world.users.get(recorded_input.actor)
            if user is None:
                return "the user is not part of the world"
            gateway_url = f"ws{self._app.config.web_url.removeprefix('http')}/gateway"
            self._sessions[recorded_input.connection_number] = await ActorSession.open(
                self._http, gateway_url, recorded_input.actor, user.token, None
            )
        elif session is not None:
            await session.send(
                GatewayOpcode[recorded_input.opcode_name], decode_json(self._mapping.translate(recorded_input.body))
            )
            await session.wait_for_sent_events()
        return None


async def _start_program(program: str, ready_file: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, READY_FILE_VARIABLE: ready_file}
    try:
        return await asyncio.create_subprocess_exec(*shlex.split(program), env=environment, start_new_session=True)
    except (OSError, ValueError) as error:
        raise RecordingError(f"cannot start the program: {error}") from error


async def _stop_program(process: asyncio.subprocess.Process) -> None:
    """End the program and the processes that it started."""
    if process.returncode is not None:
        return
    for signal_number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal_number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), STOP_TIMEOUT_SECONDS)
            return


def format_report(report: ReplayReport, name: str) -> str:
    """Return a summary of the report and the steps with differences or problems as text."""
    difference_count = report.difference_count
    summary = (
        "no differences"
        if not difference_count
        else "1 difference"
        if difference_count == 1
        else f"{difference_count} differences"
    )
    lines = [
        f"Replay of {name}: {len(report.results) - 1} steps, {report.action_count} actions of the program, {summary}."
    ]
    for result in report.results:
        if not result.differences and result.problem is None:
            continue
        cause = result.step.cause
        lines.append("Start of the program" if cause is None else f"Step {result.step.number}: {describe(cause)}")
        if result.problem is not None:
            lines.append(f"  failed   {result.problem}")
        for difference in result.differences:
            lines.append(f"  {difference.kind:<8} {difference.action}")
            lines += [f"           {detail}" for detail in difference.details]
    return "\n".join(lines)
