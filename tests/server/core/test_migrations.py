"""Migrations, from empty and onward, on both dialects."""

import asyncio
import sqlite3
from pathlib import Path

import psycopg
import pytest

from hubbub.server.core import migrations
from hubbub.server.core.migrations import MigrationError, migrate_postgres, migrate_sqlite, statements
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.store import Database
from tests.fixtures.databases import OpenDatabase

STORE_TABLES = {"schema_migrations", "meta", "jobs"}
FIRST = (migrations.DIRECTORY / "0001_store.sql").read_text()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory of migrations that begins like ours."""
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "0001_store.sql").write_text(FIRST)
    return tmp_path / "sql"


@pytest.fixture
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


async def test_an_empty_database_gets_the_whole_schema(database: Database) -> None:
    applied = await database.read(lambda tx: tx.all("SELECT number, name, checksum FROM schema_migrations ORDER BY 1"))

    ours = migrations.load()
    assert applied == [(migration.number, migration.name, migration.checksum) for migration in ours]


async def test_opening_again_changes_nothing(open_database: OpenDatabase) -> None:
    for _ in range(2):
        db = open_database()
        await db.start()
        assert await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_migrations")) == len(migrations.load())
        await db.close()


def test_a_database_that_begins_at_once_is_one_that_was_migrated(connection: sqlite3.Connection) -> None:
    for _ in range(2):
        begun = sqlite3.connect(":memory:", isolation_level=None)
        migrations.begin_sqlite(begun)
        migrate_sqlite(connection)

        assert list(begun.iterdump()) == list(connection.iterdump())
        # What one world writes is not there when the next begins.
        begun.execute("UPDATE meta SET value = 'written'")
        begun.close()


def test_both_dialects_end_with_the_same_tables_and_columns(
    connection: sqlite3.Connection, postgres_database: str
) -> None:
    migrate_sqlite(connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = {name for name in tables if not name.startswith("sqlite_") and "_fts" not in name}
    here = {
        (table, row[1]) for table in tables for row in connection.execute(f"SELECT * FROM pragma_table_info('{table}')")
    }
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_postgres(postgres)
        there = set(
            postgres.execute(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            ).fetchall()
        )

    assert tables >= STORE_TABLES
    # SQLite keeps the terms of the search index in a virtual table.
    assert {entry for entry in here if entry[0] in {table for table, _ in there}} == there - {
        ("search_documents", "terms")
    }
    assert {table for table, _ in there} >= STORE_TABLES


def test_a_later_release_applies_only_what_is_new(
    connection: sqlite3.Connection, postgres_database: str, directory: Path
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        for _ in range(2):
            assert len(migrate_sqlite(connection, directory)) == len(migrate_postgres(postgres, directory))
        (directory / "0002_more.sql").write_text("CREATE TABLE more (id {autoid}, body {blob}) ; -- the end")

        assert [migration.name for migration in migrate_sqlite(connection, directory)] == ["more"]
        assert [migration.name for migration in migrate_postgres(postgres, directory)] == ["more"]
        assert postgres.execute("SELECT COUNT(*) FROM more").fetchone() == (0,)
    assert connection.execute("SELECT COUNT(*) FROM more").fetchone() == (0,)


def test_a_migration_that_fails_leaves_nothing(
    connection: sqlite3.Connection, postgres_database: str, directory: Path
) -> None:
    (directory / "0002_bad.sql").write_text("CREATE TABLE half (id BIGINT); INSERT INTO nowhere VALUES (1);")
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        with pytest.raises(psycopg.errors.UndefinedTable):
            migrate_postgres(postgres, directory)
        assert postgres.execute("SELECT to_regclass('half'), to_regclass('jobs')::text").fetchone() == (None, "jobs")
    with pytest.raises(sqlite3.OperationalError):
        migrate_sqlite(connection, directory)

    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "half" not in names
    assert "jobs" in names
    assert connection.execute("SELECT MAX(number) FROM schema_migrations").fetchone() == (1,)


def test_a_migration_that_changed_after_it_was_applied_is_refused(
    connection: sqlite3.Connection, postgres_database: str, directory: Path
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_sqlite(connection, directory)
        migrate_postgres(postgres, directory)
        (directory / "0001_store.sql").write_text(FIRST + "\n-- an afterthought\n")

        with pytest.raises(MigrationError, match=r"0001_store .* never changes"):
            migrate_sqlite(connection, directory)
        with pytest.raises(MigrationError, match=r"0001_store .* never changes"):
            migrate_postgres(postgres, directory)


def test_line_endings_do_not_change_a_migration(connection: sqlite3.Connection, directory: Path) -> None:
    migrate_sqlite(connection, directory)
    (directory / "0001_store.sql").write_bytes(FIRST.replace("\n", "\r\n").encode())
    assert migrate_sqlite(connection, directory) == []


async def test_a_database_newer_than_the_program_is_refused(open_database: OpenDatabase) -> None:
    db = open_database()
    await db.start()
    await db.write(lambda tx: tx.run("INSERT INTO schema_migrations VALUES (9000, 'future', 'x')"))
    if not isinstance(db, PostgresDatabase) and db._path is None:  # type: ignore[attr-defined]
        image = await db.serialize()  # type: ignore[attr-defined]
        with pytest.raises(MigrationError, match="newer version"):
            await db.restore(image)  # type: ignore[attr-defined]
        await db.close()
        return
    await db.close()

    with pytest.raises(MigrationError, match=r"schema 9000 \(future\) .* newer version"):
        await open_database().start()


async def test_many_nodes_may_start_at_once(postgres_database: str) -> None:
    nodes = [PostgresDatabase(postgres_database, threads=1) for _ in range(5)]
    await asyncio.gather(*(node.start() for node in nodes))
    assert await nodes[0].read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_migrations")) == len(migrations.load())
    await asyncio.gather(*(node.close() for node in nodes))


def test_gaps_and_odd_names_are_refused(directory: Path) -> None:
    (directory / "0003_gap.sql").write_text("SELECT 1")
    with pytest.raises(MigrationError, match="without gaps"):
        migrations.load(directory)
    (directory / "0003_gap.sql").rename(directory / "third.sql")
    with pytest.raises(MigrationError, match=r"third\.sql"):
        migrations.load(directory)


@pytest.mark.parametrize(
    ("text", "sqlite", "postgres"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"], ["SELECT 1", "SELECT 2"]),
        ("SELECT ';''' ; SELECT \";\"", ["SELECT ';'''", 'SELECT ";"'], ["SELECT ';'''", 'SELECT ";"']),
        ("-- no; it isn't\nSELECT 1; /* nor ; this */ ;", ["SELECT 1"], ["SELECT 1"]),
        ("SELECT 1 -- one;\n, 2;", ["SELECT 1  \n, 2"], ["SELECT 1  \n, 2"]),
        ("-- only: sqlite\nSELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"], ["SELECT 2"]),
        ("SELECT 2;\n-- why\n-- only: postgres\n-- because\nSELECT 1;", ["SELECT 2"], ["SELECT 2", "SELECT 1"]),
        ("SELECT 4 - 2 / 1, '--', '/*';", ["SELECT 4 - 2 / 1, '--', '/*'"], ["SELECT 4 - 2 / 1, '--', '/*'"]),
        ("-- only: postgres\nDO $$ BEGIN; END $$;", [], ["DO $$ BEGIN; END $$"]),
        (
            "-- only: sqlite\nCREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END; SELECT 1;",
            ["CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END", "SELECT 1"],
            ["SELECT 1"],
        ),
        ("a {blob} {other} {without_rowid}", ["a BLOB {other} WITHOUT ROWID"], ["a BYTEA {other} "]),
    ],
)
def test_scripts_are_cut_into_statements(text: str, sqlite: list[str], postgres: list[str]) -> None:
    assert list(statements(text, "sqlite")) == sqlite
    assert list(statements(text, "postgres")) == postgres


def test_what_people_installed_moves_to_the_other_installations(
    connection: sqlite3.Connection, directory: Path
) -> None:
    ours = migrations.load()
    moving = next(each.number for each in ours if each.name == "endpoints")
    for each in ours[: moving - 1]:
        (directory / f"{each.number:04d}_{each.name}.sql").write_text(each.text)
    migrate_sqlite(connection, directory)
    connection.execute("INSERT INTO user_installs (user_id, application_id, created_ms) VALUES (7, 8, 9), (6, 8, 9)")
    kept = "INSERT INTO installations VALUES (8, 1, 6, 6, 'applications.commands identify', 5)"
    connection.execute(kept)

    migrate_sqlite(connection)

    assert connection.execute("SELECT * FROM installations ORDER BY target_id").fetchall() == [
        (8, 1, 6, 6, "applications.commands identify", 5),
        (8, 1, 7, 7, "applications.commands", 9),
    ]
    assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'user_installs'").fetchall()


def test_purchases_of_earlier_releases_can_be_refunded_and_given_up_ones_begin_again(
    connection: sqlite3.Connection, postgres_database: str, tmp_path: Path
) -> None:
    for migration in sorted(migrations.DIRECTORY.glob("*.sql")):
        if migration.name < "0025":
            (tmp_path / migration.name).write_text(migration.read_text())
    rows = """
        INSERT INTO skus (id, application_id, type, name, flags, price, currency, state, listed)
            VALUES (3, 2, 2, 'Hat', 0, 499, 'eur', 1, 1);
        INSERT INTO purchases (id, application_id, user_id, sku_id, state, entitlement_id)
            VALUES (10, 2, 1, 3, 0, NULL), (11, 2, 1, 3, 1, 20), (12, 2, 1, 3, 2, NULL);
        INSERT INTO jobs (kind, key, due_ms, ready_ms, payload, state) VALUES
            ('purchases.settle', 'a', 5, 9, '10', 'failed'), ('webhooks.send', 'b', 5, 9, '1', 'failed');
    """
    payments = "SELECT key, state, amount, currency, entitlement_id FROM payments ORDER BY key"
    jobs = "SELECT kind, state, ready_ms FROM jobs ORDER BY kind"
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_sqlite(connection, tmp_path)
        migrate_postgres(postgres, tmp_path)
        connection.executescript(rows)
        postgres.execute(rows)
        migrate_sqlite(connection)
        migrate_postgres(postgres)
        kept = [store.execute(payments).fetchall() for store in (connection, postgres)]
        waiting = [store.execute(jobs).fetchall() for store in (connection, postgres)]

    assert kept == [[("purchase/10", 0, 499, "eur", None), ("purchase/11", 1, 499, "eur", 20)]] * 2
    assert waiting == [[("purchases.settle", "waiting", 5), ("webhooks.send", "failed", 9)]] * 2
