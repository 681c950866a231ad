"""SQL for the vanity_urls table."""

from typing import Final, NamedTuple

from hubbub.server.core.store import Tx

TABLES: Final = ("vanity_urls",)
"""Tables that only this slice writes."""
READS: Final = {
    "invites": "a vanity code must not equal an invite code",
}
"""Tables of other slices that this slice reads, with the reason."""


class VanityRow(NamedTuple):
    """The vanity code of a guild. A guild has at most one."""

    code: str
    """The code in lower case."""
    guild_id: int
    uses: int


def find(tx: Tx, code: str) -> VanityRow | None:
    """Return the row of a code, ignoring case, or None."""
    return tx.find(VanityRow, "SELECT code, guild_id, uses FROM vanity_urls WHERE code = ?", code.lower())


def find_guild_code(tx: Tx, guild_id: int) -> VanityRow | None:
    return tx.find(VanityRow, "SELECT code, guild_id, uses FROM vanity_urls WHERE guild_id = ?", guild_id)


def is_code_taken(tx: Tx, guild_id: int, code: str) -> bool:
    """Return whether another guild or an invite already uses a code."""
    if tx.value("SELECT 1 FROM vanity_urls WHERE code = ? AND guild_id <> ?", code, guild_id) is not None:
        return True
    return tx.value("SELECT 1 FROM invites WHERE code = ?", code) is not None


def put(tx: Tx, guild_id: int, code: str | None) -> None:
    """Replace a guild's code, or delete it if `code` is None. A new code starts with zero uses."""
    delete_guild_code(tx, guild_id)
    if code is not None:
        tx.run("INSERT INTO vanity_urls (code, guild_id) VALUES (?, ?)", code, guild_id)


def increment_uses(tx: Tx, code: str) -> None:
    """Increment the number of uses of a code, ignoring case."""
    tx.run("UPDATE vanity_urls SET uses = uses + 1 WHERE code = ?", code.lower())


def delete_guild_code(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM vanity_urls WHERE guild_id = ?", guild_id)
