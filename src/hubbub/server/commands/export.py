"""`hubbub export`: writes a guild with its messages and files to an archive.

With the embedded database the command reads its own snapshot of the database file, also beside a running server, which
then has no additional work (decisions/0129)."""

import argparse
import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

from hubbub.server.commands.progress import ProgressBar
from hubbub.server.core import backends, migrations
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.config import Config
from hubbub.server.core.files import Files, FileStoreError, describe_store_error
from hubbub.server.core.logs import Secrets
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.sqlite_tx import SqliteReadTx
from hubbub.server.core.store import StoreUnavailable, Tx
from hubbub.server.terminal import print_error
from hubbub.server.transfer.export import ExportError, ExportSummary, export_guild


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Export a guild and print the numbers of exported records."""
    output = Path(arguments.output)
    if not (arguments.guild_id.isascii() and arguments.guild_id.isdigit() and len(arguments.guild_id) < 20):
        return print_error(f"{arguments.guild_id} is not the ID of a guild")
    if output.exists():
        return print_error(f"{output} already exists; choose another file")
    try:
        summary = asyncio.run(_export(config, int(arguments.guild_id), output, arguments.invites))
    except (ExportError, MigrationError, StoreUnavailable) as error:
        return print_error(error)
    except FileStoreError as error:
        return print_error(f"the export failed: {Secrets().clean(describe_store_error(error))}; check --files-url")
    except (OSError, sqlite3.Error) as error:
        return print_error(f"the export failed: {error}")
    print(f"Exported {summary.guild_name} to {output}:")
    for name, count in summary.counts.items():
        print(f"  {name}: {count}")
    if summary.missing_file_count:
        print(f"Files that are missing in the file store, and therefore in the archive: {summary.missing_file_count}")
    print(f"To import it on another server: hubbub import {output} --owner USERNAME")
    return 0


async def _export(config: Config, guild_id: int, output: Path, with_invites: bool) -> ExportSummary:
    clock = backends.new_clock(config)
    with ProgressBar() as progress:

        async def export(run_read: Callable[[Callable[[Tx], Any]], Awaitable[Any]], files: Files) -> ExportSummary:
            return await export_guild(
                run_read,
                files,
                guild_id,
                output,
                now_ms=clock.now_ms(),
                with_invites=with_invites,
                progress=progress.update,
            )

        if config.database_url is None:
            path = Path(config.data or "") / DATABASE_FILE
            if not path.is_file():
                raise ExportError(f"{path} does not exist; set --data to the data folder")
            files = backends.open_files(config)
            with _open_snapshot(path) as tx:

                async def read_snapshot(read_function: Callable[[Tx], Any]) -> Any:
                    return read_function(tx)

                return await export(read_snapshot, files)
        database = backends.open_database(config)
        await database.start()
        try:
            return await export(
                lambda read_function: database.read(read_function, long=True), backends.open_files(config)
            )
        finally:
            await database.close()


@contextlib.contextmanager
def _open_snapshot(path: Path) -> Iterator[Tx]:
    """Open a read transaction on a database file, which a server may be using.

    Raise ExportError if the schema of the database is not the one of this program."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)
    try:
        connection.execute("BEGIN")
        (schema_number,) = connection.execute(migrations.SCHEMA_SQL).fetchone()
        if schema_number != migrations.shipped_migrations()[-1].number:
            raise ExportError(
                f"{path} has schema {schema_number}, but this program uses another one; "
                "start the server with this version of Hubbub once"
            )
        yield SqliteReadTx(connection.cursor(), None)
    finally:
        connection.close()
