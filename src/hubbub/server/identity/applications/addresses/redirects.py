"""Validation of the OAuth2 redirect URIs that applications register."""

import re
from typing import Final
from urllib.parse import urlsplit

from hubbub.protocol import errors
from hubbub.protocol.resources.applications import REDIRECT_URIS_MAX
from hubbub.protocol.resources.oauth2 import REDIRECT_CALLBACK_PATH, REDIRECT_SCHEME_PREFIX

# Schemes that a browser executes or displays instead of navigating away.
_FORBIDDEN_SCHEMES: Final = frozenset(
    {"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"}
)
_CUSTOM_SCHEME_PATTERN: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_URI_PATTERN: Final = re.compile(r"[\x21-\x7e]{1,2048}", re.ASCII)

INVALID_REDIRECT_ERROR: Final = (
    "REDIRECT_URI_INVALID",
    "Not a valid redirect URI. Use http or https without fragment and credentials, or scheme:/authorize/callback.",
)


def standard_redirect(application_id: int) -> str:
    """Return the redirect URI that every application has. Its custom scheme is for mobile devices."""
    return f"{REDIRECT_SCHEME_PREFIX}-{int(application_id)}:{REDIRECT_CALLBACK_PATH}"


def is_valid_redirect(uri: str) -> bool:
    """Return whether a redirect URI can be registered.

    It must be absolute, without fragment or credentials, and its scheme must not be in `_FORBIDDEN_SCHEMES`. A
    URI with a custom scheme S has exactly the form `S:/authorize/callback`."""
    if _URI_PATTERN.fullmatch(uri) is None or "\\" in uri or "#" in uri:
        return False
    try:
        url_parts = urlsplit(uri)
        host = url_parts.hostname
        _ = url_parts.port  # Raises ValueError for an invalid port.
    except ValueError:
        return False
    if url_parts.scheme in ("http", "https"):
        return bool(host) and url_parts.username is None and url_parts.password is None
    if url_parts.scheme in _FORBIDDEN_SCHEMES or _CUSTOM_SCHEME_PATTERN.fullmatch(url_parts.scheme) is None:
        return False
    return uri == f"{url_parts.scheme}:{REDIRECT_CALLBACK_PATH}"


def require_valid_redirects(uris: list[str], application_id: int) -> list[str]:
    """Return the redirect URIs if all are valid, or raise a form error for each invalid URI."""
    form = errors.FormErrors()
    if len(uris) > REDIRECT_URIS_MAX:
        form.add("redirect_uris", *errors.max_length(REDIRECT_URIS_MAX))
    for index, uri in enumerate(uris):
        # Custom schemes with the platform's prefix belong to the application whose ID they contain.
        is_reserved = uri.startswith(f"{REDIRECT_SCHEME_PREFIX}-") and uri != standard_redirect(application_id)
        if is_reserved or not is_valid_redirect(uri):
            form.add(("redirect_uris", index), *INVALID_REDIRECT_ERROR)
        elif uri in uris[:index]:
            form.add(("redirect_uris", index), *errors.duplicate())
    form.raise_if_any()
    return uris
