"""`make bench`: run the named benchmarks (all by default), print ratios, and store them in bench/results/.

python -m bench [post] [get] [growth] [fanout] [flat] [memory] [start] [soak] [search] [interaction]
                [token] [exchange] [lobby] [presence] [import] [pump] [hostile] [--quick]
"""

import asyncio
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvloop

from bench.hostile_input import hostile_input_bench
from bench.identity import identity_bench
from bench.interactions import interaction_bench
from bench.load import (
    GatewayConnection,
    PlainConnection,
    Subject,
    drive,
    quiet,
    request,
)
from bench.sdk import import_bench, pump_bench
from bench.search import search_bench
from bench.soak import soak_bench
from bench.social import social_bench

RESULTS = Path(__file__).parent / "results"
CONNECTIONS = 32
GUILDS_AND_MESSAGES = 1 << 0 | 1 << 9 | 1 << 15

quick = "--quick" in sys.argv
record: list[dict[str, Any]] = []


def note(name: str, value: float, limit: float | None, unit: str, detail: str = "") -> None:
    """Print a figure and record it."""
    within_limit = limit is None or value <= limit
    record.append(
        {"name": name, "value": round(value, 3), "limit": limit, "unit": unit, "kept": within_limit, "detail": detail}
    )
    bound = "" if limit is None else f" (at most {limit:g})"
    print(
        f"{'ok  ' if within_limit else 'OVER'} {name}: {value:.2f} {unit}{bound}{'  ' + detail if detail else ''}",
        flush=True,
    )


def path_of(subject: Subject) -> str:
    """Return the path of the channel's messages."""
    return f"/api/v10/channels/{subject.about.get('channel', '1')}/messages"


async def cost(subject: Subject, make: Callable[[int], bytes], count: int) -> float:
    """Return the CPU time of the subject per request, in microseconds."""
    await drive(subject.about["url"], [make(number) for number in range(min(count, 500))], CONNECTIONS)
    before = subject.cpu()
    await drive(subject.about["url"], [make(number) for number in range(count)], CONNECTIONS)
    return (subject.cpu() - before) / count * 1e6


def posting(subject: Subject) -> Callable[[int], bytes]:
    """Return a factory of POST message requests."""
    token = subject.about.get("user_token", "none")
    return lambda number: request("POST", path_of(subject), token, {"content": f"message number {number} says hello"})


