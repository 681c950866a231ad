"""Guarantees of `Database` that every store fulfills, and those of SQLite and PostgreSQL alone."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hubbub.protocol.ids import UserId
from hubbub.protocol.operation import Event
from hubbub.server.core.event_dispatch import Dispatch, UserAudience
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.postgres_connection import PostgresConnection
from hubbub.server.core.postgres_forecasts import SAME_READS_MIN
from hubbub.server.core.postgres_statements import intern_statement, translate_placeholders
from hubbub.server.core.postgres_tx import PostgresSnapshot
from hubbub.server.core.query_cache import CachedQuery
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, Snapshot, StoreUnavailable, Tx, WideQuery
from hubbub.server.core.translation import ENGLISH, Language, current_language, set_language
from tests.fixtures.databases import DURABLE_STORES, NewDatabase
from tests.world import WAIT_TIMEOUT_SECONDS

TEST_EVENT: Event[Any] = Event("HAPPENED", dict)
AUDIENCE = UserAudience.of(1)


class Rejected(Exception):
    """An exception that a unit of work raises."""


@pytest.fixture
async def notes(database: Database) -> Database:
    """Each store, with a table of notes."""
    await database.write(lambda tx: tx.run("CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL)"))
    return database


def insert_note(id: int, word: str = "word") -> Callable[[Tx], int]:
    """Return a unit of work that inserts a note and emits an event."""

    def unit(tx: Tx) -> int:
        tx.run("INSERT INTO notes (id, word) VALUES (?, ?)", id, word)
        tx.emit(TEST_EVENT, {"id": id}, AUDIENCE)
        return id

    return unit


def insert_note_and_reject(id: int) -> Callable[[Tx], int]:
    """Return a unit of work that inserts a note and then raises `Rejected`."""

    def unit(tx: Tx) -> int:
        insert_note(id)(tx)
        raise Rejected(id)

    return unit


def record_events(db: Database) -> list[Dispatch]:
    """Return a list that collects the events published from now on."""
    events: list[Dispatch] = []
    db.on_commit = events.extend
    return events


async def note_ids(db: Database) -> list[int]:
    return [row[0] for row in await db.read(lambda tx: tx.all("SELECT id FROM notes ORDER BY id"))]


async def test_a_committed_write_can_be_read(notes: Database) -> None:
    assert await notes.write(insert_note(1, "hello")) == 1

    assert await notes.read(lambda tx: tx.one("SELECT id, word FROM notes")) == (1, "hello")


async def test_a_wide_row_returns_its_columns_unchanged(notes: Database) -> None:
    word = 'quote " backslash \\ line \n tab \t bell \x07 \U0001f525 \u2028 </script>'
    await notes.write(insert_note(2**63 - 1, word))
    query = WideQuery("id, word, NULL, -1, (SELECT COUNT(*) FROM notes)", "FROM notes WHERE id = ?")

    row = await notes.read(lambda tx: tx.wide(query, 2**63 - 1))

    assert row is not None
    assert list(row) == [2**63 - 1, word, None, -1, 1]
    assert await notes.read(lambda tx: tx.wide(query, 5)) is None


async def test_a_failed_unit_has_no_effects_and_publishes_nothing(notes: Database) -> None:
    events = record_events(notes)
    calls: list[str] = []

    def unit(tx: Tx) -> None:
        tx.after_commit.append(lambda: calls.append("after"))
        tx.enqueue("kind", {})
        insert_note_and_reject(1)(tx)

    notes.on_wake = lambda: calls.append("woken")
    with pytest.raises(Rejected):
        await notes.write(unit)

    assert await note_ids(notes) == []
    assert await notes.read(lambda tx: tx.value("SELECT COUNT(*) FROM jobs")) == 0
    assert (events, calls) == ([], [])


@pytest.mark.parametrize("quick_flags", [(False,), (True,), (True, True, False)], ids=["plain", "quick", "mixed"])
async def test_a_failed_unit_does_not_affect_concurrent_units(notes: Database, quick_flags: tuple[bool, ...]) -> None:
    events = record_events(notes)
    units = [insert_note_and_reject(id) if id % 3 == 0 else insert_note(id) for id in range(30)]

    writes = (notes.write(unit, quick=quick_flags[index % len(quick_flags)]) for index, unit in enumerate(units))
    results = await asyncio.gather(*writes, return_exceptions=True)

    committed_ids = [id for id in range(30) if id % 3]
    assert await note_ids(notes) == committed_ids
    assert [result for result in results if isinstance(result, int)] == committed_ids
    assert sum(isinstance(result, Rejected) for result in results) == 10
    assert sorted(event.body for event in events) == sorted(b'{"id":%d}' % id for id in committed_ids)


async def test_a_violated_constraint_rolls_back_only_its_unit(notes: Database) -> None:
    def insert_duplicate(tx: Tx) -> None:
        insert_note(2)(tx)
        insert_note(1)(tx)

    results = await asyncio.gather(
        notes.write(insert_note(1)), notes.write(insert_duplicate), notes.write(insert_note(3)), return_exceptions=True
    )

    assert sum(isinstance(result, sqlite3.IntegrityError | psycopg.IntegrityError) for result in results) == 1
    assert 3 in await note_ids(notes)
    assert await note_ids(notes) in ([1, 3], [1, 2, 3])


@pytest.mark.parametrize("quick_flags", [(False,), (True,), (True, False)], ids=["plain", "quick", "mixed"])
async def test_events_are_published_in_commit_order_before_the_write_returns(
    notes: Database, quick_flags: tuple[bool, ...]
) -> None:
    await notes.write(lambda tx: tx.run("INSERT INTO notes (id, word) VALUES (0, '0')"))
    published_numbers: list[int] = []
    notes.on_commit = lambda dispatches: published_numbers.extend(int(event.body) for event in dispatches)

    def count(tx: Tx) -> int:
        next_value = int(tx.value("SELECT word FROM notes WHERE id = 0")) + 1
        tx.run("UPDATE notes SET word = ? WHERE id = 0", str(next_value))
        tx.emit(TEST_EVENT, next_value, AUDIENCE)
        return next_value

    async def caller() -> None:
        for number in range(5):
            assert await notes.write(count, quick=quick_flags[number % len(quick_flags)]) in published_numbers

    await asyncio.gather(*(caller() for _ in range(8)))

    assert published_numbers == list(range(1, 41))


async def test_commit_callbacks_run_in_order_despite_a_failure(notes: Database) -> None:
    order: list[str] = []

    def unit(tx: Tx) -> None:
        tx.after_commit.append(lambda: order.append("after_commit"))
        tx.after_commit.append(lambda: [][0])
        tx.enqueue("kind", {})
        insert_note(1)(tx)

    notes.on_commit = lambda dispatches: order.append(dispatches[0].event)
    notes.on_wake = lambda: order.append("woken")
    await notes.write(unit)

    assert order == ["after_commit", "HAPPENED", "woken"]


async def test_a_unit_that_catches_its_own_exception_still_commits(notes: Database) -> None:
    def unit(tx: Tx) -> None:
        try:
            raise Rejected
        except Rejected:
            insert_note(1)(tx)

    await notes.write(unit)

    assert await note_ids(notes) == [1]


async def test_a_snapshot_covers_a_stamp_exactly_when_its_row_is_visible(notes: Database) -> None:
    stamps: dict[int, int] = {}
    notes.on_commit = lambda dispatches: stamps.update((int(event.body), event.stamp) for event in dispatches)
    observations: list[tuple[Snapshot, set[int]]] = []

    def write(id: int) -> Callable[[Tx], None]:
        def unit(tx: Tx) -> None:
            tx.run("INSERT INTO notes (id, word) VALUES (?, '')", id)
            tx.emit(TEST_EVENT, id, AUDIENCE)
            if id % 7 == 0:
                raise Rejected

        return unit

    def observe(tx: Tx) -> tuple[Snapshot, set[int]]:
        return tx.snapshot, {row[0] for row in tx.all("SELECT id FROM notes")}

    async def writer(start: int) -> None:
        for id in range(start, start + 20):
            await asyncio.gather(notes.write(write(id)), return_exceptions=True)
            if id % 5 == 0:
                await notes.write(lambda tx: tx.run("UPDATE notes SET word = 'silent' WHERE id = ?", start))

    async def reader() -> None:
        for _ in range(30):
            observations.append(await notes.read(observe))

    await asyncio.gather(*(writer(start * 100 + 1) for start in range(6)), *(reader() for _ in range(4)))
    observations.append(await notes.read(observe))

    assert len(stamps) == len(observations[-1][1]) > 60
    for snapshot, visible in observations:
        for id, stamp in stamps.items():
            assert snapshot.covers(stamp) == (id in visible)


# The database in memory is left out: its reads run between its writes.
@pytest.mark.parametrize("new_database", DURABLE_STORES, indirect=True)
async def test_a_read_sees_one_snapshot(notes: Database) -> None:
    first_read, write_done = threading.Event(), threading.Event()

    def unit(tx: Tx) -> tuple[Any, Any, bool]:
        count_before = tx.value("SELECT COUNT(*) FROM notes")
        first_read.set()
        assert write_done.wait(WAIT_TIMEOUT_SECONDS)
        return count_before, tx.value("SELECT COUNT(*) FROM notes"), tx.snapshot.covers(stamps[0])

    events = record_events(notes)
    reading_task = asyncio.create_task(notes.read(unit, long=True))
    await asyncio.to_thread(first_read.wait, 10)
    await notes.write(insert_note(1))
    stamps = [events[0].stamp]
    # Other reads during the long read see the new row.
    assert list(await asyncio.gather(note_ids(notes), note_ids(notes))) == [[1], [1]]
    write_done.set()

    assert await reading_task == (0, 0, False)


async def test_a_read_that_remembers_results_returns_them_unchanged(notes: Database) -> None:
    query = "SELECT id, word FROM notes WHERE id <= ? ORDER BY id"

    def read(tx: Tx) -> list[list[tuple[Any, ...]]]:
        tx.remember_results()
        results = [list(tx.all(query, 1)), list(tx.all(query, 2))]
        # The caller may change the rows that it received.
        tx.all(query, 2).clear()
        return [*results, tx.all(query, 1), tx.all(query, 2)]

    await notes.write(insert_note(1))
    assert await notes.read(read) == [[(1, "word")]] * 4
    await notes.write(insert_note(2))
    for long in (False, True):
        one, both, *repeated_rows = await notes.read(read, long=long)
        assert (one, both) == ([(1, "word")], [(1, "word"), (2, "word")])
        assert repeated_rows == [one, both]


async def test_a_read_cannot_write(notes: Database) -> None:
    with pytest.raises((sqlite3.Error, psycopg.Error)):
        await notes.read(insert_note(1))

    await notes.write(insert_note(2))
    assert await note_ids(notes) == [2]


async def test_an_acknowledged_write_is_visible_to_every_later_read(notes: Database) -> None:
    async def caller(start: int) -> None:
        for id in range(start, start + 15):
            await notes.write(insert_note(id))
            assert await notes.read(lambda tx, id=id: tx.value("SELECT id FROM notes WHERE id = ?", id)) == id  # type: ignore[misc]

    await asyncio.gather(*(caller(start * 100) for start in range(8)))


async def test_values_are_equal_in_every_store(database: Database) -> None:
    def unit(tx: Tx) -> Any:
        blob = "BLOB" if isinstance(database, SqliteDatabase) else "BYTEA"
        tx.run(f"CREATE TABLE things (id BIGINT, flag SMALLINT, name TEXT, body {blob}, ratio DOUBLE PRECISION)")
        tx.run_many(
            "INSERT INTO things VALUES (?, ?, ?, ?, ?)",
            [(UserId(1 << 62), True, "100% sure? 'yes'", b"\x00\xff", 0.5), (2, False, None, None, None)],
        )
        tx.run_many("INSERT INTO things VALUES (?, ?, ?, ?, ?)", [])
        updated_count = tx.run("UPDATE things SET flag = flag WHERE name LIKE '100%' AND name LIKE ?", "%?%")
        returned_rows = tx.all("UPDATE things SET ratio = 1 WHERE id = ? RETURNING id, ratio", 2)
        rows = tx.all("SELECT * FROM things ORDER BY id DESC")
        return updated_count, returned_rows, rows, tx.value("SELECT SUM(flag) + SUM(id) FROM things WHERE id < ?", 5)

    updated_count, returned_rows, rows, total = await database.write(unit)

    assert updated_count == 1
    assert returned_rows == [(2, 1.0)]
    assert rows == [(1 << 62, 1, "100% sure? 'yes'", b"\x00\xff", 0.5), (2, 0, None, None, 1.0)]
    assert type(rows[0][3]) is bytes
    assert (total, type(total)) == (2, int)
    assert [
        type(value) for value in await database.read(lambda tx: tx.one("SELECT 1 < 2, COUNT(*) FROM things") or ())
    ] == [int, int]


async def test_sent_statements_take_effect_before_the_next_statement(notes: Database) -> None:
    def unit(tx: Tx) -> list[Any]:
        tx.send("INSERT INTO notes VALUES (?, ?)", 1, "a")
        tx.send("UPDATE notes SET word = ? WHERE id = ?", "b", 1)
        return tx.all("SELECT word FROM notes")

    assert await notes.write(unit, quick=True) == [("b",)]
    await notes.write(lambda tx: tx.send("INSERT INTO notes VALUES (2, 'c')"), quick=True)
    assert await note_ids(notes) == [1, 2]


async def test_a_sent_statement_that_fails_fails_its_unit(notes: Database) -> None:
    events = record_events(notes)
    await notes.write(insert_note(1))

    def unit(tx: Tx) -> None:
        tx.run("INSERT INTO notes VALUES (2, 'word')")
        tx.send("INSERT INTO notes VALUES (1, 'word')")

    def unit_that_rejects(tx: Tx) -> None:
        tx.send("INSERT INTO notes VALUES (3, 'word')")
        raise Rejected

    with pytest.raises((sqlite3.IntegrityError, psycopg.IntegrityError)):
        await notes.write(unit, quick=True)
    with pytest.raises(Rejected):
        await notes.write(unit_that_rejects, quick=True)

    assert await notes.write(insert_note(4), quick=True) == 4
    assert await note_ids(notes) == [1, 4]
    assert len(events) == 2


async def test_a_prefetched_query_returns_its_rows_and_sees_writes(notes: Database) -> None:
    query = "SELECT word FROM notes WHERE id = ?"

    def unit(tx: Tx) -> list[Any]:
        tx.prefetch(query, 1)
        tx.prefetch(query, 2)
        results = [tx.value("SELECT COUNT(*) FROM notes"), tx.value(query, 1), tx.value(query, 1)]
        tx.prefetch(query, 1)
        tx.run("UPDATE notes SET word = 'new' WHERE id = 1")
        return [*results, tx.value(query, 1), tx.value(query, 2)]

    await notes.write(insert_note(1, "old"))
    assert await notes.write(unit, quick=True) == [1, "old", "old", "new", None]


async def test_one_and_value_return_none_without_a_row(notes: Database) -> None:
    assert await notes.read(lambda tx: (tx.one("SELECT 1 FROM notes"), tx.value("SELECT 1 FROM notes"))) == (None, None)


async def test_an_overloaded_store_rejects_units(new_database: NewDatabase) -> None:
    db = new_database()
    db._queued_units_max = 5  # type: ignore[attr-defined]
    await db.start()
    unit_started, release = threading.Event(), threading.Event()

    def hold(tx: Tx) -> None:
        unit_started.set()
        release.wait(WAIT_TIMEOUT_SECONDS)

    holding_tasks = [asyncio.create_task(db.write(hold)) for _ in range(1 if isinstance(db, SqliteDatabase) else 4)]
    await asyncio.to_thread(unit_started.wait, 10)
    results = asyncio.gather(*(db.write(lambda tx: 1) for _ in range(20)), return_exceptions=True)
    await asyncio.sleep(0)
    release.set()

    rejections = [result for result in await results if isinstance(result, StoreUnavailable)]
    assert rejections
    assert "overloaded" in str(rejections[0])
    await asyncio.gather(*holding_tasks)
    assert await db.write(lambda tx: 1) == 1
    await db.close()


async def test_closing_finishes_accepted_units_and_rejects_new_ones(notes: Database) -> None:
    accepted_tasks = [asyncio.create_task(notes.write(insert_note(id))) for id in range(50)]
    await asyncio.sleep(0)
    await notes.close()

    assert [await task for task in accepted_tasks] == list(range(50))
    for call in (notes.write, notes.read):
        with pytest.raises(StoreUnavailable):
            await call(lambda tx: 1)


async def test_a_canceled_caller_does_not_affect_others(notes: Database) -> None:
    tasks = [asyncio.create_task(notes.write(insert_note(id))) for id in range(10)]
    await asyncio.sleep(0)
    tasks[4].cancel()

    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [result for id, result in enumerate(results) if id != 4] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    await notes.check()


async def test_a_unit_that_raises_stop_iteration_is_an_error(notes: Database) -> None:
    with pytest.raises(RuntimeError):
        await notes.write(lambda tx: next(iter([])))
    assert await notes.write(lambda tx: 1) == 1


@pytest.mark.parametrize("new_database", DURABLE_STORES, indirect=True)
async def test_stamps_grow_across_a_restart(new_database: NewDatabase) -> None:
    db = new_database()
    await db.start()
    stamps_before = [await db.write(lambda tx: tx.stamp) for _ in range(3)]
    await db.write(lambda tx: tx.value("SELECT 1"))
    await db.close()
    reopened_database = new_database()
    await reopened_database.start()
    first_stamp_after = await reopened_database.write(lambda tx: tx.stamp)
    snapshot = await reopened_database.read(lambda tx: tx.snapshot)
    second_stamp_after = await reopened_database.write(lambda tx: tx.stamp)
    await reopened_database.close()

    stamps = [*stamps_before, first_stamp_after, second_stamp_after]
    assert stamps == sorted(set(stamps))
    assert [snapshot.covers(stamp) for stamp in stamps] == [True, True, True, True, False]
    if isinstance(reopened_database, SqliteDatabase):
        assert second_stamp_after == first_stamp_after + 1


class TestSqlite:
    @pytest.fixture
    async def notes(self, tmp_path: Path) -> Any:
        db = SqliteDatabase(tmp_path / "hubbub.db")
        await db.start()
        await db.write(lambda tx: tx.run("CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL)"))
        yield db
        await db.close()

    async def test_a_full_disk_fails_whole_units_and_the_database_recovers(self, notes: SqliteDatabase) -> None:
        events = record_events(notes)
        await notes.write(insert_note(0))
        page_count = await notes.write(lambda tx: tx.value("PRAGMA page_count"))
        await notes._between_batches(
            lambda: notes._connection.execute(f"PRAGMA max_page_count = {page_count + 10}").fetchall()
        )

        results = await asyncio.gather(
            *(notes.write(insert_note(id, "x" * 3000)) for id in range(1, 60)), return_exceptions=True
        )
        committed_ids = [result for result in results if isinstance(result, int)]
        failures = [result for result in results if not isinstance(result, int)]
        assert failures
        assert all(isinstance(result, StoreUnavailable) for result in failures)
        assert await note_ids(notes) == [0, *committed_ids]
        assert [int(event.body[6:-1]) for event in events] == [0, *committed_ids]

        await notes._between_batches(lambda: notes._connection.execute("PRAGMA max_page_count = 1000000").fetchall())
        await notes.check()
        await asyncio.gather(*(notes.write(insert_note(id, "x" * 3000)) for id in range(100, 160)))
        assert len(await note_ids(notes)) == 1 + len(committed_ids) + 60

    async def test_a_unit_that_catches_a_full_disk_error_cannot_continue(self, notes: SqliteDatabase) -> None:
        page_count = await notes.write(lambda tx: tx.value("PRAGMA page_count"))
        await notes._between_batches(
            lambda: notes._connection.execute(f"PRAGMA max_page_count = {page_count}").fetchall()
        )

        def unit(tx: Tx) -> None:
            for id in range(100):
                try:
                    insert_note(id, "x" * 3000)(tx)
                except StoreUnavailable:
                    continue

        with pytest.raises(StoreUnavailable):
            await notes.write(unit)
        assert await note_ids(notes) == []

    async def test_a_failing_commit_fails_every_unit_of_its_batch(self, notes: SqliteDatabase) -> None:
        events = record_events(notes)
        # A deferred foreign key is checked by COMMIT, which then fails as a whole.
        await notes._between_batches(lambda: notes._connection.execute("PRAGMA foreign_keys = ON"))
        await notes.write(
            lambda tx: tx.run("CREATE TABLE child (id BIGINT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)")
        )

        results = await asyncio.gather(
            notes.write(insert_note(1)),
            notes.write(lambda tx: tx.run("INSERT INTO child VALUES (99)")),
            notes.write(insert_note_and_reject(3)),
            return_exceptions=True,
        )

        assert [type(result) for result in results] == [StoreUnavailable, StoreUnavailable, Rejected]
        assert (await note_ids(notes), events) == ([], [])
        assert await notes.write(insert_note(1)) == 1

    async def test_a_failing_commit_fails_quick_units_too(self, notes: SqliteDatabase) -> None:
        events = record_events(notes)
        await notes._between_batches(lambda: notes._connection.execute("PRAGMA foreign_keys = ON"))
        await notes.write(
            lambda tx: tx.run("CREATE TABLE child (id BIGINT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)")
        )

        results = await asyncio.gather(
            notes.write(insert_note(1), quick=True),
            notes.write(lambda tx: tx.run("INSERT INTO child VALUES (99)"), quick=True),
            notes.write(insert_note_and_reject(3), quick=True),
            return_exceptions=True,
        )

        assert [type(result) for result in results] == [StoreUnavailable, StoreUnavailable, Rejected]
        assert (await note_ids(notes), events) == ([], [])
        assert await notes.write(insert_note(1), quick=True) == 1

    async def test_quick_units_run_on_the_event_loop(self, notes: SqliteDatabase) -> None:
        threads = await asyncio.gather(
            *(notes.write(lambda _: threading.current_thread(), quick=True) for _ in range(3)),
        )
        assert set(threads) == {threading.main_thread()}

    async def test_quick_units_join_the_batch_of_a_busy_writer(self, notes: SqliteDatabase) -> None:
        """Quick units join the writer's batch while it is busy, so that neither kind starves the other."""
        unit_started, release = threading.Event(), threading.Event()

        def slow(tx: Tx) -> None:
            unit_started.set()
            release.wait(WAIT_TIMEOUT_SECONDS)
            insert_note(1)(tx)

        waiting_task = asyncio.create_task(notes.write(slow))
        await asyncio.to_thread(unit_started.wait, 10)
        quick = [asyncio.create_task(notes.write(insert_note(id), quick=True)) for id in (2, 3)]
        later_write = asyncio.create_task(notes.write(insert_note(4)))
        await asyncio.sleep(0)
        release.set()

        assert await asyncio.gather(waiting_task, *quick, later_write) == [None, 2, 3, 4]
        assert await note_ids(notes) == [1, 2, 3, 4]

    async def test_quick_units_return_to_the_event_loop(self, notes: SqliteDatabase) -> None:
        """Quick units return to the event loop after they joined the writer's batch, even under constant load."""
        unit_started, release = threading.Event(), threading.Event()
        threads: list[threading.Thread] = []

        def slow(tx: Tx) -> None:
            unit_started.set()
            release.wait(WAIT_TIMEOUT_SECONDS)

        async def write_repeatedly() -> None:
            for _ in range(20):
                threads.append(await notes.write(lambda _: threading.current_thread(), quick=True))

        waiting_task = asyncio.create_task(notes.write(slow))
        await asyncio.to_thread(unit_started.wait, 10)
        repeated_writes = [asyncio.create_task(write_repeatedly()) for _ in range(8)]
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(waiting_task, *repeated_writes)

        assert set(threads) == {threading.main_thread()}

    async def test_closing_finishes_quick_units(self, tmp_path: Path, notes: SqliteDatabase) -> None:
        writes = [asyncio.create_task(notes.write(insert_note(id), quick=True)) for id in range(20)]
        await asyncio.sleep(0)
        await notes.close()

        assert await asyncio.gather(*writes) == list(range(20))
        reopened_database = SqliteDatabase(tmp_path / "hubbub.db")
        await reopened_database.start()
        assert await note_ids(reopened_database) == list(range(20))
        await reopened_database.close()

    async def test_the_page_cache_has_the_configured_size(self, tmp_path: Path) -> None:
        db = SqliteDatabase(tmp_path / "small.db", cache_bytes=2 * 1024 * 1024)
        await db.start()
        assert await db.write(lambda tx: tx.value("PRAGMA cache_size")) == -2048
        assert await db.read(lambda tx: tx.value("PRAGMA cache_size")) == -2048
        assert await db.read(lambda tx: tx.value("PRAGMA cache_size"), long=True) == -2048
        await db.close()

    async def test_a_second_process_cannot_open_the_file(self, notes: SqliteDatabase) -> None:
        assert notes._path is not None
        with pytest.raises(StoreUnavailable, match="another process"):
            await SqliteDatabase(notes._path).start()

    async def test_a_file_that_is_not_a_database_is_rejected(self, tmp_path: Path) -> None:
        (tmp_path / "other").write_bytes(b"not a database" * 100)
        with pytest.raises(StoreUnavailable, match="not a database"):
            await SqliteDatabase(tmp_path / "other").start()

    async def test_an_ended_transaction_cannot_be_used(self, notes: SqliteDatabase) -> None:
        transactions: list[Tx] = []
        await notes.write(lambda tx: (tx.run("DELETE FROM notes"), transactions.append(tx)))
        await notes.write(transactions.append, quick=True)
        await notes.read(transactions.append)
        for tx in transactions:
            with pytest.raises(RuntimeError, match="over"):
                tx.run("INSERT INTO notes VALUES (1, 'late')")
            with pytest.raises(RuntimeError, match="over"):
                tx.run_many("INSERT INTO notes VALUES (?, 'late')", [(2,), (3,)])
        assert await note_ids(notes) == []

    async def test_a_backup_is_an_independent_database(self, notes: SqliteDatabase, tmp_path: Path) -> None:
        await notes.write(insert_note(1))
        await notes.backup(tmp_path / "copy.db")
        await notes.write(insert_note(2))
        copy = SqliteDatabase(tmp_path / "copy.db")
        await copy.start()
        assert await note_ids(copy) == [1]
        await copy.close()

    @pytest.mark.parametrize("source_path", [None, "source.db"])
    @pytest.mark.parametrize("target_path", [None, "target.db"])
    async def test_a_snapshot_restores_into_any_database(
        self, tmp_path: Path, source_path: str | None, target_path: str | None
    ) -> None:
        source = SqliteDatabase(source_path and tmp_path / source_path)
        target = SqliteDatabase(target_path and tmp_path / target_path)
        await source.start()
        await target.start()
        await source.write(lambda tx: tx.run("CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL)"))
        await source.write(insert_note(1))
        image = await source.serialize()
        await source.write(insert_note(2))
        for _ in range(5):
            stamp = await target.write(lambda tx: tx.stamp)

        await target.restore(image)
        await source.restore(image)

        assert await note_ids(source) == await note_ids(target) == [1]
        later_stamp = await target.write(lambda tx: (insert_note(7)(tx), tx.stamp)[1])
        assert later_stamp > stamp
        assert (await target.read(lambda tx: tx.snapshot)).covers(later_stamp)
        assert await note_ids(target) == [1, 7]
        assert await target.serialize() != image
        await source.close()
        await target.close()


