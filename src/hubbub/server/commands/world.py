"""`hubbub world`: worlds from guild templates, and command sets of real applications for a rehearsal."""

import argparse
import asyncio
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import aiohttp

from hubbub.protocol import codec
from hubbub.server import worlds
from hubbub.server.terminal import describe_connection_error, print_error
from hubbub.server.worlds import WorldError
from hubbub.server.worlds.template_worlds import add_commands, build_world_text, read_template

TIMEOUT_SECONDS: Final = 30.0
RESPONSE_BYTES_MAX: Final = 16 * 1024 * 1024
TOKEN_VARIABLE: Final = "BOT_TOKEN"
"""Environment variable with the bot token for the API that commands are read from."""

_CODE_PATTERN: Final = re.compile(r"(?:https?://[^/]+/(?:template/)?)?([A-Za-z0-9]{2,32})")
_COMMAND_KEYS: Final = frozenset(
    {
        "contexts",
        "default_member_permissions",
        "description",
        "description_localizations",
        "dm_permission",
        "handler",
        "integration_types",
        "name",
        "name_localizations",
        "nsfw",
        "options",
        "type",
    }
)
"""Fields of a command that can be set; the API also returns IDs and versions."""


class WorldCommandError(Exception):
    """A file or another API cannot be read, or the rehearsal rejects the commands."""


def run(arguments: argparse.Namespace) -> int:
    """Run an action and return the exit code."""
    try:
        return ACTIONS[arguments.world_action](arguments)
    except (WorldCommandError, WorldError) as error:
        return print_error(error)
    except OSError as error:
        return print_error(f"{error.filename}: {error.strerror}")


def _write_world(arguments: argparse.Namespace) -> int:
    """Write or print a world file with the roles and channels of a template."""
    source = Path(arguments.source)
    if source.exists():
        template_json = source.read_bytes()
    else:
        code_match = _CODE_PATTERN.fullmatch(arguments.source)
        if code_match is None or arguments.api is None:
            raise WorldCommandError(
                f"{arguments.source} is not a file; to fetch a template, pass its code and --api URL"
            )
        template_json = _fetch("GET", f"{arguments.api.rstrip('/')}/guilds/templates/{code_match[1]}", {})
    text = build_world_text(read_template(template_json), arguments.application)
    if arguments.output is None:
        print(text, end="")
    else:
        Path(arguments.output).write_text(text, encoding="utf-8")
        print(f"Wrote {arguments.output}. Start it with: hubbub dev --world {arguments.output}")
    return 0


def _copy_commands(arguments: argparse.Namespace) -> int:
    """Copy the commands of a file or of an application elsewhere to a running rehearsal or a world file."""
    register = _add_to_world_file if arguments.ready_file is None else _register
    commands = register(arguments)
    place = f" in {arguments.guild}" if arguments.guild is not None else ""
    target = arguments.world or "the rehearsal"
    print(f"Registered {len(commands)} commands of {arguments.application}{place} in {target}.")
    return 0


def _register(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Register commands for an application of a running rehearsal, and return them."""
    document = codec.decode(Path(arguments.ready_file).read_bytes(), dict[str, Any])
    application = document["applications"].get(arguments.application)
    if application is None or application["bot"] is None:
        names = ", ".join(document["applications"])
        raise WorldCommandError(f"the world has no bot {arguments.application!r}; it has: {names}")
    path = f"/applications/{application['id']}"
    if arguments.guild is not None:
        guild = document["guilds"].get(arguments.guild)
        if guild is None:
            names = ", ".join(document["guilds"])
            raise WorldCommandError(f"the world has no guild {arguments.guild!r}; it has: {names}")
        path += f"/guilds/{guild['id']}"
    commands = _load_commands(arguments)
    headers = {"Authorization": f"Bot {application['bot']['token']}", "Content-Type": "application/json"}
    _fetch("PUT", f"{document['api']}{path}/commands", headers, codec.encode(commands))
    return commands


def _add_to_world_file(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Add commands to an application or bot of a world file that has none, and return them.

    The rest of the file, including its comments, does not change. Raise WorldError if the result would be invalid."""
    file = Path(arguments.world)
    text = file.read_text(encoding="utf-8")
    worlds.read_text(text)  # Raises WorldError if the file is invalid.
    content = tomllib.loads(text)
    table = content.get("applications", {})
    path: tuple[str, ...] = ("applications", arguments.application)
    if arguments.guild is not None:
        guild = content.get("guilds", {}).get(arguments.guild)
        if guild is None:
            raise WorldError(("guilds", arguments.guild), "the file has no such guild")
        table, path = guild.get("bots", {}), ("guilds", arguments.guild, "bots", arguments.application)
    if arguments.application not in table:
        raise WorldError(path, "the file has no such application or bot")
    if "commands" in table[arguments.application]:
        raise WorldError((*path, "commands"), "already present; remove these commands from the file first")
    commands = _load_commands(arguments)
    new_text = add_commands(text, path, commands)
    try:
        tomllib.loads(new_text)
    except tomllib.TOMLDecodeError as error:
        raise WorldError(path, f"write this table with a header, [{'.'.join(path)}], to add commands to it") from error
    worlds.read_text(new_text)  # Raises WorldError if a command is invalid.
    file.write_text(new_text, encoding="utf-8")
    return commands


def _load_commands(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the commands of a file, or of an application elsewhere: its global ones, or with `--guild-id` those of a guild."""
    if arguments.api is None:
        return _read_commands(Path(arguments.source).read_bytes())
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise WorldCommandError(f"set {TOKEN_VARIABLE} to the bot token of the application")
    guild_path = "" if arguments.guild_id is None else f"/guilds/{arguments.guild_id}"
    url = f"{arguments.api.rstrip('/')}/applications/{arguments.source}{guild_path}/commands?with_localizations=true"
    return _read_commands(_fetch("GET", url, {"Authorization": f"Bot {token}"}))


def _read_commands(commands_json: bytes) -> list[dict[str, Any]]:
    try:
        commands = codec.decode(commands_json, list[dict[str, Any]])
    except ValueError as error:
        raise WorldCommandError(f"this is not a list of commands: {error}") from error
    return [
        {key: value for key, value in command.items() if key in _COMMAND_KEYS and value is not None}
        for command in commands
    ]


def _fetch(method: str, url: str, headers: dict[str, str], body: bytes | None = None) -> bytes:
    """Send a request and return the body of a successful response. Raise WorldCommandError for any other result."""
    try:
        status, response_body = asyncio.run(_send(method, url, headers, body))
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise WorldCommandError(f"cannot reach {url}: {describe_connection_error(error)}") from error
    if status >= 300:
        detail = response_body[:500].decode("utf-8", "replace")
        raise WorldCommandError(f"{method} {url} responded with {status}: {detail}")
    return response_body


async def _send(method: str, url: str, headers: dict[str, str], body: bytes | None) -> tuple[int, bytes]:
    """Send a request; return the status and the body. Raise ValueError if the body exceeds `RESPONSE_BYTES_MAX`."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        aiohttp.ClientSession(timeout=timeout) as client,
        client.request(method, url, headers=headers, data=body, allow_redirects=False) as response,
    ):
        response_body = b""
        async for chunk in response.content.iter_chunked(65536):
            response_body += chunk
            if len(response_body) > RESPONSE_BYTES_MAX:
                raise ValueError("the response is too large")
        return response.status, response_body


ACTIONS: Final = {"from-template": _write_world, "copy-commands": _copy_commands}
"""Functions by the name of the action of `hubbub world`."""
