"""`hubbub world`: worlds from guild templates, and command sets of real applications for a rehearsal."""

import argparse
import asyncio
import os
import re
from pathlib import Path
from typing import Any, Final

import aiohttp

from hubbub.protocol import codec
from hubbub.server.terminal import print_error
from hubbub.server.worlds import WorldError
from hubbub.server.worlds.template_worlds import build_world_text, read_template

TIMEOUT_SECONDS: Final = 30.0
RESPONSE_BYTES_MAX: Final = 16 * 1024 * 1024
TOKEN_VARIABLE: Final = "BOT_TOKEN"
"""Environment variable with the bot token for the API that commands are read from."""

_CODE: Final = re.compile(r"(?:https?://[^/]+/(?:template/)?)?([A-Za-z0-9]{2,32})")
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
        code_match = _CODE.fullmatch(arguments.source)
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
    """Register the commands of a file or of an application elsewhere for an application of a rehearsal."""
    document = codec.decode(Path(arguments.ready_file).read_bytes(), dict[str, Any])
    application = document["applications"].get(arguments.application)
    if application is None or application["bot"] is None:
        names = ", ".join(document["applications"])
        raise WorldCommandError(f"the world has no bot {arguments.application!r}; it has: {names}")
    if arguments.api is None:
        commands_json = Path(arguments.source).read_bytes()
    else:
        token = os.environ.get(TOKEN_VARIABLE, "")
        if not token:
            raise WorldCommandError(f"set {TOKEN_VARIABLE} to the bot token of the application")
        url = f"{arguments.api.rstrip('/')}/applications/{arguments.source}/commands?with_localizations=true"
        commands_json = _fetch("GET", url, {"Authorization": f"Bot {token}"})
    commands = _read_commands(commands_json)
    url = f"{document['api']}/applications/{application['id']}/commands"
    headers = {"Authorization": f"Bot {application['bot']['token']}", "Content-Type": "application/json"}
    _fetch("PUT", url, headers, codec.encode(commands))
    print(f"Registered {len(commands)} commands of {arguments.application}.")
    return 0


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
        raise WorldCommandError(f"cannot reach {url}: {error or type(error).__name__}") from error
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
