"""Predict the utilization and latency of an installation from unit costs, and compare predictions with measurements.

python -m bench.simulation             print the tables of docs/scale.md
python -m bench.simulation --write     replace the tables in docs/scale.md
python -m bench.simulation --verify    measure this machine and compare it with the simulation; exit with 1 above 20 %

The unit costs come from bench/results/unit_costs.json, which `python -m bench.unit_costs` measures. Before a comparison, they are
scaled by the CPU time of an empty HTTP handler now and then, so that a slower or busier machine does not matter much.
"""

import argparse
import asyncio
import json
import math
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.capacity import (
    GIGABYTE,
    MEGABYTE,
    Costs,
    Limits,
    Needs,
    Workload,
    compute_largest_installation,
    compute_needs,
    find_exceeded_limits,
)
from bench.queueing import ServiceTime, Simulation, Station, compute_percentile

UNIT_COSTS_FILE: Final = Path(__file__).parent / "results" / "unit_costs.json"
SCALE_PAGE: Final = Path(__file__).parent.parent / "docs" / "scale.md"
CALLER_COUNT: Final = 64
BATCH_MAX: Final = 64
SIMULATED_MESSAGES: Final = 3_000
SESSION_COUNTS: Final = (10**4, 10**6, 10**8)
EXTENDED_LIMITS: Final = Limits(numbered_processes_max=1023, is_presence_partitioned=True)
"""Limits after two changes of the code: process numbers of ten bits, and presences only where a session receives them."""


class SingleMachine:
    """One process with SQLite, whose event loop serves all waiting requests in one batch and commits them together.

    The duration of a batch is that of a request alone, drawn from the measured distribution, and a smaller cost for each
    further request.
    """

    def __init__(self, document: dict[str, Any], speed: float = 1.0) -> None:
        costs = document["costs"]
        self._alone_seconds = [
            value * speed / 1e6 for value in document["distributions"]["sqlite_post_alone_latency_us"]
        ]
        alone_us, shared_us = costs["sqlite_post_alone_us"], costs["sqlite_post_us"]
        # While a batch is served, the responses of the previous one lead to new requests, so two batches alternate.
        batch_us = (alone_us - shared_us) / (1 - 2 / CALLER_COUNT)
        self._further_seconds = (alone_us - batch_us) * speed / 1e6
        self._batch_cpu_seconds = batch_us * speed / 1e6
        self._delivery_seconds = costs["delivery_us"] * speed / 1e6

    def simulate_maximum_rate(self, request_count: int = 4_000) -> float:
        """Return the messages per second of CPU time with 64 callers, each of which waits for its response."""
        simulation = Simulation()
        station = Station(simulation, batch_max=BATCH_MAX)
        remaining = request_count

        def send_next() -> None:
            nonlocal remaining
            if remaining:
                remaining -= 1
                station.submit(lambda count: self._batch_cpu_seconds + count * self._further_seconds, send_next)

        for _ in range(CALLER_COUNT):
            send_next()
        simulation.run()
        return request_count / station.busy_seconds

    def simulate_latencies(self, rate: float, request_count: int = 20_000) -> list[float]:
        """Return the durations of messages in seconds that arrive at random with a mean rate per second."""
        simulation = Simulation()
        station = Station(simulation, batch_max=BATCH_MAX)
        durations: list[float] = []

        def arrive() -> None:
            arrived_at = simulation.now_seconds
            station.submit(
                self._draw_duration(simulation), lambda: durations.append(simulation.now_seconds - arrived_at)
            )

        simulation.schedule_poisson_arrivals(rate, request_count, arrive)
        simulation.run()
        return durations

    def simulate_fanout(self, session_count: int, message_count: int = 500) -> list[float]:
        """Return the seconds from each message until the last session has its event, with one message at a time."""
        simulation = Simulation()
        station = Station(simulation)
        durations: list[float] = []

        def send() -> None:
            sent_at = simulation.now_seconds
            alone = self._draw_duration(simulation)
            station.submit(
                lambda count: alone(count) + session_count * self._delivery_seconds,
                lambda: durations.append(simulation.now_seconds - sent_at),
            )

        for number in range(message_count):
            simulation.schedule(number * 1.0, send)
        simulation.run()
        return durations

    def _draw_duration(self, simulation: Simulation) -> ServiceTime:
        alone_seconds = simulation.random.choice(self._alone_seconds)
        return lambda count: alone_seconds + (count - 1) * self._further_seconds


@dataclass(frozen=True)
class Prediction:
    """Result of a simulated installation: utilization by role, and percentiles in milliseconds."""

    utilization: dict[str, float]
    response_ms: tuple[float, float]
    """Median and 99th percentile of the response to a message."""
    delivery_ms: tuple[float, float]
    """Median and 99th percentile from the request until the last session has received the message."""


