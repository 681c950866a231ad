"""Creation of the ready document, and the ready file."""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.control.ready import (
    ReadyDocument,
    ReadyVoice,
    WorldApplication,
    WorldBot,
    WorldGuild,
    WorldLobby,
    WorldUser,
)
from hubbub.server.core.backends import ServerTls
from hubbub.server.core.config import Config
from hubbub.server.worlds import BuiltWorld
from hubbub.server.worlds.builder import BuiltApplication, BuiltGuild, BuiltUser


class ReadyFileError(Exception):
    """The ready file cannot be removed or written."""


def build_document(
    config: Config, built_world: BuiltWorld, control_token: str | None = None, *, tls: ServerTls | None = None
) -> ReadyDocument:
    """Build the ready document of a started server."""
    voice = config.voice
    url = (config.public_url or f"http://{config.host}:{config.port}").rstrip("/")
    return ReadyDocument(
        api=f"{url}/api/v10",
        gateway=f"ws{url.removeprefix('http')}/gateway",
        web=url,
        cdn=config.cdn_url,
        control=f"{url}/control" if control_token is not None else None,
        control_token=control_token,
        users={name: build_user(user) for name, user in built_world.users.items()},
        applications={name: _build_application(application) for name, application in built_world.applications.items()},
        guilds={name: _build_guild(guild) for name, guild in built_world.guilds.items()},
        lobbies={name: WorldLobby(id=str(lobby.id)) for name, lobby in built_world.lobbies.items()},
        voice=None if voice.endpoint is None else ReadyVoice(endpoint=voice.endpoint, authority=voice.ca_file),
        authority=UNSET if tls is None else tls.authority,
    )


def build_user(user: BuiltUser) -> WorldUser:
    """Return a user of the world as in the ready document."""
    return WorldUser(id=str(user.id), token=user.token, password=user.password)


def _build_application(application: BuiltApplication) -> WorldApplication:
    bot = application.bot
    return WorldApplication(
        id=str(application.id),
        client_secret=application.client_secret,
        public_key=application.public_key,
        bot=None if bot is None else WorldBot(id=str(bot.id), token=bot.token),
    )


def _build_guild(guild: BuiltGuild) -> WorldGuild:
    return WorldGuild(
        id=str(guild.id),
        channels={name: str(channel_id) for name, channel_id in guild.channels.items()},
        roles={name: str(role_id) for name, role_id in guild.roles.items()},
    )


def remove(path: str) -> None:
    """Remove the ready file of an earlier run, so that programs that wait for the file do not read outdated data.

    Raise ReadyFileError if it cannot be removed."""
    try:
        Path(path).unlink(missing_ok=True)
    except OSError as error:
        raise ReadyFileError(f"cannot write the ready file {path}: {error.strerror}") from error


def write(path: str, document: ReadyDocument) -> None:
    """Write the ready file atomically, so that waiting programs find it complete.

    Only its owner can read it, because it contains tokens. Raise ReadyFileError if its folder is not writable.
    """
    ready_path = Path(path)
    try:
        ready_path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial_path = tempfile.mkstemp(dir=ready_path.parent, prefix=f".{ready_path.name}.")
    except OSError as error:
        raise ReadyFileError(f"cannot write the ready file {path}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(msgspec.json.format(codec.encode(document), indent=2) + b"\n")
        os.replace(partial_path, ready_path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial_path)
        raise
