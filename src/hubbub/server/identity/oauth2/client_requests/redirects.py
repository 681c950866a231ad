"""Matching of redirect URIs, and the URIs of responses.

URIs match exactly, except for the port of a loopback address (RFC 8252, 9700).
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from hubbub.protocol.resources.oauth2 import REDIRECT_SCHEME_PREFIX
from hubbub.server.identity.applications.interface.settings import is_valid_redirect, standard_redirect

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})
"""Hosts that refer to the user's own machine."""

_PORT_SUFFIX_PATTERN: Final = re.compile(r":[0-9]*$", re.ASCII)


def has_custom_scheme(uri: str) -> bool:
    """Return whether a redirect URI has a custom scheme. Such a URI needs PKCE, because any program may register a scheme."""
    return urlsplit(uri).scheme not in ("http", "https")


def is_allowed_redirect(registered_uris: Sequence[str], application_id: int, uri: str) -> bool:
    """Return whether a request may use this redirect URI. `registered_uris` are the redirect URIs of the application."""
    if not is_valid_redirect(uri):
        return False
    if uri.startswith(f"{REDIRECT_SCHEME_PREFIX}-"):
        # The standard scheme of another application never matches, even if this application registered it.
        return uri == standard_redirect(application_id)
    if uri in registered_uris:
        return True
    uri_without_port = _split_without_port(uri)
    return uri_without_port is not None and any(
        _split_without_port(registered_uri) == uri_without_port for registered_uri in registered_uris
    )


def _split_without_port(uri: str) -> tuple[str, str, str, str] | None:
    """Return the parts of a loopback URI without its port, or None for other URIs."""
    uri_parts = urlsplit(uri)
    if uri_parts.scheme != "http" or uri_parts.hostname not in LOOPBACK_HOSTS or "@" in uri_parts.netloc:
        return None
    return uri_parts.scheme, _PORT_SUFFIX_PATTERN.sub("", uri_parts.netloc), uri_parts.path, uri_parts.query


def with_query(uri: str, fields: dict[str, str]) -> str:
    """Return the redirect URI with additional query fields."""
    uri_parts = urlsplit(uri)
    query = "&".join(query_part for query_part in (uri_parts.query, urlencode(fields)) if query_part)
    if uri_parts.scheme not in ("http", "https"):
        # urlunsplit would write `S:///authorize/callback` for some schemes, but clients expect a single slash.
        return f"{uri_parts.scheme}:{uri_parts.path}?{query}"
    return urlunsplit((uri_parts.scheme, uri_parts.netloc, uri_parts.path, query, ""))


def with_fragment(uri: str, fields: dict[str, str]) -> str:
    """Return the redirect URI with fields in its fragment, which is not sent to servers."""
    return f"{uri}#{urlencode(fields)}"
