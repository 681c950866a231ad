"""The proxy of activities: where the paths of an application's own host lead, and tickets that say who asks there."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

URL_MAPPINGS_MAX = 50
URL_PREFIX_MAX = 256
URL_TARGET_MAX = 512

TICKET_SECONDS = 1800
"""How long a ticket is good (activities.md 8: our choice)."""
INSTANCE_ID_MAX = 128


class UrlMapping(Struct, kw_only=True):
    """One line of a URL map: what begins with the prefix is asked of the target."""

    prefix: Annotated[str, Meta(min_length=1, max_length=URL_PREFIX_MAX)]
    """A path such as `/api`, or `/` for the application's root; `{name}` stands for one word, once in a segment."""
    target: Annotated[str, Meta(min_length=1, max_length=URL_TARGET_MAX)]
    """`host[:port][/dir]` without a scheme; `{name}` is the word that the prefix found."""


class ProxyConfig(Struct, kw_only=True):
    """An application's URL map. The first mapping that fits wins, so longer prefixes come first."""

    url_map: Annotated[list[UrlMapping], Meta(max_length=URL_MAPPINGS_MAX)]


class CreateProxyTicket(Struct, kw_only=True):
    """Which running activity the ticket is for."""

    instance_id: Annotated[str, Meta(min_length=1, max_length=INSTANCE_ID_MAX)] | UnsetType = UNSET
    """As applications know it; without it, the one that was joined last."""


class ProxyTicket(Struct, kw_only=True):
    """What the activity's address carries as `discord_proxy_ticket`."""

    ticket: str


# activities.md 8: the routes of the platform's own portal and client.

_MANAGED = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

GET_PROXY_CONFIG = Operation(
    "GET",
    "/applications/{application_id}/proxy-config",
    result=ProxyConfig,
    raises=_MANAGED,
)

UPDATE_PROXY_CONFIG = Operation(
    "POST",
    "/applications/{application_id}/proxy-config",
    body=ProxyConfig,
    result=ProxyConfig,
    raises=_MANAGED,
)

CREATE_PROXY_TICKET = Operation(
    "POST",
    "/applications/{application_id}/proxy-tickets",
    body=CreateProxyTicket,
    result=ProxyTicket,
    auth=Auth.USER,
    optional_body=True,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_FOUND, errors.INVALID_ACTIVITY_ACTION),
)
