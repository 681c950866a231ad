"""Migrations of empty and existing databases, on both dialects."""

import asyncio
import concurrent.futures
import sqlite3
import time
from pathlib import Path

import psycopg
import pytest

from hubbub.server.core import migrations
from hubbub.server.core.migrations import MigrationError, migrate_postgres, migrate_sqlite, statements
from hubbub.server.core.postgres import PostgresDatabase
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database
from tests.fixtures.databases import NewDatabase

STORE_TABLES = {"schema_migrations", "meta", "jobs"}
FIRST_MIGRATION_SQL = (migrations.DIRECTORY / "0001_initial.sql").read_text()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory that contains the first migration of the platform."""
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "0001_initial.sql").write_text(FIRST_MIGRATION_SQL)
    return tmp_path / "sql"


@pytest.fixture
def connection() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


async def test_an_empty_database_gets_the_whole_schema(database: Database) -> None:
    applied_rows = await database.read(
        lambda tx: tx.all("SELECT number, name, checksum FROM schema_migrations ORDER BY 1")
    )

    shipped_migrations = migrations.load()
    assert applied_rows == [(migration.number, migration.name, migration.checksum) for migration in shipped_migrations]


async def test_opening_again_changes_nothing(new_database: NewDatabase) -> None:
    for _ in range(2):
        db = new_database()
        await db.start()
        assert await db.read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_migrations")) == len(migrations.load())
        await db.close()


def test_a_database_created_from_the_template_equals_a_migrated_one(connection: sqlite3.Connection) -> None:
    for _ in range(2):
        created_database = sqlite3.connect(":memory:", isolation_level=None)
        migrations.load_schema_sqlite(created_database)
        migrate_sqlite(connection)

        assert list(created_database.iterdump()) == list(connection.iterdump())
        # Writes to one database do not appear in the next one.
        created_database.execute("UPDATE meta SET value = 'written'")
        created_database.close()


def test_both_dialects_have_the_same_tables_and_columns(connection: sqlite3.Connection, postgres_database: str) -> None:
    migrate_sqlite(connection)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = {name for name in tables if not name.startswith("sqlite_") and "_fts" not in name}
    sqlite_columns = {
        (table, row[1]) for table in tables for row in connection.execute(f"SELECT * FROM pragma_table_info('{table}')")
    }
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_postgres(postgres)
        postgres_columns = set(
            postgres.execute(
                "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            ).fetchall()
        )

    assert tables >= STORE_TABLES
    # SQLite stores the terms of the search index in a virtual table.
    assert {
        table_and_column
        for table_and_column in sqlite_columns
        if table_and_column[0] in {table for table, _ in postgres_columns}
    } == postgres_columns - {("search_documents", "terms")}
    assert {table for table, _ in postgres_columns} >= STORE_TABLES


def test_a_later_release_applies_only_new_migrations(
    connection: sqlite3.Connection, postgres_database: str, directory: Path
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        for _ in range(2):
            assert len(migrate_sqlite(connection, directory)) == len(migrate_postgres(postgres, directory))
        (directory / "0002_second.sql").write_text("CREATE TABLE second (id {autoid}, body {blob}) ; -- the end")

        assert [migration.name for migration in migrate_sqlite(connection, directory)] == ["second"]
        assert [migration.name for migration in migrate_postgres(postgres, directory)] == ["second"]
        assert postgres.execute("SELECT COUNT(*) FROM second").fetchone() == (0,)
    assert connection.execute("SELECT COUNT(*) FROM second").fetchone() == (0,)


def test_a_failed_migration_is_rolled_back(
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


def test_a_migration_changed_after_it_was_applied_is_rejected(
    connection: sqlite3.Connection, postgres_database: str, directory: Path
) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_sqlite(connection, directory)
        migrate_postgres(postgres, directory)
        (directory / "0001_initial.sql").write_text(FIRST_MIGRATION_SQL + "\n-- an afterthought\n")

        with pytest.raises(MigrationError, match=r"0001_initial .* must never change"):
            migrate_sqlite(connection, directory)
        with pytest.raises(MigrationError, match=r"0001_initial .* must never change"):
            migrate_postgres(postgres, directory)


def test_line_endings_do_not_change_a_migration(connection: sqlite3.Connection, directory: Path) -> None:
    migrate_sqlite(connection, directory)
    (directory / "0001_initial.sql").write_bytes(FIRST_MIGRATION_SQL.replace("\n", "\r\n").encode())
    assert migrate_sqlite(connection, directory) == []


async def test_a_database_newer_than_the_program_is_rejected(new_database: NewDatabase) -> None:
    db = new_database()
    await db.start()
    await db.write(lambda tx: tx.run("INSERT INTO schema_migrations VALUES (9000, 'future', 'x')"))
    # A database in memory cannot be opened again, so its image is restored instead.
    if not isinstance(db, PostgresDatabase) and db._path is None:  # type: ignore[attr-defined]
        image = await db.serialize()  # type: ignore[attr-defined]
        with pytest.raises(MigrationError, match="newer version"):
            await db.restore(image)  # type: ignore[attr-defined]
        await db.close()
        return
    await db.close()

    with pytest.raises(MigrationError, match=r"schema 9000 \(future\), .* newer version"):
        await new_database().start()


async def test_many_nodes_can_start_concurrently(postgres_database: str) -> None:
    nodes = [PostgresDatabase(postgres_database, thread_count=1) for _ in range(5)]
    await asyncio.gather(*(node.start() for node in nodes))
    assert await nodes[0].read(lambda tx: tx.value("SELECT COUNT(*) FROM schema_migrations")) == len(migrations.load())
    await asyncio.gather(*(node.close() for node in nodes))


def test_a_migration_waits_for_the_locks_of_running_processes(postgres_database: str, directory: Path) -> None:
    with (
        psycopg.connect(postgres_database, autocommit=True) as connection,
        psycopg.connect(postgres_database) as running_process,
    ):
        migrate_postgres(connection, directory)
        (directory / "0002_second.sql").write_text("ALTER TABLE jobs ADD COLUMN color TEXT;")
        running_process.execute("SELECT * FROM jobs")
        with concurrent.futures.ThreadPoolExecutor() as executor:
            migration_future = executor.submit(migrate_postgres, connection, directory)
            wait_for_lock(postgres_database)
            # Queries do not wait until the migration has its lock.
            with psycopg.connect(postgres_database) as other_process:
                other_process.execute("SELECT * FROM jobs")
            running_process.rollback()
            assert [migration.name for migration in migration_future.result()] == ["second"]


def wait_for_lock(database_url: str) -> None:
    """Wait until a connection of a database waits for a lock."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        deadline = time.monotonic() + 60
        while not connection.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
            assert time.monotonic() < deadline


