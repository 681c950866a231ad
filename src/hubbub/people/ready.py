"""The ready document of a platform: its URLs, and the objects of its world by their names in the world file."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class UnknownNameError(KeyError):
    """Raised for a name that the world does not have, or a key that the ready document does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class NamedObjects(dict[str, T]):
    """Objects by name. The error for an unknown name lists the names that exist."""

    def __init__(self, object_type: str, objects: dict[str, T]) -> None:
        super().__init__(objects)
        self._object_type = object_type

    def __missing__(self, name: str) -> T:
        available = ", ".join(self) or "none"
        raise UnknownNameError(f"this world has no {self._object_type} {name!r}; it has: {available}")


class UserCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """ID and credentials of a user of the world."""

    id: str
    token: str
    password: str


class BotCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """ID and token of an application's bot."""

    id: str
    token: str


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """An application of the world, with its credentials."""

    id: str
    client_secret: str
    public_key: str
    bot: BotCredentials | None


class Guild(msgspec.Struct, frozen=True, kw_only=True):
    """A guild of the world; `channels` and `roles` map names to IDs."""

    id: str
    channels: dict[str, str] = {}
    roles: dict[str, str] = {}


class Lobby(msgspec.Struct, frozen=True, kw_only=True):
    """A lobby of the world."""

    id: str


class VoiceServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Address of the voice server."""

    endpoint: str
    authority: str | None = None
    """Path of the PEM file with the certificate authority that clients must trust, or None."""


class ReadyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """URLs, control token, world and voice server of a platform, with the keys of the ready file."""

    api: str
    gateway: str
    web: str
    cdn: str
    control: str
    control_token: str
    users: dict[str, UserCredentials]
    applications: dict[str, Application]
    guilds: dict[str, Guild]
    lobbies: dict[str, Lobby] = {}
    voice: VoiceServerInfo | None = None
    fork_id: str = ""
    """ID of the fork; empty for the platform of the server process itself."""

    def __getitem__(self, key: str) -> Any:
        """Return a value by its key in the ready file."""
        if key not in self.__struct_fields__:
            raise UnknownNameError(
                f"the ready document has no key {key!r}; it has: {', '.join(self.__struct_fields__)}"
            )
        return getattr(self, key)


def parse_ready_document(document: Any) -> ReadyDocument:
    """Convert a ready document that is decoded from JSON to its model."""
    return msgspec.convert(document, ReadyDocument)
