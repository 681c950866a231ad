"""Measure the cost of one request, delivery, heartbeat, voice packet, session and guild, for the capacity model.

python -m bench.unit_costs [SECTION ...] [--quick]

A run of all sections takes several minutes. The costs are CPU time of the named process, memory, latency, bytes on the
wire and in the database, and numbers of NATS messages. They are stored in bench/results/unit_costs.json, from which
`bench.simulation` predicts larger installations. A run of some sections keeps the stored costs of the others. With
`--quick` the run is shorter, and nothing is stored.
"""

import argparse
import asyncio
import json
import os
import platform
import shutil
import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

import aiohttp
import psutil
import psycopg
import uvloop

from bench.__main__ import GUILDS_AND_MESSAGES, close, connect, message_request_factory, messages_path
from bench.latency import compute_quantiles, find_memory_folder, measure_latencies, raise_priority
from bench.load import GatewayConnection, Subject, encode_request, send_requests, wait_until_idle
from bench.search import EmbeddedStore, PostgresStore, Store
from bench.social import run_social_benchmark
from bench.voice import FRAME, Call, measure_forwarding
from hubbub.media import rtp
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.gateway.sessions import SESSIONS_PER_USER_MAX
from hubbub.server.transports.voice.sfu import Forwarder
from tests.fixtures.nats import NatsServer
from tests.journeys.processes import ApiUser, Server, create_guild, register_user

RESULTS_FILE: Final = Path(__file__).parent / "results" / "unit_costs.json"
CALLER_COUNT: Final = 64
"""Number of connections that send requests at the same time."""
ROUND_COUNT: Final = 3
"""Number of rounds, of which the median is stored."""
FANOUT_SESSIONS: Final = (200, 600)
"""The two numbers of sessions with which a message is measured.

The difference of the costs, divided by the difference of the numbers, is the cost of one delivery."""
SEQUENTIAL_REQUEST_COUNT: Final = 2_000
"""Number of requests that are sent one after the other over one connection. Names of their costs contain `alone`."""
VOICE_LISTENER_COUNT: Final = 24
GUILD_COUNT: Final = 90
"""Number of guilds that are created to measure the memory of one."""

CpuReader = Callable[[], float]


class UnitCosts:
    """The costs of a run, by name, in the unit that the name ends with."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.distributions: dict[str, list[float]] = {}

    def record(self, name: str, value: float) -> None:
        """Store a cost and print it."""
        self.values[name] = round(value, 3 if value < 100 else 1)
        print(f"{name}: {value:,.2f}", flush=True)


async def measure_cpu(readers: dict[str, CpuReader], work: Callable[[], Any], count: int) -> dict[str, float]:
    """Run `work`, which consists of `count` units, and return the CPU time per unit of each process in microseconds."""
    seconds_before = {name: read() for name, read in readers.items()}
    await work()
    return {name: (read() - seconds_before[name]) / count * 1e6 for name, read in readers.items()}


def median_costs(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each cost over all rounds."""
    return {name: statistics.median(costs[name] for costs in rounds) for name in rounds[0]}


def process_cpu_reader(pid: int) -> CpuReader:
    """Return a function that reads the CPU time of a process in seconds."""
    process = psutil.Process(pid)
    return lambda: float(sum(process.cpu_times()[:2]))


