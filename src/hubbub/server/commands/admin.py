"""`hubbub admin`: administration of a server from the command line.

With SQLite, an action runs in the server that uses the data folder (`admin_socket.py`), or in this process if no server is
running. With PostgreSQL, it always runs in this process.
"""

import argparse
import asyncio
import getpass
import sys
from pathlib import Path
from typing import Any, Final

from hubbub.protocol.resources.accounts import PASSWORD_MAX, PASSWORD_MIN
from hubbub.server.app import App
from hubbub.server.commands import admin_socket
from hubbub.server.commands.admin_actions import AdminError
from hubbub.server.core.backends import DATABASE_FILE
from hubbub.server.core.bus import BusError
from hubbub.server.core.config import Config
from hubbub.server.core.migrations import MigrationError
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.identity import accounts
from hubbub.server.terminal import print_error

ADMIN_PROCESS: Final = 31
"""The value of `process` in the IDs that commands create.

Servers use 0, so the IDs of a command differ from those of a server that is running with the same `worker` number."""

_OPTIONAL_PASSWORD_PROMPT: Final = "Password (press Enter to create the user without one): "


def run(config: Config, arguments: argparse.Namespace) -> int:
    """Run the action of a command and print its result."""
    name, values = arguments.admin_action, admin_socket.read_values(arguments)
    try:
        if name == "set-password" or values.pop("password_stdin", False):
            values["password_hash"] = accounts.passwords.hash_password(_read_password())
        elif name == "create-user" and sys.stdin.isatty() and (password := getpass.getpass(_OPTIONAL_PASSWORD_PROMPT)):
            values["password_hash"] = accounts.passwords.hash_password(_require_valid_password(password))
        is_embedded = config.database_url is None and config.data is not None
        lines = admin_socket.send(Path(config.data), name, values) if is_embedded and config.data is not None else None
        if lines is None:
            if is_embedded and not _check_store(config, can_create=name == "create-user"):
                return 1
            lines = asyncio.run(_run_in_process(config, name, values))
    except (AdminError, BusError, MigrationError) as error:
        return print_error(error)
    except StoreUnavailable as error:
        if "another process" in str(error):
            return print_error(f"{error}. The embedded database supports one process at a time: stop the server first")
        return print_error(error)
    print("\n".join(lines))
    if name == "create-user" and values.get("password_hash") is None:
        username = values["username"]
        print(
            f"hubbub: {username} has no password and cannot log in on the web pages; set one with "
            f"hubbub admin set-password {username}",
            file=sys.stderr,
        )
    return 0


def _check_store(config: Config, *, can_create: bool) -> bool:
    """Return whether an action may open the embedded store, which must exist unless the action can create it.

    Print a message if the store does not exist."""
    path = Path(config.data or "") / DATABASE_FILE
    if path.exists():
        return True
    if can_create:
        print(f"hubbub: created {path}; start the server with --data {config.data} to use it", file=sys.stderr)
    else:
        print_error(f"{path} does not exist; set --data to the data folder")
    return can_create


def _read_password() -> str:
    return _require_valid_password(getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n"))


def _require_valid_password(password: str) -> str:
    """Return a password; raise AdminError if it is too short or too long."""
    if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
        raise AdminError(f"the password must have {PASSWORD_MIN} to {PASSWORD_MAX} characters")
    return password


async def _run_in_process(config: Config, name: str, values: dict[str, Any]) -> list[str]:
    """Run an action in one transaction and publish its events to running servers."""
    app = App(config)
    app.ids = SnowflakeFactory(app.clock, worker=config.worker, process=ADMIN_PROCESS)
    app.database.on_commit = app.publish
    await app.database.start()
    try:
        # Running servers are notified over the bus, for example of a revoked token or a new bot.
        await app.bus.start()
        try:
            return await admin_socket.perform(app, name, values)
        finally:
            await app.bus.close()
    finally:
        await app.database.close()
