"""Detection of migrations by a process of a newer version while this process runs."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

from hubbub.server.core import migrations
from hubbub.server.core.migrations import AppliedMigration, MigrationError
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

CHECK_INTERVAL_SECONDS: Final = 10.0


class SchemaMonitor:
    """Checks in the background whether this program can still use the database (decisions/0148)."""

    def __init__(
        self,
        database: Database,
        on_incompatible: Callable[[], None],
        *,
        check_interval_seconds: float = CHECK_INTERVAL_SECONDS,
    ) -> None:
        """Create a monitor; `on_incompatible` is called if a migration removed what this program uses."""
        self._database = database
        self._on_incompatible = on_incompatible
        self._check_interval_seconds = check_interval_seconds
        self._schema_number = len(migrations.shipped_migrations())
        """Number of the newest migration that this program contains."""
        self._logged_schema_number = self._schema_number
        """Number of the newest schema that was logged; at first that of this program."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Check in the background."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop the checks."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._check_interval_seconds)
            try:
                applied_migrations = await self._database.read(_list_applied)
                is_newer = migrations.check_newer(applied_migrations, self._schema_number)
            except StoreUnavailable:
                continue
            except MigrationError as error:
                log.error("This process stops: %s", error)
                self._on_incompatible()
                return
            if is_newer and max(applied_migrations) > self._logged_schema_number:
                self._logged_schema_number = max(applied_migrations)
                log.info(
                    "A newer version migrated the database to schema %d; this process continues",
                    self._logged_schema_number,
                )


def _list_applied(tx: Tx) -> dict[int, AppliedMigration]:
    """Return the applied migrations by number."""
    records = [AppliedMigration.from_row(*row) for row in tx.all(migrations.APPLIED_SQL)]
    return {record.number: record for record in records}
