"""kill -9 during writes: acknowledged writes survive, and no write is partial."""

import asyncio
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, Tx

ACKNOWLEDGED_BEFORE_KILL = 400
"""Number of acknowledged writes after which the writer is killed."""
CALLER_COUNT = 32

pytestmark = pytest.mark.crash


def new_database(target: str) -> Database:
    return PostgresDatabase(target) if target.startswith("postgresql:") else SqliteDatabase(Path(target))


def write_pair(tx: Tx, number: int) -> None:
    """Write two rows that belong together and a job."""
    tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", f"left-{number}", str(tx.stamp))
    tx.enqueue("pair", number)
    tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", f"right-{number}", str(tx.stamp))


async def write_until_killed(target: str) -> None:
    """Write from many callers, three quarters of which are quick, and print each acknowledged number.

    This runs in the process to be killed."""
    db = new_database(target)
    await db.start()

    async def caller(first_number: int) -> None:
        number = first_number
        while True:
            await db.write(partial(write_pair, number=number), quick=first_number % 4 != 0)
            os.write(1, b"%d\n" % number)
            number += CALLER_COUNT

    await asyncio.gather(*(caller(first_number) for first_number in range(CALLER_COUNT)))


def kill_writer_under_load(target: str) -> set[int]:
    """Run the writer, kill it once it has acknowledged enough, and return the acknowledged numbers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    writer = subprocess.Popen([sys.executable, __file__, target], stdout=subprocess.PIPE, env=environment)
    assert writer.stdout is not None
    output = b""
    while output.count(b"\n") < ACKNOWLEDGED_BEFORE_KILL:
        chunk = os.read(writer.stdout.fileno(), 65536)
        assert chunk, "the writer ended by itself"
        output += chunk
    writer.send_signal(signal.SIGKILL)
    output += writer.stdout.read()
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()
    return {int(line) for line in output.split(b"\n")[:-1]}


async def check_after_kill(target: str, acknowledged_numbers: set[int]) -> dict[int, str]:
    """Assert that the database contains all acknowledged writes and no partial write; return the stamp of each."""
    db = new_database(target)
    await db.start()
    rows = await db.read(lambda tx: tx.all("SELECT name, value FROM meta WHERE name LIKE '%-%'"))
    job_numbers = await db.read(lambda tx: {int(row[0]) for row in tx.all("SELECT payload FROM jobs")})
    stamp = await db.write(lambda tx: tx.stamp)
    await db.close()
    left_values = {int(name.removeprefix("left-")): value for name, value in rows if name.startswith("left-")}
    right_values = {int(name.removeprefix("right-")): value for name, value in rows if name.startswith("right-")}

    assert len(acknowledged_numbers) >= ACKNOWLEDGED_BEFORE_KILL
    assert acknowledged_numbers <= set(left_values)
    assert left_values == right_values
    assert job_numbers == set(left_values)
    assert stamp > max(map(int, left_values.values()))
    return left_values


async def test_sqlite_keeps_every_acknowledged_write(tmp_path: Path) -> None:
    target = str(tmp_path / "hubbub.db")
    acknowledged_numbers = kill_writer_under_load(target)
    await check_after_kill(target, acknowledged_numbers)


async def test_postgres_keeps_every_acknowledged_write(postgres_database: str) -> None:
    acknowledged_numbers = kill_writer_under_load(postgres_database)
    stamps = await check_after_kill(postgres_database, acknowledged_numbers)
    # Some of the quick writes shared a transaction (decisions/0180).
    assert len(set(stamps.values())) < len(stamps)


if __name__ == "__main__":
    asyncio.run(write_until_killed(sys.argv[1]))
