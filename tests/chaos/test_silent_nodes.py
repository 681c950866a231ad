"""Processes that stop in the middle of a transaction: others change the same rows, although the rows are locked."""

import asyncio
import os
import signal
import threading
import time
from pathlib import Path

import psycopg
import pytest

from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.postgres_monitor import SILENT_TRANSACTION_SECONDS_MAX
from hubbub.server.core.store import StoreUnavailable, Tx
from tests.chaos.cluster import Node, running_cluster
from tests.journeys.processes import create_guild, register_user
from tests.time_bounds import check_seconds
from tests.world import WAIT_TIMEOUT_SECONDS, wait_until

LOCKED_SECONDS_MAX = 2 * SILENT_TRANSACTION_SECONDS_MAX
"""Maximum time in seconds for which a write waits for the rows that a paused process locked."""
WAITING_UPDATES = """
CREATE FUNCTION wait_in_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN WHILE NOT pg_try_advisory_xact_lock_shared(1) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NULL; END $$;
CREATE TRIGGER waiting_updates AFTER UPDATE ON channels FOR EACH STATEMENT EXECUTE FUNCTION wait_in_update();
"""
"""Trigger that makes updates of channels wait, with the rows locked, until the test releases a lock."""
WAITING_UPDATE_COUNT = (
    "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
)


def increment(tx: Tx) -> None:
    tx.run("UPDATE counters SET value = value + 1")


async def test_a_silent_transaction_ends_without_effect(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        connection.execute("CREATE TABLE counters (value BIGINT); INSERT INTO counters VALUES (0)")
    silent_node, other_node = [PostgresDatabase(postgres_database) for _ in range(2)]
    lock_event, continue_event = threading.Event(), threading.Event()

    def increment_and_stop(tx: Tx) -> None:
        increment(tx)
        lock_event.set()
        assert continue_event.wait(WAIT_TIMEOUT_SECONDS)

    await asyncio.gather(silent_node.start(), other_node.start())
    try:
        silent_write = asyncio.create_task(silent_node.write(increment_and_stop))
        await asyncio.to_thread(lock_event.wait, WAIT_TIMEOUT_SECONDS)
        await other_node.write(increment)
        assert not silent_write.done()
        continue_event.set()
        with pytest.raises(StoreUnavailable):
            await silent_write
        assert await other_node.read(lambda tx: tx.value("SELECT value FROM counters")) == 1
    finally:
        continue_event.set()
        await asyncio.gather(silent_node.close(), other_node.close())


@pytest.mark.chaos
async def test_a_process_that_is_paused_in_a_transaction_does_not_keep_its_rows_locked(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_cluster(tmp_path, postgres_database, nats_url, [Node(), Node()]) as (client, servers):
        paused_server, other_server = servers
        alice = await register_user(client, other_server, "alice")
        _, channel_id, _ = await create_guild(alice)
        with psycopg.connect(postgres_database, autocommit=True) as connection:
            connection.execute(WAITING_UPDATES)
            connection.execute("SELECT pg_advisory_lock(1)")
            paused_request = asyncio.create_task(
                alice.at_server(paused_server).request("PATCH", f"/channels/{channel_id}", json={"topic": "paused"})
            )
            await wait_until(lambda: connection.execute(WAITING_UPDATE_COUNT).fetchone() == (1,))
            os.kill(paused_server.pid, signal.SIGSTOP)
            try:
                connection.execute("SELECT pg_advisory_unlock(1)")
                started_at = time.monotonic()
                response = await alice.request("PATCH", f"/channels/{channel_id}", json={"topic": "other"})
                seconds = time.monotonic() - started_at
            finally:
                os.kill(paused_server.pid, signal.SIGCONT)
        assert response.status == 200, response.body
        check_seconds(seconds, LOCKED_SECONDS_MAX)
        # The paused process repeats its change, or rejects it if it lost its lease meanwhile.
        paused_response = await paused_request
        assert paused_response.status in (200, 503)
        topic = (await alice.get(f"/channels/{channel_id}")).ok()["topic"]
        assert topic == ("paused" if paused_response.status == 200 else "other")