async def measure_requests(costs: UnitCosts, store: Store, is_quick: bool) -> None:
    """Measure POST, GET and connecting on a store.

    On SQLite, measure also the latency of a POST without other requests, and the sizes of requests and responses."""
    count = 800 if is_quick else 2_000
    store_name = "sqlite" if store.name == "SQLite" else "postgres"
    with (
        tempfile.TemporaryDirectory(dir=find_memory_folder()) as folder,
        Subject("hubbub", *store.arguments(folder)) as subject,
    ):
        url, token = subject.connection_info["url"], subject.connection_info["user_token"]
        make_post = message_request_factory(subject)
        get = encode_request("GET", messages_path(subject) + "?limit=50", token)
        readers = {"": subject.cpu_seconds, "database_": lambda: store.cpu_seconds(folder)}
        for operation, make_request in (("post", make_post), ("get", lambda _: get)):
            await send_requests(url, [make_request(number) for number in range(500)], CALLER_COUNT)
            rounds = []
            for _ in range(ROUND_COUNT):
                # Wait until the work that earlier requests caused, such as indexing, is done, so that it is not counted for
                # this round.
                await asyncio.sleep(0.5)
                requests = [make_request(number) for number in range(count)]
                with raise_priority(os.getpid(), subject.process.pid) if store_name == "sqlite" else nullcontext():
                    rounds.append(
                        await measure_cpu(readers, lambda: send_requests(url, requests, CALLER_COUNT), count)  # noqa: B023
                    )
            for name_prefix, cost in median_costs(rounds).items():
                if name_prefix == "" or store_name == "postgres":
                    costs.record(f"{store_name}_{operation}_{name_prefix}us", cost)
            if store_name == "postgres" or operation == "get":
                continue
            await asyncio.sleep(0.5)
            requests = [make_request(number) for number in range(SEQUENTIAL_REQUEST_COUNT)]
            durations: list[float] = []

            async def send_sequentially() -> None:
                # The pauses are those of a process at half of its maximum rate, because a longer sleep empties its caches.
                half_rate = 0.5e6 / costs.values["sqlite_post_us"]
                durations.extend(await measure_latencies(subject, requests, half_rate, 1))  # noqa: B023

            sequential_costs = await measure_cpu(readers, send_sequentially, SEQUENTIAL_REQUEST_COUNT)
            costs.record(f"{store_name}_{operation}_alone_us", sequential_costs[""])
            costs.record(f"{store_name}_{operation}_alone_latency_us", statistics.mean(durations) * 1e6)
            costs.distributions[f"{store_name}_{operation}_alone_latency_us"] = [
                round(value * 1e6, 1) for value in compute_quantiles(durations)
            ]
        if store_name == "sqlite":
            costs.record("post_request_bytes", len(make_post(0)))
            costs.record("post_response_bytes", await measure_response_bytes(url, make_post(0)))
            costs.record("get_request_bytes", len(get))
            costs.record("get_response_bytes", await measure_response_bytes(url, get))
        session_count = 100
        connections = await connect(subject, session_count)
        rounds = []
        for _ in range(ROUND_COUNT):
            new_connections: list[GatewayConnection] = []

            async def open_sessions() -> None:
                new_connections.extend(await connect(subject, session_count))  # noqa: B023

            rounds.append(await measure_cpu(readers, open_sessions, session_count))
            connections += new_connections
        for name_prefix, cost in median_costs(rounds).items():
            if name_prefix == "" or store_name == "postgres":
                costs.record(f"{store_name}_connect_{name_prefix}us", cost)
        costs.record("connect_bytes", sum(connection.received_bytes for connection in connections) / len(connections))


async def measure_reference(count: int = 4_000) -> float:
    """Return the CPU time of an empty aiohttp handler in microseconds, which tells how fast the machine is now."""
    with Subject("http") as reference:
        make_request = message_request_factory(reference)
        requests = [make_request(number) for number in range(count)]
        rounds = []
        for _ in range(ROUND_COUNT):
            cpu_before = reference.cpu_seconds()
            with raise_priority(os.getpid(), reference.process.pid):
                await send_requests(reference.connection_info["url"], requests, CALLER_COUNT)
            rounds.append((reference.cpu_seconds() - cpu_before) / count * 1e6)
    return statistics.median(rounds)


