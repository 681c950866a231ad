"""Passwords: argon2id, and a comparison that takes as long for an unknown name as for a known one."""

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_HASHER = PasswordHasher()

# What a login without an account is compared with, so that its time tells nothing (user enumeration): no password has this
# hash, and it costs as much as one of ours.
_NOBODY = f"$argon2id$v=19$m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}${'A' * 22}${'A' * 43}"


def hash_password(password: str) -> str:
    """The text to keep."""
    return _HASHER.hash(password)


def hash_lightly(password: str, *, salt: bytes) -> str:
    """The text to keep of a rehearsal's password, which is no secret: made at once, and the same for the same salt."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password, salt=salt)


def verify(kept: str | None, password: str) -> bool:
    """Whether the password is the one; with nothing kept it takes the same time and is never."""
    try:
        _HASHER.verify(kept if kept is not None else _NOBODY, password)
    except (VerificationError, InvalidHashError):
        return False
    return kept is not None
