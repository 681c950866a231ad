"""World files, which add users, applications, guilds and lobbies to a rehearsal."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.control.ready import ReadyDocument
from hubbub.protocol.ids import WIDE_MAX


class World(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The content of a world file. The server converts inner tables to their own types."""

    users: dict[str, Any] = {}
    applications: dict[str, Any] = {}
    guilds: dict[str, Any] = {}
    friendships: Any = UNSET
    lobbies: dict[str, Any] | UnsetType = UNSET
    skus: dict[str, Any] | UnsetType = UNSET


class LoadWorldQuery(msgspec.Struct, kw_only=True):
    """Query parameters for loading a world."""

    seed: Annotated[int, Meta(ge=0, le=WIDE_MAX)] | UnsetType = UNSET
    """Number that determines the IDs and tokens of the world; absent for the seed of the server."""


LOAD_WORLD: Final = control_operation("POST", "/worlds", body=World, query=LoadWorldQuery, result=ReadyDocument)
