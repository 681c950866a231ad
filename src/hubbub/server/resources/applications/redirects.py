"""Where an application may have people sent back to: what can be registered at all."""

import re
from typing import Final
from urllib.parse import urlsplit

from hubbub.protocol import errors
from hubbub.protocol.resources.applications import REDIRECT_URIS_MAX
from hubbub.protocol.resources.oauth2 import CUSTOM_REDIRECT, STANDARD_SCHEME

# Schemes that a browser would run or read instead of leaving.
_NEVER: Final = frozenset({"javascript", "data", "vbscript", "file", "blob", "about", "filesystem", "view-source"})
_CUSTOM: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_PRINTABLE: Final = re.compile(r"[\x21-\x7e]{1,2048}", re.ASCII)

INVALID: Final = (
    "REDIRECT_URI_INVALID",
    "Not a redirect that can be registered: http or https without fragment and password, or scheme:/authorize/callback.",
)


def standard_redirect(application_id: int) -> str:
    """The redirect that every application has: a scheme of its own on a phone."""
    return f"{STANDARD_SCHEME}-{int(application_id)}:{CUSTOM_REDIRECT}"


def is_sound_redirect(uri: str) -> bool:
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


def require_redirects(uris: list[str], application_id: int) -> list[str]:
    """Redirects as they will be registered, or a form error at each that cannot be."""
    form = errors.FormErrors()
    if len(uris) > REDIRECT_URIS_MAX:
        form.add("redirect_uris", *errors.max_length(REDIRECT_URIS_MAX))
    for number, uri in enumerate(uris):
        # The platform's own kind of scheme says whose it is.
        foreign = uri.startswith(f"{STANDARD_SCHEME}-") and uri != standard_redirect(application_id)
        if foreign or not is_sound_redirect(uri):
            form.add(("redirect_uris", number), *INVALID)
        elif uri in uris[:number]:
            form.add(("redirect_uris", number), *errors.duplicate())
    form.raise_if_any()
    return uris
