"""The cost of requests on PostgreSQL, against the same requests on SQLite in the same run.

The CPU time of PostgreSQL is that of the processes that serve the connections of the server under test.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable

from bench.load import Subject, encode_request, send_requests
from bench.search import EmbeddedStore, PostgresStore, Store

CONNECTION_COUNT = 64
ROUND_COUNT = 5
CPU_RATIO_LIMITS = {"POST message": 2.0, "GET 50 messages": 2.0, "GET @me": 1.5}
"""Maximum CPU time of the server on PostgreSQL, as a multiple of that on SQLite, by request."""
POST_ROUND_TRIPS_MAX = 2


async def run_postgres_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure each request on both stores, alternating, so that a slowdown of the machine affects both."""
    count = 1_000 if is_quick else 4_000
    with (
        PostgresStore() as postgres,
        tempfile.TemporaryDirectory() as embedded_folder,
        tempfile.TemporaryDirectory() as postgres_folder,
        Subject("hubbub", *EmbeddedStore().arguments(embedded_folder)) as embedded_subject,
        Subject("hubbub", *postgres.arguments(postgres_folder)) as postgres_subject,
    ):
        setups: list[tuple[Store, Subject, str]] = [
            (EmbeddedStore(), embedded_subject, embedded_folder),
            (postgres, postgres_subject, postgres_folder),
        ]
        for name, limit in CPU_RATIO_LIMITS.items():
            for _, subject, _ in setups:
                await send_requests(subject.connection_info["url"], _requests(name, subject, 500), CONNECTION_COUNT)
            rounds: dict[str, list[_Cost]] = {store.name: [] for store, _, _ in setups}
            for _ in range(ROUND_COUNT):
                for store, subject, folder in setups:
                    rounds[store.name].append(await _measure(name, store, subject, folder, count))
            embedded_cost, postgres_cost = (_median(costs) for costs in rounds.values())
            # Both stores of a round are measured shortly after one another, so their ratio varies less than the costs.
            ratios = [
                postgres_cost_of_round.server_us / sqlite_cost.server_us
                for sqlite_cost, postgres_cost_of_round in zip(*rounds.values(), strict=True)
            ]
            record_figure(
                f"PostgreSQL: {name} / SQLite, CPU",
                statistics.median(ratios),
                limit,
                "x",
                f"{postgres_cost.server_us:.0f} us + PostgreSQL {postgres_cost.database_us:.0f} us, "
                f"{postgres_cost.per_second:.0f}/s against {embedded_cost.server_us:.0f} us, "
                f"{embedded_cost.per_second:.0f}/s",
            )
            if name == "POST message":
                record_figure(
                    "PostgreSQL: round trips of POST message",
                    round(postgres_cost.round_trip_count),
                    POST_ROUND_TRIPS_MAX,
                    "",
                )


class _Cost:
    """The cost of a request: CPU time in microseconds, round trips, and the rate at which it was measured."""

    def __init__(self, server_us: float, database_us: float, round_trip_count: float, per_second: float) -> None:
        self.server_us = server_us
        self.database_us = database_us
        self.round_trip_count = round_trip_count
        self.per_second = per_second


def _median(costs: list[_Cost]) -> _Cost:
    return _Cost(
        statistics.median(cost.server_us for cost in costs),
        statistics.median(cost.database_us for cost in costs),
        statistics.median(cost.round_trip_count for cost in costs),
        statistics.median(cost.per_second for cost in costs),
    )


def _requests(name: str, subject: Subject, count: int) -> list[bytes]:
    token = subject.connection_info["user_token"]
    path = f"/api/v10/channels/{subject.connection_info['channel']}/messages"
    if name == "POST message":
        return [
            encode_request("POST", path, token, {"content": f"message number {number} says hello"})
            for number in range(count)
        ]
    return [encode_request("GET", "/api/v10/users/@me" if name == "GET @me" else f"{path}?limit=50", token)] * count


async def _measure(name: str, store: Store, subject: Subject, folder: str, count: int) -> _Cost:
    # Wait for background work of earlier requests, such as indexing, which is not measured.
    await asyncio.sleep(0.5)
    requests = _requests(name, subject, count)
    server_seconds_before, database_seconds_before, round_trips_before = (
        subject.cpu_seconds(),
        store.cpu_seconds(folder),
        subject.round_trip_count(),
    )
    started_at = time.monotonic()
    await send_requests(subject.connection_info["url"], requests, CONNECTION_COUNT)
    duration_seconds = time.monotonic() - started_at
    return _Cost(
        (subject.cpu_seconds() - server_seconds_before) / count * 1e6,
        (store.cpu_seconds(folder) - database_seconds_before) / count * 1e6,
        (subject.round_trip_count() - round_trips_before) / count,
        count / duration_seconds,
    )