def test_a_migration_that_gets_no_lock_names_the_reason(
    postgres_database: str, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "LOCK_SECONDS_MAX", 0)
    monkeypatch.setattr(migrations, "LOCK_TIMEOUT_MS", 10)
    with (
        psycopg.connect(postgres_database, autocommit=True) as connection,
        psycopg.connect(postgres_database) as running_process,
    ):
        migrate_postgres(connection, directory)
        (directory / "0002_second.sql").write_text("ALTER TABLE jobs ADD COLUMN color TEXT;")
        running_process.execute("SELECT * FROM jobs")
        with pytest.raises(MigrationError, match=r"0002_second could not lock .* other processes"):
            migrate_postgres(connection, directory)


def test_gaps_and_invalid_names_are_rejected(directory: Path) -> None:
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
def test_scripts_are_split_into_statements(text: str, sqlite: list[str], postgres: list[str]) -> None:
    assert list(statements(text, "sqlite")) == sqlite
    assert list(statements(text, "postgres")) == postgres


RELEASED_CHECKSUMS: dict[str, dict[str, str]] = {
    "0.1.0": {
        "0001_initial": "58335720f38972989b5882446db423056ead48c21abf108efd56095833d4ff7e",
        "0002_departed_members_and_limits": "0c5a9dd442549ceac4902711add36e941f16b00bd8790f7e16b0085c404a95a5",
        "0003_mail": "3e9c81149057e50d832a266549e5fb2d9826ea308b96b0c5222bd5f8e12bb52e",
        "0004_process_leases": "9c7205366618cb0270efc072bd38d684c3a53a428c6ea8984b9613fc2fcfd9c5",
        "0005_request_columns": "0a87bc6b62167eaf0363c25ee5d0a37302b46a07d4de4dea82d78b20cfd99d2e",
        "0006_installations_by_user": "13f70de15095a4947cc32d8d93853655cff7b2fd6664e128886088d51a9d55a4",
        "0007_passkeys": "1a68f6fecae9de915f2f4e3195ae4e54a960e2e57ae44162ce04b6cdd3523f8f",
        "0008_attention": "fc0451c8742634b9df844380f1a3b6024cce8ccf2d88de640a91cd150c95f5b2",
        "0009_push_subscriptions": "23761652f0afad5b19219b2af70e8e328df6131646f595fe45e617b2e01ec297",
        "0010_administration": "0d789d582a9b03d1e261e92cec15639a7fc5038074d2a3cc4c17655881c88e5c",
        "0011_imports": "78e743ccd70d60c7024c1ab9d6832666c456470430af6d258608f7d0602ffccb",
        "0012_guilds_applications_and_files": "8377971a3c0465ea75ef80cb4ba66314cb040ae1113e212bf21fcc674237224b",
        "0013_safety": "6b64a3a081a46b91f8a8f0ecd8bb77a145218bc116b4adb58e27e3a3b8192c76",
        "0014_link_previews": "ef9fc9556e4ee7406c502b9432aaa8b6298e1dc96a1eaf406984e12eb2f9463e",
        "0015_identity": "0e22925dfe1de375580af947b0a96bb2780b64670fe1c536b0438ba5fac5104b",
        "0016_deliveries_teams_and_keys": "2128a2fdf480b78c69ea2d3eb837d7de2a240925cc650432360da102cb9d4fc2",
        "0017_confirmations": "5dae994aec8f1c57dbac0b94dab6434b2b5517c45b163844ff3adfa75b755894",
    },
}
"""Checksums of the migrations that each release added, by release. A release adds its entry; an existing entry never changes."""


