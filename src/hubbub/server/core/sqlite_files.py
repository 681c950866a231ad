"""Files of the embedded database: the lock of its process, and copies."""

import os
import sqlite3
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: only SQLite's own locks protect the file there.
    fcntl = None  # type: ignore[assignment]


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
