"""The schema, as numbered SQL files applied in order, each in a transaction of its own and recorded with its checksum.

One text serves both dialects. Where they differ a file says `{blob}`, `{autoid}` or `{without_rowid}`, or opens a statement
with the line `-- only: sqlite` or `-- only: postgres`. A file that has been released never changes; a change is a new file.
"""

import functools
import hashlib
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import psycopg

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
"""Held on PostgreSQL while migrating, so that nodes starting at once take turns."""

_FILE_NAME = re.compile(r"(\d{4})_(\w+)\.sql")
_TOKEN = re.compile(
    r"""
    (?P<comment> --[^\n]* | /\*.*?\*/ )
  | (?P<quoted> '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
  | (?P<end> ; )
  | (?P<rest> [^;'"$/-]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ONLY = re.compile(r"^--\s*only:\s*(\w+)\s*$", re.MULTILINE)
_TRIGGER = re.compile(r"\s*CREATE\s+(TEMP(ORARY)?\s+)?TRIGGER\b", re.IGNORECASE)


class MigrationError(Exception):
    """The database and this program do not belong together."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """What identifies the file's text, whatever the line endings of the checkout."""
        return hashlib.sha256(self.text.replace("\r\n", "\n").encode()).hexdigest()

    def statements(self, dialect: Dialect) -> list[str]:
        """Its statements as that dialect reads them."""
        return list(statements(self.text, dialect))


def load(directory: Path = DIRECTORY) -> list[Migration]:
    """The migrations of a directory, in order, numbered from 1 without gaps."""
    found = []
    for path in sorted(directory.glob("*.sql")):
        match = _FILE_NAME.fullmatch(path.name)
        if match is None:
            raise MigrationError(f"{path.name} is not named like 0001_word.sql")
        found.append(Migration(int(match[1]), match[2], path.read_text(encoding="utf-8")))
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise MigrationError(f"the migrations in {directory} are not numbered 1, 2, 3 ... without gaps")
    return found


@functools.cache
def shipped() -> tuple[Migration, ...]:
    """This program's own migrations, which do not change while it runs."""
    return tuple(load())


@functools.cache
def _fresh() -> bytes:
    """A SQLite database with every table and nothing else, made once for all worlds of the process."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate_sqlite(connection)
        return connection.serialize()
    finally:
        connection.close()


def begin_sqlite(connection: sqlite3.Connection) -> None:
    """Bring a database in memory, which is empty, up to date at once."""
    source = sqlite3.connect(":memory:")
    try:
        source.deserialize(_fresh())
        source.backup(connection)
    finally:
        source.close()


def statements(text: str, dialect: Dialect) -> Iterator[str]:
    """Cut a script at the semicolons that end statements, keep what is for the dialect, and spell out the macros."""
    parts: list[str] = []
    comments: list[str] = []

    def finished() -> str | None:
        statement, notes = "".join(parts).strip(), "\n".join(comments)
        parts.clear()
        comments.clear()
        only = _ONLY.search(notes)
        if not statement or (only is not None and only[1] != dialect):
            return None
        for macro, meaning in MACROS[dialect].items():
            statement = statement.replace(macro, meaning)
        return statement

    for token in _TOKEN.finditer(text):
        if token.lastgroup == "comment":
            # Only what leads a statement can guard it.
            if not "".join(parts).strip():
                comments.append(token[0])
            parts.append(" ")
        elif token["end"]:
            if _TRIGGER.match("".join(parts)) and not sqlite3.complete_statement("".join(parts) + ";"):
                parts.append(";")
                continue
            if (statement := finished()) is not None:
                yield statement
        else:
            parts.append(token[0])
    if (statement := finished()) is not None:
        yield statement


def pending(applied: Mapping[int, tuple[str, str]], migrations: Sequence[Migration]) -> list[Migration]:
    """Those not yet applied; MigrationError if the database is newer, or was made by other files."""
    known = {migration.number: migration for migration in migrations}
    newest = max(applied, default=0)
    if newest > len(known):
        raise MigrationError(
            f"the database has schema {newest} ({applied[newest][0]}) and this program knows {len(known)}: "
            "it was used by a newer version; run that version, or restore a backup"
        )
    for number, (name, checksum) in sorted(applied.items()):
        if known[number].checksum != checksum:
            raise MigrationError(
                f"migration {number:04d}_{name} was applied to the database from another text than this program's "
                f"{number:04d}_{known[number].name}: a released migration never changes"
            )
    return [migration for migration in migrations if migration.number not in applied]


def migrate_sqlite(connection: sqlite3.Connection, directory: Path = DIRECTORY) -> list[Migration]:
    """Bring a database up to date and return what was applied; the connection is in autocommit mode."""
    migrations = shipped() if directory == DIRECTORY else load(directory)
    done: list[Migration] = []
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            applied: dict[int, tuple[str, str]] = {}
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone():
                rows = connection.execute("SELECT number, name, checksum FROM schema_migrations")
                applied = {number: (name, checksum) for number, name, checksum in rows}
            todo = pending(applied, migrations)
            if todo:
                for statement in todo[0].statements("sqlite"):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_migrations (number, name, checksum) VALUES (?, ?, ?)",
                    (todo[0].number, todo[0].name, todo[0].checksum),
                )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        if not todo:
            return done
        done.append(todo[0])


def migrate_postgres(connection: "psycopg.Connection", directory: Path = DIRECTORY) -> list[Migration]:
    """Bring a database up to date and return what was applied; the connection is in autocommit mode."""
    migrations = shipped() if directory == DIRECTORY else load(directory)
    connection.execute("SELECT pg_advisory_lock(%s)", (ADVISORY_LOCK,))
    try:
        applied: dict[int, tuple[str, str]] = {}
        found = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone()
        if found is not None and found[0]:
            rows = connection.execute("SELECT number, name, checksum FROM schema_migrations")
            applied = {number: (name, checksum) for number, name, checksum in rows}
        todo = pending(applied, migrations)
        for migration in todo:
            with connection.transaction():
                for statement in migration.statements("postgres"):
                    connection.execute(statement.encode())
                connection.execute(
                    "INSERT INTO schema_migrations (number, name, checksum) VALUES (%s, %s, %s)",
                    (migration.number, migration.name, migration.checksum),
                )
        return todo
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (ADVISORY_LOCK,))
