"""Creation of backups, also while servers run.

The database is read as of one moment. The files are copied afterwards: a file is stored before the row that refers to it
is committed, and deleted after the commit that deletes the row (decisions/0147).
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import psycopg

import hubbub
from hubbub.server.backups import manifest as manifests
from hubbub.server.backups.manifest import BackupError, FileSummary, Manifest, Progress
from hubbub.server.backups.postgres_programs import require_program, run_program
from hubbub.server.backups.references import RunQuery, list_file_keys
from hubbub.server.core import migrations
from hubbub.server.core.backends import DATABASE_FILE, FILES_FOLDER
from hubbub.server.core.clock import RealClock
from hubbub.server.core.files import Files
from hubbub.server.core.sqlite_files import copy_between, find_damage

DERIVED_PREFIX = "derived/"
"""Prefix of the keys of converted images, which are not copied because the CDN creates them again."""


class DatabaseCopy(NamedTuple):
    """The manifest of a copied database, and the files that the database refers to."""

    manifest: Manifest
    file_keys: set[str]
    """Keys of the files that the database refers to; empty if its schema is not the one of this version."""


def copy_embedded(source: Path, folder: Path, progress: Progress) -> DatabaseCopy:
    """Copy an embedded database that may be in use, and return the manifest of the copy and the keys of its files.

    `progress` receives the number of copied pages. Raise BackupError if the copy is damaged."""
    target_path = folder / DATABASE_FILE
    created_at = _now()
    reader = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
    # The file is created before SQLite does it, so that only its owner can read it.
    os.close(os.open(target_path, os.O_RDWR | os.O_CREAT, 0o600))
    writer = sqlite3.connect(target_path)
    try:
        # The copy has one snapshot: without this transaction, each write of a server would start it again.
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM sqlite_schema").fetchone()
        copy_between(reader, writer, lambda count, total: progress("database", count, total))
        reader.execute("ROLLBACK")
        damage = find_damage(writer)
        if damage is not None:
            raise BackupError(f"the database is damaged: {damage}; run hubbub doctor")
        schema_number, row_counts, file_keys = _describe_contents(writer.execute, EMBEDDED_TABLES_QUERY)
    finally:
        writer.close()
        reader.close()
    database_file = manifests.sync_and_describe_file(folder, DATABASE_FILE)
    return DatabaseCopy(
        Manifest(
            hubbub_version=hubbub.__version__,
            created_at=created_at,
            store="sqlite",
            schema_number=schema_number,
            database=database_file,
            row_counts=row_counts,
        ),
        file_keys,
    )


EMBEDDED_TABLES_QUERY = (
    "SELECT name FROM pragma_table_list"
    " WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1"
)
"""Query of the tables of an embedded database, without those of the search index."""
POSTGRES_TABLES_QUERY = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
"""Query of the tables of a PostgreSQL database."""


def dump_postgres(url: str, folder: Path, progress: Progress, pg_bin: str | None) -> DatabaseCopy:
    """Dump a PostgreSQL database that may be in use, and return the manifest of the dump and the keys of its files.

    Row counts and file references are read from the snapshot that is dumped. Raise BackupError if the database does not
    belong to Hubbub, pg_dump is missing or too old, or the dump fails."""
    target_path = folder / manifests.DUMP_FILE
    with _open_snapshot(url) as (connection, snapshot):
        version = connection.info.server_version // 10_000
        program = require_program("pg_dump", version, pg_bin)
        created_at = _now()

        def run_query(sql: str) -> Iterator[tuple[Any, ...]]:
            yield from connection.execute(sql.encode())

        if not list(run_query("SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL")):
            raise BackupError("the database has no tables of Hubbub; check --database-url")
        os.close(os.open(target_path, os.O_RDWR | os.O_CREAT, 0o600))
        arguments = [
            "--format=custom",
            "--no-owner",
            "--no-privileges",
            f"--snapshot={snapshot}",
            f"--file={target_path}",
        ]
        run_program(program, arguments, url, lambda: progress("Dumping", target_path.stat().st_size // 1_000_000, 0))
        schema_number, row_counts, file_keys = _describe_contents(run_query, POSTGRES_TABLES_QUERY)
    database_file = manifests.sync_and_describe_file(folder, manifests.DUMP_FILE)
    return DatabaseCopy(
        Manifest(
            hubbub_version=hubbub.__version__,
            created_at=created_at,
            store="postgresql",
            postgresql_version=version,
            schema_number=schema_number,
            database=database_file,
            row_counts=row_counts,
        ),
        file_keys,
    )


@contextlib.contextmanager
def _open_snapshot(url: str) -> Iterator[tuple[psycopg.Connection, str]]:
    """Open a transaction on a state that a serial order of the writes produced; yield its connection and snapshot ID."""
    with psycopg.connect(url, autocommit=True, connect_timeout=10, application_name="hubbub backup") as connection:
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE")
        row = connection.execute("SELECT pg_export_snapshot()").fetchone()
        assert row is not None
        yield connection, row[0]
        connection.execute("COMMIT")


def _describe_contents(run_query: RunQuery, tables_query: str) -> tuple[int, dict[str, int], set[str]]:
    """Return the schema, the row counts by table, and the keys of files that the database refers to."""
    [(schema_number,)] = run_query(migrations.SCHEMA_SQL)
    row_counts = count_rows(run_query, tables_query)
    file_keys = set(list_file_keys(run_query)) if schema_number == len(migrations.shipped_migrations()) else set()
    return schema_number, row_counts, file_keys


def count_rows(run_query: RunQuery, tables_query: str) -> dict[str, int]:
    """Return the number of rows by table."""
    row_counts = {}
    for (table,) in list(run_query(tables_query)):
        [(row_counts[table],)] = run_query(f'SELECT COUNT(*) FROM "{table}"')
    return row_counts


async def copy_files(files: Files, folder: Path, database_copy: DatabaseCopy, progress: Progress) -> Manifest:
    """Copy the files of a file store except converted images into a backup, and return the manifest with them."""
    target_folder = folder / FILES_FOLDER
    target_folder.mkdir(mode=0o700)
    file_count = total_bytes = 0
    descriptor = os.open(folder / manifests.FILE_LIST_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    missing_keys = database_copy.file_keys
    with os.fdopen(descriptor, "w", encoding="utf-8") as file_list:
        file_list.write(f"{database_copy.manifest.database.sha256}  {database_copy.manifest.database.name}\n")
        async for key in files.list_keys():
            if key.startswith(DERIVED_PREFIX):
                continue
            size_and_digest = await _copy_file(files, key, target_folder / key)
            if size_and_digest is None:
                continue
            file_size, digest = size_and_digest
            file_list.write(f"{digest}  {FILES_FOLDER}/{key}\n")
            missing_keys.discard(key)
            file_count += 1
            total_bytes += file_size
            progress("Copying", file_count, 0)
    list_file = manifests.sync_and_describe_file(folder, manifests.FILE_LIST_FILE)
    summary = FileSummary(count=file_count, size=total_bytes, list_file=list_file)
    return msgspec.structs.replace(database_copy.manifest, files=summary, missing_files=sorted(missing_keys))


async def _copy_file(files: Files, key: str, path: Path) -> tuple[int, str] | None:
    """Copy a file and return its size and checksum, or None if the server deleted it in the meantime."""
    try:
        chunks = await files.stream(key)
    except FileNotFoundError:
        return None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, file_size = hashlib.sha256(), 0
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        async for chunk in chunks:
            stream.write(chunk)
            digest.update(chunk)
            file_size += len(chunk)
    return file_size, digest.hexdigest()


def _now() -> str:
    return datetime.fromtimestamp(RealClock().now_ms() / 1000, UTC).isoformat(timespec="seconds")
