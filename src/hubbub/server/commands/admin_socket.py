"""The local socket through which `hubbub admin` and `hubbub import` run actions in a server with an embedded database.

A request is one line of JSON with the name and the arguments of an action. The response is one line of JSON with the lines to
print or an error; a long action sends lines with its progress first. The socket is in the data folder, and only the
user that runs the server can open it.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from hubbub.protocol.errors import ApiError
from hubbub.server.app import App
from hubbub.server.commands import (
    admin_accounts,
    admin_announcements,
    admin_applications,
    admin_claims,
    admin_documents,
    admin_features,
    admin_files,
    admin_guilds,
    admin_registrations,
    admin_reports,
)
from hubbub.server.commands.admin_actions import ACTIONS, AdminError
from hubbub.server.core.store import StoreUnavailable
from hubbub.server.worlds.schema import WorldError

log = logging.getLogger(__name__)

ACTION_MODULES: Final = (
    admin_accounts,
    admin_guilds,
    admin_applications,
    admin_documents,
    admin_features,
    admin_announcements,
    admin_files,
    admin_registrations,
    admin_reports,
    admin_claims,
)
"""Modules that register actions when they are imported."""

SOCKET_FILE: Final = "admin.sock"
REQUEST_BYTES_MAX: Final = 65_536
READ_TIMEOUT_SECONDS: Final = 10.0
"""Time in seconds in which a client must send its request."""
RESPONSE_TIMEOUT_SECONDS: Final = 120.0
"""Time in seconds without data from the server after which a command fails."""

_SETTINGS: Final = frozenset({"admin_action", "config", "data", "database_url", "files_url", "nats_url", "run"})
"""Attributes of the parsed command line that are not arguments of the action."""


class _Request(msgspec.Struct, kw_only=True):
    """An action to run."""

    name: str
    values: dict[str, Any]


class _Response(msgspec.Struct, kw_only=True):
    """A line of a response: the result or the error of an action, or the progress of a long action."""

    lines: list[str] = []
    error: str | None = None
    progress: tuple[str, int, int] | None = None
    """Name of a step, number of processed objects and their total, of a running action; None in the last line."""


def read_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of an action from the parsed command line."""
    return {"password_hash": None} | {name: value for name, value in vars(arguments).items() if name not in _SETTINGS}


async def perform(app: App, name: str, values: dict[str, Any]) -> list[str]:
    """Run an action in one transaction and return the lines to print, or raise AdminError."""
    action_function = ACTIONS.get(name)
    if action_function is None:
        raise AdminError(f"the running server does not know the command {name}; restart it after an update")
    arguments = argparse.Namespace(**values)
    try:
        return await app.database.write(lambda tx: action_function(app.make_call(tx), arguments))
    except WorldError as error:
        raise AdminError(str(error)) from error
    except ApiError as error:
        raise AdminError(error.describe()) from error


# The command


def send(data_folder: Path, name: str, values: dict[str, Any]) -> list[str] | None:
    """Run an action in the server of a data folder. Return its lines, or None if no server is listening.

    Raise AdminError if the action fails."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(RESPONSE_TIMEOUT_SECONDS)
        try:
            connection.connect(str(data_folder / SOCKET_FILE))
        except OSError:
            return None
        try:
            connection.sendall(msgspec.json.encode(_Request(name=name, values=values)) + b"\n")
            response_bytes = b"".join(iter(lambda: connection.recv(REQUEST_BYTES_MAX), b""))
            response = msgspec.json.decode(response_bytes, type=_Response)
        except (OSError, msgspec.DecodeError) as error:
            raise AdminError(f"the running server did not answer; look at its log ({error})") from error
    if response.error is not None:
        raise AdminError(response.error)
    return response.lines


def stream(
    data_folder: Path, name: str, values: dict[str, Any], progress: Callable[[str, int, int], None]
) -> list[str] | None:
    """Run a long action in the server of a data folder, and report its progress.

    Return its lines, or None if no server is listening. Raise AdminError if the action fails or the server stops."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(RESPONSE_TIMEOUT_SECONDS)
        try:
            connection.connect(str(data_folder / SOCKET_FILE))
        except OSError:
            return None
        try:
            connection.sendall(msgspec.json.encode(_Request(name=name, values=values)) + b"\n")
            for line in connection.makefile("rb"):
                response = msgspec.json.decode(line, type=_Response)
                if response.progress is not None:
                    progress(*response.progress)
                elif response.error is not None:
                    raise AdminError(response.error)
                else:
                    return response.lines
        except (OSError, msgspec.DecodeError) as error:
            raise AdminError(f"the running server did not answer; look at its log ({error})") from error
    raise AdminError("the server stopped; start it and run the command again, which continues where it stopped")