def simulate_installation(costs: Costs, needs: Needs, workload: Workload, database_count: int) -> Prediction:
    """Simulate the share of an installation that belongs to one database server.

    All processes of a role have the same load, so a share of them with the same share of the traffic behaves like all.
    Requests and events choose their process at random. Service times are exponential with the measured means, because
    operations differ more than the measured ones. Typing has the cost of a read in the database and of a message elsewhere.
    """
    simulation = Simulation()
    share = 1 / database_count
    gateway_count = max(round((needs.gateway_processes or 1) * share), 1)
    apis = [Station(simulation) for _ in range(max(round(needs.api_processes * share), 1))]
    gateways = [Station(simulation) for _ in range(gateway_count)]
    database = Station(simulation, max(math.ceil(needs.database_cores * share), 1))
    nats = Station(simulation, max(math.ceil(needs.nats_cores * share), 1))
    recipient_nodes = min(max(round(needs.recipient_nodes), 1), gateway_count)
    deliveries_us = workload.recipients / recipient_nodes * costs["delivery_us"]
    responses: list[float] = []
    arrivals: list[float] = []

    def draw(mean_us: float) -> ServiceTime:
        seconds = simulation.random.expovariate(1e6 / mean_us)
        return lambda _: seconds

    def request(api_us: float, database_us: float, complete: Callable[[], None]) -> None:
        """Use an API process, the database, and the API process again."""
        api = simulation.random.choice(apis)
        api.submit(
            draw(api_us / 2),
            lambda: database.submit(draw(database_us), lambda: api.submit(draw(api_us / 2), complete)),
        )

    def publish(sent_at: float, is_message: bool) -> None:
        remaining = recipient_nodes

        def receive() -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining and is_message:
                arrivals.append(simulation.now_seconds - sent_at)

        def forward() -> None:
            for gateway in simulation.random.sample(gateways, recipient_nodes):
                gateway.submit(draw(costs["node_event_gateway_us"] + deliveries_us), receive)

        nats.submit(draw(costs["node_post_nats_us"] * (1 + recipient_nodes) / 2), forward)

    def post(database_us: float, is_message: bool) -> None:
        sent_at = simulation.now_seconds

        def complete() -> None:
            if is_message:
                responses.append(simulation.now_seconds - sent_at)
            publish(sent_at, is_message)

        request(costs["node_post_api_us"], database_us, complete)

    def read() -> None:
        request(costs["postgres_get_us"], costs["postgres_get_database_us"], lambda: None)

    def read_for_connection() -> None:
        database.submit(draw(costs["postgres_connect_database_us"]), lambda: None)

    def handle_other_work() -> None:
        """Spend the time of a gateway process on presences, connections and heartbeats."""
        simulation.random.choice(gateways).submit(draw(other_us), lambda: None)

    message_rate = needs.messages_per_second * share
    duration_seconds = SIMULATED_MESSAGES / message_rate
    other_us, other_rate = compute_other_gateway_work(costs, needs, workload)
    for rate, arrive in (
        (message_rate, lambda: post(costs["node_post_database_us"], True)),
        (message_rate * workload.typing_per_message, lambda: post(costs["postgres_get_database_us"], False)),
        (message_rate * workload.reads_per_message, read),
        (needs.sessions * workload.connect_rate * share, read_for_connection),
        (other_rate * gateway_count, handle_other_work),
    ):
        simulation.schedule_poisson_arrivals(rate, max(round(rate * duration_seconds), 1), arrive)
    simulation.run()
    stations = {"api": apis, "gateway": gateways, "database": [database], "nats": [nats]}
    return Prediction(
        {
            role: statistics.mean(station.compute_utilization() for station in role_stations)
            for role, role_stations in stations.items()
        },
        *(
            (compute_percentile(values, 50) * 1000, compute_percentile(values, 99) * 1000)
            for values in (responses, arrivals)
        ),
    )


def compute_other_gateway_work(costs: Costs, needs: Needs, workload: Workload) -> tuple[float, float]:
    """Return the mean duration in microseconds, and the rate per gateway process, of work that is not an event of a channel.

    The work is cut into pieces of the delivery of one presence to its recipients."""
    gateways = needs.gateway_processes or 1
    own_sessions = needs.sessions / gateways
    presences = needs.sessions * workload.presence_rate
    used_us = (
        presences * needs.presence_nodes / gateways * costs["node_event_gateway_us"]
        + own_sessions * workload.presence_rate * workload.presence_recipients * costs["presence_delivery_us"]
        + own_sessions * workload.connect_rate * costs["postgres_connect_us"]
        + own_sessions * workload.heartbeat_rate * costs["heartbeat_us"]
    )
    piece_us = max(costs["node_event_gateway_us"], costs["postgres_connect_us"] / 4)
    return piece_us, used_us / piece_us


