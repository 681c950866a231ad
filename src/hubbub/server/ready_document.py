"""The ready document: the URLs of a started server, and the users, applications, guilds and lobbies of its world."""

import contextlib
import os
import tempfile
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec
from hubbub.server.core.backends import ServerTls
from hubbub.server.core.config import Config
from hubbub.server.worlds import BuiltWorld
from hubbub.server.worlds.builder import BuiltApplication, BuiltGuild, BuiltLobby, BuiltUser


class ReadyFileError(Exception):
    """The ready file cannot be removed or written."""


class ReadyVoice(msgspec.Struct, kw_only=True):
    """The voice server."""

    endpoint: str
    """host:port that clients connect to with wss://."""
    authority: str | None = None
    """Path of a PEM file with the certificate authority that clients must trust; None if they trust it by default."""


class ReadyDocument(msgspec.Struct, kw_only=True):
    """The content of the ready file, and of responses of the control API.

    Other programs use it, so keys are added but never removed."""

    api: str
    gateway: str
    web: str
    cdn: str
    control: str | None
    """URL of the control API; None without a control API."""
    control_token: str | None
    """Token of the control API; None without a control API."""
    users: dict[str, BuiltUser]
    applications: dict[str, BuiltApplication]
    guilds: dict[str, BuiltGuild]
    lobbies: dict[str, BuiltLobby] = {}
    voice: ReadyVoice | None = None
    """The voice server; None if voice is disabled."""
    authority: str | UnsetType = UNSET
    """Path of a PEM file with the certificate authority that clients of the HTTPS URLs must trust; absent without `--tls`."""


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
        users=built_world.users,
        applications=built_world.applications,
        guilds=built_world.guilds,
        lobbies=built_world.lobbies,
        voice=None if voice.endpoint is None else ReadyVoice(endpoint=voice.endpoint, authority=voice.ca_file),
        authority=UNSET if tls is None else tls.authority,
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
