"""A run of the fuzzer in several processes, each with a platform of its own."""

import logging
import multiprocessing
import signal
from concurrent.futures import ProcessPoolExecutor

import uvloop

from hubbub.server.commands.serve import tune_garbage_collection
from tests.fuzz.report import Report
from tests.fuzz.runner import Runner


def run_processes(process_count: int, seed: int, targets: list[str], request_count: int, seconds: float) -> Report:
    """Run the fuzzer in several processes, with an equal part of the inputs each, and return the common report."""
    report = Report()
    with ProcessPoolExecutor(process_count, mp_context=multiprocessing.get_context("spawn")) as pool:
        share = -(-request_count // process_count)
        futures = [pool.submit(_run, f"{seed}/{number}", targets, share, seconds) for number in range(process_count)]
        # Ctrl-C also reaches the processes, which end with a report.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for future in futures:
            report.merge(future.result())
    return report


def _run(seed: str, targets: list[str], request_count: int, seconds: float) -> Report:
    hide_logs()
    tune_garbage_collection()
    return uvloop.run(Runner(seed=seed, targets=targets, request_count=request_count, seconds=seconds).run())


def hide_logs() -> None:
    """Hide logs, except from the monitor, which adds them to the report."""
    logging.getLogger().addHandler(logging.NullHandler())