def format_rounded(value: float) -> str:
    """Return a number with two significant digits."""
    if value >= 10:
        digits = 10 ** (math.floor(math.log10(value)) - 1)
        return f"{round(value / digits) * digits:,}"
    return f"{value:.2g}"


def format_range(milliseconds: tuple[float, float]) -> str:
    """Return a median and a 99th percentile in milliseconds."""
    return " / ".join(format_rounded(value) for value in milliseconds)


def build_costs_table(document: dict[str, Any]) -> str:
    """Return the table of unit costs."""
    costs = document["costs"]
    lines = ["| Unit | Cost | Name in the file |", "|---|---|---|"]
    for name, label, unit in COST_ROWS:
        lines.append(f"| {label} | {format_rounded(costs[name])} {unit} | `{name}` |")
    lines.append("")
    lines.append(
        f"Measured on {document['date']}: {document['machine']}, {document['cores']} cores, Python {document['python']}, "
        f"load average {document['load_average'][0]:g} before and {document['load_average'][1]:g} after."
    )
    return "\n".join(lines)


def build_needs_table(costs: Costs, workload: Workload, limits: Limits, session_counts: tuple[int, ...]) -> str:
    """Return what installations need, with the simulated utilization and latency of those that are possible."""
    columns = [describe_installation(costs, sessions, workload, limits) for sessions in session_counts]
    lines = ["| Concurrent sessions | " + " | ".join(f"{sessions:,}" for sessions in session_counts) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    lines += [f"| {label} | " + " | ".join(column[label] for column in columns) + " |" for label in columns[0]]
    return "\n".join(lines)


def describe_installation(costs: Costs, sessions: int, workload: Workload, limits: Limits) -> dict[str, str]:
    """Return the cells of one installation, by label."""
    needs = compute_needs(costs, sessions, workload, limits)
    is_possible = needs.gateway_processes is not None
    database_count = math.ceil(needs.database_cores / limits.database_cores_max)
    cells = {
        "Messages per second": format_rounded(needs.messages_per_second),
        "Deliveries per second": format_rounded(needs.deliveries_per_second),
        "API processes": format_rounded(needs.api_processes),
        "Gateway processes": format_rounded(needs.gateway_processes or 0) if is_possible else "none suffice",
        "Memory of all gateway processes": f"{format_rounded(needs.gateway_memory_bytes / GIGABYTE)} GB"
        if is_possible
        else "",
        "Voice processes": format_rounded(needs.voice_processes),
        "Worker processes": format_rounded(needs.worker_processes),
        "PostgreSQL cores": format_rounded(needs.database_cores),
        f"PostgreSQL servers with {limits.database_cores_max} cores": str(database_count),
        "Write-ahead log per second": f"{format_rounded(needs.log_bytes_per_second / MEGABYTE)} MB",
        "NATS messages sent per second": format_rounded(needs.nats_messages_per_second) if is_possible else "",
        "NATS bytes sent per second": f"{format_rounded(needs.nats_bytes_per_second / MEGABYTE)} MB"
        if is_possible
        else "",
        "NATS cores": format_rounded(needs.nats_cores) if is_possible else "",
        "Bytes to clients per second, without voice": f"{format_rounded(needs.client_bytes_per_second / MEGABYTE)} MB",
        "Voice bytes per second": f"{format_rounded(needs.voice_bytes_per_second / MEGABYTE)} MB",
        "Limits exceeded": "; ".join(find_exceeded_limits(needs, limits)) or "none",
    }
    prediction = simulate_installation(costs, needs, workload, database_count) if is_possible else None
    for role, label in (("api", "API"), ("gateway", "gateway"), ("database", "PostgreSQL"), ("nats", "NATS")):
        cells[f"Simulated utilization, {label}"] = f"{prediction.utilization[role]:.0%}" if prediction else ""
    cells["Simulated response, p50 / p99 ms"] = format_range(prediction.response_ms) if prediction else ""
    cells["Simulated last delivery, p50 / p99 ms"] = format_range(prediction.delivery_ms) if prediction else ""
    return cells


def build_tables(document: dict[str, Any]) -> dict[str, str]:
    """Return the generated parts of docs/scale.md by name."""
    costs, workload = document["costs"], Workload()
    largest = compute_largest_installation(costs, workload, Limits())
    largest_extended = compute_largest_installation(costs, workload, EXTENDED_LIMITS)
    return {
        "costs": build_costs_table(document),
        "needs": build_needs_table(costs, workload, Limits(), SESSION_COUNTS),
        "largest": build_needs_table(costs, workload, Limits(), (largest,)),
        "extended": build_needs_table(
            costs, workload, EXTENDED_LIMITS, tuple(sorted((largest_extended, *SESSION_COUNTS[1:])))
        ),
    }


def replace_tables(text: str, tables: dict[str, str]) -> str:
    """Return the page with its generated parts replaced."""
    for name, table in tables.items():
        pattern = rf"(<!-- generated: {name} -->\n\n).*?(\n\n<!-- end -->)"
        text, count = re.subn(pattern, lambda match, table=table: match[1] + table + match[2], text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} parts with the name {name}")
    return text


COST_ROWS: Final = (
    ("sqlite_post_us", "POST message on SQLite, 64 callers: CPU", "us"),
    ("sqlite_post_alone_us", "The same with one caller", "us"),
    ("sqlite_get_us", "GET 50 messages on SQLite: CPU", "us"),
    ("sqlite_connect_us", "Connection until GUILD_CREATE on SQLite: CPU", "us"),
    ("postgres_post_us", "POST message on PostgreSQL: CPU of our process", "us"),
    ("postgres_post_database_us", "The same: CPU of PostgreSQL", "us"),
    ("postgres_get_us", "GET 50 messages on PostgreSQL: CPU of our process", "us"),
    ("postgres_get_database_us", "The same: CPU of PostgreSQL", "us"),
    ("postgres_connect_us", "Connection on PostgreSQL: CPU of our process", "us"),
    ("postgres_connect_database_us", "The same: CPU of PostgreSQL", "us"),
    ("node_post_api_us", "POST with a process per role: CPU of the API process", "us"),
    ("node_post_database_us", "The same: CPU of PostgreSQL", "us"),
    ("node_post_worker_us", "The same: CPU of the worker process (search index)", "us"),
    ("node_post_nats_us", "The same: CPU of NATS for one message in and one out", "us"),
    ("node_event_gateway_us", "The same: CPU of a gateway process with one session", "us"),
    ("node_delivery_us", "Each further session of that gateway process: CPU", "us"),
    ("nats_in_bytes_per_post", "Bytes to NATS per message", "B"),
    ("nats_out_bytes_per_post", "Bytes from NATS per message and gateway process", "B"),
    ("database_wal_bytes_per_post", "Write-ahead log per message", "B"),
    ("database_stored_bytes_per_post", "Growth of the database per message, with its indexes", "B"),
    ("delivery_us", "Delivery of a message to a session, one process: CPU", "us"),
    ("presence_delivery_us", "Delivery of a presence to a session: CPU", "us"),
    ("heartbeat_us", "Heartbeat: CPU", "us"),
    ("voice_packet_native_us", "Voice packet forwarded to a native client: CPU", "us"),
    ("voice_packet_browser_us", "Voice packet forwarded to a browser: CPU", "us"),
    ("session_bytes", "Idle session: memory", "B"),
    ("membership_bytes", "Each further guild of a session: memory", "B"),
    ("guild_bytes", "Guild on a gateway process: memory", "B"),
    ("post_request_bytes", "POST message: request", "B"),
    ("post_response_bytes", "POST message: response", "B"),
    ("get_response_bytes", "GET 50 messages: response", "B"),
    ("connect_bytes", "READY and one GUILD_CREATE", "B"),
    ("delivery_bytes", "Delivery of a message, not compressed", "B"),
    ("presence_delivery_bytes", "Delivery of a presence, compressed", "B"),
    ("voice_packet_bytes", "Voice packet with 100 bytes of sound, without IP and UDP headers", "B"),
    ("reference_us", "Empty aiohttp handler: CPU, the speed of the machine", "us"),
)
"""Name, label and unit of the costs in docs/scale.md."""


def load_document() -> dict[str, Any]:
    """Return the stored unit costs."""
    document: dict[str, Any] = json.loads(UNIT_COSTS_FILE.read_text())
    return document


def main() -> int:
    """Print, write or verify; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.simulation", description="Simulate installations.")
    parser.add_argument("--write", action="store_true", help="replace the tables in docs/scale.md")
    parser.add_argument("--verify", action="store_true", help="measure this machine and compare")
    arguments = parser.parse_args()
    document = load_document()
    if arguments.verify:
        from bench.verification import verify

        return asyncio.run(verify(document))
    tables = build_tables(document)
    if arguments.write:
        SCALE_PAGE.write_text(replace_tables(SCALE_PAGE.read_text(), tables))
    else:
        print("\n\n".join(tables.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