class TestPostgres:
    @pytest.fixture
    async def notes(self, postgres_database: str) -> Any:
        db = PostgresDatabase(postgres_database, thread_count=4)
        await db.start()
        await db.write(lambda tx: tx.run("CREATE TABLE notes (id BIGINT PRIMARY KEY, word TEXT NOT NULL)"))
        yield db
        await db.close()

    async def test_two_conflicting_units_both_succeed(self, notes: PostgresDatabase) -> None:
        events = record_events(notes)
        await notes.write(lambda tx: tx.run("INSERT INTO notes (id, word) VALUES (1, '0')"))
        barrier = threading.Barrier(2)
        runs: list[int] = []

        def increment_unit(number: int) -> Callable[[Tx], None]:
            def increment(tx: Tx) -> None:
                current_value = int(tx.value("SELECT word FROM notes WHERE id = 1"))
                if len(runs) < 2:
                    runs.append(number)
                    barrier.wait(WAIT_TIMEOUT_SECONDS)
                else:
                    runs.append(number)
                tx.run("UPDATE notes SET word = ? WHERE id = 1", str(current_value + 1))
                tx.emit(TEST_EVENT, current_value + 1, AUDIENCE)

            return increment

        await asyncio.gather(notes.write(increment_unit(1)), notes.write(increment_unit(2)))

        assert await notes.read(lambda tx: tx.value("SELECT word FROM notes")) == "2"
        assert len(runs) >= 3
        assert [event.body for event in events] == [b"1", b"2"]

    async def test_all_of_many_conflicting_units_succeed(self, notes: PostgresDatabase, postgres_database: str) -> None:
        """A unit that loses too often runs alone, after the units that were already running have ended."""
        await notes.write(lambda tx: tx.run("INSERT INTO notes (id, word) VALUES (1, '0')"))

        def increment(tx: Tx) -> None:
            current_value = int(tx.value("SELECT word FROM notes WHERE id = 1"))
            # Every unit reads before any other one ends, so that nearly every concurrent attempt is a conflict.
            tx.value("SELECT pg_sleep(0.005)")
            tx.run("UPDATE notes SET word = ? WHERE id = 1", str(current_value + 1))

        contended_database = PostgresDatabase(postgres_database, thread_count=24)
        await contended_database.start()
        await asyncio.gather(*(contended_database.write(increment) for _ in range(96)))
        await contended_database.close()

        assert await notes.read(lambda tx: tx.value("SELECT word FROM notes")) == "96"

    async def test_a_limit_checked_before_inserting_holds(self, notes: PostgresDatabase) -> None:
        def pin(id: int) -> Callable[[Tx], None]:
            def unit(tx: Tx) -> None:
                if tx.value("SELECT COUNT(*) FROM notes WHERE word = 'pin'") >= 5:
                    raise Rejected
                tx.run("INSERT INTO notes VALUES (?, 'pin')", id)

            return unit

        results = await asyncio.gather(*(notes.write(pin(id)) for id in range(16)), return_exceptions=True)

        assert results.count(None) == 5
        assert sum(isinstance(result, Rejected) for result in results) == 11

    async def test_a_unit_that_catches_a_failed_statement_is_not_acknowledged(self, notes: PostgresDatabase) -> None:
        await notes.write(insert_note(1))

        def unit(tx: Tx) -> None:
            try:
                insert_note(1)(tx)
            except psycopg.IntegrityError:
                return

        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            await notes.write(unit)

    @pytest.mark.parametrize("quick", [False, True])
    async def test_terminated_connections_are_replaced_without_an_error(
        self, notes: PostgresDatabase, postgres_database: str, quick: bool
    ) -> None:
        await notes.write(insert_note(0), quick=quick)
        assert await note_ids(notes) == [0]
        terminate_connections(postgres_database)
        assert await notes.write(insert_note(1), quick=quick) == 1
        terminate_connections(postgres_database)
        assert await note_ids(notes) == [0, 1]

    @pytest.mark.parametrize("quick", [False, True])
    async def test_a_unit_whose_connection_is_lost_has_no_effects(self, notes: PostgresDatabase, quick: bool) -> None:
        events = record_events(notes)

        def unit(tx: Tx) -> None:
            insert_note(1)(tx)
            tx.all("SELECT pg_terminate_backend(pg_backend_pid())")

        with pytest.raises(StoreUnavailable):
            await notes.write(unit, quick=quick)

        assert (await note_ids(notes), events) == ([], [])
        await notes.check()

    async def test_units_of_terminated_connections_succeed_or_are_unavailable(
        self, notes: PostgresDatabase, postgres_database: str
    ) -> None:
        def insert_slowly(id: int) -> Callable[[Tx], int]:
            def unit(tx: Tx) -> int:
                tx.value("SELECT pg_sleep(0.01)")
                tx.send("INSERT INTO notes VALUES (?, 'word')", id)
                tx.value("SELECT pg_sleep(0.01)")
                return id

            return unit

        def read_slowly(tx: Tx) -> int:
            tx.value("SELECT pg_sleep(0.01)")
            return int(tx.value("SELECT COUNT(*) FROM notes"))

        units = [
            *(asyncio.create_task(notes.write(insert_slowly(id), quick=id % 3 > 0)) for id in range(60)),
            *(asyncio.create_task(notes.read(read_slowly)) for _ in range(20)),
        ]
        for _ in range(3):
            await asyncio.sleep(0.03)
            await asyncio.to_thread(terminate_connections, postgres_database)
        results = await asyncio.gather(*units, return_exceptions=True)

        assert {type(result) for result in results} <= {int, StoreUnavailable}
        acknowledged_ids = {result for result in results[:60] if isinstance(result, int)}
        assert acknowledged_ids <= set(await note_ids(notes))

    async def test_an_unreachable_database_is_unavailable(self) -> None:
        with pytest.raises(StoreUnavailable):
            await PostgresDatabase("postgresql://postgres@127.0.0.1:1/none").start()

    @pytest.mark.parametrize("quick", [False, True])
    async def test_the_outcome_of_a_commit_with_a_lost_response_is_checked(
        self, notes: PostgresDatabase, postgres_database: str, monkeypatch: pytest.MonkeyPatch, quick: bool
    ) -> None:
        events = record_events(notes)
        commit = PostgresConnection.commit
        terminated_pids: list[int] = []

        def commit_and_lose(connection: PostgresConnection) -> None:
            commit(connection)
            if not terminated_pids:
                terminated_pids.append(1)
                terminate_connections(postgres_database)
                connection.execute(intern_statement("SELECT 1"))

        monkeypatch.setattr(PostgresConnection, "commit", commit_and_lose)

        assert await notes.write(insert_note(1), quick=quick) == 1
        assert terminated_pids
        assert await note_ids(notes) == [1]
        assert len(events) == 1

    async def test_conflicting_quick_units_all_succeed(self, notes: PostgresDatabase) -> None:
        events = record_events(notes)
        await notes.write(lambda tx: tx.run("INSERT INTO notes (id, word) VALUES (1, '0')"))
        attempts: list[int] = []

        def increment(tx: Tx) -> None:
            current_number = int(tx.value("SELECT word FROM notes WHERE id = 1"))
            attempts.append(current_number)
            tx.value("SELECT pg_sleep(0.005)")
            tx.run("UPDATE notes SET word = ? WHERE id = 1", str(current_number + 1))
            tx.emit(TEST_EVENT, current_number + 1, AUDIENCE)

        await asyncio.gather(*(notes.write(increment, quick=True) for _ in range(24)))

        assert await notes.read(lambda tx: tx.value("SELECT word FROM notes")) == "24"
        assert len(attempts) > 24
        assert [event.body for event in events] == [b"%d" % number for number in range(1, 25)]

    async def test_units_on_the_event_loop_do_not_block_it(self, notes: PostgresDatabase) -> None:
        start_count = asyncio.Semaphore(0)

        def wait_in_database(tx: Tx) -> threading.Thread:
            start_count.release()
            tx.value("SELECT pg_sleep(0.2)")
            return threading.current_thread()

        waiting_units = [
            asyncio.create_task(notes.write(wait_in_database, quick=True)),
            asyncio.create_task(notes.read(wait_in_database)),
        ]
        # Writes that start together share a transaction, so another write starts after both units.
        for _ in waiting_units:
            await start_count.acquire()
        assert await notes.write(insert_note(1), quick=True) == 1
        assert await note_ids(notes) == [1]
        assert not any(task.done() for task in waiting_units)
        assert await asyncio.gather(*waiting_units) == [threading.main_thread()] * 2

    async def test_closing_finishes_units_on_the_event_loop(self, notes: PostgresDatabase) -> None:
        writes = [asyncio.create_task(notes.write(insert_note(id), quick=True)) for id in range(40)]
        reads = [asyncio.create_task(notes.read(lambda tx: tx.value("SELECT pg_sleep(0.01)"))) for _ in range(10)]
        await asyncio.sleep(0)
        await notes.close()

        assert [await task for task in writes] == list(range(40))
        await asyncio.gather(*reads)

    async def test_an_ended_transaction_cannot_be_used(self, notes: PostgresDatabase) -> None:
        transactions: list[Tx] = []
        await notes.write(transactions.append)
        await notes.write(transactions.append, quick=True)
        await notes.read(transactions.append)
        for tx in transactions:
            with pytest.raises(RuntimeError, match="over"):
                tx.run("DELETE FROM notes")
            with pytest.raises(RuntimeError, match="over"):
                tx.run_many("DELETE FROM notes WHERE id = ?", [(1,), (2,)])

    async def test_prepared_statements_survive_reads_and_rollbacks(self, notes: PostgresDatabase) -> None:
        def query(tx: Tx) -> None:
            tx.value("SELECT word FROM notes WHERE id = ? AND word <> 'prepared'", 1)

        def query_and_reject(tx: Tx) -> None:
            query(tx)
            raise Rejected

        def prepared_count(tx: Tx) -> Any:
            return tx.value("SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE '%<> ''prepared''%'")

        for _ in range(4):
            await notes.read(query)
            with pytest.raises(Rejected):
                await notes.write(query_and_reject, quick=True)

        # Each pool has one connection, because nothing ran concurrently. The counting query contains its own pattern.
        assert await notes.read(prepared_count) == 1
        assert await notes.write(prepared_count, quick=True) == 1

    async def test_statements_are_prepared_again_after_a_schema_change(self, notes: PostgresDatabase) -> None:
        await notes.write(insert_note(1))
        for quick in (False, True):
            for _ in range(4):
                await notes.write(lambda tx: tx.all("SELECT * FROM notes"), quick=quick)
                await notes.read(lambda tx: tx.all("SELECT * FROM notes"), long=not quick)
        await notes.write(lambda tx: tx.run("ALTER TABLE notes ADD COLUMN length BIGINT DEFAULT 4"))

        for quick in (False, True):
            assert await notes.write(lambda tx: tx.all("SELECT * FROM notes"), quick=quick) == [(1, "word", 4)]
            assert await notes.read(lambda tx: tx.all("SELECT * FROM notes"), long=not quick) == [(1, "word", 4)]

    async def test_null_and_other_parameters_share_prepared_statements(self, notes: PostgresDatabase) -> None:
        sql = "SELECT COALESCE(?, 0) + COALESCE(?, 0), CAST(? AS TEXT) AS shared"

        def query(tx: Tx) -> list[Any]:
            parameter_rows = [
                (None, None, None),
                (1, None, "a"),
                (None, 2, None),
                (1, 2, "b"),
                (None, None, "c"),
                (3, 4, None),
            ]
            return [tx.one(sql, *parameters) for parameters in parameter_rows]

        expected_rows = [(0, None), (1, "a"), (2, None), (3, "b"), (0, "c"), (7, None)]
        for _ in range(4):
            assert await notes.read(query) == expected_rows

    @pytest.mark.parametrize("quick", [False, True])
    async def test_large_batches_and_results_are_transferred(self, notes: PostgresDatabase, quick: bool) -> None:
        word = "x" * 2000
        await notes.write(
            lambda tx: tx.run_many("INSERT INTO notes VALUES (?, ?)", [(id, word) for id in range(5000)]), quick=quick
        )

        rows = await notes.read(lambda tx: tx.all("SELECT id, word FROM notes ORDER BY id"), long=not quick)
        assert [row[0] for row in rows] == list(range(5000))
        assert {row[1] for row in rows} == {word}

    async def test_an_abandoned_statement_does_not_fail_the_next_unit(self, notes: PostgresDatabase) -> None:
        await notes.write(insert_note(1), quick=True)

        def unit(tx: Tx) -> None:
            tx.send("INSERT INTO notes VALUES (1, 'word')")
            raise Rejected

        for id in range(2, 5):
            with pytest.raises(Rejected):
                await notes.write(unit, quick=True)
            assert await notes.write(insert_note(id), quick=True) == id

    async def test_only_statements_whose_results_are_needed_take_round_trips(self, notes: PostgresDatabase) -> None:
        def unit(tx: Tx) -> None:
            tx.prefetch("SELECT word FROM notes WHERE id = ?", 1)
            tx.value("SELECT COUNT(*) FROM notes")
            tx.value("SELECT word FROM notes WHERE id = ?", 1)
            tx.send("INSERT INTO notes VALUES (1, 'word')")
            tx.emit(TEST_EVENT, {}, AUDIENCE)

        round_trips_before = notes.round_trips
        await notes.write(unit, quick=True)
        assert notes.round_trips - round_trips_before == 3
        await notes.read(lambda tx: tx.value("SELECT COUNT(*) FROM notes"))
        assert notes.round_trips - round_trips_before == 4

    async def test_a_repeated_unit_sends_its_queries_with_the_first_and_its_insert_with_the_commit(
        self, notes: PostgresDatabase
    ) -> None:
        await notes.write(insert_note(0, "zero"))
        counts = []
        for id in range(1, 5):
            round_trips_before = notes.round_trips
            assert await notes.write(insert_after_queries(id), quick=True) == "zero"
            counts.append(notes.round_trips - round_trips_before)

        assert counts == [4, 2, 2, 2]
        assert await note_ids(notes) == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("swallows_errors", [False, True])
    async def test_a_read_that_queries_more_than_earlier_reads_sees_one_snapshot(
        self, notes: PostgresDatabase, postgres_database: str, swallows_errors: bool
    ) -> None:
        await notes.write(insert_note(1))
        for _ in range(SAME_READS_MIN):
            assert await notes.read(lambda tx: tx.value(COUNT_NOTES)) == 1
        counts: list[int] = []

        def unit(tx: Tx) -> tuple[int, int]:
            counts.append(tx.value(COUNT_NOTES))
            with psycopg.connect(postgres_database, autocommit=True) as connection:
                connection.execute("INSERT INTO notes SELECT MAX(id) + 1, 'word' FROM notes")
            try:
                return counts[-1], len(tx.all("SELECT id FROM notes"))
            except Exception:
                if swallows_errors:
                    return -1, -1
                raise

        assert await notes.read(unit) == (2, 2)
        assert counts == [1, 2]
        assert await notes.read(unit) == (3, 3)
        assert counts == [1, 2, 3]

    async def test_a_read_that_is_expected_to_end_leaves_no_transaction_open(
        self, notes: PostgresDatabase, postgres_database: str
    ) -> None:
        with psycopg.connect(postgres_database, autocommit=True) as connection:
            for _ in range(SAME_READS_MIN + 2):
                await asyncio.gather(*(notes.read(lambda tx: tx.value(COUNT_NOTES)) for _ in range(8)))
            row = connection.execute(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE '%in transaction%'"
            ).fetchone()

        assert row == (0,)

    async def test_a_failed_query_of_a_read_does_not_affect_the_next_read(self, notes: PostgresDatabase) -> None:
        await notes.write(insert_note(1))

        def unit(divisor: int) -> Callable[[Tx], int]:
            return lambda tx: int(tx.value("SELECT COUNT(*) / ? FROM notes", divisor))

        for _ in range(SAME_READS_MIN + 1):
            assert await notes.read(unit(1)) == 1
        with pytest.raises(psycopg.errors.DivisionByZero):
            await notes.read(unit(0))
        for _ in range(8):
            assert await notes.read(unit(1)) == 1

    async def test_a_unit_does_not_see_the_context_variables_of_an_earlier_one(self, notes: PostgresDatabase) -> None:
        def unit(tx: Tx) -> Language:
            language = current_language()
            set_language(Language("xx", None))
            return language

        for _ in range(4):
            assert await notes.read(unit) is ENGLISH

    async def test_a_forecast_result_is_not_used_after_a_write_to_its_table(self, notes: PostgresDatabase) -> None:
        def unit(tx: Tx) -> int:
            tx.value("SELECT 1")
            tx.send("INSERT INTO notes SELECT COUNT(*), 'word' FROM notes")
            return int(tx.value(COUNT_NOTES))

        assert [await notes.write(unit, quick=True) for _ in range(4)] == [1, 2, 3, 4]

    async def test_a_unit_that_runs_other_queries_than_before_gets_their_results(self, notes: PostgresDatabase) -> None:
        await notes.write(insert_note(0, "zero"))
        await notes.write(insert_after_queries(1), quick=True)

        def unit(tx: Tx) -> str:
            tx.value(FIRST_QUERY)
            word: str = tx.value(SELECT_WORD, 1)
            tx.send("UPDATE notes SET word = 'changed' WHERE id = 1")
            return word + str(tx.value(SELECT_WORD, 1))

        assert await notes.write(unit, quick=True) == "wordchanged"
        assert await notes.write(insert_after_queries(2), quick=True) == "zero"

    async def test_an_insert_that_fails_with_its_commit_fails_its_unit(self, notes: PostgresDatabase) -> None:
        events = record_events(notes)
        await notes.write(insert_note(0, "zero"))
        for id in (1, 2):
            await notes.write(insert_after_queries(id), quick=True)

        with pytest.raises(psycopg.IntegrityError):
            await notes.write(insert_after_queries(2), quick=True)

        assert await notes.write(insert_after_queries(3), quick=True) == "zero"
        assert len(events) == 4

    async def test_a_unit_whose_connection_is_cut_before_its_commit_is_repeated(
        self, notes: PostgresDatabase, postgres_database: str
    ) -> None:
        events = record_events(notes)
        await notes.write(insert_note(0, "zero"))
        for id in (1, 2):
            await notes.write(insert_after_queries(id), quick=True)
        runs: list[int] = []

        def unit(tx: Tx) -> str:
            word = insert_after_queries(3)(tx)
            if not runs:
                terminate_connections(postgres_database)
            runs.append(1)
            return word

        assert await notes.write(unit, quick=True) == "zero"
        assert len(runs) == 2
        assert await note_ids(notes) == [0, 1, 2, 3]
        assert [event.body for event in events][3:] == [b'{"id":3}']

    async def test_a_failed_batch_fails_its_unit(self, notes: PostgresDatabase) -> None:
        with pytest.raises(psycopg.IntegrityError):
            await notes.write(
                lambda tx: tx.run_many("INSERT INTO notes VALUES (?, 'word')", [(1,), (1,), (2,)]), quick=True
            )
        assert await note_ids(notes) == []
        assert await notes.write(insert_note(1), quick=True) == 1


