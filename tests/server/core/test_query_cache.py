"""Cached queries return the same rows as the database, after any writes, rollbacks and restores."""

import importlib
import pkgutil
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hubbub.server
from hubbub.server.core import migrations
from hubbub.server.core.query_cache import CachedQuery, QueryCache
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.sqlite_tx import SqliteTx
from hubbub.server.core.store import Tx

COUNT_NOTES = CachedQuery("SELECT COUNT(*) FROM notes WHERE word = ?")
SELECT_TAGS = CachedQuery("SELECT n.id, t.tag FROM notes n JOIN tags t ON t.note_id = n.id WHERE n.word = ?")
CREATE_TABLES = (
    "CREATE TABLE notes (id INTEGER PRIMARY KEY, word TEXT NOT NULL)",
    "CREATE TABLE tags (note_id INTEGER NOT NULL, tag TEXT NOT NULL)",
)

words = st.sampled_from(["red", "green"])
steps = st.one_of(
    st.tuples(st.just("INSERT INTO notes (word) VALUES (?)"), st.tuples(words)),
    st.tuples(st.just("INSERT OR IGNORE INTO notes (word) VALUES (?)"), st.tuples(words)),
    st.tuples(st.just("INSERT INTO tags SELECT id, 'new' FROM notes WHERE word = ?"), st.tuples(words)),
    st.tuples(st.just("UPDATE notes SET word = ? WHERE id % 2 = 0"), st.tuples(words)),
    st.tuples(st.just("DELETE FROM notes WHERE word = ?"), st.tuples(words)),
    st.tuples(
        st.just("WITH n AS (SELECT id FROM notes) DELETE FROM tags WHERE note_id IN (SELECT id FROM n)"), st.just(())
    ),
    st.tuples(st.just("roll back"), st.just(())),
    st.tuples(st.just("commit"), st.just(())),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(steps, max_size=12))
def test_a_cached_result_equals_the_result_of_the_query(actions: list[tuple[str, tuple[str, ...]]]) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    cursor = connection.cursor()
    for statement in CREATE_TABLES:
        cursor.execute(statement)
    cache = QueryCache(rows_max=6)
    cursor.execute("BEGIN")
    tx = SqliteTx(cursor, 1, False, cache)
    for sql, parameters in actions:
        if sql == "roll back":
            cache.clear()
            cursor.execute("ROLLBACK")
            cursor.execute("BEGIN")
        elif sql == "commit":
            cursor.execute("COMMIT")
            cursor.execute("BEGIN")
        else:
            tx.run(sql, *parameters)
        for query in (COUNT_NOTES, SELECT_TAGS):
            for word in ("red", "green"):
                assert tx.all(query, word) == connection.execute(str(query), (word,)).fetchall()


async def count_notes(database: SqliteDatabase, word: str) -> int:
    """Return the number of notes with a word, in a unit of work that may use the cache."""
    return int(await database.write(lambda tx: tx.value(COUNT_NOTES, word)))


@pytest.fixture
async def notes() -> Any:
    """A database in memory with the tables of this test."""
    database = SqliteDatabase(None)
    await database.start()

    def create_tables(tx: Tx) -> None:
        for statement in CREATE_TABLES:
            tx.run(statement)

    await database.write(create_tables)
    yield database
    await database.close()


def insert_note(word: str, *, is_rejected: bool = False) -> Callable[[Tx], None]:
    """Return a unit of work that inserts a note, counts it, and is then rejected if `is_rejected`."""

    def unit(tx: Tx) -> None:
        tx.run("INSERT INTO notes (word) VALUES (?)", word)
        tx.value(COUNT_NOTES, word)
        if is_rejected:
            raise ValueError(word)

    return unit


async def test_a_rejected_unit_leaves_no_result_in_the_cache(notes: SqliteDatabase) -> None:
    await notes.write(insert_note("red"))

    with pytest.raises(ValueError, match="red"):
        await notes.write(insert_note("red", is_rejected=True))

    assert await count_notes(notes, "red") == 1


async def test_a_restored_database_empties_the_cache(notes: SqliteDatabase) -> None:
    image = await notes.serialize()
    await notes.write(insert_note("red"))
    assert await count_notes(notes, "red") == 1

    await notes.restore(image)

    assert await count_notes(notes, "red") == 0


async def test_a_finished_transaction_returns_no_cached_result(notes: SqliteDatabase) -> None:
    transactions: list[Tx] = []
    await notes.write(lambda tx: (tx.value(COUNT_NOTES, "red"), transactions.append(tx)))

    with pytest.raises(RuntimeError, match="over"):
        transactions[0].value(COUNT_NOTES, "red")


def test_changing_returned_rows_does_not_change_the_cache() -> None:
    cache = QueryCache()
    cache.add(COUNT_NOTES, ("red",), [(1,)])

    rows = cache.find(COUNT_NOTES, ("red",))
    assert rows is not None
    rows.clear()

    assert cache.find(COUNT_NOTES, ("red",)) == [(1,)]


def find_cached_queries() -> dict[str, CachedQuery]:
    """Return the cached queries of all store modules of the server, by name."""
    queries = {}
    for module_info in pkgutil.walk_packages(hubbub.server.__path__, "hubbub.server."):
        if module_info.name.endswith((".store", "_store")):
            for name, member in vars(importlib.import_module(module_info.name)).items():
                if isinstance(member, CachedQuery):
                    queries[f"{module_info.name}.{name}"] = member
    return queries


def test_the_tables_of_each_cached_query_are_those_that_sqlite_reads() -> None:
    queries = find_cached_queries()
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrations.load_schema_sqlite(connection)
    read_tables: set[str | None] = set()

    def record(action: int, table: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ:
            read_tables.add(table)
        return sqlite3.SQLITE_OK

    connection.set_authorizer(record)
    assert len(queries) >= 5
    for name, query in queries.items():
        read_tables.clear()
        connection.execute(f"EXPLAIN {query}", (0,) * query.count("?"))
        assert read_tables == query.tables, name


def test_the_schema_has_no_triggers_and_no_cascades_which_write_tables_unseen() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrations.load_schema_sqlite(connection)

    statements = [row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]

    hidden_writes = [sql for sql in statements if "CREATE TRIGGER" in sql.upper() or "ON DELETE" in sql.upper()]
    assert hidden_writes == []
