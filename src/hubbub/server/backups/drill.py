"""The restore drill: restores a backup into a scratch database, starts the platform on it, and checks the result."""

import contextlib
import logging
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import aiohttp
import psycopg

from hubbub.server.app import App
from hubbub.server.backups import manifest as manifests
from hubbub.server.backups import references, restoration
from hubbub.server.backups.manifest import BackupError, Manifest, Progress
from hubbub.server.core import auth, migrations
from hubbub.server.core.backends import FILES_FOLDER
from hubbub.server.core.config import Config
from hubbub.server.core.logs import Secrets
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.store import StoreUnavailable, Tx
from hubbub.server.terminal import Finding

READS: Final = {
    "account_bans": "accounts that can log in, in the same statement",
    "accounts": "one account that can log in, without a row for each account",
    "members": "an account with a guild is preferred, in the same statement",
}
"""Tables of slices that this module reads, with the reason."""

PROBLEMS_SHOWN_MAX: Final = 5
"""Maximum number of problems of one kind that the report lists."""
ACCOUNT_QUERY: Final = (
    "SELECT accounts.user_id FROM accounts LEFT JOIN account_bans ON account_bans.user_id = accounts.user_id"
    " LEFT JOIN members ON members.user_id = accounts.user_id WHERE account_bans.user_id IS NULL"
    " ORDER BY CASE WHEN members.guild_id IS NULL THEN 1 ELSE 0 END, accounts.user_id LIMIT 1"
)
"""Query of the account that reads through the API: one that is not banned, if possible a member of a guild."""


async def run_drill(backup: Path, config: Config, progress: Progress, pg_bin: str | None) -> AsyncIterator[Finding]:
    """Yield the results of the checks of a backup; nothing of the drill remains afterwards."""
    try:
        manifest = manifests.read_manifest(backup)
        restoration.require_usable(manifest)
    except BackupError as error:
        yield Finding("problem", "manifest", str(error))
        return
    yield Finding(
        "ok", "manifest", f"Hubbub {manifest.hubbub_version}, schema {manifest.schema_number}, {manifest.created_at}"
    )
    damage_problems = manifests.find_damage(backup, manifest, progress)
    yield _summarize("checksums", damage_problems, "every file has its checksum", "use another backup")
    if any(problem.startswith(manifest.database.name) for problem in damage_problems):
        return
    folder = Path(tempfile.mkdtemp(prefix="hubbub-drill-"))
    try:
        with _restore(backup, manifest, config, folder, progress, pg_bin) as scratch_config:
            yield Finding(
                "ok", "restore", f"{sum(manifest.row_counts.values())} rows in {len(manifest.row_counts)} tables"
            )
            async for finding in _check_platform(backup, manifest, scratch_config):
                yield finding
    except BackupError as error:
        yield Finding("problem", "restore", str(error), "use another backup")
    except psycopg.Error as error:
        yield Finding("problem", "restore", Secrets().clean(str(error)).strip().splitlines()[0])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _restore(
    backup: Path, manifest: Manifest, config: Config, folder: Path, progress: Progress, pg_bin: str | None
) -> Iterator[Config]:
    """Restore the database of a backup into a scratch database, and yield the configuration of a platform on it."""
    files_url = str(backup / FILES_FOLDER) if manifest.files is not None else str(folder / FILES_FOLDER)
    # The platform runs no jobs and has no bus, mail or push, so that the drill has no effect outside.
    scratch_config = Config(data=str(folder), files_url=files_url, host="127.0.0.1", port=0, roles=frozenset({"api"}))
    if manifest.store == "sqlite":
        restoration.restore_embedded(backup, manifest, folder)
        yield scratch_config
        return
    if config.database_url is None:
        raise BackupError(
            "this is a backup of PostgreSQL; set --database-url to a server on which the drill may create a database"
        )
    with _scratch_database(config.database_url) as url:
        restoration.restore_postgres(backup, manifest, url, progress, pg_bin)
        fields = {name: getattr(scratch_config, name) for name in scratch_config.__struct_fields__}
        yield Config(**(fields | {"database_url": url}))


