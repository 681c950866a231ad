"""The ready document as a test reads it: where the platform is, and who is in the world, by the names of the world file."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Unknown(KeyError):
    """There is nothing of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


class Named(dict[str, T]):
    """Things by name; asking for another one says which there are."""

    def __init__(self, kind: str, things: dict[str, T]) -> None:
        super().__init__(things)
        self._kind = kind

    def __missing__(self, name: str) -> T:
        known = ", ".join(self) or "none"
        raise Unknown(f"this world has no {self._kind} {name!r}; there are: {known}")


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A person of the world."""

    id: str
    token: str
    password: str


class BotUser(msgspec.Struct, frozen=True, kw_only=True):
    """An application's bot."""

    id: str
    token: str


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """An application of the world, and its secrets."""

    id: str
    client_secret: str
    public_key: str
    bot: BotUser | None


class Guild(msgspec.Struct, frozen=True, kw_only=True):
    """A guild of the world; channels and roles are ids by name."""

    id: str
    channels: dict[str, str] = {}
    roles: dict[str, str] = {}


class Lobby(msgspec.Struct, frozen=True, kw_only=True):
    """A lobby of the world."""

    id: str


class Voice(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server."""

    endpoint: str
    authority: str | None = None
    """A PEM file that clients must trust."""


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document."""

    api: str
    gateway: str
    web: str
    cdn: str
    control: str
    control_token: str
    users: dict[str, User]
    applications: dict[str, Application]
    guilds: dict[str, Guild]
    lobbies: dict[str, Lobby] = {}
    voice: Voice | None = None
    fork_id: str = ""


def read(document: Any) -> Ready:
    """The document of a platform."""
    return msgspec.convert(document, Ready)
