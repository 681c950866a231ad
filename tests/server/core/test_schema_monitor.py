"""The monitor of the schema, on both stores."""

import asyncio

import pytest

from hubbub.server.core import migrations
from hubbub.server.core.schema_monitor import SchemaMonitor
from hubbub.server.core.store import Database

CURRENT_SCHEMA = len(migrations.load())


async def record_migration(database: Database, number: int, oldest_schema: int) -> None:
    """Record a migration of a newer version."""
    await database.write(
        lambda tx: (
            tx.run("INSERT INTO schema_migrations (number, name, checksum) VALUES (?, 'later', 'x')", number),
            tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", f"migrations.{number}", str(oldest_schema)),
        )
    )


async def test_a_process_continues_on_an_expanded_schema_and_stops_on_a_contracted_one(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="hubbub")
    stop_event = asyncio.Event()
    monitor = SchemaMonitor(database, stop_event.set, check_interval_seconds=0.01)
    monitor.start()

    await record_migration(database, CURRENT_SCHEMA + 1, 0)
    async with asyncio.timeout(30):
        while "this process continues" not in caplog.text:
            await asyncio.sleep(0.01)
        assert not stop_event.is_set()
        await record_migration(database, CURRENT_SCHEMA + 2, CURRENT_SCHEMA + 1)
        await stop_event.wait()

    assert caplog.text.count("this process continues") == 1
    assert f"This process stops: the database has schema {CURRENT_SCHEMA + 2} (later)" in caplog.text
    await monitor.close()
