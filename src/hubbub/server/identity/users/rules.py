"""Validation of usernames."""

import re

from hubbub.protocol import errors
from hubbub.protocol.resources import users as wire

_FORBIDDEN_TEXTS = ("@", "#", ":", "```")
_RESERVED_NAMES = frozenset({"everyone", "here"})


def clean_name(text: str) -> str:
    """Return a name without leading and trailing white space, and with other white space reduced to single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def require_username(text: str, path: str = "username") -> str:
    """Return the username to store, or raise a form error at `path` (spec/http.md#3.7)."""
    name = clean_name(text)
    if not wire.USERNAME_MIN <= len(name) <= wire.USERNAME_MAX:
        raise errors.invalid(path, *errors.bad_length(wire.USERNAME_MIN, wire.USERNAME_MAX))
    if name.lower() in _RESERVED_NAMES or any(forbidden in name for forbidden in _FORBIDDEN_TEXTS):
        raise errors.invalid(path, "USERNAME_INVALID", "Username is invalid.")
    return name
