"""Search in a guild with a million messages against reading fifty of them, and what keeping the index costs who writes."""

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

from bench.load import Subject, drive, request
from tests.fixtures.postgres import start_postgres, stop_postgres, with_database

CONNECTIONS = 32
VOCABULARY = 20_000
WORDS = 8
"""Of one message."""

SEARCHES = {
    "a common word": "content=word0",
    "a rare word": "content=word9000",
    "two common words near each other": "content=word0+word1",
    "a common word by relevance": "content=word0&sort_by=relevance",
    "a common word, oldest first, far down": "content=word0&sort_order=asc&offset=9975",
    "an author's links": "author_id={author}&has=link",
    "a common word without links": "content=word1&has=-link",
    "nothing but the newest": "limit=25",
}


def words(count: int) -> Iterator[str]:
    """Messages whose words are as common and as rare as those of a language."""
    chance = random.Random(7)
    vocabulary = [f"word{number}" for number in range(VOCABULARY)]
    weights = [1 / (number + 1) for number in range(VOCABULARY)]
    for start in range(0, count, 1000):
        some = chance.choices(vocabulary, weights, k=1000 * WORDS)
        for number in range(min(1000, count - start)):
            text = " ".join(some[number * WORDS : (number + 1) * WORDS])
            yield f"{text} https://example.com/{number}" if number % 20 == 0 else text


Message = tuple[int, int, int, str]
"""Channel, id, author and words."""


class Embedded:
    """The store that comes along: a file in each platform's folder."""

    name = "SQLite"

    def __enter__(self) -> "Embedded":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def arguments(self, folder: str) -> tuple[str, ...]:
        """How a platform with this folder is started."""
        return (folder,)

    def fill(self, folder: str, messages: Iterator[Message]) -> None:
        """Put old messages into a stopped platform's store."""
        with sqlite3.connect(Path(folder) / "hubbub.sqlite3") as connection:
            connection.executemany(
                "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, ?)",
                messages,
            )

    def cpu(self, folder: str) -> float:
        """Seconds of processor time outside the platform's process: none."""
        return 0.0


class Postgres:
    """A PostgreSQL of its own, durable, with a database for each platform."""

    name = "PostgreSQL"

    def __enter__(self) -> "Postgres":
        self._folder = Path(tempfile.mkdtemp(prefix="hubbub-bench-"))
        self._url = start_postgres(self._folder, durable=True)
        self._databases: dict[str, str] = {}
        return self

    def __exit__(self, *_: object) -> None:
        stop_postgres(self._folder)
        shutil.rmtree(self._folder, ignore_errors=True)

    def arguments(self, folder: str) -> tuple[str, ...]:
        """How a platform with this folder is started."""
        if folder not in self._databases:
            name = self._databases[folder] = f"bench_{len(self._databases)}"
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")
        return folder, self._at(folder)

    def fill(self, folder: str, messages: Iterator[Message]) -> None:
        """Put old messages into a stopped platform's store."""
        copying = "COPY messages (channel_id, id, author_id, type, flags, content) FROM STDIN"
        with psycopg.connect(self._at(folder)) as connection:
            with connection.cursor().copy(copying) as copy:
                for channel, number, author, text in messages:
                    copy.write_row((channel, number, author, 0, 0, text))
            connection.execute("ANALYZE messages")

    def cpu(self, folder: str) -> float:
        """Seconds of processor time that the database's own processes took so far, as far as they still live."""
        spent = 0.0
        name = self._databases[folder]
        for process in psutil.process_iter(["cmdline", "cpu_times"]):
            if f" {name} " in " ".join(process.info["cmdline"] or ()):
                spent += process.info["cpu_times"].user + process.info["cpu_times"].system
        return spent

    def _at(self, folder: str) -> str:
        return with_database(self._url, self._databases[folder])


Store = Embedded | Postgres


