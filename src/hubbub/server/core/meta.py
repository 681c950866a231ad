"""Named values of the whole platform in the table `meta`, such as random keys."""

import secrets

from hubbub.server.core.store import Tx

KEY_BYTES = 32
"""Length of a random key, which is stored in hexadecimal."""


def find(tx: Tx, name: str) -> str | None:
    """Return a stored value, or None."""
    value: str | None = tx.value("SELECT value FROM meta WHERE name = ?", name)
    return value


def insert(tx: Tx, name: str, value: str) -> None:
    """Store a value. Do nothing if the name already has one."""
    tx.run("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", name, value)


def put(tx: Tx, name: str, value: str) -> None:
    """Store a value, and replace an earlier one."""
    tx.run(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


def find_key(tx: Tx, name: str) -> bytes | None:
    """Return a random key of the platform, or None if it was not created yet."""
    stored_key = find(tx, name)
    return None if stored_key is None else bytes.fromhex(stored_key)


def find_or_create_key(tx: Tx, name: str) -> bytes:
    """Return a random key of the platform; the first use creates it and must be in a write transaction."""
    key = find_key(tx, name)
    if key is None:
        insert(tx, name, secrets.token_bytes(KEY_BYTES).hex())
        key = find_key(tx, name)
    assert key is not None
    return key
