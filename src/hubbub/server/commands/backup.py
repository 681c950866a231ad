"""`hubbub backup`: the embedded database and its files, copied into a folder that is a data folder again."""

import argparse
import os
import shutil
import sqlite3
from pathlib import Path

from hubbub.server.app import DATABASE_FILE, FILES_FOLDER
from hubbub.server.cli import complain
from hubbub.server.core.config import Config


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Make a backup; it appears whole or not at all."""
    destination = Path(arguments.destination)
    if config.database_url is not None:
        return complain("the data is in PostgreSQL: pg_dump backs it up; files are at --files-url")
    if config.data is None:
        return complain("there is no data folder; --data names it")
    source = Path(config.data) / DATABASE_FILE
    if not source.is_file():
        return complain(f"{source} does not exist; --data names the data folder")
    if destination.exists():
        return complain(f"{destination} exists already; a backup goes into a new folder")
    partial = destination.with_name(f"{destination.name}.partial")
    if partial.exists():
        shutil.rmtree(partial)
    try:
        partial.mkdir(parents=True, mode=0o700)
        copied = _copy_database(source, partial / DATABASE_FILE)
        # After the database: a file is there before the row that names it.
        files = _copy_files(Path(config.data) / FILES_FOLDER, partial / FILES_FOLDER) if config.files_url is None else 0
        os.replace(partial, destination)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(partial, ignore_errors=True)
        return complain(f"the backup failed: {error}")
    print(f"{destination}: database {copied} bytes, {files} files")
    if config.files_url is not None:
        print("the files themselves are not in it: they are kept at --files-url")
    print(f"hubbub serve --data {destination} runs on it")
    return 0


def _copy_database(source: Path, target: Path) -> int:
    """Copy a database that may be in use, and look whether the copy is sound."""
    reader = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=30)
    writer = sqlite3.connect(target)
    try:
        reader.backup(writer)
        verdict = writer.execute("PRAGMA quick_check").fetchone()[0]
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {verdict}")
    finally:
        writer.close()
        reader.close()
    with target.open("rb+") as stream:
        os.fsync(stream.fileno())
    return target.stat().st_size


def _copy_files(source: Path, target: Path) -> int:
    count = 0
    for folder, _, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(parents=True, exist_ok=True)
        for name in names:
            try:
                shutil.copy2(Path(folder) / name, inside / name)
                count += 1
            except FileNotFoundError:
                continue  # Deleted while we looked.
    return count