class Reader:
    """Asks one thing after the other over one connection, and measures how long each takes."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._where = host, int(port)

    async def open(self) -> None:
        """Connect."""
        self._in, self._out = await asyncio.open_connection(*self._where)

    async def ask(self, wanted: bytes) -> tuple[float, int, Any]:
        """Milliseconds, status and body of an answer."""
        began = time.perf_counter()
        self._out.write(wanted)
        head = (await self._in.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0])
        body = await self._in.readexactly(length)
        took = (time.perf_counter() - began) * 1000
        return took, int(head[9:12]), json.loads(body)


async def ready(reader: Reader, wanted: bytes) -> float:
    """Search until there is an index; the seconds that took."""
    began = time.monotonic()
    while (await reader.ask(wanted))[1] == 202:
        await asyncio.sleep(0.2)
    return time.monotonic() - began


def p99(values: list[float]) -> float:
    """What ninety-nine of a hundred stay below."""
    return statistics.quantiles(values, n=100)[98]


async def search_bench(note: Callable[..., None], quick: bool) -> None:
    """How quick a search is, and how dear the index."""
    stores: tuple[Store, ...] = (Embedded(), Postgres())
    for each in stores:
        with each as store:
            await _finding(note, store, 100_000 if quick else 1_000_000, 200 if quick else 400)
            await _keeping(note, store, 2_000 if quick else 8_000)


async def _finding(note: Callable[..., None], store: Store, stored: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", *store.arguments(folder)) as subject:
            about = subject.about
        channel, author = int(about["channel"]), int(about["user_id"])
        store.fill(folder, ((channel, channel + 1 + n, author, text) for n, text in enumerate(words(stored))))
        with Subject("hubbub-again", *store.arguments(folder)) as subject:
            about = about | subject.about
            token, guild = about["user_token"], about["guild"]
            reader = Reader(about["url"])
            await reader.open()

            def searching(query: str) -> bytes:
                query = query.format(author=about["user_id"])
                return request("GET", f"/api/v10/guilds/{guild}/messages/search?{query}", token)

            reading = request("GET", f"/api/v10/channels/{about['channel']}/messages?limit=50", token)
            took_s = await ready(reader, searching("limit=1"))
            print(f"     {store.name}: {stored:,} messages indexed in {took_s:.0f} s", flush=True)
            read: list[float] = []
            searched: dict[str, list[float]] = {name: [] for name in SEARCHES}
            totals: dict[str, int] = {}
            for number in range(rounds + 5):
                for name, query in SEARCHES.items():
                    # In turns, so that a slow moment of the machine hits both.
                    read_ms, _, _ = await reader.ask(reading)
                    took_ms, status, body = await reader.ask(searching(query))
                    if status != 200:
                        raise RuntimeError(f"{status}: {body}")
                    totals[name] = body["total_results"]
                    if number >= 5:
                        read.append(read_ms)
                        searched[name].append(took_ms)
            floor = p99(read)
            for name, values in searched.items():
                median = statistics.median(values)
                detail = f"{p99(values):.1f} ms (median {median:.1f}), {totals[name]} found, against {floor:.2f} ms"
                note(f"{store.name}: search for {name} / GET 50 messages, p99", p99(values) / floor, 20.0, "x", detail)


async def _keeping(note: Callable[..., None], store: Store, count: int) -> None:
    """POST message in guilds with and without an index, in turns."""
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        Subject("hubbub", *store.arguments(one)) as plain,
        Subject("hubbub", *store.arguments(other)) as indexed,
    ):
        reader = Reader(indexed.about["url"])
        await reader.open()
        path = f"/api/v10/guilds/{indexed.about['guild']}/messages/search?limit=1"
        await ready(reader, request("GET", path, indexed.about["user_token"]))
        costs: dict[str, list[float]] = {one: [], other: []}
        for _ in range(3):
            for subject, folder in ((plain, one), (indexed, other)):
                costs[folder].append(await _cost(subject, count, lambda folder=folder: store.cpu(folder)))
        without, with_index = (statistics.median(spent) for spent in costs.values())
    detail = f"{with_index:.0f} us against {without:.0f} us"
    note(f"{store.name}: POST message with an index / without, CPU", with_index / without, 1.3, "x", detail)


async def _cost(subject: Subject, count: int, beside: Callable[[], float]) -> float:
    """Microseconds of processor time for one message, its indexing and the store's own included."""
    path = f"/api/v10/channels/{subject.about['channel']}/messages"
    said = words(count)
    requests = [request("POST", path, subject.about["user_token"], {"content": text}) for text in said]
    before = subject.cpu() + beside()
    await drive(subject.about["url"], requests, CONNECTIONS)
    # Changes gather for a second before they are indexed.
    await asyncio.sleep(1.5)
    return (subject.cpu() + beside() - before) / count * 1e6
