"""Files of the embedded database: the lock of its process, and copies."""

import logging
import os
import sqlite3
from pathlib import Path

from hubbub.server.core.migrations import MigrationError

try:
    import fcntl
except ImportError:  # Windows: only SQLite's own locks protect the file there.
    fcntl = None  # type: ignore[assignment]


log = logging.getLogger(__name__)


def is_locked(path: Path) -> bool:
    """Return whether a process has the database open."""
    lock = Path(f"{path}.lock")
    if not os.access(lock, os.R_OK | os.W_OK) or fcntl is None:
        return False
    handle = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def copy_database(source: sqlite3.Connection, path: str | os.PathLike[str]) -> None:
    """Copy an open database to a file."""
    # The file is created before SQLite does it, so that only its owner can read it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    target = sqlite3.connect(path)
    try:
        source.backup(target)
    finally:
        target.close()


def copy_before_upgrade(source: sqlite3.Connection, path: Path, schema: int) -> None:
    """Copy a database beside itself before its schema is upgraded, so that the previous version can use the copy.

    Raise MigrationError if the copy cannot be written; the database is then unchanged."""
    copy_path = path.with_name(f"{path.name}.schema-{schema}")
    partial_path = path.with_name(f"{copy_path.name}.partial")
    try:
        partial_path.unlink(missing_ok=True)
        copy_database(source, partial_path)
        partial_path.replace(copy_path)
    except (OSError, sqlite3.Error) as error:
        partial_path.unlink(missing_ok=True)
        size_mib = path.stat().st_size // 1024**2 + 1
        raise MigrationError(
            f"cannot copy the database to {copy_path} before its migration: {error}. "
            f"Free {size_mib} MiB on this disk and start again; the database was not changed"
        ) from error
    log.info("Copied the database to %s; delete the copy when you no longer need the previous version", copy_path)
