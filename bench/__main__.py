"""`make bench`: run the named benchmarks (all by default), print figures, and store them in bench/results/.

python -m bench [BENCHMARK ...] [--quick]

- post, get, channels: a message is created; 50 messages are read; the channels of a guild are read
- minimal: a message is created, against a minimal handler with group commit
- postgres: POST, GET 50 and GET @me on PostgreSQL, against SQLite
- growth: a message is created in a channel with a million stored messages
- fanout: a message is delivered to a thousand sessions
- flat: the cost of a delivery does not grow with the number of sessions
- memory: an idle session
- storms: thousands of sessions connect
- presences: a thousand sessions connect and receive the presences of each other
- guilds: a bot in 2,500 guilds connects
- members: all members of a guild of 100,000 are requested
- start: the server becomes ready
- rehearsal: the first test of a pytest run, each further test, and a slash command
- soak: memory under steady load
- search: message search and its index
- interaction: an interaction and its callback
- token, exchange: a token is verified; an authorization code is exchanged
- lobby, presence: deliveries to lobby members and to friends
- import: the SDK is imported
- pump: the slowest frames of a game that runs the SDK's callbacks
- client: the chat client in Chromium while messages arrive
- voice: the cost of a forwarded voice packet, and the memory of a peer
- sound: the time from a click to the sound of a call, in Chromium
- hostile: the cost of input that is written to be slow grows linearly
- curves: cost against sessions, stored messages, members and processes, with plots
- peers: a message on PostgreSQL against ejabberd; skipped if ejabberd is not installed
- release: POST, GET 50, delivery, interaction, READY and import against the previous release

With `--quick` each benchmark measures briefly, and nothing is stored. Otherwise the figures are also added to the history of
this machine type, in bench/results/history/.

`python -m bench.call_soak --minutes 30` runs a call of ten users and checks its delay, losses and memory.
`python -m bench.comparison COMMIT` measures an older commit and this checkout in turn.
`python -m bench.unit_costs` measures the unit costs of the capacity model, and `python -m bench.simulation` uses them.
`python -m bench.hops` counts the calls between modules, for docs/tour.md.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from bench.chat_client import run_client_benchmark
from bench.history import append_run, print_changes
from bench.hostile_input import run_hostile_input_benchmark
from bench.identity import run_identity_benchmark
from bench.interactions import run_interaction_benchmark
from bench.load import (
    GatewayConnection,
    PlainConnection,
    Subject,
    encode_request,
    send_requests,
    wait_until_idle,
)
from bench.postgres import run_postgres_benchmark
from bench.rehearsal import run_rehearsal_benchmark
from bench.sdk import run_import_benchmark, run_pump_benchmark
from bench.search import run_search_benchmark
from bench.server import FRAME_BYTES
from bench.soak import run_soak_benchmark
from bench.social import run_social_benchmark
from bench.sound import run_sound_benchmark
from bench.storms import add_channels, run_storms_benchmark
from bench.voice import run_voice_benchmark
from hubbub.protocol.intents import Intents

RESULTS_DIRECTORY = Path(__file__).parent / "results"
CONNECTION_COUNT = 32
FLOOD_CALLER_COUNT = 16
"""Callers that create messages without a pause, for the cost of a delivery under load."""
GUILDS_AND_MESSAGES = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.MESSAGE_CONTENT

figures: list[dict[str, Any]] = []


def record_figure(name: str, value: float, limit: float | None, unit: str, detail: str = "") -> None:
    """Print a figure and append it to the figures of this run."""
    is_within_limit = limit is None or value <= limit
    figures.append(
        {
            "name": name,
            "value": round(value, 3),
            "limit": limit,
            "unit": unit,
            "within_limit": is_within_limit,
            "detail": detail,
        }
    )
    limit_text = "" if limit is None else f" (at most {limit:g})"
    print(
        f"{'ok  ' if is_within_limit else 'OVER'} {name}: {value:.2f} {unit}{limit_text}{'  ' + detail if detail else ''}",
        flush=True,
    )


def messages_path(subject: Subject) -> str:
    """Return the path of the messages of the benchmark's channel."""
    return f"/api/v10/channels/{subject.connection_info.get('channel', '1')}/messages"


