"""Connections to PostgreSQL that are lost in the middle of a commit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.store import StoreUnavailable, Tx
from tests.chaos.cluster import FaultProxy, running_proxy
from tests.chaos.test_outages import proxied_url, socket_path_of
from tests.server.core.test_store import AUDIENCE, TEST_EVENT, record_events
from tests.world import wait_until

SLOW_COMMIT = """
CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL);
CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN WHILE NOT pg_try_advisory_xact_lock(1) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION wait_in_commit();
"""
"""Table whose inserts make COMMIT wait until the test releases a lock."""
WAITING_COMMITS = """
SELECT COUNT(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'PgSleep' AND query = 'COMMIT'
"""


@asynccontextmanager
async def running_database(url: str) -> AsyncIterator[tuple[PostgresDatabase, FaultProxy, psycopg.Connection]]:
    """Run a store behind a proxy; yield it with the proxy and a direct connection to PostgreSQL."""
    async with running_proxy(socket_path_of(url)) as proxy:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(SLOW_COMMIT)
            database = PostgresDatabase(proxied_url(url, proxy))
            await database.start()
            try:
                yield database, proxy, connection
            finally:
                proxy.heal()
                await database.close()


def add_note(tx: Tx) -> None:
    tx.run("INSERT INTO notes (id, word) VALUES (1, 'word')")
    tx.emit(TEST_EVENT, 1, AUDIENCE)


@pytest.mark.parametrize("mode", ["refuse", "swallow"])
async def test_the_event_of_a_stored_commit_is_published_although_its_outcome_was_unknown(
    postgres_database: str, mode: str
) -> None:
    async with running_database(postgres_database) as (database, proxy, connection):
        events = record_events(database)
        connection.execute("SELECT pg_advisory_lock(1)")
        write = asyncio.create_task(database.write(add_note, quick=True))
        await wait_until(lambda: connection.execute(WAITING_COMMITS).fetchone() == (1,))
        getattr(proxy, mode)()
        connection.execute("SELECT pg_advisory_unlock(1)")
        with pytest.raises(StoreUnavailable):
            await write
        assert events == []
        proxy.heal()
        await wait_until(lambda: events)
        assert [event.body for event in events] == [b"1"]
