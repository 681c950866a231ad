"""Cost against sessions, stored messages, members and processes, with the plots that docs/performance.md shows.

python -m bench curves [--quick]

The measured points are stored in bench/results/curves.json. The plots are drawn from this file, so that
`python -m bench.plots` can draw them again without measuring.
"""

import asyncio
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import aiohttp

from bench.__main__ import (
    close,
    connect,
    insert_old_messages,
    measure_delivery,
    measure_plain_writes,
    measure_request_cost,
    message_request_factory,
    messages_path,
)
from bench.history import read_machine_type
from bench.load import Subject, encode_request, send_requests
from bench.search import PostgresStore
from bench.unit_costs import process_cpu_reader
from tests.fixtures.nats import NatsServer
from tests.journeys.processes import Server, create_guild, register_user

CURVES_FILE: Final = Path(__file__).parent / "results" / "curves.json"
SESSION_COUNTS: Final = (100, 300, 1_000, 3_000)
MESSAGE_COUNTS: Final = (1_000, 10_000, 100_000, 1_000_000)
MEMBER_COUNTS: Final = (10, 100, 1_000, 5_000)
PROCESS_COUNTS: Final = (1, 2, 4)
QUICK_POINTS: Final = 2
"""Number of points of each curve in a quick run."""
GROWTH_MAX: Final = 1.25
"""Maximum cost at the last point of a curve, as a multiple of that at the first one."""

Curve = list[tuple[int, float]]
"""Points of a curve: the size, and the CPU time in microseconds."""


