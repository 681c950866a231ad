"""Search in a guild with a million messages, against reading fifty of them, and the cost of the index for writers.

`bench.postgres` measures the same two stores, which are defined here.
"""

import asyncio
import json
import random
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg

from bench.load import Subject, encode_request, send_requests
from tests.fixtures.postgres import start_postgres, stop_postgres, with_database

CONNECTION_COUNT = 32
VOCABULARY_SIZE = 20_000
WORDS_PER_MESSAGE = 8

INDEX_INCOMPLETE_STATUS = 202

SEARCHES = {
    "a common word": "content=word0",
    "a rare word": "content=word9000",
    "two common words near each other": "content=word0+word1",
    "a common word by relevance": "content=word0&sort_by=relevance",
    "a common word, oldest first, far down": "content=word0&sort_order=asc&offset=9975",
    "an author's links": "author_id={author}&has=link",
    "a common word without links": "content=word1&has=-link",
    "the newest messages": "limit=25",
}


def message_texts(count: int) -> Iterator[str]:
    """Generate message texts with the word frequencies of a natural language."""
    generator = random.Random(7)
    vocabulary = [f"word{number}" for number in range(VOCABULARY_SIZE)]
    weights = [1 / (number + 1) for number in range(VOCABULARY_SIZE)]
    for start in range(0, count, 1000):
        words = generator.choices(vocabulary, weights, k=1000 * WORDS_PER_MESSAGE)
        for number in range(min(1000, count - start)):
            text = " ".join(words[number * WORDS_PER_MESSAGE : (number + 1) * WORDS_PER_MESSAGE])
            yield f"{text} https://example.com/{number}" if number % 20 == 0 else text


Message = tuple[int, int, int, str]
"""Channel ID, message ID, author ID and text."""


class EmbeddedStore:
    """The embedded store: a file in each server's folder."""

    name = "SQLite"

    def __enter__(self) -> "EmbeddedStore":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def arguments(self, folder: str) -> tuple[str, ...]:
        """Return the command line arguments of a server with this folder."""
        return (folder,)

    def insert_messages(self, folder: str, messages: Iterator[Message]) -> None:
        """Insert old messages into the store of a stopped server."""
        with sqlite3.connect(Path(folder) / "hubbub.sqlite3") as connection:
            connection.executemany(
                "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, ?)",
                messages,
            )

    def cpu_seconds(self, folder: str) -> float:
        """Return the CPU time of the store outside the server process in seconds, which is 0."""
        return 0.0


class PostgresStore:
    """A separate, durable PostgreSQL server with a database per server under test."""

    name = "PostgreSQL"

    def __enter__(self) -> "PostgresStore":
        self._folder = Path(tempfile.mkdtemp(prefix="hubbub-bench-"))
        self._url = start_postgres(self._folder, is_durable=True)
        self._databases: dict[str, str] = {}
        return self

    def __exit__(self, *_: object) -> None:
        stop_postgres(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)

    def arguments(self, folder: str) -> tuple[str, ...]:
        """Return the command line arguments of a server with this folder; create its database on the first call."""
        if folder not in self._databases:
            name = self._databases[folder] = f"bench_{len(self._databases)}"
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
        return folder, self._database_url(folder)

    def insert_messages(self, folder: str, messages: Iterator[Message]) -> None:
        """Insert old messages into the store of a stopped server."""
        statement = "COPY messages (channel_id, id, author_id, type, flags, content) FROM STDIN"
        with psycopg.connect(self._database_url(folder)) as connection:
            with connection.cursor().copy(statement) as copy:
                for channel_id, message_id, author_id, text in messages:
                    copy.write_row((channel_id, message_id, author_id, 0, 0, text))
            connection.execute("ANALYZE messages")

    def cpu_seconds(self, folder: str) -> float:
        """Return the CPU time in seconds of the database's processes that are still running."""
        cpu_seconds = 0.0
        name = self._databases[folder]
        for process in psutil.process_iter(["cmdline", "cpu_times"]):
            if f" {name} " in " ".join(process.info["cmdline"] or ()):
                cpu_seconds += process.info["cpu_times"].user + process.info["cpu_times"].system
        return cpu_seconds

    def _database_url(self, folder: str) -> str:
        return with_database(self._url, self._databases[folder])


Store = EmbeddedStore | PostgresStore


class TimedClient:
    """Sends requests one after another over one connection and measures the duration of each."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._address = host, int(port)

    async def open(self) -> None:
        """Open the connection; call this before `send`."""
        self._reader, self._writer = await asyncio.open_connection(*self._address)

    async def send(self, request: bytes) -> tuple[float, int, Any]:
        """Send a request and return the duration in milliseconds, the status and the body."""
        started_at = time.perf_counter()
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        body = await self._reader.readexactly(length)
        duration_ms = (time.perf_counter() - started_at) * 1000
        return duration_ms, int(head[9:12]), json.loads(body)


async def wait_indexed(client: TimedClient, search: bytes) -> float:
    """Search until the index is complete and return the duration in seconds."""
    started_at = time.monotonic()
    while True:
        _, status, _ = await client.send(search)
        if status != INDEX_INCOMPLETE_STATUS:
            break
        await asyncio.sleep(0.2)
    return time.monotonic() - started_at


def percentile_99(durations_ms: list[float]) -> float:
    return statistics.quantiles(durations_ms, n=100)[98]


async def run_search_benchmark(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure the duration of searches and the cost of the index, on SQLite and on PostgreSQL."""
    stores: tuple[Store, ...] = (EmbeddedStore(), PostgresStore())
    for store_context in stores:
        with store_context as store:
            await _measure_searches(record_figure, store, 100_000 if is_quick else 1_000_000, 200 if is_quick else 400)
            await _measure_index_cost(record_figure, store, 2_000 if is_quick else 8_000)


