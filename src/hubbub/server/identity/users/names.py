"""Names of users, bots and applications: validation, and lookup of users."""

import re

from hubbub.protocol import errors
from hubbub.protocol.resources import users as wire
from hubbub.server.identity.users.store import find_by_username, search

__all__ = ["clean_name", "find_by_username", "require_bot_name", "require_username", "search"]
"""The interface for other slices."""

_FORBIDDEN_TEXTS = ("@", "#", ":", "```")
_USERNAME_PATTERN = re.compile(r"[a-z0-9._]+", re.ASCII)
_RESERVED_NAMES = frozenset({"everyone", "here"})


def clean_name(text: str) -> str:
    """Return a name without leading and trailing white space, and with other white space reduced to single spaces."""
    return re.sub(r"\s+", " ", text).strip()


def require_username(text: str) -> str:
    """Return the username of a user to store, in lowercase, or raise a form error.

    It consists of ASCII letters, digits, dots and underscores, without two dots in a row."""
    name = require_bot_name(text, "username").lower()
    if _USERNAME_PATTERN.fullmatch(name) is None or ".." in name:
        raise errors.invalid("username", "USERNAME_INVALID", "Use only letters, digits, dots and underscores.")
    return name


def require_bot_name(text: str, path: str) -> str:
    """Return the name of a bot or application to store, or raise a form error at `path` (spec/http.md#3.7)."""
    name = clean_name(text)
    if not wire.USERNAME_MIN <= len(name) <= wire.USERNAME_MAX:
        raise errors.invalid(path, *errors.bad_length(wire.USERNAME_MIN, wire.USERNAME_MAX))
    if name.lower() in _RESERVED_NAMES or any(forbidden_text in name for forbidden_text in _FORBIDDEN_TEXTS):
        raise errors.invalid(path, "USERNAME_INVALID", "Username is invalid.")
    return name