async def measure_response_bytes(url: str, request: bytes) -> int:
    """Return the size of a response with its headers, in bytes."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
    await reader.readexactly(length)
    writer.close()
    return len(head) + length


async def measure_sessions(costs: UnitCosts, is_quick: bool) -> None:
    """Measure deliveries, heartbeats and the memory of sessions and guilds, in one process with SQLite."""
    message_count = 30 if is_quick else 80
    message_costs: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        url = subject.connection_info["url"]
        make_post = message_request_factory(subject)
        sessions = await connect(subject, 50)
        memory_before = subject.memory_bytes()
        count_before = len(sessions)
        for session_count in FANOUT_SESSIONS:
            sessions += await connect(subject, session_count - len(sessions))
            if session_count == FANOUT_SESSIONS[-1]:
                memory = subject.memory_bytes() - memory_before
                costs.record("session_bytes", memory / (len(sessions) - count_before))
            rounds = []
            await send_requests(url, [make_post(number) for number in range(5)], 1, 0.02)
            for _ in range(ROUND_COUNT):
                bytes_before = await wait_until_idle(sessions)
                requests = [make_post(number) for number in range(message_count)]
                cpu_before = subject.cpu_seconds()
                await send_requests(url, requests, 1, 0.02)
                received_bytes = await wait_until_idle(sessions, bytes_min=bytes_before + 1) - bytes_before
                rounds.append((subject.cpu_seconds() - cpu_before) / message_count * 1e6)
            message_costs[session_count] = statistics.median(rounds)
        few, many = FANOUT_SESSIONS
        costs.record("delivery_us", (message_costs[many] - message_costs[few]) / (many - few))
        costs.record("delivery_bytes", received_bytes / message_count / len(sessions))
        heartbeat_count = 5 if is_quick else 10

        async def send_heartbeats() -> None:
            for _ in range(heartbeat_count):
                bytes_before = await wait_until_idle(sessions)
                for session in sessions:
                    session.send_heartbeat()
                await wait_until_idle(sessions, bytes_min=bytes_before + len(sessions))

        readers = {"": subject.cpu_seconds}
        idle_cost = await measure_cpu(readers, lambda: asyncio.sleep(heartbeat_count * 0.5), 1)
        cost = await measure_cpu(readers, send_heartbeats, 1)
        costs.record("heartbeat_us", (cost[""] - idle_cost[""]) / heartbeat_count / len(sessions))
        await asyncio.gather(*(close(session) for session in sessions))
    with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
        await measure_guild_memory(costs, subject)


async def measure_guild_memory(costs: UnitCosts, subject: Subject) -> None:
    """Measure the memory of a guild on its gateway node, and of one more session's membership in it."""
    url, token = subject.connection_info["url"], subject.connection_info["user_token"]
    create = encode_request("POST", "/api/v10/guilds", token, {"name": "Guild"})
    await send_requests(url, [create] * GUILD_COUNT, 1)
    # Connect as the user, who is a member of the new guilds, instead of as the bot.
    subject.connection_info = subject.connection_info | {"bot_token": token}
    # The first session also loads the guilds; a later one adds only its memberships. The second one is not used, because it
    # may still fill caches.
    sizes = []
    for _ in range(3):
        _, bytes_before = subject.own_memory_bytes()
        sessions = await connect(subject, 1)
        await wait_until_idle(sessions, bytes_min=GUILD_COUNT * 500)
        for session in sessions:
            session.send_heartbeat()
        await wait_until_idle(sessions)
        _, bytes_after = subject.own_memory_bytes()
        sizes.append(bytes_after - bytes_before)
    costs.record("guild_bytes", (sizes[0] - sizes[2]) / GUILD_COUNT)
    costs.record("membership_bytes", sizes[2] / GUILD_COUNT)


async def measure_presence(costs: UnitCosts, is_quick: bool) -> None:
    """Measure the delivery of a presence update, from the text that `bench.social` reports."""
    details: list[str] = []
    await run_social_benchmark({"presence"}, lambda *arguments: details.append(arguments[-1]), is_quick)
    # For example "12.3 us (210 B) against ...".
    delivery, _, _ = details[0].partition(" against")
    cost, size = delivery.removesuffix(" B)").split(" us (")
    costs.record("presence_delivery_us", float(cost))
    costs.record("presence_delivery_bytes", float(size))


