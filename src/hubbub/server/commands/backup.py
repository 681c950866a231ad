"""`hubbub backup`: copies the embedded database and its files to a folder that can be used as a data folder."""

import argparse
import os
import shutil
import sqlite3
from pathlib import Path

from hubbub.server.core.backends import DATABASE_FILE, FILES_FOLDER
from hubbub.server.core.config import Config
from hubbub.server.terminal import print_error


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Create a backup in a temporary folder and rename it at the end, so that an incomplete backup never has the final name."""
    destination = Path(arguments.destination)
    if config.database_url is not None:
        return print_error("the data is in PostgreSQL; back it up with pg_dump, and back up the files at --files-url")
    if config.data is None:
        return print_error("no data folder is configured; set it with --data")
    source = Path(config.data) / DATABASE_FILE
    if not source.is_file():
        return print_error(f"{source} does not exist; set --data to the data folder")
    if destination.exists():
        return print_error(f"{destination} already exists; choose a new folder for the backup")
    partial = destination.with_name(f"{destination.name}.partial")
    if partial.exists():
        shutil.rmtree(partial)
    try:
        partial.mkdir(parents=True, mode=0o700)
        database_bytes = _copy_database(source, partial / DATABASE_FILE)
        # Copy the files after the database, because a file is stored before the row that refers to it.
        file_count = (
            _copy_files(Path(config.data) / FILES_FOLDER, partial / FILES_FOLDER) if config.files_url is None else 0
        )
        os.replace(partial, destination)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(partial, ignore_errors=True)
        return print_error(f"the backup failed: {error}")
    print(f"Backup created in {destination}: database {database_bytes} bytes, {file_count} files")
    if config.files_url is not None:
        print("The backup does not include the files at --files-url.")
    print(f"To run a server with it: hubbub serve --data {destination}")
    return 0


def _copy_database(source: Path, target: Path) -> int:
    """Copy a database that may be in use, and check the copy for errors."""
    reader = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
    # The file is created before SQLite does it, so that only its owner can read it.
    os.close(os.open(target, os.O_RDWR | os.O_CREAT, 0o600))
    writer = sqlite3.connect(target)
    try:
        reader.backup(writer)
        check_result = writer.execute("PRAGMA quick_check").fetchone()[0]
        if check_result != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {check_result}")
    finally:
        writer.close()
        reader.close()
    with target.open("rb+") as stream:
        os.fsync(stream.fileno())
    return target.stat().st_size


def _copy_files(source: Path, target: Path) -> int:
    count = 0
    for folder, _, names in os.walk(source):
        target_folder = target / Path(folder).relative_to(source)
        target_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            try:
                shutil.copy2(Path(folder) / name, target_folder / name)
                count += 1
            except FileNotFoundError:
                continue  # The server deleted the file during the copy.
    return count