async def requests_bench(which: set[str]) -> None:
    """Measure POST and GET against an empty handler."""
    count = 2_000 if quick else 8_000
    with tempfile.TemporaryDirectory() as folder, Subject("http") as reference, Subject("hubbub", folder) as subject:
        # Alternating, so that a slow moment of the machine affects both.
        empty, post = [], []
        for _ in range(3):
            empty.append(await cost(reference, posting(reference), count))
            post.append(await cost(subject, posting(subject), count))
        baseline = statistics.median(empty)
        detail = f"{statistics.median(post):.0f} us against {baseline:.0f} us"
        note("durable POST message / empty handler, CPU", statistics.median(post) / baseline, 4.0, "x", detail)
        if "get" in which:
            reading = request("GET", path_of(subject) + "?limit=50", subject.about["user_token"])
            get = await cost(subject, lambda _: reading, count // 4)
            note("GET 50 messages / empty handler, CPU", get / baseline, 8.0, "x", f"{get:.0f} us")


async def growth_bench() -> None:
    """Measure POST into a channel with a thousand and with a million messages."""
    count = 2_000 if quick else 6_000
    stored = 100_000 if quick else 1_000_000
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            await drive(subject.about["url"], [posting(subject)(number) for number in range(1000)], CONNECTIONS)
            costs["few"] = min([await cost(subject, posting(subject), count) for _ in range(3)])
            about = subject.about
        fill(Path(folder) / "hubbub.sqlite3", int(about["channel"]), int(about["user_id"]), stored)
        # The world already exists; only the URL is new.
        with Subject("hubbub-again", folder) as subject:
            subject.about = about | subject.about
            costs["many"] = min([await cost(subject, posting(subject), count) for _ in range(3)])
    detail = f"{costs['few']:.0f} us, then {costs['many']:.0f} us with {stored:,} stored"
    note("POST message with many stored / few, CPU", costs["many"] / costs["few"], 1.25, "x", detail)


def fill(database: Path, channel: int, author: int, count: int) -> None:
    """Insert old messages into the store of a stopped server."""
    with sqlite3.connect(database) as connection:
        first = channel
        connection.executemany(
            "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, ?)",
            ((channel, first + 1 + number, author, f"old message number {number}") for number in range(count)),
        )


async def connect(subject: Subject, count: int, query: str = "") -> list[GatewayConnection]:
    """Open gateway connections and identify."""
    host, _, port = subject.about["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    opened = []
    for number in range(count):
        _, protocol = await loop.create_connection(
            lambda: GatewayConnection(subject.about["bot_token"], query, GUILDS_AND_MESSAGES), host, int(port)
        )
        opened.append(protocol)
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    # Wait for READY and GUILD_CREATE.
    await quiet(opened, bytes_min=count * (300 if query else 1500))
    return opened


async def deliver(subject: Subject, sessions: list[GatewayConnection], messages: int) -> tuple[float, float]:
    """Return the CPU time per delivery in microseconds, and its size in bytes."""
    make = posting(subject)

    async def post(count: int) -> None:
        # A pause as between two messages, so that buffers drain as in practice.
        await drive(subject.about["url"], [make(number) for number in range(count)], 1, 0.02)

    await post(5)
    start = await quiet(sessions)
    before = subject.cpu()
    await post(messages)
    size = (await quiet(sessions, bytes_min=start + 1) - start) / messages / len(sessions)
    return (subject.cpu() - before) / messages / len(sessions) * 1e6, size


async def plain_writes(sessions: int, messages: int) -> float:
    """Return the CPU time per delivery of a plain loop of transport.write, in microseconds."""
    with Subject("sockets") as subject:
        host, port = subject.about["host"], subject.about["port"]
        loop = asyncio.get_running_loop()
        opened = []
        for number in range(sessions):
            _, protocol = await loop.create_connection(PlainConnection, host, port)
            opened.append(protocol)
            if number % 50 == 49:
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)

        async def go(count: int) -> None:
            start = sum(connection.received for connection in opened)
            _, writer = await asyncio.open_connection(host, port)
            writer.write(f"go {count}\n".encode())
            await quiet(opened, bytes_min=start + count * sessions * 900)
            writer.close()

        await go(5)
        before = subject.cpu()
        await go(messages)
        spent = subject.cpu() - before
        for connection in opened:
            connection.transport.close()
        return spent / messages / sessions * 1e6


async def fanout_bench() -> None:
    """Measure one message to a thousand sessions."""
    sessions, messages = (300, 40) if quick else (1000, 100)
    baseline = await plain_writes(sessions, messages)
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        plain = await connect(subject, sessions)
        plain_cost, size = await deliver(subject, plain, messages)
        for connection in plain:
            connection.transport.close()
        note(
            "delivery / bare transport.write, CPU",
            plain_cost / baseline,
            2.0,
            "x",
            f"{plain_cost:.2f} us ({size:.0f} B) against {baseline:.2f} us",
        )
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        compressed = await connect(subject, sessions, "&compress=zlib-stream")
        compressed_cost, size = await deliver(subject, compressed, messages)
        note(
            "zlib-stream delivery / plain delivery, CPU",
            compressed_cost / plain_cost,
            1.3,
            "x",
            f"{compressed_cost:.2f} us ({size:.0f} B)",
        )


async def flat_bench() -> None:
    """Measure the cost of a delivery with few and with many sessions."""
    costs = {}
    for sessions, messages in ((100, 200), (1000 if quick else 5000, 20)):
        with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
            opened = await connect(subject, sessions)
            delivery_cost, _ = await deliver(subject, opened, messages)
            # The cost of the POST requests is subtracted, because its share depends on the number of sessions.
            await asyncio.gather(*(close(connection) for connection in opened))
            costs[sessions] = delivery_cost - await cost(subject, posting(subject), 500) / sessions
    few, many = costs.values()
    note("delivery with many sessions / few, CPU", many / few, 1.25, "x", f"{few:.2f} us, then {many:.2f} us")


async def close(connection: GatewayConnection) -> None:
    """Close with 1000, so that the session ends."""
    connection.leave()
    await asyncio.sleep(0.1)
    connection.transport.close()


async def memory_bench() -> None:
    """Measure the memory of an idle identified session."""
    sessions = 500 if quick else 2000
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        warm = await connect(subject, 50)
        before = subject.memory()
        opened = await connect(subject, sessions)
        per_session = (subject.memory() - before) / sessions / 1000
        for connection in [*warm, *opened]:
            connection.transport.close()
    note("memory of an idle identified session", per_session, 40.0, "KB")


async def start_bench() -> None:
    """Measure the time from process start to ready, against importing the main dependencies."""

    # Both use compiled bytecode, which some build machines disable.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def imports() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import aiohttp, msgspec"], check=True, env=environment)
        return time.perf_counter() - started

    def dev() -> float:
        with tempfile.TemporaryDirectory() as folder:
            ready = Path(folder) / "ready.json"
            started = time.perf_counter()
            process = subprocess.Popen(
                [sys.executable, "-m", "hubbub.server.cli", "dev", "--port", "0", "--ready-file", str(ready)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
            try:
                while not ready.exists():
                    if process.poll() is not None or time.perf_counter() - started > 30:
                        raise RuntimeError("hubbub dev did not become ready")
                    time.sleep(0.002)
                return time.perf_counter() - started
            finally:
                process.terminate()
                process.wait(20)

    imports()
    dev()
    baseline = statistics.median(imports() for _ in range(5))
    took = statistics.median(dev() for _ in range(5))
    note(
        "hubbub dev to ready / import aiohttp, msgspec",
        took / baseline,
        4.0,
        "x",
        f"{took * 1000:.0f} ms against {baseline * 1000:.0f} ms",
    )


def store_figures() -> None:
    """Store the figures of this run, together with stored figures of the same setup that were not measured again."""
    about = {"python": platform.python_version(), "machine": platform.machine(), "quick": False}
    file = RESULTS / "latest.json"
    stored = json.loads(file.read_text()) if file.exists() else {}
    measured = {figure["name"] for figure in record}
    same = all(stored.get(key) == value for key, value in about.items())
    others = [figure for figure in stored.get("figures", []) if figure["name"] not in measured] if same else []
    RESULTS.mkdir(exist_ok=True)
    file.write_text(json.dumps({**about, "figures": [*others, *record]}, indent=2) + "\n")


async def main() -> int:
    """Run the benchmarks, and print and store the figures. Return 1 if a limit was exceeded."""
    wanted = {argument for argument in sys.argv[1:] if not argument.startswith("-")}
    everything = {"post", "get", "growth", "fanout", "flat", "memory", "start", "soak", "search", "interaction"}
    everything |= {"token", "exchange", "lobby", "presence", "import", "pump", "hostile"}
    if unknown := wanted - everything:
        print(f"unknown benchmark: {', '.join(sorted(unknown))}; choose from {', '.join(sorted(everything))}")
        return 2
    wanted = wanted or everything
    parts: list[tuple[set[str], Callable[[], Awaitable[None]]]] = [
        ({"post", "get"}, lambda: requests_bench(wanted)),
        ({"growth"}, growth_bench),
        ({"fanout"}, fanout_bench),
        ({"flat"}, flat_bench),
        ({"memory"}, memory_bench),
        ({"start"}, start_bench),
        ({"soak"}, lambda: soak_bench(note, quick)),
        ({"search"}, lambda: search_bench(note, quick)),
        ({"interaction"}, lambda: interaction_bench(note, quick)),
        ({"token", "exchange"}, lambda: identity_bench(wanted, note, cost, posting, quick)),
        ({"lobby", "presence"}, lambda: social_bench(wanted, note, quick)),
        ({"import"}, lambda: import_bench(note, quick)),
        ({"pump"}, lambda: pump_bench(note, quick)),
        ({"hostile"}, lambda: hostile_input_bench(note, quick)),
    ]
    for names, part in parts:
        if names & wanted:
            await part()
    if not quick:
        # A quick run measures too little to be stored.
        store_figures()
    return 0 if all(figure["kept"] for figure in record) else 1


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
