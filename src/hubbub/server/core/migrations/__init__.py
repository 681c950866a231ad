"""The database schema: numbered SQL files applied in order, each in its own transaction and recorded with its checksum.

One text serves both dialects. For differences a file uses `{blob}`, `{autoid}` or `{without_rowid}`, or starts a
statement with the line `-- only: sqlite` or `-- only: postgres`. A released file never changes; a schema change is a
new file.

Programs of an older version continue on a schema to which newer migrations only added (decisions/0148). A migration that
removes or changes a part of the schema has the line `-- contract: schema 21, release 0.2.0`: programs of schema 21 and later, the
first of which is release 0.2.0, do not use what it removes.
"""

import contextlib
import functools
import hashlib
import importlib.util
import logging
import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import hubbub

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger(__name__)

Dialect = Literal["sqlite", "postgres"]

DIRECTORY: Final = Path(__file__).parent

MACROS: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "sqlite": {
        "{blob}": "BLOB",
        "{autoid}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{without_rowid}": "WITHOUT ROWID",
    },
    "postgres": {
        "{blob}": "BYTEA",
        "{autoid}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{without_rowid}": "",
    },
}

ADVISORY_LOCK: Final = 0x48756262_75620001
"""Key of the advisory lock that a migration holds on PostgreSQL, so that nodes that start at the same time wait."""

APPLIED_SQL: Final = (
    "SELECT number, schema_migrations.name, checksum, value FROM schema_migrations"
    " LEFT JOIN meta ON meta.name = 'migrations.' || number"
)
"""Query whose rows are the arguments of `AppliedMigration.from_row`."""

CONNECTION_NAME_PATTERN: Final = "hubbub % schema %"
"""Pattern of LIKE for the `application_name` of the connections of all versions (`connection_name`)."""

SCHEMA_SQL: Final = "SELECT MAX(number) FROM schema_migrations"
"""Query of the schema of a database, which is the number of its last migration."""

LOCK_TIMEOUT_MS: Final = 1_000
"""Time in milliseconds for which a statement waits for a lock on PostgreSQL before the migration is repeated."""
LOCK_RETRY_SECONDS: Final = 0.2
LOCK_SECONDS_MAX: Final = 60
"""Time in seconds for which a migration that cannot lock its tables is repeated before it fails."""