# The server

LongAction = Callable[[App, dict[str, Any], Callable[[str, int, int], None]], Awaitable[list[str]]]
"""An action in several transactions, which reports its progress."""


class AdminSocket:
    """The listening socket of a server."""

    def __init__(self, app: App, long_actions: Mapping[str, LongAction] | None = None) -> None:
        self._app = app
        self._long_actions = long_actions or {}
        self._is_long_action_running = False
        self._path: Path | None = None
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen in the data folder. A server without a data folder, with PostgreSQL, or on Windows does not listen."""
        config = self._app.config
        if config.data is None or config.database_url is not None or not hasattr(socket, "AF_UNIX"):
            return
        path = Path(config.data) / SOCKET_FILE
        listener = socket.socket(socket.AF_UNIX)
        try:
            # The process holds the lock of the database, so a file of this name is left over from a killed process.
            path.unlink(missing_ok=True)
            previous_mask = os.umask(0o177)
            try:
                listener.bind(str(path))
            finally:
                os.umask(previous_mask)
            self._server = await asyncio.start_unix_server(self._handle, sock=listener, limit=REQUEST_BYTES_MAX)
        except OSError as error:
            listener.close()
            log.warning("hubbub admin needs a stopped server, because %s cannot be opened: %s", path, error)
            return
        self._path = path

    async def close(self) -> None:
        """Stop listening and delete the socket."""
        if self._server is not None:
            self._server.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            try:
                response = await self._respond(reader, writer)
                writer.write(msgspec.json.encode(response) + b"\n")
                await writer.drain()
            finally:
                writer.close()

    async def _run_long_action(
        self, action: LongAction, values: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> list[str]:
        """Run a long action, and cancel it when the client disconnects. A repeated command continues it."""
        if self._is_long_action_running:
            raise AdminError("another import is running; wait until it ends")

        def report(name: str, count: int, total: int) -> None:
            writer.write(msgspec.json.encode(_Response(progress=(name, count, total))) + b"\n")

        self._is_long_action_running = True
        action_task = asyncio.ensure_future(action(self._app, values, report))
        disconnect_task = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({action_task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
            if not action_task.done():
                raise AdminError("the command was interrupted")
            return action_task.result()
        finally:
            for unfinished_task in (action_task, disconnect_task):
                unfinished_task.cancel()
            await asyncio.gather(action_task, disconnect_task, return_exceptions=True)
            self._is_long_action_running = False

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _Response:
        try:
            async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                request = msgspec.json.decode(await reader.readline(), type=_Request)
            log.info("Running hubbub admin %s", request.name)
            if request.name in self._long_actions:
                action = self._long_actions[request.name]
                return _Response(lines=await self._run_long_action(action, request.values, reader, writer))
            return _Response(lines=await perform(self._app, request.name, request.values))
        except (AdminError, StoreUnavailable) as error:
            return _Response(error=str(error))
        except (msgspec.DecodeError, TimeoutError, ValueError):
            return _Response(error="the request is invalid")
        except Exception:
            log.exception("hubbub admin failed")
            return _Response(error="the action failed; the log of the server has the details")