async def measure_voice(costs: UnitCosts, is_quick: bool) -> None:
    """Measure the forwarding of a voice packet to one of `VOICE_LISTENER_COUNT` listeners."""
    sink, source = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for udp_socket in (sink, source):
        udp_socket.bind(("127.0.0.1", 0))
    source.setblocking(False)
    forwarder = Forwarder(source, Metrics())
    forwarder.start()
    address = sink.getsockname()
    packet_count = 200 if is_quick else 1_000
    for kind in ("native", "browser"):
        rounds = []
        for _ in range(5):
            call = Call(forwarder, address, VOICE_LISTENER_COUNT, has_browsers=kind == "browser")
            rounds.append(measure_forwarding(call, address, packet_count, VOICE_LISTENER_COUNT))
            call.close()
            await asyncio.sleep(0)
        costs.record(f"voice_packet_{kind}_us", statistics.median(rounds))
    call = Call(forwarder, address, 1, has_browsers=False)
    header = rtp.build_audio_header(1, 960, 1)
    costs.record("voice_packet_bytes", len(call.encrypt_packets(1)[0]))
    assert len(header) + len(FRAME) < costs.values["voice_packet_bytes"]
    call.close()
    forwarder.close()
    sink.close()


async def measure_nodes(costs: UnitCosts, is_quick: bool) -> None:
    """Measure an API, a gateway and a worker process over PostgreSQL and NATS, with one and with many sessions."""
    with PostgresStore() as postgres:
        await run_and_measure_nodes(costs, postgres, is_quick)