FIRST_QUERY = "SELECT 'first'"
SELECT_WORD = CachedQuery("SELECT word FROM notes WHERE id = ?")
COUNT_NOTES = CachedQuery("SELECT COUNT(*) FROM notes")
SELECT_JOB = CachedQuery("SELECT id FROM jobs WHERE id = ?")


def insert_after_queries(id: int) -> Callable[[Tx], str]:
    """Return a unit of work that runs cached queries before and after it inserts a note, and returns the word of note 0."""

    def unit(tx: Tx) -> str:
        tx.value(FIRST_QUERY)
        word: str = tx.value(SELECT_WORD, 0)
        tx.send("INSERT INTO notes VALUES (?, 'word')", id)
        assert tx.value(SELECT_JOB, 1) is None
        tx.emit(TEST_EVENT, {"id": id}, AUDIENCE)
        return word

    return unit


def terminate_connections(url: str) -> None:
    """Terminate all other connections to the database."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize(
    ("sql", "translated"),
    [
        ("SELECT ?", "SELECT $1"),
        ("SELECT '?' || ?", "SELECT '?' || $1"),
        ("a LIKE '50%' AND b = ?", "a LIKE '50%' AND b = $1"),
        ("SELECT 'it''s ?', \"odd?\", ? -- why?\n, ?", "SELECT 'it''s ?', \"odd?\", $1 -- why?\n, $2"),
        ("SELECT 7 % ?", "SELECT 7 % $1"),
    ],
)
def test_placeholders_are_translated_outside_of_literals(sql: str, translated: str) -> None:
    assert translate_placeholders(sql) == translated.encode()


def test_a_postgres_snapshot_covers_ended_transactions() -> None:
    snapshot = PostgresSnapshot("10:20:12,15")
    assert [stamp for stamp in range(9, 22) if snapshot.covers(stamp)] == [9, 10, 11, 13, 14, 16, 17, 18, 19]
    assert PostgresSnapshot("7:7:").covers(6)
    assert not PostgresSnapshot("7:7:").covers(7)