async def run_curves_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure all curves; store them and draw the plots, unless the run is quick."""
    curves: dict[str, dict[str, Curve]] = {}
    load_before = os.getloadavg()[0]
    for name, measure, sizes in (
        ("sessions", measure_sessions, SESSION_COUNTS),
        ("messages", measure_messages, MESSAGE_COUNTS),
        ("members", measure_members, MEMBER_COUNTS),
        ("processes", measure_processes, PROCESS_COUNTS),
    ):
        curves[name] = await measure(sizes[:QUICK_POINTS] if is_quick else sizes)
        for series, points in curves[name].items():
            costs = ", ".join(f"{cost:.1f} us at {size:,}" for size, cost in points)
            # Curves over sessions and processes have no limit: a bare write is only a reference, and with few sessions each
            # delivery carries a larger share of the cost of its POST.
            is_limited = name in ("messages", "members")
            record_figure(
                f"{series}: last / first number of {name}, CPU",
                points[-1][1] / points[0][1],
                GROWTH_MAX if is_limited else None,
                "x",
                costs,
            )
    if not is_quick:
        document = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": read_machine_type(),
            "load_average": [round(load_before, 1), round(os.getloadavg()[0], 1)],
            "curves": curves,
        }
        CURVES_FILE.write_text(json.dumps(document, indent=1) + "\n")
        # The import is local, because `bench.plots` imports this module.
        from bench.plots import draw_plots

        draw_plots()


async def measure_sessions(session_counts: tuple[int, ...]) -> dict[str, Curve]:
    """Measure a delivery, and a bare write of a frame as its reference."""
    delivery_costs: Curve = []
    write_costs: Curve = []
    for session_count in session_counts:
        message_count = max(10, 20_000 // session_count)
        with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
            connections = await connect(subject, session_count)
            delivery_cost, _ = await measure_delivery(subject, connections, message_count)
            await asyncio.gather(*(close(connection) for connection in connections))
        delivery_costs.append((session_count, delivery_cost))
        write_costs.append((session_count, await measure_plain_writes(session_count, message_count)))
    return {"delivery": delivery_costs, "bare transport.write": write_costs}


async def measure_messages(message_counts: tuple[int, ...]) -> dict[str, Curve]:
    """Measure POST and GET in a channel with stored messages."""
    post_costs: Curve = []
    get_costs: Curve = []
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            world = subject.connection_info
        stored_count = 0
        for message_count in message_counts:
            channel_id, user_id = int(world["channel"]), int(world["user_id"])
            insert_old_messages(
                Path(folder) / "hubbub.sqlite3",
                channel_id,
                user_id,
                message_count - stored_count,
                stored_count=stored_count,
            )
            stored_count = message_count
            with Subject("hubbub-again", folder) as subject:
                subject.connection_info = world | subject.connection_info
                post_costs.append((message_count, await measure_post(subject)))
                request = encode_request("GET", messages_path(subject) + "?limit=50", world["user_token"])
                get_cost = await measure_median(subject, lambda _, request=request: request, 1_000)
                get_costs.append((message_count, get_cost))
    return {"POST message": post_costs, "GET 50 messages": get_costs}


async def measure_members(member_counts: tuple[int, ...]) -> dict[str, Curve]:
    """Measure POST and the start of a session in a guild with members."""
    post_costs: Curve = []
    ready_costs: Curve = []
    for member_count in member_counts:
        with tempfile.TemporaryDirectory() as folder:
            with Subject("hubbub", folder) as subject:
                world = subject.connection_info
            with Subject("hubbub-members", folder, world["guild"], str(member_count)) as subject:
                subject.connection_info = world | subject.connection_info
                post_costs.append((member_count, await measure_post(subject)))
                connections = await connect(subject, 20)
                cpu_before = subject.cpu_seconds()
                connections += await connect(subject, 200)
                ready_costs.append((member_count, (subject.cpu_seconds() - cpu_before) / 200 * 1e6))
                await asyncio.gather(*(close(connection) for connection in connections))
    return {"POST message": post_costs, "connection until GUILD_CREATE": ready_costs}


async def measure_processes(process_counts: tuple[int, ...]) -> dict[str, Curve]:
    """Measure POST on PostgreSQL, over all API processes and with the processes of PostgreSQL."""
    api_costs: Curve = []
    total_costs: Curve = []
    for process_count in process_counts:
        with PostgresStore() as postgres:
            api_cost, database_cost = await _measure_api_processes(postgres, process_count)
        api_costs.append((process_count, api_cost))
        total_costs.append((process_count, api_cost + database_cost))
    return {"POST message, API processes": api_costs, "POST message, with PostgreSQL": total_costs}


async def _measure_api_processes(postgres: PostgresStore, process_count: int) -> tuple[float, float]:
    """Return the CPU time of a POST in microseconds: of all API processes, and of PostgreSQL."""
    folder = Path(tempfile.mkdtemp(prefix="hubbub-bench-"))
    nats = NatsServer(folder)
    nats.start()
    _, database_url = postgres.arguments(str(folder))
    flags = ["--database-url", database_url, "--nats-url", nats.url, "--rate-limits", "off", "--data", str(folder)]
    roles = ["worker", *["api"] * process_count]
    servers = [
        Server(folder, "serve", "--roles", role, "--worker", str(number), *flags) for number, role in enumerate(roles)
    ]
    try:
        await asyncio.gather(*(server.start() for server in servers))
        api_servers = servers[1:]
        async with aiohttp.ClientSession() as client:
            user = await register_user(client, api_servers[0], "bench")
            _, channel_id, _ = await create_guild(user)
        readers = [process_cpu_reader(server.pid) for server in api_servers]

        async def post_messages(count: int) -> None:
            path = f"/api/v10/channels/{channel_id}/messages"
            requests = [encode_request("POST", path, user.token, {"content": f"message {n}"}) for n in range(count)]
            await asyncio.gather(
                *(
                    send_requests(server.url, requests[number::process_count], 64 // process_count)
                    for number, server in enumerate(api_servers)
                )
            )

        await post_messages(600)
        count = 3_000
        api_before, database_before = sum(read() for read in readers), postgres.cpu_seconds(str(folder))
        await post_messages(count)
        api_seconds = sum(read() for read in readers) - api_before
        database_seconds = postgres.cpu_seconds(str(folder)) - database_before
        return api_seconds / count * 1e6, database_seconds / count * 1e6
    finally:
        for server in servers:
            server.stop()
        nats.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def measure_post(subject: Subject) -> float:
    """Return the CPU time of a POST of a message in microseconds."""
    return await measure_median(subject, message_request_factory(subject), 2_000)


async def measure_median(subject: Subject, make_request: Callable[[int], bytes], count: int) -> float:
    """Return the median CPU time of a request over three rounds, in microseconds."""
    return statistics.median([await measure_request_cost(subject, make_request, count) for _ in range(3)])
