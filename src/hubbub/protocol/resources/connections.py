"""Connections: the accounts that a person has elsewhere and shows here."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

CONNECTION_ID_MAX = 256
CONNECTION_NAME_MAX = 256
CONNECTIONS_MAX = 100
"""How many accounts a person may show. Open in the spec."""


class Connection(Struct, kw_only=True):
    """An account elsewhere."""

    id: str
    """Its id there."""
    name: str | None
    type: str
    """The provider: a `ConnectionType`."""
    verified: bool
    friend_sync: bool
    show_activity: bool
    two_way_link: bool
    visibility: int
    """0 for oneself, 1 for everyone."""
    revoked: bool | UnsetType = UNSET


class SetConnection(Struct, kw_only=True):
    """What a person says of an account of theirs."""

    name: Annotated[str, Meta(min_length=1, max_length=CONNECTION_NAME_MAX)] | None | UnsetType = UNSET
    visibility: Literal[0, 1] | UnsetType = UNSET
    show_activity: bool | UnsetType = UNSET
    friend_sync: bool | UnsetType = UNSET
    two_way_link: bool | UnsetType = UNSET


LIST_MY_CONNECTIONS = Operation(
    "GET",
    "/users/@me/connections",
    result=list[Connection],
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("connections",),
)

# First-party: people connect and disconnect accounts with their own token (decisions/0025).
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