async def _measure_searches(
    record_figure: Callable[..., None], store: Store, stored_count: int, round_count: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", *store.arguments(folder)) as subject:
            connection_info = subject.connection_info
        channel, author_id = int(connection_info["channel"]), int(connection_info["user_id"])
        store.insert_messages(
            folder,
            (
                (channel, channel + 1 + number, author_id, text)
                for number, text in enumerate(message_texts(stored_count))
            ),
        )
        with Subject("hubbub-again", *store.arguments(folder)) as subject:
            connection_info = connection_info | subject.connection_info
            token, guild = connection_info["user_token"], connection_info["guild"]
            client = TimedClient(connection_info["url"])
            await client.open()

            def search_request(query: str) -> bytes:
                query = query.format(author=connection_info["user_id"])
                return encode_request("GET", f"/api/v10/guilds/{guild}/messages/search?{query}", token)

            read_request = encode_request(
                "GET", f"/api/v10/channels/{connection_info['channel']}/messages?limit=50", token
            )
            index_seconds = await wait_indexed(client, search_request("limit=1"))
            print(f"     {store.name}: {stored_count:,} messages indexed in {index_seconds:.0f} s", flush=True)
            read_durations_ms: list[float] = []
            search_durations_ms: dict[str, list[float]] = {name: [] for name in SEARCHES}
            result_counts: dict[str, int] = {}
            for number in range(round_count + 5):
                for name, query in SEARCHES.items():
                    # The measurements alternate, so that a slowdown of the machine affects both.
                    read_ms, _, _ = await client.send(read_request)
                    search_ms, status, body = await client.send(search_request(query))
                    if status != 200:
                        raise RuntimeError(f"{status}: {body}")
                    result_counts[name] = body["total_results"]
                    if number >= 5:
                        read_durations_ms.append(read_ms)
                        search_durations_ms[name].append(search_ms)
            baseline = percentile_99(read_durations_ms)
            for name, durations_ms in search_durations_ms.items():
                median = statistics.median(durations_ms)
                detail = (
                    f"{percentile_99(durations_ms):.1f} ms (median {median:.1f}), {result_counts[name]} results, "
                    f"against {baseline:.2f} ms"
                )
                record_figure(
                    f"{store.name}: search for {name} / GET 50 messages, p99",
                    percentile_99(durations_ms) / baseline,
                    20.0,
                    "x",
                    detail,
                )


async def _measure_index_cost(record_figure: Callable[..., None], store: Store, count: int) -> None:
    """Measure POST message in guilds with and without an index, alternately."""
    with (
        tempfile.TemporaryDirectory() as plain_folder,
        tempfile.TemporaryDirectory() as indexed_folder,
        Subject("hubbub", *store.arguments(plain_folder)) as plain_subject,
        Subject("hubbub", *store.arguments(indexed_folder)) as indexed_subject,
    ):
        client = TimedClient(indexed_subject.connection_info["url"])
        await client.open()
        path = f"/api/v10/guilds/{indexed_subject.connection_info['guild']}/messages/search?limit=1"
        await wait_indexed(client, encode_request("GET", path, indexed_subject.connection_info["user_token"]))
        costs: dict[str, list[float]] = {plain_folder: [], indexed_folder: []}
        for _ in range(3):
            for subject, folder in ((plain_subject, plain_folder), (indexed_subject, indexed_folder)):
                costs[folder].append(
                    await _measure_post_cost(subject, count, lambda folder=folder: store.cpu_seconds(folder))
                )
        cost_without_index, cost_with_index = (statistics.median(folder_costs) for folder_costs in costs.values())
    detail = f"{cost_with_index:.0f} us against {cost_without_index:.0f} us"
    record_figure(
        f"{store.name}: POST message with an index / without, CPU",
        cost_with_index / cost_without_index,
        1.3,
        "x",
        detail,
    )


async def _measure_post_cost(subject: Subject, count: int, database_cpu: Callable[[], float]) -> float:
    """Return the CPU time per message in microseconds, including its indexing and the database's own."""
    path = f"/api/v10/channels/{subject.connection_info['channel']}/messages"
    requests = [
        encode_request("POST", path, subject.connection_info["user_token"], {"content": text})
        for text in message_texts(count)
    ]
    cpu_before = subject.cpu_seconds() + database_cpu()
    await send_requests(subject.connection_info["url"], requests, CONNECTION_COUNT)
    # Changes are collected for a second before they are indexed.
    await asyncio.sleep(1.5)
    return (subject.cpu_seconds() + database_cpu() - cpu_before) / count * 1e6
