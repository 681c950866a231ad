"""Files of the embedded database: lock against other processes, connections, copies, images and damage check."""

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hubbub.server.core.migrations import MigrationError, load_schema_sqlite, migrate_sqlite
from hubbub.server.core.sqlite_tx import SELECT_LAST_STAMP, UPDATE_LAST_STAMP
from hubbub.server.core.store import StoreUnavailable

try:
    import fcntl
except ImportError:  # Windows: only SQLite's own locks protect the file there.
    fcntl = None  # type: ignore[assignment]


log = logging.getLogger(__name__)

CACHED_STATEMENTS: Final = 512
"""Number of prepared statements that a connection caches."""
CACHE_BYTES: Final = 64 * 1024 * 1024
"""Page cache of each connection in bytes."""
MMAP_BYTES_MAX: Final = 1024**3
"""Maximum number of bytes of the database file that are mapped into memory."""
CHECKPOINT_PAGES: Final = 4000
"""Number of pages in the write-ahead log at which a commit copies them to the database file."""
COPY_STEP_PAGES: Final = 4096
"""Number of pages that one step of a copy with progress copies."""
PROGRESS_SECONDS: Final = 5.0
"""Minimum time in seconds between two lines of a `ProgressLog`."""
WAL_FILE_BYTES_MAX: Final = 64 * 1024**2
"""Maximum size in bytes of the file of the write-ahead log after a checkpoint; a larger file is truncated."""


class ProgressLog:
    """Writes the progress of a long copy to the log; a copy that is complete before the first line is due logs nothing."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._logged_at = time.monotonic()

    def update(self, count: int, total: int) -> None:
        """Log the share of copied pages, at most once in `PROGRESS_SECONDS`."""
        now = time.monotonic()
        if total and now - self._logged_at >= PROGRESS_SECONDS:
            self._logged_at = now
            log.info("%s: %d %% of %d pages", self._subject, 100 * count // total, total)


def lock(path: Path | None) -> int | None:
    """Lock the database against other processes and return the file descriptor of the lock file.

    The lock is needed because stamps are counted, and events are published, in one process only. On systems with file
    locks, also create the folder and the file of the database if they do not exist. Return None for a database in memory
    and on systems without file locks. Raise StoreUnavailable if another process holds the lock or the lock file cannot be
    opened."""
    if path is None or fcntl is None:
        return None
    descriptor: int | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if descriptor is not None:
            os.close(descriptor)
            raise StoreUnavailable(f"{path} is in use by another process") from error
        raise StoreUnavailable(f"cannot open {path}: {error}") from error
    with contextlib.suppress(OSError):  # SQLite reports the error better.
        # SQLite would create the file readable for all users, and the journal files with the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    return descriptor


def is_locked(path: Path) -> bool:
    """Return whether a process has locked the database; False if that cannot be determined."""
    lock_path = Path(f"{path}.lock")
    if not os.access(lock_path, os.R_OK | os.W_OK) or fcntl is None:
        return False
    descriptor = os.open(lock_path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def copy_between(
    source: sqlite3.Connection, target: sqlite3.Connection, progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy a database. `progress` receives the number of copied pages and their total.

    With `progress` the copy has several steps, and SQLite starts it again if another connection writes to `source` in
    between. Therefore `source` must then have an open read transaction, or no other connection may write. Without
    `progress` the copy is one step."""
    if progress is None:
        source.backup(target)
    else:
        source.backup(
            target, pages=COPY_STEP_PAGES, progress=lambda _, remaining, total: progress(total - remaining, total)
        )