_FILE_NAME_PATTERN = re.compile(r"(\d{4})_(\w+)\.sql")
_TOKEN_PATTERN = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<quoted> '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
  | (?P<end> ; )
  | (?P<rest> [^;'"$/-]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ONLY_PATTERN = re.compile(r"^--\s*only:\s*(\w+)\s*$", re.MULTILINE)
_CONTRACT_PATTERN = re.compile(r"^--\s*contract:\s*schema (\d+), release (\S+)\s*$", re.MULTILINE)
_TRIGGER_PATTERN = re.compile(r"\s*CREATE\s+(TEMP(ORARY)?\s+)?TRIGGER\b", re.IGNORECASE)


class MigrationError(Exception):
    """The schema of the database does not match this program, or migrations cannot be loaded or applied."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration file."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """The checksum of the file's text, independent of its line endings."""
        return hashlib.sha256(self.text.replace("\r\n", "\n").encode()).hexdigest()

    @property
    def oldest_schema(self) -> int:
        """The oldest schema whose programs can use the database after this migration; 0 if it only adds to the schema."""
        match = _CONTRACT_PATTERN.search(self.text)
        return 0 if match is None else int(match[1])

    @property
    def contract_release(self) -> str | None:
        """The release that stopped using what this migration removes; None if it only adds to the schema."""
        match = _CONTRACT_PATTERN.search(self.text)
        return None if match is None else match[2]

    def statements(self, dialect: Dialect) -> list[str]:
        """Return the file's statements in a dialect."""
        return list(statements(self.text, dialect))


class AppliedMigration(NamedTuple):
    """The record of a migration in a database."""

    number: int
    name: str
    checksum: str
    oldest_schema: int | None
    """The oldest schema whose programs can use the database after the migration; None if it is unknown."""

    @classmethod
    def from_row(cls, number: Any, name: Any, checksum: Any, oldest_schema: Any) -> "AppliedMigration":
        """Return the record of a row of `APPLIED_SQL`."""
        return cls(int(number), str(name), str(checksum), None if oldest_schema is None else int(oldest_schema))


def load(directory: Path = DIRECTORY) -> list[Migration]:
    """Return the migrations of a directory, in order. Raise MigrationError if a name is invalid or a number missing."""
    migrations = []
    for path in sorted(directory.glob("*.sql")):
        match = _FILE_NAME_PATTERN.fullmatch(path.name)
        if match is None:
            raise MigrationError(f"{path.name} must be named like 0001_word.sql")
        migrations.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if [migration.number for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise MigrationError(f"the migrations in {directory} must be numbered 1, 2, 3 ... without gaps")
    return migrations


@functools.cache
def shipped_migrations() -> tuple[Migration, ...]:
    """Return this program's own migrations."""
    return tuple(load())


def load_schema_sqlite(connection: sqlite3.Connection) -> None:
    """Initialize an empty in-memory database with the current schema."""
    source = sqlite3.connect(":memory:")
    try:
        source.deserialize(_empty_image())
        source.backup(connection)
    finally:
        source.close()


@functools.cache
def _empty_image() -> bytes:
    """Return an empty SQLite database with the current schema: the stored one, or else a new one.

    Python's rules for bytecode apply to the stored file: it is beside the bytecode of this module, unless the folder is
    read-only or PYTHONDONTWRITEBYTECODE is set, and its name changes with everything that it is made from."""
    path = _empty_image_path()
    with contextlib.suppress(OSError):
        image, digest = (content := path.read_bytes())[:-32], content[-32:]
        if hashlib.sha256(image).digest() == digest:
            return image
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate_sqlite(connection)
        image = connection.serialize()
    finally:
        connection.close()
    if not sys.dont_write_bytecode:
        _store_empty_image(path, image)
    return image


def _empty_image_path() -> Path:
    """Return the path of the stored image of an empty database, which depends on the migrations and on SQLite's version."""
    versions = [sqlite3.sqlite_version, *(migration.checksum for migration in shipped_migrations())]
    name = hashlib.sha256(" ".join(versions).encode()).hexdigest()[:16]
    return Path(importlib.util.cache_from_source(__file__)).with_name(f"schema-{name}.sqlite")


def _store_empty_image(path: Path, image: bytes) -> None:
    """Store the image with its hash for later processes; errors of the folder are ignored."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial_path = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            partial_path.write_bytes(image + hashlib.sha256(image).digest())
            partial_path.replace(path)
        finally:
            partial_path.unlink(missing_ok=True)


def statements(script: str, dialect: Dialect) -> Iterator[str]:
    """Split a script into statements, keep those for the dialect, and expand the macros."""
    fragments: list[str] = []
    comments: list[str] = []

    def take_statement() -> str | None:
        """Return the collected statement with expanded macros, or None if it is empty or for another dialect."""
        statement, leading_comments = "".join(fragments).strip(), "\n".join(comments)
        fragments.clear()
        comments.clear()
        dialect_match = _ONLY_PATTERN.search(leading_comments)
        if not statement or (dialect_match is not None and dialect_match[1] != dialect):
            return None
        for macro, expansion in MACROS[dialect].items():
            statement = statement.replace(macro, expansion)
        return statement

    for token in _TOKEN_PATTERN.finditer(script):
        if token.lastgroup == "comment":
            # Only a comment before a statement can restrict it to a dialect.
            if not "".join(fragments).strip():
                comments.append(token[0])
            fragments.append(" ")
        elif token["end"]:
            if _TRIGGER_PATTERN.match("".join(fragments)) and not sqlite3.complete_statement("".join(fragments) + ";"):
                fragments.append(";")
                continue
            if (statement := take_statement()) is not None:
                yield statement
        else:
            fragments.append(token[0])
    if (statement := take_statement()) is not None:
        yield statement


def check_newer(applied: Mapping[int, AppliedMigration], schema: int) -> bool:
    """Return whether a database is newer than a program of this schema, which can use it nevertheless.

    Raise MigrationError if the program cannot use it."""
    newest_schema = max(applied, default=0)
    for number in range(schema + 1, newest_schema + 1):
        migration = applied.get(number)
        if migration is None or migration.oldest_schema is None or migration.oldest_schema > schema:
            change_note = (
                f"; migration {number:04d}_{migration.name} changed what it uses" if migration is not None else ""
            )
            raise MigrationError(
                f"the database has schema {newest_schema} ({applied[newest_schema].name}), but this version of Hubbub supports "
                f"only {schema}{change_note}. It was used by a newer version: run that version, or restore a backup"
            )
    return newest_schema > schema


def pending(applied: Mapping[int, AppliedMigration], migrations: Sequence[Migration]) -> list[Migration]:
    """Return the migrations not yet applied.

    Raise MigrationError if the database is newer than this program and changed what it uses, or was migrated with
    different files."""
    migrations_by_number = {migration.number: migration for migration in migrations}
    check_newer(applied, len(migrations_by_number))
    for number, (_, name, checksum, _) in sorted(applied.items()):
        if number in migrations_by_number and migrations_by_number[number].checksum != checksum:
            raise MigrationError(
                f"migration {number:04d}_{name} in the database differs from {number:04d}_{migrations_by_number[number].name} "
                "of this version of Hubbub; a released migration must never change"
            )
    return [migration for migration in migrations if migration.number not in applied]


def migrate_sqlite(
    connection: sqlite3.Connection,
    directory: Path = DIRECTORY,
    *,
    before_upgrade: Callable[[int], None] | None = None,
) -> list[Migration]:
    """Migrate a database and return the applied migrations; the connection must be in autocommit mode.

    `before_upgrade` is called with the current schema number before an existing database is migrated."""
    migrations = shipped_migrations() if directory == DIRECTORY else load(directory)
    applied_migrations = _applied_sqlite(connection)
    if applied_migrations and (pending_migrations := pending(applied_migrations, migrations)):
        _log_upgrade(applied_migrations, pending_migrations)
        if before_upgrade is not None:
            before_upgrade(max(applied_migrations))
    is_upgrade = bool(applied_migrations)
    _log_newer(applied_migrations, migrations)
    applied_now: list[Migration] = []
    while True:
        started_at = time.monotonic()
        connection.execute("BEGIN IMMEDIATE")
        try:
            applied_migrations = _applied_sqlite(connection)
            pending_migrations = pending(applied_migrations, migrations)
            if pending_migrations:
                for statement in pending_migrations[0].statements("sqlite"):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_migrations (number, name, checksum) VALUES (?, ?, ?)",
                    (pending_migrations[0].number, pending_migrations[0].name, pending_migrations[0].checksum),
                )
                connection.execute("INSERT INTO meta (name, value) VALUES (?, ?)", _meta_row(pending_migrations[0]))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if not pending_migrations:
            return applied_now
        applied_now.append(pending_migrations[0])
        if is_upgrade:
            _log_applied(pending_migrations[0], started_at)


def _applied_sqlite(connection: sqlite3.Connection) -> dict[int, AppliedMigration]:
    """Return the applied migrations by number."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone():
        return {}
    return {row[0]: AppliedMigration.from_row(*row) for row in connection.execute(APPLIED_SQL)}


def _meta_row(migration: Migration) -> tuple[str, str]:
    """Return a row of the table of named values, which tells older programs whether they can use the database."""
    return f"migrations.{migration.number}", str(migration.oldest_schema)


def _log_newer(applied: Mapping[int, AppliedMigration], migrations: Sequence[Migration]) -> None:
    if max(applied, default=0) > len(migrations):
        log.warning(
            "The database has schema %d, this version of Hubbub has schema %d. The newer migrations only added to the schema, "
            "so this version continues; upgrade it soon",
            max(applied),
            len(migrations),
        )


def _log_upgrade(applied: Mapping[int, AppliedMigration], pending_migrations: Sequence[Migration]) -> None:
    log.info("Migrating the database from schema %d to schema %d", max(applied), pending_migrations[-1].number)


def _log_applied(migration: Migration, started_at: float) -> None:
    seconds = time.monotonic() - started_at
    log.info("Applied migration %04d_%s in %.1f s", migration.number, migration.name, seconds)


def connection_name() -> str:
    """Return the `application_name` of this program's connections to PostgreSQL, which contains its schema."""
    return f"hubbub {hubbub.__version__} schema {len(shipped_migrations())}"


def _require_current_processes(connection: "psycopg.Connection", migration: Migration) -> None:
    """Raise MigrationError if processes are connected that use what a migration removes."""
    if not migration.oldest_schema:
        return
    rows = connection.execute(
        "SELECT DISTINCT application_name, COALESCE(host(client_addr), 'this machine') FROM pg_stat_activity"
        f" WHERE datname = current_database() AND application_name LIKE '{CONNECTION_NAME_PATTERN}'"
    ).fetchall()
    outdated_processes = [
        f"{name} from {address}"
        for name, address in sorted(rows)
        if int(name.rpartition(" ")[2]) < migration.oldest_schema
    ]
    if outdated_processes:
        raise MigrationError(
            f"migration {migration.number:04d}_{migration.name} removes what connected processes use "
            f"({', '.join(outdated_processes)}). It was not applied: "
            f"upgrade these processes to release {migration.contract_release} or later first"
        )


def _apply_postgres(connection: "psycopg.Connection", migration: Migration) -> None:
    """Apply a migration; repeat it while running processes hold locks that it needs."""
    from psycopg.errors import DeadlockDetected, LockNotAvailable

    _require_current_processes(connection, migration)
    deadline = time.monotonic() + LOCK_SECONDS_MAX
    while True:
        try:
            with connection.transaction():
                # A statement that waits for a lock blocks all later queries of the table, so it must not wait long.
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
                for statement in migration.statements("postgres"):
                    connection.execute(statement.encode())
                connection.execute(
                    "INSERT INTO schema_migrations (number, name, checksum) VALUES (%s, %s, %s)",
                    (migration.number, migration.name, migration.checksum),
                )
                connection.execute("INSERT INTO meta (name, value) VALUES (%s, %s)", _meta_row(migration))
            return
        except (DeadlockDetected, LockNotAvailable) as error:
            if time.monotonic() > deadline:
                raise MigrationError(
                    f"migration {migration.number:04d}_{migration.name} could not lock its tables within "
                    f"{LOCK_SECONDS_MAX} s, because other processes use them. Nothing was changed: start again, or stop the "
                    "other processes first"
                ) from error
            log.info("Migration %04d_%s waits for other processes", migration.number, migration.name)
        time.sleep(LOCK_RETRY_SECONDS)


def migrate_postgres(connection: "psycopg.Connection", directory: Path = DIRECTORY) -> list[Migration]:
    """Migrate a database and return the applied migrations; the connection must be in autocommit mode."""
    migrations = shipped_migrations() if directory == DIRECTORY else load(directory)
    connection.execute("SELECT pg_advisory_lock(%s)", (ADVISORY_LOCK,))
    try:
        applied_migrations: dict[int, AppliedMigration] = {}
        row = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone()
        if row is not None and row[0]:
            applied_migrations = {
                row[0]: AppliedMigration.from_row(*row) for row in connection.execute(APPLIED_SQL).fetchall()
            }
        pending_migrations = pending(applied_migrations, migrations)
        _log_newer(applied_migrations, migrations)
        if applied_migrations and pending_migrations:
            _log_upgrade(applied_migrations, pending_migrations)
        for migration in pending_migrations:
            started_at = time.monotonic()
            _apply_postgres(connection, migration)
            if applied_migrations:
                _log_applied(migration, started_at)
        return pending_migrations
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (ADVISORY_LOCK,))