@contextlib.contextmanager
def _scratch_database(url: str) -> Iterator[str]:
    """Create a database on the server of a URL, yield its URL, and drop it."""
    name = f"hubbub_drill_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True, connect_timeout=10) as connection:
        try:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        except psycopg.errors.InsufficientPrivilege as error:
            raise BackupError(
                "the user of --database-url may not create databases; grant CREATEDB, or set --database-url to another server"
            ) from error
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def _check_platform(backup: Path, manifest: Manifest, config: Config) -> AsyncIterator[Finding]:
    """Start the platform on a restored database, and check references, files and a read through the API."""
    app = App(config)
    # Without a handler Python prints warnings of the start between the findings.
    logging.getLogger("hubbub").addHandler(logging.NullHandler())
    try:
        await app.start()
    except (MigrationError, StoreUnavailable, sqlite3.Error, psycopg.Error) as error:
        yield Finding("problem", "start", Secrets().clean(str(error)))
        return
    try:
        schema_number = await app.database.read(lambda tx: tx.value(migrations.SCHEMA_SQL))
        yield Finding("ok", "start", f"the platform starts, schema {schema_number}")
        orphan_descriptions = await _query(app, references.find_orphans)
        yield _summarize(
            "references", orphan_descriptions, f"{len(references.PARENT_COLUMNS)} references between tables hold"
        )
        yield await _check_files(app, backup, manifest)
        yield await _read_api(app)
    finally:
        await app.stop()


async def _query(app: App, list_results: Callable[[references.RunQuery], Iterator[str]]) -> list[str]:
    """Return the results of a function that queries the database."""

    def read(tx: Tx) -> list[str]:
        return list(list_results(tx.all))

    return await app.database.read(read, long=True)


async def _check_files(app: App, backup: Path, manifest: Manifest) -> Finding:
    """Compare the files that the restored database refers to with those of the backup."""
    if manifest.files is None:
        return Finding("note", "files", "the backup has no files", "check the backup of the file store")
    referenced_keys = set(await _query(app, references.list_file_keys))
    missing_keys = {key for key in referenced_keys if not (backup / FILES_FOLDER / key).is_file()}
    lost_keys = sorted(missing_keys - set(manifest.missing_files))
    if lost_keys:
        return _summarize("files", [f"{key} does not exist" for key in lost_keys], "")
    message = f"{len(referenced_keys)} referenced files, {manifest.files.count} files in the backup"
    if missing_keys:
        return Finding("note", "files", f"{message}; {len(missing_keys)} were missing when the backup was created")
    return Finding("ok", "files", message)


async def _read_api(app: App) -> Finding:
    """Read an account, its guilds and the channels of its first guild over HTTP, with a new token."""
    user_id = await app.database.read(lambda tx: tx.value(ACCOUNT_QUERY))
    if user_id is None:
        return Finding("note", "API", "no account can log in, so nothing was read through the API")
    token = await app.database.write(
        lambda tx: auth.issue(tx, kind="user", user_id=user_id, now=app.clock.now_ms(), ids=app.ids)
    )
    base_url = f"{app.config.web_url}/api/v10"
    async with aiohttp.ClientSession(base_url=f"{base_url}/", headers={"Authorization": token}) as client:
        try:
            user = await _get(client, "users/@me")
            guilds = await _get(client, "users/@me/guilds")
            if guilds:
                channels = await _get(client, f"guilds/{guilds[0]['id']}/channels")
                return Finding("ok", "API", f"read {user['username']}, {guilds[0]['name']}, {len(channels)} channels")
        except (aiohttp.ClientError, ValueError) as error:
            return Finding("problem", "API", f"cannot read through the API: {error}")
    return Finding("ok", "API", f"read {user['username']}")


async def _get(client: aiohttp.ClientSession, path: str) -> Any:
    async with client.get(path) as response:
        response.raise_for_status()
        return await response.json()


def _summarize(subject: str, problems: list[str], success_message: str, fix: str = "") -> Finding:
    """Return a finding that lists the first problems, or the message of success."""
    if not problems:
        return Finding("ok", subject, success_message)
    shown_problems = problems[:PROBLEMS_SHOWN_MAX]
    omitted_note = f"; {len(problems) - len(shown_problems)} more" if len(problems) > len(shown_problems) else ""
    return Finding("problem", subject, "; ".join(shown_problems) + omitted_note, fix)