def released_migrations() -> dict[str, str]:
    """Return the checksums of the migrations of all releases, by name."""
    return {
        name: checksum
        for release_checksums in RELEASED_CHECKSUMS.values()
        for name, checksum in release_checksums.items()
    }


def test_released_migrations_never_change() -> None:
    checksums = {f"{migration.number:04d}_{migration.name}": migration.checksum for migration in migrations.load()}

    assert {name: checksums.get(name) for name in released_migrations()} == released_migrations()


def test_migrations_of_releases_come_first_and_without_gaps() -> None:
    numbers = [int(name[:4]) for name in released_migrations()]

    assert numbers == list(range(1, len(numbers) + 1))


RELEASED_SCHEMAS = [
    pytest.param(1, id="initial"),
    *(
        pytest.param(max(int(name[:4]) for name in added_names), id=f"release {release}")
        for release, added_names in RELEASED_CHECKSUMS.items()
    ),
]
"""The initial schema, and the last schema of each release."""


@pytest.mark.parametrize("schema", RELEASED_SCHEMAS)
def test_a_database_of_an_earlier_schema_upgrades_and_keeps_its_rows(
    connection: sqlite3.Connection, postgres_database: str, tmp_path: Path, schema: int
) -> None:
    for migration in migrations.load()[:schema]:
        (tmp_path / f"{migration.number:04d}_{migration.name}.sql").write_text(migration.text)
    with psycopg.connect(postgres_database, autocommit=True) as postgres:
        migrate_sqlite(connection, tmp_path)
        migrate_postgres(postgres, tmp_path)
        for store in (connection, postgres):
            store.execute("INSERT INTO users (id, username) VALUES (1, 'alice')")
        migrate_sqlite(connection)
        migrate_postgres(postgres)
        users = [store.execute("SELECT id, username FROM users").fetchall() for store in (connection, postgres)]
        applied_migrations = [
            store.execute("SELECT COUNT(*) FROM schema_migrations").fetchone() for store in (connection, postgres)
        ]

    assert users == [[(1, "alice")]] * 2
    assert applied_migrations == [(len(migrations.load()),)] * 2


# Upgrades of existing databases


