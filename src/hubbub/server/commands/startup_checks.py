"""Checks after a start: roles without a process, connections of PostgreSQL and the file store.

Problems are logged with the next step, and the server runs on.
"""

import logging

from hubbub.server.app import App
from hubbub.server.core.config import ROLES, Config
from hubbub.server.core.files import FileStoreError, describe_store_error
from hubbub.server.core.logs import Secrets
from hubbub.server.core.store import StoreUnavailable

log = logging.getLogger("hubbub")


async def run_checks(app: App) -> None:
    """Log a warning for roles without a process, an S3 store that cannot be used, and too few connections of PostgreSQL."""
    _check_roles(app.config)
    if app.config.database_url is not None:
        await _check_connections(app)
    if (app.config.files_url or "").startswith("s3://"):
        await _check_files(app)


def _check_roles(config: Config) -> None:
    if len(config.roles) == len(ROLES):
        return
    # The import is local, because most servers have all roles.
    from hubbub.server.doctor import find_missing_roles

    if (missing_roles := find_missing_roles(config)) is not None:
        log.warning("%s; %s", missing_roles.message, missing_roles.fix)


async def _check_connections(app: App) -> None:
    # The import is local, because the embedded default starts faster without the PostgreSQL library.
    from hubbub.server.core.postgres_capacity import find_shortage

    try:
        shortage = await app.database.read(lambda tx: find_shortage(tx.all, app.config.worker))
    except StoreUnavailable:
        return
    if shortage is not None:
        log.warning("%s; %s", shortage.message, shortage.fix)


async def _check_files(app: App) -> None:
    try:
        await app.files.check()
    except FileStoreError as error:
        log.warning(
            "Files cannot be stored: %s; uploads fail until this is corrected. Check --files-url, or run hubbub doctor",
            Secrets().clean(describe_store_error(error)),
        )
