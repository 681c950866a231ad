"""Search in a guild with a million messages against reading fifty of them, and what keeping the index costs who writes."""

import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.load import Subject, drive, request

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


def fill(database: Path, channel: int, author: int, count: int) -> None:
    """Put old messages into a stopped platform's store."""
    with sqlite3.connect(database) as connection:
        connection.executemany(
            "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, 0, 0, ?)",
            ((channel, channel + 1 + number, author, text) for number, text in enumerate(words(count))),
        )


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
    await _finding(note, 100_000 if quick else 1_000_000, 200 if quick else 400)
    await _keeping(note, 2_000 if quick else 8_000)


async def _finding(note: Callable[..., None], stored: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            about = subject.about
        fill(Path(folder) / "hubbub.sqlite3", int(about["channel"]), int(about["user_id"]), stored)
        with Subject("hubbub-again", folder) as subject:
            about = about | subject.about
            token, guild = about["user_token"], about["guild"]
            reader = Reader(about["url"])
            await reader.open()

            def searching(query: str) -> bytes:
                query = query.format(author=about["user_id"])
                return request("GET", f"/api/v10/guilds/{guild}/messages/search?{query}", token)

            reading = request("GET", f"/api/v10/channels/{about['channel']}/messages?limit=50", token)
            took_s = await ready(reader, searching("limit=1"))
            print(f"     {stored:,} messages indexed in {took_s:.0f} s", flush=True)
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
                note(f"search for {name} / GET 50 messages, p99", p99(values) / floor, 20.0, "x", detail)


async def _keeping(note: Callable[..., None], count: int) -> None:
    """POST message in guilds with and without an index, in turns."""
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        Subject("hubbub", one) as plain,
        Subject("hubbub", other) as indexed,
    ):
        reader = Reader(indexed.about["url"])
        await reader.open()
        path = f"/api/v10/guilds/{indexed.about['guild']}/messages/search?limit=1"
        await ready(reader, request("GET", path, indexed.about["user_token"]))
        costs: dict[Subject, list[float]] = {plain: [], indexed: []}
        for _ in range(3):
            for subject, spent in costs.items():
                spent.append(await _cost(subject, count))
        without, with_index = (statistics.median(spent) for spent in costs.values())
    detail = f"{with_index:.0f} us against {without:.0f} us"
    note("POST message with an index / without, CPU", with_index / without, 1.3, "x", detail)


async def _cost(subject: Subject, count: int) -> float:
    """Microseconds of processor time for one message, its indexing included."""
    path = f"/api/v10/channels/{subject.about['channel']}/messages"
    said = words(count)
    requests = [request("POST", path, subject.about["user_token"], {"content": text}) for text in said]
    before = subject.cpu()
    await drive(subject.about["url"], requests, CONNECTIONS)
    # Changes gather for a second before they are indexed.
    await asyncio.sleep(1.5)
    return (subject.cpu() - before) / count * 1e6
