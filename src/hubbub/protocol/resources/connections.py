"""Connections: accounts on other services that a user has connected."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

CONNECTION_ID_MAX = 256
CONNECTION_NAME_MAX = 256
CONNECTIONS_MAX = 100
"""Maximum number of connections of a user. The specification gives no value (decisions/0025)."""


class Connection(Struct, kw_only=True):
    """An account on another service."""

    id: str
    """ID of the account on the other service."""
    name: str | None
    """Name of the account; null if unknown."""
    type: str
    """Service of the account; a `ConnectionType`."""
    verified: bool
    """Whether the service confirmed that the user owns the account."""
    friend_sync: bool
    """Whether friends from the service are suggested to the user."""
    show_activity: bool
    """Whether activities on the service are shown in the user's presence."""
    two_way_link: bool
    """Whether the service also stores a link to the user's account on this platform."""
    visibility: int
    """Visibility of the connection: 0 only the user, 1 everyone."""
    revoked: bool | UnsetType = UNSET
    """Always true if the service revoked the connection; otherwise absent."""


class SetConnection(Struct, kw_only=True):
    """Request body for connecting an account or updating a connection.

    Absent fields keep their value; in a new connection they have their default."""

    name: Annotated[str, Meta(min_length=1, max_length=CONNECTION_NAME_MAX)] | None | UnsetType = UNSET
    """Name of the account; null removes it."""
    visibility: Literal[0, 1] | UnsetType = UNSET
    """Visibility of the connection: 0 only the user, 1 everyone."""
    show_activity: bool | UnsetType = UNSET
    """Whether activities on the service are shown in the user's presence."""
    friend_sync: bool | UnsetType = UNSET
    """Whether friends from the service are suggested to the user."""
    two_way_link: bool | UnsetType = UNSET
    """Whether the service also stores a link to the user's account on this platform."""


LIST_MY_CONNECTIONS = Operation(
    "GET",
    "/users/@me/connections",
    result=list[Connection],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("connections",),
)

# First-party: connecting and disconnecting accounts with a user token (decisions/0025)
SET_MY_CONNECTION = Operation(
    "PUT",
    "/users/@me/connections/{connection_type}/{connection_id}",
    body=SetConnection,
    result=Connection,
    auth=Auth.USER,
    optional_body=True,
    raises=(errors.INVALID_FORM_BODY, errors.UNKNOWN_PROVIDER),
)

DELETE_MY_CONNECTION = Operation(
    "DELETE",
    "/users/@me/connections/{connection_type}/{connection_id}",
    auth=Auth.USER,
    raises=(errors.UNKNOWN_ACCOUNT,),
)