def copy_to_file(
    source: sqlite3.Connection, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy an open database to a file; `progress` as in `copy_between`."""
    # The file is created before SQLite does it, so that only its owner can read it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    target = sqlite3.connect(path)
    try:
        copy_between(source, target, progress)
    finally:
        target.close()


def connect(path: Path | None, cache_bytes: int) -> sqlite3.Connection:
    """Return a new connection to a database file or, without a path, to a new database in memory."""
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        isolation_level=None,
        cached_statements=CACHED_STATEMENTS,
        timeout=10.0,
        # The event loop also uses the writer's connection, when the writer thread hands it over (`Handover`).
        check_same_thread=False,
    )
    # The operations maintain references, because they must return the platform's errors anyway (decisions/0003).
    connection.execute("PRAGMA foreign_keys = OFF")
    # Savepoints store the pages to restore in temporary storage.
    connection.execute("PRAGMA temp_store = MEMORY")
    _set_cache_size(connection, cache_bytes)
    if path is not None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA mmap_size = {MMAP_BYTES_MAX}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_FILE_BYTES_MAX}")
    return connection


def _set_cache_size(connection: sqlite3.Connection, cache_bytes: int) -> None:
    connection.execute(f"PRAGMA cache_size = -{cache_bytes // 1024}")


def copy_file_in_use(source_path: Path, cache_bytes: int, path: str | os.PathLike[str]) -> None:
    """Copy a database file to a new file through its own connection, while the database stays in use."""
    source = connect(source_path, cache_bytes)
    try:
        copy_to_file(source, path)
    finally:
        source.close()


def serialize(connection: sqlite3.Connection) -> bytes:
    """Return a whole database as the bytes of a file."""
    image = bytearray(connection.serialize())
    # Bytes 18 and 19 of the header declare a write-ahead log, which a serialized image does not have.
    image[18:20] = b"\x01\x01"
    return bytes(image)


def initialize(connection: sqlite3.Connection, image: bytes | None, cache_bytes: int = CACHE_BYTES) -> None:
    """Initialize a new database in memory with the result of `serialize`, or with the empty schema if it is None.

    SQLite limits a database that starts with an image to 1 GiB."""
    if image is None:
        load_schema_sqlite(connection)
        return
    # Copying the image page by page into a database without an image would take several times as long.
    connection.deserialize(image)
    # Deserializing resets the setting.
    _set_cache_size(connection, cache_bytes)


def restore(connection: sqlite3.Connection, image: bytes, last_stamp: int) -> int:
    """Replace a whole database by one that `serialize` returned, and return its last stamp.

    Stamps up to `last_stamp` were used since the image was created and are never reused."""
    source = sqlite3.connect(":memory:", isolation_level=None)
    try:
        source.deserialize(image)
        migrate_sqlite(source)
        restored_stamp = max(last_stamp, int(source.execute(SELECT_LAST_STAMP).fetchone()[0]))
        source.execute(UPDATE_LAST_STAMP, (str(restored_stamp),))
        source.backup(connection)
    finally:
        source.close()
    return restored_stamp


def copy_before_upgrade(source: sqlite3.Connection, path: Path, schema_version: int) -> None:
    """Copy a database beside itself before its schema is upgraded, so that the previous version can use the copy.

    Raise MigrationError if the copy cannot be written; the database is then unchanged."""
    copy_path = path.with_name(f"{path.name}.schema-{schema_version}")
    partial_path = path.with_name(f"{copy_path.name}.partial")
    try:
        partial_path.unlink(missing_ok=True)
        progress_log = ProgressLog(f"Copying the database to {copy_path} before its migration")
        copy_to_file(source, partial_path, progress_log.update)
        partial_path.replace(copy_path)
    except (OSError, sqlite3.Error) as error:
        partial_path.unlink(missing_ok=True)
        size_mib = path.stat().st_size // 1024**2 + 1
        raise MigrationError(
            f"cannot copy the database to {copy_path} before its migration: {error}. "
            f"Free {size_mib} MiB on this disk and start again; the database was not changed"
        ) from error
    log.info("Copied the database to %s; delete the copy when you no longer need the previous version", copy_path)


def find_damage(connection: sqlite3.Connection) -> str | None:
    """Return the first problem that SQLite finds in a database, or None.

    The quick check of some versions of SQLite, such as 3.40, reports NULL values that do not exist in tables WITHOUT
    ROWID whose primary key lists its columns in another order than the table. The slow check therefore confirms what the
    quick check finds."""
    for check in ("quick_check(1)", "integrity_check(1)"):
        message: str = connection.execute(f"PRAGMA {check}").fetchone()[0]
        if message == "ok":
            return None
    return message
