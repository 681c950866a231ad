"""Command line of the fuzzer: `python -m tests.fuzz --requests 100000 --seed 7 --targets http,gateway`."""

import argparse
import json
import os
import sys
from pathlib import Path

import uvloop

from tests.fuzz.monitor import Monitor
from tests.fuzz.platform import run_platform
from tests.fuzz.processes import hide_logs, run_processes
from tests.fuzz.report import SEEDS, UNREACHABLE
from tests.fuzz.runner import TARGETS, replay


def main() -> int:
    """Run the fuzzer, or send stored inputs. Return 1 after a problem, or if a reachable operation never succeeded."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--requests",
        type=int,
        default=1_000_000,
        help="number of requests, frames and datagrams after which the run ends",
    )
    parser.add_argument("--seconds", type=float, default=3600, help="time after which the run ends")
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        help="processes, each with a platform (default: one per core)",
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the random inputs")
    parser.add_argument("--targets", default=",".join(TARGETS), help="interfaces to send inputs to")
    parser.add_argument("--store-seeds", action="store_true", help="store the inputs of problems in tests/fuzz/seeds")
    parser.add_argument("--replay", nargs="*", type=Path, metavar="FILE", help="send stored inputs (default: all)")
    arguments = parser.parse_args()
    hide_logs()
    if arguments.replay is not None:
        return uvloop.run(_replay(arguments.replay or sorted(SEEDS.glob("*.json"))))
    targets = arguments.targets.split(",")
    report = run_processes(arguments.processes, arguments.seed, targets, arguments.requests, arguments.seconds)
    report.print_summary()
    if arguments.store_seeds:
        for file in report.store_seeds(SEEDS):
            print(f"stored {file}")
    missed_operations = (
        report.operations - report.succeeded_operations - UNREACHABLE.keys() if "http" in targets else set()
    )
    return int(bool(report.problems or missed_operations))


async def _replay(files: list[Path]) -> int:
    """Send stored inputs to one platform and print the problems that they still cause."""
    monitor = Monitor()
    monitor.start()
    failure_count = 0
    async with run_platform() as platform:
        for file in files:
            problems = await replay(platform, json.loads(file.read_text()), monitor)
            failure_count += bool(problems)
            for problem in problems:
                print(f"{file.name}: {problem}")
    await monitor.stop()
    print(f"{len(files)} inputs sent, {failure_count} with problems")
    return int(bool(failure_count))


if __name__ == "__main__":
    sys.exit(main())
