"""The ready document: the URLs of a started server, and the users, applications, guilds and lobbies of its world."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, LobbyId, RoleId, Snowflake, UserId


def _text_of(id_type: type[Snowflake]) -> Meta:
    """Return the constraints of an ID that is a decimal string in code as well."""
    return Meta(pattern="^(0|[1-9][0-9]{0,18})$", extra_json_schema={"format": "snowflake"}, extra={"id_type": id_type})


# Users of the ready document compare its IDs with those in JSON objects, so they are strings in code too.
UserIdText = Annotated[str, _text_of(UserId)]
ApplicationIdText = Annotated[str, _text_of(ApplicationId)]
GuildIdText = Annotated[str, _text_of(GuildId)]
ChannelIdText = Annotated[str, _text_of(ChannelId)]
RoleIdText = Annotated[str, _text_of(RoleId)]
LobbyIdText = Annotated[str, _text_of(LobbyId)]


class WorldUser(msgspec.Struct, frozen=True, kw_only=True):
    """A user with their credentials."""

    id: UserIdText
    token: str
    password: str


class WorldBot(msgspec.Struct, frozen=True, kw_only=True):
    """A bot with its token."""

    id: UserIdText
    token: str


class WorldApplication(msgspec.Struct, frozen=True, kw_only=True):
    """An application with its secrets."""

    id: ApplicationIdText
    client_secret: str
    public_key: str
    bot: WorldBot | None


class WorldGuild(msgspec.Struct, frozen=True, kw_only=True):
    """A guild with the IDs of its channels and roles, by name."""

    id: GuildIdText
    channels: dict[str, ChannelIdText] = {}
    roles: dict[str, RoleIdText] = {}


class WorldLobby(msgspec.Struct, frozen=True, kw_only=True):
    """ID of a lobby, which has its name in the world file as its key."""

    id: LobbyIdText


class ReadyVoice(msgspec.Struct, frozen=True, kw_only=True):
    """The voice server."""

    endpoint: str
    """host:port that clients connect to with wss://."""
    authority: str | None = None
    """Path of a PEM file with the certificate authority that clients must trust; None if they trust it by default."""


class ReadyDocument(msgspec.Struct, frozen=True, kw_only=True):
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
    users: dict[str, WorldUser]
    applications: dict[str, WorldApplication]
    guilds: dict[str, WorldGuild]
    lobbies: dict[str, WorldLobby] = {}
    voice: ReadyVoice | None = None
    """The voice server; None if voice is disabled."""
    authority: str | UnsetType = UNSET
    """Path of a PEM file with the certificate authority that clients of the HTTPS URLs must trust; absent without `--tls`."""

    def __getitem__(self, key: str) -> Any:
        """Return a value by its key in the ready file; raise KeyError with the existing keys for an unknown one."""
        if key not in self.__struct_fields__:
            raise KeyError(f"the ready document has no key {key!r}; it has: {', '.join(self.__struct_fields__)}")
        return getattr(self, key)


GET_READY_DOCUMENT: Final = control_operation("GET", "", result=ReadyDocument)
