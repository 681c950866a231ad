"""`hubbub backup`, `hubbub backup drill` and `hubbub restore`: backups of a whole server (decisions/0147)."""

import argparse
import asyncio
import os
import shutil
import sqlite3
from pathlib import Path

import psycopg

from hubbub.server.backups import creation, restoration
from hubbub.server.backups import manifest as manifests
from hubbub.server.backups.manifest import BackupError, Manifest
from hubbub.server.commands.progress import ProgressBar
from hubbub.server.core import backends
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.config import Config
from hubbub.server.core.files import FileStoreError, describe_store_error
from hubbub.server.core.logs import Secrets
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.terminal import print_error, print_findings

PROBLEMS_SHOWN_MAX = 5
"""Maximum number of damaged files that a message lists."""

_FAILURES = (BackupError, FileStoreError, OSError, StoreUnavailable, psycopg.Error, sqlite3.Error)


def _describe(error: Exception) -> str:
    if isinstance(error, FileStoreError):
        return f"{Secrets().clean(describe_store_error(error))}; check --files-url"
    return Secrets().clean(str(error)).strip()


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Create a backup, or check one if the arguments are the word `drill` and its folder."""
    if arguments.backup is not None:
        if arguments.destination != "drill":
            return print_error(
                f"unexpected argument {arguments.backup}; to check a backup: hubbub backup drill BACKUP", 2
            )
        # The import is local, because only the drill needs the whole platform.
        from hubbub.server.backups import drill

        with ProgressBar() as progress:
            findings = drill.run_drill(Path(arguments.backup), config, progress.update, arguments.pg_bin)
            return asyncio.run(print_findings(findings))
    if arguments.destination == "drill":
        return print_error(
            "name the backup to check: hubbub backup drill BACKUP; to create a backup in a folder with this name: "
            "hubbub backup ./drill",
            2,
        )
    return _create(config, arguments)


def _create(config: Config, arguments: argparse.Namespace) -> int:
    """Create a backup in a temporary folder and rename it at the end, so that an incomplete backup never has the final name."""
    destination = Path(arguments.destination)
    if config.database_url is None:
        if config.data is None:
            return print_error("no data folder is configured; set it with --data")
        source = Path(config.data) / DATABASE_FILE
        if not source.is_file():
            return print_error(f"{source} does not exist; set --data to the data folder")
    if destination.exists():
        return print_error(f"{destination} already exists; choose a new folder for the backup")
    partial_folder = destination.with_name(f"{destination.name}.partial")
    if partial_folder.exists():
        shutil.rmtree(partial_folder)
    try:
        partial_folder.mkdir(parents=True, mode=0o700)
        manifest = asyncio.run(_fill(config, arguments, partial_folder))
        manifests.write_manifest(partial_folder, manifest)
        os.replace(partial_folder, destination)
    except _FAILURES as error:
        shutil.rmtree(partial_folder, ignore_errors=True)
        return print_error(f"the backup failed: {_describe(error)}")
    except BaseException:
        shutil.rmtree(partial_folder, ignore_errors=True)
        raise
    file_count = 0 if manifest.files is None else manifest.files.count
    print(f"Backup created in {destination}: database {manifest.database.size} bytes, {file_count} files")
    if manifest.files is None:
        print("The backup does not include the files of the file store.")
    if manifest.missing_files:
        count = len(manifest.missing_files)
        print(f"Files that are missing in the file store: {count}. {manifests.MANIFEST_FILE} lists them.")
    print(f"To check it: hubbub backup drill {destination}")
    if config.database_url is None:
        print(f"To run a server with it: hubbub serve --data {destination}")
    else:
        print(f"To restore it into an empty database: hubbub restore {destination} --database-url URL")
    return 0


async def _fill(config: Config, arguments: argparse.Namespace, folder: Path) -> Manifest:
    """Copy database and files to the folder of a backup and return the manifest."""
    with ProgressBar() as progress:
        if config.database_url is not None:
            database_copy = creation.dump_postgres(config.database_url, folder, progress.update, arguments.pg_bin)
        else:
            database_copy = creation.copy_embedded(Path(config.data or "") / DATABASE_FILE, folder, progress.update)
        if arguments.without_files:
            return database_copy.manifest
        return await creation.copy_files(backends.open_files(config), folder, database_copy, progress.update)


def run_restore(config: Config, arguments: argparse.Namespace) -> int:
    """Restore a backup into an empty database and an empty file store."""
    backup = Path(arguments.backup)
    try:
        manifest = manifests.read_manifest(backup)
        restoration.require_usable(manifest)
        if (manifest.store == "postgresql") != (config.database_url is not None):
            target_description = "an empty database" if manifest.store == "postgresql" else "a new data folder"
            flag = "--database-url" if manifest.store == "postgresql" else "--data"
            return print_error(f"the backup is of {manifest.store}; set {flag} to {target_description}")
        with ProgressBar() as progress:
            damage = manifests.find_damage(backup, manifest, progress.update)
            if damage:
                return print_error(f"the backup is damaged: {'; '.join(damage[:PROBLEMS_SHOWN_MAX])}")
            file_count = asyncio.run(_restore(config, backup, manifest, arguments, progress))
    except _FAILURES as error:
        return print_error(f"the restoration failed: {_describe(error)}")
    print(f"Restored {sum(manifest.row_counts.values())} rows and {file_count} files of {manifest.created_at}.")
    print("To run a server with them: hubbub serve with the same settings")
    return 0


async def _restore(
    config: Config, backup: Path, manifest: Manifest, arguments: argparse.Namespace, progress: ProgressBar
) -> int:
    """Restore database and files, and return the number of files."""
    files = None if arguments.without_files or manifest.files is None else backends.open_files(config)
    if files is not None:
        await restoration.require_empty(files)
    if config.database_url is not None:
        restoration.restore_postgres(backup, manifest, config.database_url, progress.update, arguments.pg_bin)
    else:
        restoration.restore_embedded(backup, manifest, Path(config.data or ""))
    return 0 if files is None else await restoration.restore_files(backup, manifest, files, progress.update)
