"""Quick writes that share a transaction on PostgreSQL (decisions/0180)."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import psycopg
import pytest

from hubbub.protocol.operation import Event
from hubbub.server.core.event_dispatch import Dispatch, UserAudience
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.postgres_batches import BATCH_ROUND_TRIPS_MAX, BATCH_UNITS_MAX, LONE_KEY_LEAVES_MIN
from hubbub.server.core.postgres_connection import PostgresConnection
from hubbub.server.core.postgres_statements import intern_statement
from hubbub.server.core.store import Tx
from tests.server.core.test_store import note_ids, record_events, terminate_connections

TEST_EVENT: Event[Any] = Event("HAPPENED", dict)
AUDIENCE = UserAudience.of(1)
INSERT_NOTE = "INSERT INTO notes (id, word) VALUES (?, ?)"
COUNT_NOTES = "SELECT COUNT(*) FROM notes"


class Rejected(Exception):
    """An exception that a unit of work raises."""


@pytest.fixture
async def notes(postgres_database: str) -> Any:
    """A PostgreSQL store with tables of notes, bans and counters."""
    db = PostgresDatabase(postgres_database, thread_count=4)
    await db.start()
    for sql in (
        "CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL)",
        "CREATE TABLE test_bans (id BIGINT PRIMARY KEY)",
        "CREATE TABLE test_counters (id BIGINT PRIMARY KEY, value BIGINT NOT NULL)",
    ):
        await db.write(lambda tx, sql=sql: tx.run(sql))
    yield db
    await db.close()


def add_note(id: int) -> Callable[[Tx], int]:
    """Return a unit of work that reads, inserts a note, emits an event and returns the stamp of its transaction."""

    def unit(tx: Tx) -> int:
        tx.value("SELECT 1")
        tx.send(INSERT_NOTE, id, "word")
        tx.emit(TEST_EVENT, id, AUDIENCE)
        return tx.stamp

    return unit


def insert_note_and_reject(id: int) -> Callable[[Tx], int]:
    """Return a unit of work that inserts a note and then raises `Rejected`."""

    def unit(tx: Tx) -> int:
        add_note(id)(tx)
        raise Rejected

    return unit


def reject(tx: Tx) -> int:
    """Read and raise `Rejected`, without a write."""
    tx.value("SELECT 1")
    raise Rejected


async def write_all(db: PostgresDatabase, units: Iterable[Callable[[Tx], Any]], key: int = 0) -> list[Any]:
    """Run quick writes at the same time and return their results, with exceptions."""
    return await asyncio.gather(*(db.write(unit, quick=True, key=key) for unit in units), return_exceptions=True)


def event_bodies(events: list[Dispatch]) -> list[int]:
    return [int(event.body) for event in events]


async def test_concurrent_units_share_a_transaction_and_publish_in_order(notes: PostgresDatabase) -> None:
    events = record_events(notes)
    round_trips_before = notes.round_trips

    stamps = await write_all(notes, map(add_note, range(8)))

    assert len(set(stamps)) == 1
    # Reads, inserts with the transaction ID, and COMMIT.
    assert notes.round_trips - round_trips_before == 3
    assert event_bodies(events) == list(range(8))
    assert await note_ids(notes) == list(range(8))


async def test_the_size_of_a_batch_is_bounded(notes: PostgresDatabase) -> None:
    notes.metrics = Metrics()

    stamps = await write_all(notes, map(add_note, range(3 * BATCH_UNITS_MAX)))

    assert max(stamps.count(stamp) for stamp in stamps) == BATCH_UNITS_MAX
    assert await note_ids(notes) == list(range(3 * BATCH_UNITS_MAX))


async def test_units_that_fail_leave_the_others_committed(notes: PostgresDatabase) -> None:
    events = record_events(notes)
    await notes.write(add_note(3))

    results = await write_all(
        notes,
        [add_note(1), reject, add_note(2), add_note(3), insert_note_and_reject(4), add_note(5)],
    )

    assert [type(result) for result in results] == [
        int,
        Rejected,
        int,
        psycopg.errors.UniqueViolation,
        Rejected,
        int,
    ]
    assert await note_ids(notes) == [1, 2, 3, 5]
    assert sorted(event_bodies(events)) == [1, 2, 3, 5]


async def test_a_unit_that_fails_before_it_writes_does_not_repeat_the_others(notes: PostgresDatabase) -> None:
    attempts: list[int] = []

    def insert_and_count(tx: Tx) -> int:
        attempts.append(1)
        return add_note(1)(tx)

    results = await write_all(notes, [reject, insert_and_count, reject])

    assert [type(result) for result in results] == [Rejected, int, Rejected]
    assert len(attempts) == 1


async def test_a_batch_of_rejected_units_needs_no_commit(notes: PostgresDatabase) -> None:
    results = await write_all(notes, [reject] * 4)

    assert [type(result) for result in results] == [Rejected] * 4
    assert len(set(await write_all(notes, map(add_note, range(2))))) == 1


async def test_a_serialization_failure_repeats_only_its_batch(notes: PostgresDatabase, postgres_database: str) -> None:
    events = record_events(notes)
    first_attempts: list[int] = []
    later_attempts: list[int] = []

    def count_bans(tx: Tx) -> int:
        count = int(tx.value("SELECT COUNT(*) FROM test_bans"))
        first_attempts.append(count)
        if len(first_attempts) == 1:
            # This transaction and the batch each read what the other one writes, so that no order of them is possible.
            with psycopg.connect(postgres_database) as connection:
                connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
                connection.execute(COUNT_NOTES)
                connection.execute("INSERT INTO test_bans VALUES (1)")
        tx.send(INSERT_NOTE, 100, str(count))
        return count

    def insert_later(tx: Tx) -> int:
        later_attempts.append(1)
        return add_note(200)(tx)

    # The order of the statements of the first unit is that of its insert, so other units may be in the batch.
    results = await write_all(notes, [count_bans, add_note(1), add_note(2)])
    await notes.write(insert_later, quick=True)

    assert results[0] == 1
    assert first_attempts == [0, 1]
    assert len(later_attempts) == 1
    assert await note_ids(notes) == [1, 2, 100, 200]
    assert sorted(event_bodies(events)) == [1, 2, 200]


async def test_a_limit_holds_for_units_of_the_same_batch(notes: PostgresDatabase) -> None:
    def insert_below_limit(id: int) -> Callable[[Tx], None]:
        def unit(tx: Tx) -> None:
            if tx.value(COUNT_NOTES) >= 5:
                raise Rejected
            tx.send(INSERT_NOTE, id, "word")

        return unit

    results = await write_all(notes, map(insert_below_limit, range(24)))

    assert results.count(None) == 5
    assert sum(isinstance(result, Rejected) for result in results) == 19


async def test_units_that_read_what_another_writes_come_before_it_or_see_it(notes: PostgresDatabase) -> None:
    """A ban and messages of the banned user, all in one batch."""
    events = record_events(notes)

    def ban(tx: Tx) -> str:
        tx.value("SELECT 1")
        tx.send("INSERT INTO test_bans (id) VALUES (?)", 1)
        tx.emit(TEST_EVENT, 1000, AUDIENCE)
        return "banned"

    def post(id: int, query_count: int) -> Callable[[Tx], str]:
        def unit(tx: Tx) -> str:
            for number in range(query_count):
                tx.value("SELECT ?::int", number)
            if tx.value("SELECT 1 FROM test_bans WHERE id = 1") is not None:
                raise Rejected
            tx.send(INSERT_NOTE, id, "word")
            tx.emit(TEST_EVENT, id, AUDIENCE)
            return "posted"

        return unit

    results = await write_all(notes, [post(1, 0), ban, post(2, 0), post(3, 1), post(4, 2)])

    # The first query of a unit runs before the ban, the third one after it.
    assert (results[0], results[1], results[2]) == ("posted", "banned", "posted")
    assert isinstance(results[4], Rejected)
    posted_ids = [id for id, result in zip((1, 2, 3, 4), [results[0], *results[2:]], strict=True) if result == "posted"]
    assert await note_ids(notes) == posted_ids
    # No message of the user is published after the ban.
    assert event_bodies(events) == [*posted_ids, 1000]


async def test_units_that_cannot_be_ordered_do_not_share_a_transaction(notes: PostgresDatabase) -> None:
    """Write skew: each unit inserts only if the other one has not inserted."""

    def insert_if_empty(read_table: str, written_table: str) -> Callable[[Tx], bool]:
        def unit(tx: Tx) -> bool:
            if tx.value(f"SELECT COUNT(*) FROM {read_table}"):
                return False
            if written_table == "test_bans":
                tx.send("INSERT INTO test_bans (id) VALUES (?)", 1)
            else:
                tx.send(INSERT_NOTE, 1, "word")
            return True

        return unit

    results = await write_all(notes, [insert_if_empty("test_bans", "notes"), insert_if_empty("notes", "test_bans")])

    assert sorted(results) == [False, True]


async def test_a_canceled_caller_does_not_affect_its_batch(notes: PostgresDatabase) -> None:
    events = record_events(notes)
    tasks = [asyncio.create_task(notes.write(add_note(id), quick=True)) for id in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()

    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(results[1], asyncio.CancelledError)
    assert len({results[0], *results[2:]}) == 1
    assert await note_ids(notes) == [0, 1, 2, 3]
    assert event_bodies(events) == [0, 1, 2, 3]


@pytest.mark.parametrize("is_committed", [False, True])
async def test_a_connection_that_is_cut_during_the_commit_of_a_batch(
    notes: PostgresDatabase, postgres_database: str, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    events = record_events(notes)
    commit = PostgresConnection.commit
    cut: list[int] = []

    def commit_and_lose(connection: PostgresConnection) -> None:
        if cut:
            return commit(connection)
        cut.append(1)
        if is_committed:
            commit(connection)
        terminate_connections(postgres_database)
        connection.execute(intern_statement("SELECT 1"))

    monkeypatch.setattr(PostgresConnection, "commit", commit_and_lose)

    results = await write_all(notes, [*map(add_note, range(4)), reject])

    assert [type(result) for result in results] == [int] * 4 + [Rejected]
    assert (len(set(results[:4])) == 1) is is_committed
    assert await note_ids(notes) == [0, 1, 2, 3]
    assert sorted(event_bodies(events)) == [0, 1, 2, 3]


async def test_a_connection_that_is_cut_during_a_batch(notes: PostgresDatabase, postgres_database: str) -> None:
    await write_all(notes, map(add_note, range(2)))
    cut: list[int] = []

    def insert_after_cut(tx: Tx) -> int:
        tx.value("SELECT 1")
        if not cut:
            cut.append(1)
            terminate_connections(postgres_database)
        return add_note(10)(tx)

    results = await write_all(notes, [add_note(2), insert_after_cut, add_note(3), reject])

    assert [type(result) for result in results] == [int, int, int, Rejected]
    assert await note_ids(notes) == [0, 1, 2, 3, 10]


async def test_a_unit_that_updates_rows_runs_in_its_own_transaction(notes: PostgresDatabase) -> None:
    await notes.write(lambda tx: tx.run("INSERT INTO test_counters VALUES (1, 0)"))
    attempts: list[int] = []

    def increment(tx: Tx) -> int:
        attempts.append(1)
        tx.value("SELECT 1")
        tx.run("UPDATE test_counters SET value = value + 1 WHERE id = 1")
        return tx.stamp

    results = await write_all(notes, [add_note(1), increment, add_note(2)], key=7)

    assert results[0] == results[2] != results[1]
    assert len(attempts) == 2
    assert await notes.read(lambda tx: tx.value("SELECT value FROM test_counters")) == 1


async def test_a_unit_that_inserts_and_then_updates_runs_in_its_own_transaction(notes: PostgresDatabase) -> None:
    await notes.write(lambda tx: tx.run("INSERT INTO test_counters VALUES (1, 0)"))

    def insert_and_increment(tx: Tx) -> int:
        tx.run("INSERT INTO notes (id, word) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", 1, "word")
        tx.run("UPDATE test_counters SET value = value + 1 WHERE id = 1")
        return tx.stamp

    results = await write_all(notes, [insert_and_increment, add_note(2), insert_and_increment])

    assert len(set(results)) == 3
    assert await note_ids(notes) == [1, 2]
    assert await notes.read(lambda tx: tx.value("SELECT value FROM test_counters")) == 2


async def test_objects_whose_units_leave_their_batches_are_remembered(notes: PostgresDatabase) -> None:
    await notes.write(lambda tx: tx.run("INSERT INTO test_counters VALUES (1, 0)"))
    attempts: list[int] = []

    def increment(tx: Tx) -> None:
        attempts.append(1)
        tx.run("UPDATE test_counters SET value = value + 1 WHERE id = 1")

    for _ in range(6):
        await asyncio.gather(
            notes.write(increment, quick=True, key=7), notes.write(lambda tx: tx.value("SELECT 1"), quick=True, key=8)
        )

    assert len(attempts) == 6 + LONE_KEY_LEAVES_MIN
    assert await notes.read(lambda tx: tx.value("SELECT value FROM test_counters")) == 6


async def test_a_unit_with_many_round_trips_leaves_its_batch(notes: PostgresDatabase) -> None:
    def query_often(tx: Tx) -> int:
        for number in range(BATCH_ROUND_TRIPS_MAX + 2):
            tx.value("SELECT ?::int", number)
        return add_note(1)(tx)

    results = await write_all(notes, [add_note(2), query_often, add_note(3)])

    assert results[0] == results[2] != results[1]
    assert await note_ids(notes) == [1, 2, 3]


async def test_equal_queries_of_a_batch_see_the_writes_before_them(notes: PostgresDatabase) -> None:
    def insert_and_count(tx: Tx) -> tuple[int, int]:
        tx.send(INSERT_NOTE, 1, "word")
        return int(tx.value(COUNT_NOTES)), len(tx.all("SELECT id FROM notes"))

    def count(tx: Tx) -> tuple[int, int]:
        rows = tx.all("SELECT id FROM notes")
        # Each unit gets its own list, so this change must not reach the units with the same query.
        rows.append((0,))
        return int(tx.value(COUNT_NOTES)), len(rows) - 1

    results = await write_all(notes, [count, insert_and_count, count, count])

    assert set(results) <= {(0, 0), (1, 1)}
    assert results[1] == (1, 1)


async def test_the_hook_before_a_commit_runs_once_with_all_events(notes: PostgresDatabase) -> None:
    calls: list[list[int]] = []
    callback_results: list[int] = []

    def record(tx: Tx) -> None:
        calls.append(event_bodies(tx.dispatches))
        tx.send("INSERT INTO test_counters (id, value) VALUES (?, ?)", tx.stamp, len(tx.dispatches))
        tx.after_commit.append(lambda: callback_results.append(1))

    notes.before_commit = record

    stamps = await write_all(notes, map(add_note, range(3)))

    assert (calls, callback_results) == ([[0, 1, 2]], [1])
    assert await notes.read(lambda tx: tx.all("SELECT id, value FROM test_counters")) == [(stamps[0], 3)]


async def test_jobs_and_callbacks_of_a_batch_take_effect(notes: PostgresDatabase) -> None:
    calls: list[str] = []
    notes.on_wake = lambda: calls.append("woken")

    def enqueue(number: int) -> Callable[[Tx], int]:
        def unit(tx: Tx) -> int:
            tx.after_commit.append(lambda: calls.append(f"after {number}"))
            return tx.enqueue("kind", number)

        return unit

    job_ids = await write_all(notes, map(enqueue, range(3)))

    assert len(set(job_ids)) == 3
    assert calls == ["after 0", "after 1", "after 2", "woken"]
    assert await notes.read(lambda tx: tx.value("SELECT COUNT(*) FROM jobs WHERE kind = 'kind'")) == 3


async def test_closing_finishes_batches(notes: PostgresDatabase) -> None:
    tasks = [asyncio.create_task(notes.write(add_note(id), quick=True)) for id in range(100)]
    await asyncio.sleep(0)
    await notes.close()

    assert all(isinstance(result, int) for result in await asyncio.gather(*tasks))
