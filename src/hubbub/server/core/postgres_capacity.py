"""Comparison of the connections that the processes of a server open with the limits of PostgreSQL."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hubbub.server.core.postgres import CONNECTIONS_MAX
from hubbub.server.core.process_leases import PROCESS_NUMBERS_SQL

LIMITS_SQL: Final = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
         - coalesce(nullif(current_setting('reserved_connections', true), '')::int, 0),
       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user),
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database())
"""
"""Query of the connections that all users, this user and this database may open; -1 without a limit."""
SPARE_CONNECTIONS: Final = 10
"""Connections that the recommended setting leaves for superusers, commands and backups."""


class Shortage(NamedTuple):
    """Processes that may open more connections than PostgreSQL allows."""

    message: str
    fix: str


def find_shortage(run_query: Callable[[str], Sequence[Sequence[Any]]], process_number: int) -> Shortage | None:
    """Return the shortage of connections, or None. `run_query` executes SQL.

    The processes are those that run now and the one with this number."""
    count = len({row[0] for row in run_query(PROCESS_NUMBERS_SQL)} | {process_number})
    needed = count * CONNECTIONS_MAX
    [(server_max, user_max, database_max)] = run_query(LIMITS_SQL)
    recommended = needed + SPARE_CONNECTIONS
    limits = [(server_max, f"set max_connections of PostgreSQL to at least {recommended} and restart it")]
    limits += [
        (limit, f"run: ALTER {kind} ... CONNECTION LIMIT {recommended}")
        for limit, kind in ((user_max, "ROLE"), (database_max, "DATABASE"))
        if limit >= 0
    ]
    allowed, fix = min(limits, key=lambda limit: limit[0])
    if needed <= allowed:
        return None
    processes = "1 process needs" if count == 1 else f"{count} processes need"
    return Shortage(f"{processes} up to {needed} connections, but PostgreSQL allows {allowed}", fix)
