"""Command line of the fuzzer: `python -m tests.fuzz --requests 100000 --seed 7 --parts http,gateway`."""

import argparse
import asyncio
import logging
import sys

from tests.fuzz.report import SEEDS
from tests.fuzz.runner import PARTS, Runner, write_report


def main() -> int:
    """Run the fuzzer; return 1 if it found a problem."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000, help="number of inputs after which the run ends")
    parser.add_argument("--seconds", type=float, default=3600, help="time after which the run ends")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random inputs")
    parser.add_argument("--parts", default=",".join(PARTS), help="interfaces to send inputs to")
    parser.add_argument("--no-seeds", action="store_true", help="do not store the inputs of problems as seeds")
    arguments = parser.parse_args()
    logging.getLogger().setLevel(logging.WARNING)
    logging.lastResort = None
    runner = Runner(
        seed=arguments.seed,
        parts=arguments.parts.split(","),
        requests=arguments.requests,
        seconds=arguments.seconds,
    )
    report = asyncio.run(runner.run())
    write_report(report, None if arguments.no_seeds else SEEDS)
    return int(bool(report.problems))


if __name__ == "__main__":
    sys.exit(main())
