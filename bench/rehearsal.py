"""The cost of the pytest plugin: the first test, each further test with its own platform, and a slash command.

The tests run in a pytest process, as those of a bot would. Their CPU time is that of the process and of its server."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.load import CHECKOUT, checkout_environment

TEST_COUNT = 50
COMMAND_COUNT = 100
FIRST_TEST_SERVER_MS_MAX = 1000.0
"""Maximum CPU time of the server until the first test is done; the test process works at the same time on another core."""
FIRST_TEST_CLOCK_MS_TARGET = 1000.0
FURTHER_TEST_MS_MAX = 15.0
COMMAND_MS_MAX = 20.0

_SINGLE_TEST = "def test_single({fixture}):\n    pass\n"
"""A file with one test, with or without a platform."""

_TESTS = """
import json, os, time
import discord, psutil, pytest
from discord import app_commands

marks = {}


def mark(name):
    servers = [child.cpu_times() for child in psutil.Process().children()]
    marks[name] = [time.process_time(), sum(times.user + times.system for times in servers), time.perf_counter()]


class Bot(discord.Client):
    def __init__(self):
        super().__init__(intents=discord.Intents.default())
        self.tree = app_commands.CommandTree(self)

        @self.tree.command(description="Respond with pong")
        async def ping(interaction):
            await interaction.response.send_message("pong")

    async def setup_hook(self):
        await self.tree.sync()


def test_start():
    mark("start")


def test_first(hubbub):
    pass


def test_first_is_done():
    mark("first")


@pytest.mark.parametrize("number", range(TEST_COUNT))
def test_further(hubbub, number):
    pass


def test_further_are_done():
    mark("further")


@pytest.mark.parametrize("number", range(TEST_COUNT))
def test_without_platform(number):
    pass


def test_without_platform_are_done():
    mark("without")


async def test_commands(hubbub):
    alice = hubbub.users["alice"]
    async with hubbub.start(Bot()):
        for number in range(COMMAND_COUNT + 5):
            if number == 5:
                mark("before_commands")
            assert (await alice.run("general", "ping"))["content"] == "pong"
        mark("commands")


def test_write():
    with open(os.environ["BENCH_MARKS"], "w") as file:
        json.dump(marks, file)
"""


async def run_rehearsal_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Run the tests several times, and record the smallest CPU times and the smallest times by the clock."""
    with tempfile.TemporaryDirectory() as folder:
        runs = [_run_tests(Path(folder)) for _ in range(2 if is_quick else 5)]
        single_tests_ms = [_time_single_test(Path(folder)) for _ in runs]
    first_test_costs, further_test_costs, command_costs = ([run[number] for run in runs] for number in range(3))
    test_ms, server_ms, _ = min(first_test_costs, key=lambda cost: cost[1])
    detail = f"and {test_ms:.0f} ms of the test process"
    record_figure("first test of a run, CPU of the server", server_ms, FIRST_TEST_SERVER_MS_MAX, "ms", detail)
    for name, costs, limit in (
        ("further test with its own platform, CPU of server and test process", further_test_costs, FURTHER_TEST_MS_MAX),
        ("slash command of a discord.py bot, CPU of server and test process", command_costs, COMMAND_MS_MAX),
    ):
        test_ms, server_ms, _ = min(costs, key=lambda cost: cost[0] + cost[1])
        record_figure(name, test_ms + server_ms, limit, "ms", f"{server_ms:.1f} + {test_ms:.1f} ms")
    for name, costs, target in (
        ("first test of a run", first_test_costs, FIRST_TEST_CLOCK_MS_TARGET),
        ("further test with its own platform", further_test_costs, FURTHER_TEST_MS_MAX),
        ("slash command of a discord.py bot", command_costs, COMMAND_MS_MAX),
    ):
        clock_ms = min(cost[2] for cost in costs)
        # No limit: other programs on the machine extend this time, and a run on a busy machine must not fail for them.
        detail = f"{clock_ms:.1f} ms / {target:.0f} ms; only a quiet machine shows the cost of the plugin"
        record_figure(f"{name}, by the clock / target", clock_ms / target, None, "x", detail)
    clock_ms = min(single_tests_ms)
    detail = f"{clock_ms:.1f} ms / {FIRST_TEST_CLOCK_MS_TARGET:.0f} ms longer than a run without a platform"
    record_figure(
        "run of one test that imports nothing, by the clock / target",
        clock_ms / FIRST_TEST_CLOCK_MS_TARGET,
        None,
        "x",
        detail,
    )


def _time_single_test(folder: Path) -> float:
    """Return by how many milliseconds a run of one test takes longer if the test uses a platform."""
    durations_ms = []
    for fixture in ("", "hubbub"):
        (folder / "test_single.py").write_text(_SINGLE_TEST.format(fixture=fixture))
        started_at = time.perf_counter()
        _run_pytest(folder, "test_single.py")
        durations_ms.append((time.perf_counter() - started_at) * 1000)
    baseline_ms, platform_ms = durations_ms
    return platform_ms - baseline_ms


def _run_pytest(folder: Path, file_name: str, **variables: str) -> None:
    """Run a test file. Raise RuntimeError if a test fails."""
    environment = checkout_environment(CHECKOUT) | variables
    # Both processes use compiled bytecode, which some build machines disable.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", file_name]
    completed = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if completed.returncode:
        raise RuntimeError(f"the tests failed:\n{completed.stdout[-4000:]}{completed.stderr[-2000:]}")


def _run_tests(folder: Path) -> tuple[list[float], list[float], list[float]]:
    """Return the cost of the first test, of each further test and of a command.

    A cost is the CPU time of the test process, that of the server and the time by the clock, in milliseconds."""
    (folder / "test_bot.py").write_text(
        _TESTS.replace("TEST_COUNT", str(TEST_COUNT)).replace("COMMAND_COUNT", str(COMMAND_COUNT))
    )
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    marks_file = folder / "marks.json"
    _run_pytest(folder, "test_bot.py", BENCH_MARKS=str(marks_file))
    marks: dict[str, list[float]] = json.loads(marks_file.read_text())

    def cost(before: str, after: str, count: int) -> list[float]:
        return [(end - start) * 1000 / count for start, end in zip(marks[before], marks[after], strict=True)]

    further_cost = cost("first", "further", TEST_COUNT)
    # Subtract the cost of pytest itself, because only the plugin is measured.
    plain_test_cost = cost("further", "without", TEST_COUNT)
    further_cost = [total - pytest_cost for total, pytest_cost in zip(further_cost, plain_test_cost, strict=True)]
    first_cost = cost("start", "first", 1)
    # The server was started before the import of the file.
    first_cost[1] = marks["first"][1] * 1000
    return first_cost, further_cost, cost("before_commands", "commands", COMMAND_COUNT)
