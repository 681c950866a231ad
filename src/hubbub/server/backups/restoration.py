"""Restoration of backups into an empty database and an empty file store."""

import mimetypes
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import psycopg

from hubbub.protocol.images import detect_image_type
from hubbub.server.backups import manifest as manifests
from hubbub.server.backups.creation import POSTGRES_TABLES_QUERY, count_rows
from hubbub.server.backups.manifest import BackupError, Manifest, Progress
from hubbub.server.backups.postgres_programs import database_name, require_program, run_program
from hubbub.server.core import migrations, process_leases
from hubbub.server.core.backends import DATABASE_FILE, FILES_FOLDER
from hubbub.server.core.files import Files

OBJECT_COUNT_QUERY = (
    "SELECT COUNT(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
    " WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"
)
"""Query of the number of tables, views and sequences of a database."""


def require_usable(manifest: Manifest) -> None:
    """Raise BackupError if the database of a backup is newer than this version."""
    newest_schema = len(migrations.shipped_migrations())
    if manifest.schema_number > newest_schema:
        raise BackupError(
            f"the backup has schema {manifest.schema_number} of Hubbub {manifest.hubbub_version}, "
            f"this version has schema {newest_schema}; "
            "install that version first"
        )


def restore_postgres(backup: Path, manifest: Manifest, url: str, progress: Progress, pg_bin: str | None) -> None:
    """Restore a dump into an empty database in one transaction, and delete the leases of processes.

    Raise BackupError if the database is not empty, pg_restore is missing or fails, or row counts differ from the
    manifest."""
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        row = connection.execute(OBJECT_COUNT_QUERY).fetchone()
        assert row is not None
        if row[0]:
            raise BackupError(
                f"the database {database_name(url)} is not empty ({row[0]} tables and sequences); create an empty one, "
                "for example with createdb, and set --database-url to it"
            )
        version = max(connection.info.server_version // 10_000, manifest.postgresql_version or 0)
        program = require_program("pg_restore", version, pg_bin)
        progress("Restoring", 0, 0)
        arguments = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"]
        arguments += [f"--dbname={database_name(url)}", str(backup / manifest.database.name)]
        run_program(program, arguments, url, lambda: None)
        row_counts = count_rows(lambda sql: connection.execute(sql.encode()).fetchall(), POSTGRES_TABLES_QUERY)
        _require_same_counts(row_counts, manifest)
        # The processes of the backup do not run on this database, so a start need not wait for them.
        connection.execute(process_leases.RELEASE_ALL_SQL)
        connection.execute("ANALYZE")


def restore_embedded(backup: Path, manifest: Manifest, data_folder: Path) -> None:
    """Copy the database of a backup into a data folder without a database.

    Raise BackupError if the folder has a database, or if the copy is damaged or differs from the manifest."""
    target_path = data_folder / DATABASE_FILE
    if target_path.exists():
        raise BackupError(f"{target_path} already exists; set --data to a new folder, or move the old one away")
    data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial_path = data_folder / f"{DATABASE_FILE}.partial"
    partial_path.unlink(missing_ok=True)
    os.close(os.open(partial_path, os.O_WRONLY | os.O_CREAT, 0o600))
    try:
        shutil.copyfile(backup / manifest.database.name, partial_path)
        connection = sqlite3.connect(partial_path)
        try:
            check_result = connection.execute("PRAGMA integrity_check").fetchone()[0]
            if check_result != "ok":
                raise BackupError(f"the database of the backup is damaged: {check_result}")
            row_counts = {name: _count(connection, name) for name in manifest.row_counts}
        finally:
            connection.close()
        _require_same_counts(row_counts, manifest)
        partial_path.replace(target_path)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"cannot restore the database: {error}") from error
    finally:
        partial_path.unlink(missing_ok=True)


async def require_empty(files: Files) -> None:
    """Raise BackupError if a file store has files."""
    async for key in files.list_keys():
        raise BackupError(
            f"the file store is not empty (it has {key}); set --files-url to an empty one, or keep its files with "
            "--without-files"
        )


async def restore_files(backup: Path, manifest: Manifest, files: Files, progress: Progress) -> int:
    """Copy the files of a backup to a file store and return their number."""
    file_count = 0
    for key, _ in manifests.list_files(backup):
        content = (backup / FILES_FOLDER / key).read_bytes()
        content_type = detect_image_type(content) or mimetypes.guess_type(key)[0] or "application/octet-stream"
        await files.put(key, content, content_type)
        file_count += 1
        progress("Restoring", file_count, 0 if manifest.files is None else manifest.files.count)
    return file_count


def _count(connection: sqlite3.Connection, table: str) -> int:
    row: Any = connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()
    return int(row[0])


def _require_same_counts(row_counts: dict[str, int], manifest: Manifest) -> None:
    """Raise BackupError if tables have other numbers of rows than at the time of the backup."""
    table_names = sorted(row_counts.keys() | manifest.row_counts.keys())
    differences = [
        f"{name} has {row_counts.get(name, 0)} rows instead of {manifest.row_counts.get(name, 0)}"
        for name in table_names
        if row_counts.get(name) != manifest.row_counts.get(name)
    ]
    if differences:
        raise BackupError("the restored database differs from the manifest: " + "; ".join(differences))
