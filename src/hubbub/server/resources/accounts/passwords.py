"""Passwords: argon2id, and a comparison that takes as long for an unknown name as for a known one."""

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_HASHER = PasswordHasher()

# What a login without an account is compared with, so that its time tells nothing (user enumeration).
_NOBODY = _HASHER.hash("nobody has this password")


def hash_password(password: str) -> str:
    """The text to keep."""
    return _HASHER.hash(password)


def verify(kept: str | None, password: str) -> bool:
    """Whether the password is the one; with nothing kept it takes the same time and is never."""
    try:
        _HASHER.verify(kept if kept is not None else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None