async def measure_request_cost(subject: Subject, make_request: Callable[[int], bytes], count: int) -> float:
    """Return the CPU time of the subject per request, in microseconds."""
    await send_requests(
        subject.connection_info["url"], [make_request(number) for number in range(min(count, 500))], CONNECTION_COUNT
    )
    cpu_before = subject.cpu_seconds()
    await send_requests(
        subject.connection_info["url"], [make_request(number) for number in range(count)], CONNECTION_COUNT
    )
    return (subject.cpu_seconds() - cpu_before) / count * 1e6


def message_request_factory(subject: Subject) -> Callable[[int], bytes]:
    """Return a factory of POST message requests."""
    token = subject.connection_info.get("user_token", "none")
    return lambda number: encode_request(
        "POST", messages_path(subject), token, {"content": f"message number {number} says hello"}
    )


async def run_requests_benchmark(benchmarks: set[str], is_quick: bool) -> None:
    """Measure creating and reading messages against an empty handler."""
    count = 2_000 if is_quick else 8_000
    with tempfile.TemporaryDirectory() as folder, Subject("http") as reference, Subject("hubbub", folder) as subject:
        # The measurements alternate, so that a slowdown of the machine affects both.
        empty_costs, post_costs = [], []
        for _ in range(3):
            empty_costs.append(await measure_request_cost(reference, message_request_factory(reference), count))
            post_costs.append(await measure_request_cost(subject, message_request_factory(subject), count))
        baseline = statistics.median(empty_costs)
        detail = f"{statistics.median(post_costs):.0f} us against {baseline:.0f} us"
        record_figure(
            "durable POST message / empty handler, CPU", statistics.median(post_costs) / baseline, 4.0, "x", detail
        )
        if "minimal" in benchmarks:
            await measure_against_minimal_handler(subject, count)
        if "get" in benchmarks:
            read_request = encode_request(
                "GET", messages_path(subject) + "?limit=50", subject.connection_info["user_token"]
            )
            get_cost = await measure_request_cost(subject, lambda _: read_request, count // 4)
            record_figure("GET 50 messages / empty handler, CPU", get_cost / baseline, 8.0, "x", f"{get_cost:.0f} us")
        if "channels" in benchmarks:
            await add_channels(subject)
            info = subject.connection_info
            channels_request = encode_request("GET", f"/api/v10/guilds/{info['guild']}/channels", info["user_token"])
            channels_cost = await measure_request_cost(subject, lambda _: channels_request, count // 4)
            record_figure(
                "GET about 70 channels / empty handler, CPU",
                channels_cost / baseline,
                None,
                "x",
                f"{channels_cost:.0f} us",
            )


async def measure_against_minimal_handler(subject: Subject, count: int) -> None:
    """Measure creating messages against a handler that only stores them, in turn."""
    with tempfile.TemporaryDirectory() as folder, Subject("minimal", str(Path(folder) / "minimal.sqlite3")) as minimal:
        ratios, post_costs, minimal_costs = [], [], []
        for _ in range(3):
            minimal_costs.append(await measure_request_cost(minimal, message_request_factory(minimal), count))
            post_costs.append(await measure_request_cost(subject, message_request_factory(subject), count))
            ratios.append(post_costs[-1] / minimal_costs[-1])
    detail = f"{statistics.median(post_costs):.0f} us against {statistics.median(minimal_costs):.0f} us"
    record_figure(
        "durable POST message / minimal handler with group commit, CPU", statistics.median(ratios), None, "x", detail
    )


async def run_growth_benchmark(is_quick: bool) -> None:
    """Measure POST into a channel with few stored messages and with a million, or 100,000 in a quick run."""
    count = 2_000 if is_quick else 6_000
    stored_count = 100_000 if is_quick else 1_000_000
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            await send_requests(
                subject.connection_info["url"],
                [message_request_factory(subject)(number) for number in range(1000)],
                CONNECTION_COUNT,
            )
            costs["few"] = min(
                [await measure_request_cost(subject, message_request_factory(subject), count) for _ in range(3)]
            )
            connection_info = subject.connection_info
        insert_old_messages(
            Path(folder) / "hubbub.sqlite3",
            int(connection_info["channel"]),
            int(connection_info["user_id"]),
            stored_count,
        )
        # The world already exists; only the URL is new.
        with Subject("hubbub-again", folder) as subject:
            subject.connection_info = connection_info | subject.connection_info
            costs["many"] = min(
                [await measure_request_cost(subject, message_request_factory(subject), count) for _ in range(3)]
            )
    detail = f"{costs['few']:.0f} us, then {costs['many']:.0f} us with {stored_count:,} stored"
    record_figure("POST message with many stored / few, CPU", costs["many"] / costs["few"], 1.25, "x", detail)


def insert_old_messages(database: Path, channel_id: int, author_id: int, count: int, *, stored_count: int = 0) -> None:
    """Insert old messages into the store of a stopped server, in which an earlier call stored `stored_count` of them."""
    with sqlite3.connect(database) as connection:
        connection.executemany(
            "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, ?)",
            (
                (channel_id, channel_id + 1 + number, author_id, f"old message number {number}")
                for number in range(stored_count, stored_count + count)
            ),
        )


async def connect(subject: Subject, count: int, query: str = "") -> list[GatewayConnection]:
    """Open gateway connections, identify, and wait until READY and GUILD_CREATE have arrived."""
    host, _, port = subject.connection_info["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    connections = []
    for number in range(count):
        _, protocol = await loop.create_connection(
            lambda: GatewayConnection(subject.connection_info["bot_token"], query, GUILDS_AND_MESSAGES), host, int(port)
        )
        connections.append(protocol)
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    await wait_until_idle(connections, bytes_min=count * (300 if query else 1500))
    return connections


async def measure_delivery(
    subject: Subject, sessions: list[GatewayConnection], message_count: int
) -> tuple[float, float]:
    """Return the CPU time per delivery in microseconds, and its size in bytes."""
    make_request = message_request_factory(subject)

    async def post_messages(count: int) -> None:
        # Pause between messages, so that buffers drain as they do in production.
        await send_requests(subject.connection_info["url"], [make_request(number) for number in range(count)], 1, 0.02)

    await post_messages(5)
    bytes_before = await wait_until_idle(sessions)
    cpu_before = subject.cpu_seconds()
    await post_messages(message_count)
    received_bytes = await wait_until_idle(sessions, bytes_min=bytes_before + 1) - bytes_before
    delivery_count = message_count * len(sessions)
    return (subject.cpu_seconds() - cpu_before) / delivery_count * 1e6, received_bytes / delivery_count


async def measure_flood(subject: Subject, sessions: list[GatewayConnection], message_count: int) -> float:
    """Return the CPU time per delivery in microseconds while several messages are always in flight."""
    make_request = message_request_factory(subject)
    await wait_until_idle(sessions)
    cpu_before = subject.cpu_seconds()
    await send_requests(
        subject.connection_info["url"], [make_request(number) for number in range(message_count)], FLOOD_CALLER_COUNT
    )
    await wait_until_idle(sessions)
    return (subject.cpu_seconds() - cpu_before) / message_count / len(sessions) * 1e6


async def measure_plain_writes(session_count: int, message_count: int) -> float:
    """Return the CPU time per delivery of a plain loop of transport.write, in microseconds."""
    with Subject("sockets") as subject:
        host, port = subject.connection_info["host"], subject.connection_info["port"]
        loop = asyncio.get_running_loop()
        connections = []
        for number in range(session_count):
            _, protocol = await loop.create_connection(PlainConnection, host, port)
            connections.append(protocol)
            if number % 50 == 49:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)

        async def request_frames(count: int) -> None:
            bytes_before = sum(connection.received_bytes for connection in connections)
            _, writer = await asyncio.open_connection(host, port)
            writer.write(f"go {count}\n".encode())
            await wait_until_idle(connections, bytes_min=bytes_before + count * session_count * FRAME_BYTES)
            writer.close()

        await request_frames(5)
        cpu_before = subject.cpu_seconds()
        await request_frames(message_count)
        cpu_seconds = subject.cpu_seconds() - cpu_before
        for connection in connections:
            connection.transport.close()
        return cpu_seconds / message_count / session_count * 1e6


async def run_fanout_benchmark(is_quick: bool) -> None:
    """Measure the delivery of a message to many sessions, plain against bare writes, and compressed against plain."""
    session_count, message_count = (300, 40) if is_quick else (1000, 100)
    baseline = await measure_plain_writes(session_count, message_count)
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        plain_connections = await connect(subject, session_count)
        plain_cost, delivery_bytes = await measure_delivery(subject, plain_connections, message_count)
        flood_cost = await measure_flood(subject, plain_connections, message_count * 4)
        for connection in plain_connections:
            connection.transport.close()
        record_figure(
            "delivery / bare transport.write, CPU",
            plain_cost / baseline,
            2.0,
            "x",
            f"{plain_cost:.2f} us ({delivery_bytes:.0f} B) against {baseline:.2f} us",
        )
        record_figure(
            f"delivery with {FLOOD_CALLER_COUNT} messages in flight / bare transport.write, CPU",
            flood_cost / baseline,
            None,
            "x",
            f"{flood_cost:.2f} us against {baseline:.2f} us",
        )
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        compressed_connections = await connect(subject, session_count, "&compress=zlib-stream")
        compressed_cost, delivery_bytes = await measure_delivery(subject, compressed_connections, message_count)
        record_figure(
            "zlib-stream delivery / plain delivery, CPU",
            compressed_cost / plain_cost,
            1.3,
            "x",
            f"{compressed_cost:.2f} us ({delivery_bytes:.0f} B)",
        )


async def run_session_count_benchmark(is_quick: bool) -> None:
    """Measure the cost of a delivery with few and with many sessions."""
    costs = {}
    for session_count, message_count in ((100, 200), (1000 if is_quick else 5000, 20)):
        with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
            connections = await connect(subject, session_count)
            delivery_cost, _ = await measure_delivery(subject, connections, message_count)
            await asyncio.gather(*(close(connection) for connection in connections))
            # The cost of the POST requests is subtracted, because its share depends on the number of sessions.
            costs[session_count] = (
                delivery_cost
                - await measure_request_cost(subject, message_request_factory(subject), 500) / session_count
            )
    cost_with_few, cost_with_many = costs.values()
    record_figure(
        "delivery with many sessions / few, CPU",
        cost_with_many / cost_with_few,
        1.25,
        "x",
        f"{cost_with_few:.2f} us, then {cost_with_many:.2f} us",
    )


async def close(connection: GatewayConnection) -> None:
    """Close the connection with code 1000, so that the session ends."""
    connection.send_close()
    await asyncio.sleep(0.1)
    connection.transport.close()


async def run_memory_benchmark(is_quick: bool) -> None:
    """Measure the memory of an idle identified session."""
    session_count = 500 if is_quick else 2000
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        warm_up_connections = await connect(subject, 50)
        bytes_before = subject.memory_bytes()
        connections = await connect(subject, session_count)
        session_kilobytes = (subject.memory_bytes() - bytes_before) / session_count / 1000
        for connection in [*warm_up_connections, *connections]:
            connection.transport.close()
    record_figure("memory of an idle identified session", session_kilobytes, 40.0, "KB")


async def run_start_benchmark() -> None:
    """Measure the CPU time from process start to ready, against importing the main dependencies and all modules."""

    # All processes use compiled bytecode, which some build machines disable.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def measure_imports(statement: str) -> float:
        seconds_before = _children_seconds()
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
        return _children_seconds() - seconds_before

    def measure_dev_server() -> float:
        seconds_before = _children_seconds()
        process = subprocess.Popen(
            [sys.executable, "-m", "hubbub.server.cli", "dev", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        with process:
            assert process.stdout is not None
            line = process.stdout.readline()
            # The time of the shutdown must not count.
            process.kill()
        if not line:
            raise RuntimeError("hubbub dev did not become ready")
        return _children_seconds() - seconds_before

    # Without garbage collection, as `hubbub dev` starts, and without freeing the modules at the end.
    import_libraries, import_modules = (
        f"import gc, os; gc.disable(); import {names}; os._exit(0)"
        for names in ("aiohttp, msgspec", "hubbub.server.commands.serve")
    )
    measure_imports(import_modules)
    measure_dev_server()
    library_seconds: list[float] = []
    module_seconds: list[float] = []
    start_seconds: list[float] = []
    for _ in range(7):
        library_seconds.append(measure_imports(import_libraries))
        module_seconds.append(measure_imports(import_modules))
        start_seconds.append(measure_dev_server())
    ready_seconds = min(start_seconds)
    for name, seconds, limit in (
        ("hubbub dev to ready / import of its modules, CPU", min(module_seconds), 1.5),
        ("hubbub dev to ready / import aiohttp, msgspec, CPU", min(library_seconds), 4.0),
    ):
        record_figure(
            name, ready_seconds / seconds, limit, "x", f"{ready_seconds * 1000:.0f} ms against {seconds * 1000:.0f} ms"
        )


def _children_seconds() -> float:
    """Return the CPU time of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def store_figures() -> None:
    """Store the figures of this run, together with stored figures of the same setup that were not measured again."""
    setup = {"python": platform.python_version(), "machine": platform.machine(), "quick": False}
    file = RESULTS_DIRECTORY / "latest.json"
    stored_results = json.loads(file.read_text()) if file.exists() else {}
    measured_names = {figure["name"] for figure in figures}
    is_same_setup = all(stored_results.get(key) == value for key, value in setup.items())
    other_figures = (
        [figure for figure in stored_results.get("figures", []) if figure["name"] not in measured_names]
        if is_same_setup
        else []
    )
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    file.write_text(json.dumps({**setup, "figures": [*other_figures, *figures]}, indent=2) + "\n")


async def main() -> int:
    """Run the benchmarks, and print and store the figures.

    Return the exit status: 0, 1 if a limit was exceeded, or 2 for an unknown benchmark."""
    all_benchmarks = {"post", "get", "growth", "fanout", "flat", "memory", "start", "soak", "search", "interaction"}
    all_benchmarks |= {
        "channels",
        "minimal",
        "storms",
        "presences",
        "guilds",
        "members",
        "token",
        "exchange",
        "lobby",
        "presence",
        "import",
        "pump",
        "hostile",
        "postgres",
        "client",
        "voice",
        "sound",
        "rehearsal",
        "curves",
        "peers",
        "release",
    }
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks and print ratios.")
    parser.add_argument("benchmarks", nargs="*", help=f"all by default: {', '.join(sorted(all_benchmarks))}")
    parser.add_argument("--quick", action="store_true", help="measure briefly and store nothing")
    arguments = parser.parse_args()
    # These modules use functions of this one.
    from bench.comparison import run_release_benchmark
    from bench.curves import run_curves_benchmark
    from bench.peers import run_peers_benchmark

    load_before = os.getloadavg()[0]
    is_quick: bool = arguments.quick
    benchmarks = set(arguments.benchmarks)
    if unknown_names := benchmarks - all_benchmarks:
        print(f"unknown benchmark: {', '.join(sorted(unknown_names))}; choose from {', '.join(sorted(all_benchmarks))}")
        return 2
    benchmarks = benchmarks or all_benchmarks
    runners: list[tuple[set[str], Callable[[], Awaitable[None]]]] = [
        ({"post", "get", "channels", "minimal"}, lambda: run_requests_benchmark(benchmarks, is_quick)),
        ({"postgres"}, lambda: run_postgres_benchmark(record_figure, is_quick)),
        ({"growth"}, lambda: run_growth_benchmark(is_quick)),
        ({"fanout"}, lambda: run_fanout_benchmark(is_quick)),
        ({"flat"}, lambda: run_session_count_benchmark(is_quick)),
        ({"memory"}, lambda: run_memory_benchmark(is_quick)),
        (
            {"storms", "presences", "guilds", "members"},
            lambda: run_storms_benchmark(benchmarks, record_figure, is_quick),
        ),
        ({"start"}, run_start_benchmark),
        ({"rehearsal"}, lambda: run_rehearsal_benchmark(record_figure, is_quick)),
        ({"soak"}, lambda: run_soak_benchmark(record_figure, is_quick)),
        ({"search"}, lambda: run_search_benchmark(record_figure, is_quick)),
        ({"interaction"}, lambda: run_interaction_benchmark(record_figure, is_quick)),
        (
            {"token", "exchange"},
            lambda: run_identity_benchmark(
                benchmarks, record_figure, measure_request_cost, message_request_factory, is_quick
            ),
        ),
        ({"lobby", "presence"}, lambda: run_social_benchmark(benchmarks, record_figure, is_quick)),
        ({"import"}, lambda: run_import_benchmark(record_figure, is_quick)),
        ({"pump"}, lambda: run_pump_benchmark(record_figure, is_quick)),
        ({"client"}, lambda: run_client_benchmark(record_figure, is_quick)),
        ({"voice"}, lambda: run_voice_benchmark(record_figure, is_quick)),
        ({"sound"}, lambda: run_sound_benchmark(record_figure, is_quick)),
        ({"hostile"}, lambda: run_hostile_input_benchmark(record_figure, is_quick)),
        ({"release"}, lambda: run_release_benchmark(record_figure, is_quick)),
        ({"peers"}, lambda: run_peers_benchmark(record_figure, is_quick)),
        ({"curves"}, lambda: run_curves_benchmark(record_figure, is_quick)),
    ]
    for names, run_benchmark in runners:
        if names & benchmarks:
            await run_benchmark()
    if not is_quick:
        # A quick run measures too little to be stored.
        store_figures()
        print_changes(figures, append_run(figures, load_before))
    return 0 if all(figure["within_limit"] for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
