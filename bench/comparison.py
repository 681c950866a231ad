"""Compare the CPU cost of this checkout with an older commit, in one run.

python -m bench.comparison COMMIT [MEASUREMENT ...] [--rounds N] [--limit PERCENT] [--instructions]

`python -m bench release` compares with the previous release. The wheel of a release has the same Python files as its tag.

Both versions use the installed libraries and run side by side. Each round measures both of them, one directly after the
other, so that a slow machine affects both. The ratio is the median over all rounds. The exit status is 1 if a cost grew by
more than the limit.

With `--instructions`, the cost is the number of instructions that the server executes in valgrind. It hardly depends on the
load of the machine: repeated counts differ by less than 2 %. A measurement takes one to five minutes.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench.__main__ import connect, measure_delivery, measure_request_cost, message_request_factory, messages_path
from bench.history import find_previous_release
from bench.interactions import BATCH_SIZE, start_interaction_load
from bench.load import CHECKOUT, InstructionSubject, Subject, checkout_environment, encode_request

DEFAULT_ROUNDS = 7
DEFAULT_LIMIT_PERCENT = 10.0
SESSION_COUNT = 200
"""Sessions that receive a message, and sessions that connect in a round."""
INTERACTION_COUNT = 600
SLOW_BATCH_SIZE = 4
"""Interactions of a batch if the process is slow."""

Measurement = Callable[[], Awaitable[float]]
"""Returns the CPU time of one unit of work, in microseconds."""


async def prepare_post(subject: Subject) -> Measurement:
    """Prepare creating messages."""
    return lambda: measure_request_cost(subject, message_request_factory(subject), 2_000 // subject.work_divisor)


async def prepare_get(subject: Subject) -> Measurement:
    """Prepare reading 50 messages."""
    await measure_request_cost(subject, message_request_factory(subject), 100)
    request = encode_request("GET", messages_path(subject) + "?limit=50", subject.connection_info["user_token"])
    return lambda: measure_request_cost(subject, lambda _: request, 1_500 // subject.work_divisor)


async def prepare_delivery(subject: Subject) -> Measurement:
    """Prepare the delivery of messages to many sessions."""
    sessions = await connect(subject, SESSION_COUNT // min(subject.work_divisor, 4))

    async def measure() -> float:
        cost, _ = await measure_delivery(subject, sessions, 50 // min(subject.work_divisor, 2))
        return cost

    return measure


async def prepare_interaction(subject: Subject) -> Measurement:
    """Prepare interactions with their callbacks."""
    load = await start_interaction_load(subject)
    count = INTERACTION_COUNT // subject.work_divisor
    batch_size = BATCH_SIZE if subject.work_divisor == 1 else SLOW_BATCH_SIZE

    async def measure() -> float:
        cpu_before = subject.cpu_seconds()
        await load.run(count, batch_size)
        return (subject.cpu_seconds() - cpu_before) / count * 1e6

    return measure


async def prepare_ready(subject: Subject) -> Measurement:
    """Prepare sessions that connect and receive READY and GUILD_CREATE."""
    session_count = SESSION_COUNT // min(subject.work_divisor, 4)

    async def measure() -> float:
        cpu_before = subject.cpu_seconds()
        connections = await connect(subject, session_count)
        cost = (subject.cpu_seconds() - cpu_before) / session_count * 1e6
        for connection in connections:
            connection.send_close()
        await asyncio.sleep(0.5)
        for connection in connections:
            connection.transport.close()
        return cost

    return measure


SERVER_MEASUREMENTS = {
    "post": prepare_post,
    "get": prepare_get,
    "delivery": prepare_delivery,
    "interaction": prepare_interaction,
    "ready": prepare_ready,
}
IMPORT_MEASUREMENT = "import"
"""The import of the SDK, which needs no server."""
ALL_MEASUREMENTS = (*SERVER_MEASUREMENTS, IMPORT_MEASUREMENT)


def measure_import(checkout: Path, bytecode_folder: str) -> float:
    """Return the CPU time of `import hubbub.sdk`, in microseconds."""
    program = "import time; before = time.process_time(); import hubbub.sdk; print(time.process_time() - before)"
    environment = checkout_environment(checkout) | {"PYTHONPYCACHEPREFIX": bytecode_folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-P", "-c", program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout) * 1e6


async def compare(
    name: str, old_checkout: Path, rounds: int, *, counts_instructions: bool = False
) -> tuple[list[float], list[float]]:
    """Return the costs of the old and of this version, one per round; the import of the SDK is always measured in CPU time."""
    old_costs: list[float] = []
    new_costs: list[float] = []
    if name == IMPORT_MEASUREMENT:
        with tempfile.TemporaryDirectory() as folder:
            for round_number in range(rounds * 2 + 1):
                old_cost = measure_import(old_checkout, folder)
                new_cost = measure_import(CHECKOUT, folder)
                # The first round compiles the modules.
                if round_number:
                    old_costs.append(old_cost)
                    new_costs.append(new_cost)
        return old_costs, new_costs
    with (
        tempfile.TemporaryDirectory() as old_folder,
        tempfile.TemporaryDirectory() as new_folder,
        tempfile.TemporaryDirectory() as output_folder,
        start_subject(old_folder, old_checkout, output_folder if counts_instructions else None) as old_subject,
        start_subject(new_folder, CHECKOUT, output_folder if counts_instructions else None) as new_subject,
    ):
        prepare = SERVER_MEASUREMENTS[name]
        measure_old, measure_new = await prepare(old_subject), await prepare(new_subject)
        # The first round fills caches.
        await measure_old()
        await measure_new()
        for _ in range(rounds):
            old_costs.append(await measure_old())
            new_costs.append(await measure_new())
    return old_costs, new_costs


def start_subject(folder: str, checkout: Path, output_folder: str | None) -> Subject:
    """Start a server; it counts instructions if there is a folder for the output of valgrind."""
    if output_folder is None:
        return Subject("hubbub", folder, checkout=checkout)
    return InstructionSubject("hubbub", folder, checkout=checkout, output_folder=output_folder)


async def run_release_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Compare this checkout with the previous release; skip it with a message if there is none."""
    release = find_previous_release()
    if release is None:
        print("skip release: git has no tag of a previous release", flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        old_checkout = Path(folder) / "old"
        extract_commit(release, old_checkout)
        for name in ALL_MEASUREMENTS:
            old_costs, new_costs = await compare(name, old_checkout, 2 if is_quick else DEFAULT_ROUNDS)
            record_figure(
                f"{name} / {release}, CPU",
                compute_ratio(old_costs, new_costs),
                1 + DEFAULT_LIMIT_PERCENT / 100,
                "x",
                f"{statistics.median(new_costs):.0f} us against {statistics.median(old_costs):.0f} us",
            )


def compute_ratio(old_costs: list[float], new_costs: list[float]) -> float:
    """Return the median ratio of the costs of a round."""
    return statistics.median(new / old for new, old in zip(new_costs, old_costs, strict=True))


async def main() -> int:
    """Compare the versions and print the ratios; return 1 if a cost grew by more than the limit."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.comparison", description="Compare CPU cost with an older commit."
    )
    parser.add_argument("commit", help="commit or tag to compare with")
    parser.add_argument("measurements", nargs="*", choices=[[], *ALL_MEASUREMENTS], help="all by default")
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS, help="rounds per measurement")
    parser.add_argument("--limit", type=float, default=DEFAULT_LIMIT_PERCENT, help="permitted growth in percent")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions with valgrind, for a busy machine"
    )
    arguments = parser.parse_args()
    unit = "instructions" if arguments.instructions else "us"
    has_regression = False
    with tempfile.TemporaryDirectory() as folder:
        old_checkout = Path(folder) / "old"
        extract_commit(arguments.commit, old_checkout)
        for name in arguments.measurements or ALL_MEASUREMENTS:
            old_costs, new_costs = await compare(
                name, old_checkout, arguments.rounds, counts_instructions=arguments.instructions
            )
            ratio = compute_ratio(old_costs, new_costs)
            is_within_limit = ratio <= 1 + arguments.limit / 100
            has_regression |= not is_within_limit
            print(
                f"{'ok  ' if is_within_limit else 'OVER'} {name}: {ratio:.3f} x  "
                f"{statistics.median(new_costs):.1f} {unit} against {statistics.median(old_costs):.1f} of {arguments.commit}",
                flush=True,
            )
    return int(has_regression)


def extract_commit(commit: str, folder: Path) -> None:
    """Write the files of a commit into a new folder."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=CHECKOUT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
