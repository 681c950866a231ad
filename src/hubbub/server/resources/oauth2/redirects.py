"""Where a person may be sent back to: exactly what is registered, but for the port of a loopback address (RFC 8252, 9700)."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit, urlunsplit

from hubbub.protocol.resources.oauth2 import CUSTOM_REDIRECT, STANDARD_SCHEME

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})

# Schemes that a browser would run or read instead of leaving.
_NEVER: Final = frozenset({"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"})
_CUSTOM: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_PORT: Final = re.compile(r":[0-9]*$", re.ASCII)
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]{1,2048}", re.ASCII)


def standard(application_id: int) -> str:
    """The redirect that every application has: a scheme of its own on a phone."""
    return f"{STANDARD_SCHEME}-{int(application_id)}:{CUSTOM_REDIRECT}"


def is_custom(uri: str) -> bool:
    """Whether a redirect goes to another program instead of the web; that needs PKCE, since any program may claim a scheme."""
    return urlsplit(uri).scheme not in ("http", "https")


def is_sound(uri: str) -> bool:
    """Whether an address may be registered at all: absolute, without fragment or password, and not one that a browser runs.

    A scheme of a program's own has exactly the form `S:/authorize/callback`."""
    if _PRINTABLE.fullmatch(uri) is None or "\\" in uri or "#" in uri:
        return False
    try:
        parts = urlsplit(uri)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return False
    if parts.scheme in ("http", "https"):
        return bool(host) and parts.username is None and parts.password is None
    if parts.scheme in _NEVER or _CUSTOM.fullmatch(parts.scheme) is None:
        return False
    return uri == f"{parts.scheme}:{CUSTOM_REDIRECT}"


def matches(registered: Sequence[str], application_id: int, uri: str) -> bool:
    """Whether a request may name this redirect."""
    if not is_sound(uri):
        return False
    if uri.startswith(f"{STANDARD_SCHEME}-"):
        # Another application's scheme is never ours, even if somebody registered it.
        return uri == standard(application_id)
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
