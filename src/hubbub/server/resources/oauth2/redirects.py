"""Where a person may be sent back to: exactly what is registered, but for the port of a loopback address (RFC 8252, 9700)."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from hubbub.protocol.resources.oauth2 import STANDARD_SCHEME
from hubbub.server.resources.applications import is_sound_redirect, standard_redirect

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

_PORT: Final = re.compile(r":[0-9]*$", re.ASCII)


def is_custom(uri: str) -> bool:
    """Whether a redirect goes to another program instead of the web; that needs PKCE, since any program may claim a scheme."""
    return urlsplit(uri).scheme not in ("http", "https")


def matches(registered: Sequence[str], application_id: int, uri: str) -> bool:
    """Whether a request may name this redirect."""
    if not is_sound_redirect(uri):
        return False
    if uri.startswith(f"{STANDARD_SCHEME}-"):
        # Another application's scheme is never ours, even if somebody registered it.
        return uri == standard_redirect(application_id)
    if uri in registered:
        return True
    wanted = _without_port(uri)
    return wanted is not None and any(_without_port(known) == wanted for known in registered)


def _without_port(uri: str) -> tuple[str, str, str, str] | None:
    """A loopback address without its port; None for every other."""
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in LOOPBACK or "@" in parts.netloc:
        return None
    return parts.scheme, _PORT.sub("", parts.netloc), parts.path, parts.query


def with_query(uri: str, fields: dict[str, str]) -> str:
    """The redirect with more fields in its query."""
    parts = urlsplit(uri)
    query = "&".join(part for part in (parts.query, urlencode(fields)) if part)
    if parts.scheme not in ("http", "https"):
        # urlunsplit would write `S:///authorize/callback` for some schemes; the one slash is part of the agreement.
        return f"{parts.scheme}:{parts.path}?{query}"
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def with_fragment(uri: str, fields: dict[str, str]) -> str:
    """The redirect with fields in its fragment, which no server sees."""
    return f"{uri}#{urlencode(fields)}"
