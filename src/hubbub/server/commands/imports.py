"""`hubbub import`: imports a guild, and lists the claim codes of its placeholder accounts.

With SQLite, an import runs in the server that uses the data folder (`admin_socket.py`), or in this process if no server is
running. With PostgreSQL, it always runs in this process."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from hubbub.server.app import App
from hubbub.server.commands import admin_socket
from hubbub.server.commands.admin import ADMIN_PROCESS
from hubbub.server.commands.admin_actions import AdminError, require_user
from hubbub.server.commands.progress import ProgressBar
from hubbub.server.core import backends
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.bus import BusError
from hubbub.server.core.config import Config
from hubbub.server.core.files import FileStoreError, describe_store_error
from hubbub.server.core.logs import Secrets
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.places import templates
from hubbub.server.terminal import print_error
from hubbub.server.transfer.detection import open_source
from hubbub.server.transfer.importer import Importer, ImportInUse, ImportSummary, Progress, check
from hubbub.server.transfer.records import InvalidArchive
from hubbub.server.transfer.sources import Source
from hubbub.server.transfer.template_source import TemplateSource


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Import a file, check it with `--dry-run`, or list claim codes."""
    try:
        if arguments.file == "claims":
            if arguments.guild_id is None:
                return print_error("add the ID of the guild: hubbub import claims GUILD_ID")
            lines = _run_action(
                config, "list-claims", {"guild_id": arguments.guild_id}, lambda name, count, total: None
            )
        elif arguments.guild_id is not None:
            return print_error(f"unexpected argument {arguments.guild_id}")
        elif arguments.dry_run:
            lines = _describe_dry_run(config, arguments.file)
        elif arguments.owner is None:
            return print_error("name the owner of the new guild with --owner USERNAME")
        else:
            path = Path(arguments.file)
            # Send an absolute path, because the server has another working directory.
            file = str(path.resolve()) if path.exists() else arguments.file
            with ProgressBar() as progress:
                lines = _run_action(config, "import", {"file": file, "owner": arguments.owner}, progress.update)
    except (AdminError, BusError, InvalidArchive, MigrationError, StoreUnavailable) as error:
        return print_error(error)
    except OSError as error:
        return print_error(f"{error.filename or arguments.file}: {error.strerror or error}")
    print("\n".join(lines))
    return 0


def _run_action(config: Config, name: str, values: dict[str, Any], progress: Progress) -> list[str]:
    """Run an action in the server of the data folder, or in this process if no server is running or PostgreSQL is used."""
    if config.database_url is None:
        path = Path(config.data or "") / DATABASE_FILE
        lines = admin_socket.stream(path.parent, name, values, progress)
        if lines is not None:
            return lines
        if not path.exists():
            raise AdminError(f"{path} does not exist; set --data to the data folder")
    return asyncio.run(_run_in_process(config, name, values, progress))


async def _run_in_process(config: Config, name: str, values: dict[str, Any], progress: Progress) -> list[str]:
    app = App(config)
    app.ids = SnowflakeFactory(app.clock, worker=config.worker, process=ADMIN_PROCESS)
    app.database.on_commit = app.publish
    await app.database.start()
    try:
        await app.bus.start()
        try:
            if name == "import":
                return await import_file(app, values, progress)
            return await admin_socket.perform(app, name, values)
        finally:
            await app.bus.close()
    finally:
        await app.database.close()


def _describe_dry_run(config: Config, file: str) -> list[str]:
    """Validate a file and return lines with the numbers of objects that an import would store.

    Nothing is stored, and no server is needed."""
    path = Path(file)
    if not path.exists():
        raise AdminError(f"{file} does not exist")
    source = open_source(path)
    try:
        dry_run = check(source, backends.new_clock(config).now_ms())
    finally:
        source.close()
    lines = [f"{file} is valid ({source.format}). An import would create the guild {source.guild_name}:"]
    lines += [f"  {name}: {count}" for name, count in dry_run.counts.items()]
    lines.append(f"  files: {dry_run.file_count} ({dry_run.file_bytes} bytes)")
    if dry_run.rejected_file_count:
        lines.append(f"{dry_run.rejected_file_count} files are too large and would be left out.")
    return lines + dry_run.notes


async def import_file(app: App, values: dict[str, Any], progress: Progress) -> list[str]:
    """Import a file or the template with a code, and return the lines to print, or raise AdminError."""
    file, owner_name = str(values["file"]), str(values["owner"])
    owner = await app.database.read(lambda tx: require_user(app.make_call(tx), owner_name))
    try:
        source = await asyncio.to_thread(open_source, Path(file))
    except FileNotFoundError:
        source = await _open_template(app, file)
    except (InvalidArchive, OSError) as error:
        raise AdminError(str(error)) from error
    try:
        summary = await Importer(app, source, owner.id, progress).run()
    except (InvalidArchive, ImportInUse) as error:
        raise AdminError(str(error)) from error
    except FileStoreError as error:
        problem = Secrets().clean(describe_store_error(error))
        raise AdminError(
            f"the file store failed: {problem}; check --files-url, and run the same command again"
        ) from error
    finally:
        source.close()
    return _describe_import(source, summary)


async def _open_template(app: App, code: str) -> Source:
    row = await app.database.read(lambda tx: templates.find(tx, code))
    if row is None:
        raise AdminError(f"{code} is neither a file nor the code of a template")
    return TemplateSource(row.snapshot.encode(), file=code, created_ms=row.updated_ms)


def _describe_import(source: Source, summary: ImportSummary) -> list[str]:
    if not summary.is_new:
        return [f"This file was imported before, as the guild {summary.guild_id}. Nothing changed."]
    lines = [f"Imported {source.guild_name} as the guild {summary.guild_id}:"]
    lines += [f"  {name}: {count}" for name, count in summary.counts.items()]
    if summary.skipped_count:
        lines.append(
            f"{summary.skipped_count} records refer to objects that the file does not contain, and were left out."
        )
    if summary.missing_file_count:
        lines.append(f"{summary.missing_file_count} files are damaged or too large, and were left out.")
    lines += summary.notes
    if summary.counts.get("users"):
        lines.append(f"To hand accounts over to their users: hubbub import claims {summary.guild_id}")
    return lines
