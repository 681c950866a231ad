"""`hubbub watch`: the traffic of a running rehearsal in a terminal."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec

from hubbub.protocol import codec
from hubbub.server.terminal import describe_connection_error, print_error

TOKEN_VARIABLE: Final = "HUBBUB_CONTROL_TOKEN"
DEFAULT_URL: Final = "http://127.0.0.1:8080"
RETRY_SECONDS: Final = 1.0
_COLORS: Final = {
    "http": "36",
    "gateway": "34",
    "interaction": "35",
    "webhook": "33",
    "voice": "32",
    "control": "90",
    "failed": "31",
}
"""ANSI color codes by kind of entry; `failed` is the color of the results of failed entries."""


_NO_CONTROL_API: Final = "this server has no control API; start it with hubbub dev"


class WatchError(Exception):
    """The traffic cannot be read."""


class _ReadyFile(msgspec.Struct):
    """The fields of the ready file that this command needs."""

    web: str
    """URL of the rehearsal."""
    control_token: str | None
    """Token of the control API; None without a control API."""


def run(arguments: argparse.Namespace) -> int:
    """Print the traffic until interrupted."""
    try:
        url, token = _resolve_rehearsal(arguments)
        asyncio.run(_watch(url, token, arguments))
    except WatchError as error:
        return print_error(error)
    except BrokenPipeError:
        pass  # The program that reads the output has ended, for example `head`.
    return 0


def _resolve_rehearsal(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the URL and the control token of the rehearsal.

    Raise WatchError if the ready file cannot be read, or if no token is set."""
    if arguments.ready_file is not None:
        try:
            ready_file = codec.decode(Path(arguments.ready_file).read_bytes(), _ReadyFile)
        except (OSError, ValueError) as error:
            raise WatchError(f"cannot read the ready file {arguments.ready_file}: {error}") from error
        if ready_file.control_token is None:
            raise WatchError(_NO_CONTROL_API)
        return (arguments.url or ready_file.web).rstrip("/"), ready_file.control_token
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise WatchError(
            f"set {TOKEN_VARIABLE} to the control token that hubbub dev printed, or pass --ready-file FILE"
        )
    return (arguments.url or DEFAULT_URL).rstrip("/"), token


async def _watch(url: str, token: str, arguments: argparse.Namespace) -> None:
    """Print the traffic and reconnect when the connection is lost. Raise WatchError if the first connection fails."""
    query = {"text": arguments.filter or "", "kinds": arguments.kinds or "", "failed": str(arguments.failed).lower()}
    printer = Printer(is_json=arguments.json, uses_colors=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    last_id, was_connected = 0, False
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as client:
        while True:
            try:
                printer.names_by_user_id = await _read_names(client, url)
                async with client.get(
                    f"{url}/control/traffic/stream",
                    params=query,
                    headers={"Last-Event-ID": str(last_id)},
                    timeout=aiohttp.ClientTimeout(total=None, sock_read=60),
                ) as response:
                    _require_success(response.status)
                    if not was_connected:
                        was_connected = True
                        print(f"Watching {url}. Press Ctrl-C to stop.", file=sys.stderr, flush=True)
                    async for line in response.content:
                        if line.startswith(b"id: "):
                            last_id = int(line[4:])
                        elif line.startswith(b"data: "):
                            printer.print_batch(codec.decode(line[6:], dict[str, Any]))
            except (aiohttp.ClientError, TimeoutError) as error:
                if not was_connected:
                    raise WatchError(f"cannot reach {url}: {describe_connection_error(error)}") from error
            # The connection was lost, for example because the rehearsal restarts.
            await asyncio.sleep(RETRY_SECONDS)


async def _read_names(client: aiohttp.ClientSession, url: str) -> dict[str, str]:
    """Return the names of users and bots by ID."""
    async with client.get(f"{url}/control/world") as response:
        _require_success(response.status)
        world = codec.decode(await response.read(), dict[str, Any])
    return {user["id"]: user["name"] for user in world["users"]}


def _require_success(status: int) -> None:
    if status == 401:
        raise WatchError("the rehearsal rejected the control token")
    if status == 404:
        raise WatchError(_NO_CONTROL_API)
    if status != 200:
        raise WatchError(f"the rehearsal responded with status {status}")


class Printer:
    """Prints traffic entries, one per line, as JSON or as text."""

    def __init__(self, *, is_json: bool, uses_colors: bool) -> None:
        self._is_json = is_json
        self._uses_colors = uses_colors
        self.names_by_user_id: Mapping[str, str] = {}

    def print_batch(self, batch: Mapping[str, Any]) -> None:
        """Print the entries of one event of the stream."""
        for entry in batch["entries"]:
            print(codec.encode(entry).decode() if self._is_json else self._format(entry))
        sys.stdout.flush()

    def _format(self, entry: Mapping[str, Any]) -> str:
        is_failed = (entry["status"] or 0) >= 400 or bool(entry["missed"])
        arrow = "→" if entry["direction"] == "in" else "←"
        actor = self.names_by_user_id.get(entry["user_id"], entry["user_id"] or "")
        kind = self._color(f"{entry['kind']:<11}", entry["kind"])
        result = self._color(_describe_result(entry), "failed" if is_failed else "")
        time_of_day = entry["at"][11:23]  # With milliseconds.
        return f"{time_of_day} {kind} {arrow} {actor:<12} {entry['summary']} {result}".rstrip()

    def _color(self, text: str, name: str) -> str:
        return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if self._uses_colors and name in _COLORS and text else text


def _describe_result(entry: Mapping[str, Any]) -> str:
    if entry["delivered"] is not None:
        return f"to {entry['delivered']}" + (f", not to {entry['missed']}" if entry["missed"] else "")
    texts = [
        "" if entry["status"] is None else str(entry["status"]),
        "" if entry["milliseconds"] is None else f"{entry['milliseconds']} ms",
        entry["note"] or "",
    ]
    return ", ".join(text for text in texts if text)
