"""Activity proxies: URL mappings of an application's proxy host, and tickets that authenticate users to it."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation

URL_MAPPINGS_MAX = 50
URL_PREFIX_MAX = 256
URL_TARGET_MAX = 512

PROXY_TICKET_SECONDS = 1800
"""Lifetime of a proxy ticket in seconds. The specification gives no value (spec/activities.md#8)."""
INSTANCE_ID_MAX = 128
"""Maximum length of the composite ID of an activity instance."""


class UrlMapping(Struct, kw_only=True):
    """A rule that maps a path prefix of the proxy host to a target host."""

    prefix: Annotated[str, Meta(min_length=1, max_length=URL_PREFIX_MAX)]
    """Path prefix such as `/api`, or `/` for the root; `{name}` is a placeholder, at most one per segment."""
    target: Annotated[str, Meta(min_length=1, max_length=URL_TARGET_MAX)]
    """Target in the form `host[:port][/path]`, without a scheme; `{name}` inserts the text matched by the prefix."""


class ProxyConfig(Struct, kw_only=True):
    """URL mappings of an application's activity proxy."""

    url_map: Annotated[list[UrlMapping], Meta(max_length=URL_MAPPINGS_MAX)]
    """Mappings in order of precedence, at most 50; the first match applies, so list longer prefixes first."""


class CreateProxyTicket(Struct, kw_only=True):
    """Request body for creating a proxy ticket."""

    instance_id: Annotated[str, Meta(min_length=1, max_length=INSTANCE_ID_MAX)] | UnsetType = UNSET
    """Composite ID of the activity instance; absent for the instance that the caller joined last."""


class ProxyTicket(Struct, kw_only=True):
    """A ticket that authenticates a user to the activity proxy."""

    ticket: str
    """Ticket, passed to the activity as the URL parameter `discord_proxy_ticket`; valid for 30 minutes."""


# Operations of the developer portal and the chat client (spec/activities.md#8)

_APPLICATION_ERRORS = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

GET_PROXY_CONFIG = Operation(
    "GET",
    "/applications/{application_id}/proxy-config",
    result=ProxyConfig,
    raises=_APPLICATION_ERRORS,
)

UPDATE_PROXY_CONFIG = Operation(
    "POST",
    "/applications/{application_id}/proxy-config",
    body=ProxyConfig,
    result=ProxyConfig,
    raises=_APPLICATION_ERRORS,
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