async def run_and_measure_nodes(costs: UnitCosts, postgres: PostgresStore, is_quick: bool) -> None:
    """Start the processes of `measure_nodes`, measure them and stop them."""
    count, user_count = (300, 1) if is_quick else (1_500, 4)
    folder = Path(tempfile.mkdtemp(prefix="hubbub-bench-"))
    nats = NatsServer(folder, "--http_port", "-1")
    nats.start()
    [ports_file] = folder.glob("*.ports")
    monitoring_url = json.loads(ports_file.read_text())["monitoring"][0].replace("0.0.0.0", "127.0.0.1")
    _, database_url = postgres.arguments(str(folder))
    flags = ["--database-url", database_url, "--nats-url", nats.url, "--rate-limits", "off", "--data", str(folder)]
    flags += ["--gateway-drain-ms", "100", "--gateway-session-starts-max", "1000000"]
    flags += ["--gateway-max-concurrency", "1000000"]
    servers = {
        role: Server(folder, "serve", "--roles", role, "--worker", str(number), *flags)
        for number, role in enumerate(("api", "gateway", "worker"))
    }
    try:
        await asyncio.gather(*(server.start() for server in servers.values()))
        async with aiohttp.ClientSession() as client:
            users = [await register_user(client, servers["api"], "bench") for _ in range(user_count)]
            _, channel_id, _ = await create_guild(*users)
            await measure_node_posts(
                costs, servers, users, channel_id, postgres, str(folder), nats, monitoring_url, count
            )
    finally:
        for server in servers.values():
            server.stop()
        nats.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def measure_node_posts(
    costs: UnitCosts,
    servers: dict[str, Server],
    users: list[ApiUser],
    channel_id: str,
    postgres: PostgresStore,
    folder: str,
    nats: NatsServer,
    monitoring_url: str,
    count: int,
) -> None:
    """Post messages while the gateway process has one session, then many; record the costs per message and per delivery."""
    readers: dict[str, CpuReader] = {role: process_cpu_reader(server.pid) for role, server in servers.items()}
    readers["database"] = lambda: postgres.cpu_seconds(folder)
    readers["nats"] = process_cpu_reader(nats.pid)
    path = f"/api/v10/channels/{channel_id}/messages"
    _, database_url = postgres.arguments(folder)
    sessions = await open_user_sessions(servers["gateway"].url, users[0].token, 1)

    async def post_messages(message_count: int, caller_count: int, pause_seconds: float) -> dict[str, float]:
        """Post messages, wait until all sessions have received them, and return the CPU time per message."""
        contents = [{"content": f"message number {number}"} for number in range(message_count)]
        requests = [encode_request("POST", path, users[0].token, content) for content in contents]
        bytes_before = await wait_until_idle(sessions)

        async def post_and_wait() -> None:
            await send_requests(servers["api"].url, requests, caller_count, pause_seconds)
            await wait_until_idle(sessions, bytes_min=bytes_before + message_count * len(sessions) * 300)

        return await measure_cpu(readers, post_and_wait, message_count)

    await post_messages(200, CALLER_COUNT, 0.0)
    traffic_before, stored_bytes_before = read_nats_traffic(monitoring_url), read_store_bytes(database_url)
    measurement = await post_messages(count, CALLER_COUNT, 0.0)
    traffic, stored_bytes = read_nats_traffic(monitoring_url), read_store_bytes(database_url)
    for role in ("api", "worker", "database", "nats"):
        costs.record(f"node_post_{role}_us", measurement[role])
    costs.record("node_event_gateway_us", measurement["gateway"])
    for name, total in traffic.items():
        costs.record(f"nats_{name}_per_post", (total - traffic_before[name]) / count)
    for name, total in stored_bytes.items():
        costs.record(f"database_{name}_per_post", (total - stored_bytes_before[name]) / count)
    cost_with_few = (await post_messages(count // 10, 1, 0.01))["gateway"]
    for user in users:
        sessions += await open_user_sessions(servers["gateway"].url, user.token, SESSIONS_PER_USER_MAX - 1)
    cost_with_many = (await post_messages(count // 10, 1, 0.01))["gateway"]
    costs.record("node_delivery_us", (cost_with_many - cost_with_few) / (len(sessions) - 1))
    for session in sessions:
        session.transport.close()


async def open_user_sessions(url: str, token: str, count: int) -> list[GatewayConnection]:
    """Open gateway sessions of one user and wait until they have received their guild."""
    host, _, port = url.removeprefix("http://").partition(":")
    sessions: list[GatewayConnection] = []
    for _ in range(count):
        _, session = await asyncio.get_running_loop().create_connection(
            lambda: GatewayConnection(token, "", GUILDS_AND_MESSAGES), host, int(port)
        )
        sessions.append(session)
    await wait_until_idle(sessions, bytes_min=count * 1500)
    return sessions


def read_nats_traffic(monitoring_url: str) -> dict[str, float]:
    """Return the messages and bytes that a NATS server has received and sent."""
    with urllib.request.urlopen(f"{monitoring_url}/varz") as response:
        document = json.load(response)
    return {name: float(document[name]) for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes")}


def read_store_bytes(database_url: str) -> dict[str, float]:
    """Return the bytes of the write-ahead log and of the database."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'), pg_database_size(current_database())"
        ).fetchone()
    assert row is not None
    return {"wal_bytes": float(row[0]), "stored_bytes": float(row[1])}


async def measure_sqlite(costs: UnitCosts, is_quick: bool) -> None:
    """Measure requests on SQLite, and the speed of the machine before and after."""
    reference_costs = [await measure_reference()]
    await measure_requests(costs, EmbeddedStore(), is_quick)
    reference_costs.append(await measure_reference())
    costs.record("reference_us", statistics.mean(reference_costs))


async def measure_postgres(costs: UnitCosts, is_quick: bool) -> None:
    """Measure requests of one process on PostgreSQL."""
    with PostgresStore() as postgres:
        await measure_requests(costs, postgres, is_quick)


SECTIONS: Final = {
    "voice": measure_voice,
    "sqlite": measure_sqlite,
    "sessions": measure_sessions,
    "presence": measure_presence,
    "postgres": measure_postgres,
    "nodes": measure_nodes,
}


async def main() -> int:
    """Measure and store the unit costs; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.unit_costs", description="Measure unit costs.")
    parser.add_argument("sections", nargs="*", help=f"all by default: {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="measure briefly and store nothing")
    arguments = parser.parse_args()
    started_at = time.monotonic()
    load_before = os.getloadavg()[0]
    costs = UnitCosts()
    for name in arguments.sections or SECTIONS:
        await SECTIONS[name](costs, arguments.quick)
    print(f"{time.monotonic() - started_at:.0f} s")
    if not arguments.quick:
        stored_results = json.loads(RESULTS_FILE.read_text()) if arguments.sections and RESULTS_FILE.exists() else {}
        document = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load_average": [round(load_before, 1), round(os.getloadavg()[0], 1)],
            "costs": stored_results.get("costs", {}) | costs.values,
            "distributions": stored_results.get("distributions", {}) | costs.distributions,
        }
        RESULTS_FILE.write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
