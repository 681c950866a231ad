"""Password hashing with argon2id, and a verification whose duration does not reveal whether the account exists."""

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

__all__ = ["hash_password", "hash_password_weakly"]
"""The interface for other slices."""

_HASHER = PasswordHasher()

# This hash is verified when the account is unknown, so that response time does not reveal which accounts exist. No
# password has this hash, and verifying it costs as much as verifying a real hash.
_DUMMY_HASH = (
    f"$argon2id$v=19$m={_HASHER.memory_cost},t={_HASHER.time_cost},p={_HASHER.parallelism}${'A' * 22}${'A' * 43}"
)


def hash_password(password: str) -> str:
    """Return the argon2id hash to store."""
    return _HASHER.hash(password)


def hash_password_weakly(password: str, *, salt: bytes) -> str:
    """Return a cheap, deterministic hash for a rehearsal's password, which is not a secret."""
    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(password, salt=salt)


def verify(stored_hash: str | None, password: str) -> bool:
    """Return whether the password matches. Without a stored hash, take the same time and return False."""
    try:
        _HASHER.verify(stored_hash if stored_hash is not None else _DUMMY_HASH, password)
    except (VerificationError, InvalidHashError):
        return False
    return stored_hash is not None
