"""Comparison of the simulation with measurements of one process with SQLite on this machine."""

import os
import statistics
import tempfile
from typing import Any, Final

from bench.__main__ import connect, message_request_factory
from bench.latency import find_memory_folder, measure_fanout, measure_latencies, raise_priority
from bench.load import Subject, send_requests
from bench.queueing import compute_percentile
from bench.simulation import CALLER_COUNT, SingleMachine
from bench.unit_costs import measure_reference

SESSION_COUNT: Final = 1_000
REQUEST_COUNT: Final = 4_000
MESSAGE_COUNT: Final = 40
DEVIATION_MAX: Final = 0.20
"""Largest permitted relative difference between a prediction and a measurement."""


class Comparison:
    """Pairs of measured and predicted values."""

    def __init__(self) -> None:
        self.deviations: dict[str, float] = {}

    def add(self, name: str, measured: float, predicted_seconds: float, unit: str) -> None:
        """Store and print a pair."""
        deviation = self.deviations[name] = predicted_seconds / measured - 1
        state = "ok  " if abs(deviation) <= DEVIATION_MAX else "OVER"
        print(
            f"{state} {name}: measured {measured:.2f} {unit}, simulated {predicted_seconds:.2f} {unit}, {deviation:+.0%}",
            flush=True,
        )


async def verify(document: dict[str, Any]) -> int:
    """Measure, simulate and compare; return 1 if a difference is too large."""
    comparison = Comparison()
    reference_us = await measure_reference()
    with tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder, Subject("hubbub", folder) as subject:
        make_post = message_request_factory(subject)
        requests = [make_post(number) for number in range(REQUEST_COUNT)]
        await send_requests(subject.connection_info["url"], requests[:500], CALLER_COUNT)
        cpu_before = subject.cpu_seconds()
        with raise_priority(os.getpid(), subject.process.pid):
            await send_requests(subject.connection_info["url"], requests, CALLER_COUNT)
        maximum_rate = REQUEST_COUNT / (subject.cpu_seconds() - cpu_before)
        latencies = {share: await measure_latencies(subject, requests, share * maximum_rate) for share in (0.5, 0.8)}
        sessions = await connect(subject, SESSION_COUNT)
        await measure_fanout(subject, sessions, requests[:5])
        fanout = await measure_fanout(subject, sessions, requests[:MESSAGE_COUNT])
    # The speed is measured before and after, because it changes while other programs run.
    reference_us = statistics.mean((reference_us, await measure_reference()))
    speed = reference_us / document["costs"]["reference_us"]
    print(f"empty handler: {reference_us:.0f} us, {speed:.2f} times the stored cost")
    machine = SingleMachine(document, speed)
    simulated_rate = machine.simulate_maximum_rate()
    comparison.add("maximum rate per second of CPU time", maximum_rate, simulated_rate, "/s")
    for share, durations in latencies.items():
        predicted_seconds = machine.simulate_latencies(share * simulated_rate)
        for percent in (50, 99):
            comparison.add(
                f"response at {share:.0%} of the maximum, p{percent}",
                compute_percentile(durations, percent) * 1000,
                compute_percentile(predicted_seconds, percent) * 1000,
                "ms",
            )
    comparison.add(
        f"last of {SESSION_COUNT:,} deliveries, p50",
        compute_percentile(fanout, 50) * 1000,
        compute_percentile(machine.simulate_fanout(SESSION_COUNT), 50) * 1000,
        "ms",
    )
    return 0 if all(abs(deviation) <= DEVIATION_MAX for deviation in comparison.deviations.values()) else 1
