"""What a name may be."""

import re

from hubbub.protocol import errors
from hubbub.protocol.resources import users as wire

_FORBIDDEN = ("@", "#", ":", "```")
_RESERVED = frozenset({"everyone", "here"})


def clean_name(text: str) -> str:
    """A name with its white space collapsed."""
    return re.sub(r"\s+", " ", text).strip()


def require_username(text: str, path: str = "username") -> str:
    """A username as it will be kept, or the form error that says why not (http.md 3.7)."""
    name = clean_name(text)
    if not wire.USERNAME_MIN <= len(name) <= wire.USERNAME_MAX:
        raise errors.invalid(path, *errors.bad_length(wire.USERNAME_MIN, wire.USERNAME_MAX))
    if name.lower() in _RESERVED or any(word in name for word in _FORBIDDEN):
        raise errors.invalid(path, "USERNAME_INVALID", "Username is invalid.")
    return name
