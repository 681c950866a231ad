"""The leases of process numbers."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from hubbub.server.app import App
from hubbub.server.commands import startup_checks
from hubbub.server.core.config import Config
from hubbub.server.core.postgres import CONNECTIONS_MAX
from hubbub.server.core.process_leases import ProcessLease, ProcessNumberInUse, find_lease
from hubbub.server.core.store import Database
from hubbub.server.doctor import Finding, run_checks
from tests.fixtures.postgres import DatabasePool
from tests.world import small_config


class Lease(ProcessLease):
    """A lease with short times that records whether it was lost."""

    def __init__(self, database: Database, worker: int = 0) -> None:
        super().__init__(database, worker, lambda: self.lost.set(), renew_seconds=0.05, lease_seconds=1.0)
        self.lost = asyncio.Event()

    def kill(self) -> None:
        """Stop renewing without a release, like a killed process."""
        assert self._task is not None
        self._task.cancel()


async def test_a_number_in_use_is_refused_with_its_holder(database: Database) -> None:
    first_lease = Lease(database)
    await first_lease.acquire()

    with pytest.raises(ProcessNumberInUse, match=r"process number 0 is in use by .*; start every process with its own"):
        await Lease(database).acquire()

    assert not first_lease.lost.is_set()
    other_number_lease = Lease(database, worker=1)
    await other_number_lease.acquire()
    await other_number_lease.release()
    await first_lease.release()


async def test_a_released_number_is_free_immediately(database: Database) -> None:
    for _ in range(2):
        lease = Lease(database)
        await lease.acquire()
        await lease.release()

    assert await database.read(lambda tx: find_lease(tx, 0)) is None


async def test_a_process_acquires_the_number_of_a_killed_process(database: Database) -> None:
    killed_lease = Lease(database)
    await killed_lease.acquire()
    killed_lease.kill()

    successor = Lease(database)
    await successor.acquire()

    await successor.release()


@pytest.mark.skipif(
    not Path("/proc/sys/kernel/random/boot_id").exists(), reason="requires Linux: process IDs are compared"
)
async def test_the_number_of_a_process_that_ended_on_this_machine_is_free_immediately(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    killed_lease = Lease(database)
    await killed_lease.acquire()
    killed_lease.kill()
    ended_process = subprocess.Popen([sys.executable, "-c", ""])
    ended_process.wait()
    await database.write(lambda tx: tx.run("UPDATE process_leases SET pid = ?", ended_process.pid))

    successor = Lease(database)
    await successor.acquire()

    assert "Waiting" not in caplog.text
    await successor.release()


async def test_a_process_notices_that_its_number_was_taken_over(database: Database) -> None:
    replaced_lease = Lease(database)
    await replaced_lease.acquire()
    await database.write(lambda tx: tx.run("UPDATE process_leases SET owner = 'successor'"))

    await asyncio.wait_for(replaced_lease.lost.wait(), 30)

    await replaced_lease.release()
    row = await database.read(lambda tx: find_lease(tx, 0))
    assert row is not None
    assert row.owner == "successor"


async def diagnose_database(url: str, process_number: int = 0) -> Finding:
    """Return the finding of `hubbub doctor` about the database."""
    config = Config(port=0, database_url=url, worker=process_number)
    return next(
        finding for finding in [finding async for finding in run_checks(config)] if finding.subject == "database"
    )


async def test_a_second_server_with_the_same_number_does_not_start(migrated_databases: DatabasePool) -> None:
    with migrated_databases.acquire() as url:
        first_app, second_app, third_app = (App(small_config(database_url=url, worker=number)) for number in (0, 0, 1))
        await first_app.start()
        with pytest.raises(ProcessNumberInUse):
            await second_app.start()
        await third_app.start()
        finding = await diagnose_database(url)
        assert (finding.level, "process number 0 is in use by" in finding.message) == ("note", True)
        await third_app.stop()
        await first_app.stop()
        restarted_app = App(small_config(database_url=url))
        await restarted_app.start()
        await restarted_app.stop()


async def test_too_few_connections_for_all_processes_are_named_with_the_setting(
    migrated_databases: DatabasePool, caplog: pytest.LogCaptureFixture
) -> None:
    with migrated_databases.acquire() as url, psycopg.connect(url, autocommit=True) as connection:
        first_app, second_app = (App(small_config(database_url=url, worker=number)) for number in (0, 1))
        await first_app.start()
        await startup_checks.run_checks(first_app)
        assert "connections" not in caplog.text
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT {2 * CONNECTIONS_MAX - 1}')
        await second_app.start()

        await startup_checks.run_checks(second_app)
        await second_app.stop()
        finding = await diagnose_database(url, process_number=1)
        connection.execute(f'ALTER DATABASE "{name}" CONNECTION LIMIT {2 * CONNECTIONS_MAX}')
        later = await diagnose_database(url, process_number=1)
        await first_app.stop()

    problem = "2 processes need up to 74 connections, but PostgreSQL allows 73"
    assert f"{problem}; run: ALTER DATABASE ... CONNECTION LIMIT 84" in caplog.text
    assert (finding.level, problem in finding.message) == ("note", True)
    assert later.level == "ok"