def create_old_database(path: Path, directory: Path) -> None:
    """Create a database with the schema of a directory and one value."""
    connection = sqlite3.connect(path, isolation_level=None)
    migrate_sqlite(connection, directory)
    connection.execute("INSERT INTO meta (name, value) VALUES ('kept', 'yes')")
    connection.close()


async def test_an_upgrade_is_logged_and_the_embedded_database_is_copied_first(
    tmp_path: Path, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="hubbub")
    path = tmp_path / "hubbub.sqlite3"
    create_old_database(path, directory)
    copy_path = tmp_path / "hubbub.sqlite3.schema-1"

    for _ in range(2):
        database = SqliteDatabase(path)
        await database.start()
        assert await database.read(lambda tx: tx.value("SELECT value FROM meta WHERE name = 'kept'")) == "yes"
        await database.close()

    newest = len(migrations.load())
    messages = [record.getMessage() for record in caplog.records]
    assert messages.count(f"Migrating the database from schema 1 to schema {newest}") == 1
    assert len([message for message in messages if message.startswith("Applied migration 0002_")]) == 1
    assert any(str(copy_path) in message for message in messages)
    copy = sqlite3.connect(copy_path)
    assert copy.execute("SELECT MAX(number) FROM schema_migrations").fetchone() == (1,)
    assert copy.execute("SELECT value FROM meta WHERE name = 'kept'").fetchone() == ("yes",)
    copy.close()
    assert copy_path.stat().st_mode & 0o777 == 0o600


async def test_a_new_database_is_not_copied_and_logs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="hubbub")
    database = SqliteDatabase(tmp_path / "hubbub.sqlite3")
    await database.start()
    await database.close()

    assert not [path for path in tmp_path.iterdir() if "schema-" in path.name]
    assert "migration" not in caplog.text


async def test_without_a_copy_the_database_is_not_changed(tmp_path: Path, directory: Path) -> None:
    path = tmp_path / "hubbub.sqlite3"
    create_old_database(path, directory)
    # A folder of this name makes the copy fail for every user.
    (tmp_path / "hubbub.sqlite3.schema-1" / "in-the-way").mkdir(parents=True)

    with pytest.raises(MigrationError, match="cannot copy the database"):
        await SqliteDatabase(path).start()

    connection = sqlite3.connect(path)
    assert connection.execute("SELECT MAX(number) FROM schema_migrations").fetchone() == (1,)
    connection.close()


def test_an_upgrade_of_postgres_is_logged(
    postgres_database: str, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="hubbub")
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        migrate_postgres(connection, directory)
        assert "Migrating" not in caplog.text
        migrate_postgres(connection)

    assert f"Migrating the database from schema 1 to schema {len(migrations.load())}" in caplog.text
    assert "Applied migration 0002_" in caplog.text


@pytest.fixture
def image_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the stored image of an empty database, in a folder that does not exist yet."""
    monkeypatch.setattr("sys.pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    return migrations._empty_image_path()


def test_the_image_of_an_empty_database_is_stored_beside_the_bytecode(image_path: Path) -> None:
    empty_image = migrations._empty_image.__wrapped__()

    assert [path.name for path in image_path.parent.iterdir()] == [image_path.name]
    assert migrations._empty_image.__wrapped__() == empty_image
    assert image_path.read_bytes().startswith(empty_image)


def test_a_damaged_image_of_an_empty_database_is_replaced(image_path: Path) -> None:
    empty_image = migrations._empty_image.__wrapped__()
    for damaged_image in (b"", empty_image[:1000], empty_image[:-1] + b"x"):
        image_path.write_bytes(damaged_image)

        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.deserialize(migrations._empty_image.__wrapped__())

        assert migrate_sqlite(connection) == []
        assert image_path.stat().st_size == len(empty_image) + 32


def test_no_image_is_stored_without_bytecode(image_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", True)

    migrations._empty_image.__wrapped__()

    assert not image_path.exists()


def test_errors_of_the_bytecode_folder_are_ignored(image_path: Path) -> None:
    image_path.parents[0].parent.mkdir(parents=True)
    image_path.parent.write_text("a file in place of the folder")

    assert migrations._empty_image.__wrapped__()
