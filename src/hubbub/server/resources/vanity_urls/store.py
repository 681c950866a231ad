"""Rows of vanity URLs."""

from typing import NamedTuple

from hubbub.server.core.store import Tx


class VanityRow(NamedTuple):
    """A guild's own code, in lower case."""

    code: str
    guild_id: int
    uses: int


def find(tx: Tx, code: str) -> VanityRow | None:
    """The guild that a code leads to, whatever its case, or None."""
    return tx.find(VanityRow, "SELECT code, guild_id, uses FROM vanity_urls WHERE code = ?", code.lower())


def find_of_guild(tx: Tx, guild_id: int) -> VanityRow | None:
    """A guild's own code, or None."""
    return tx.find(VanityRow, "SELECT code, guild_id, uses FROM vanity_urls WHERE guild_id = ?", guild_id)


def is_taken(tx: Tx, guild_id: int, code: str) -> bool:
    """Whether a code leads somewhere else already: it is another guild's own, or an invite's."""
    if tx.value("SELECT 1 FROM vanity_urls WHERE code = ? AND guild_id <> ?", code, guild_id) is not None:
        return True
    return tx.value("SELECT 1 FROM invites WHERE code = ?", code) is not None


def put(tx: Tx, guild_id: int, code: str | None) -> None:
    """Give a guild a code of its own, or none; a new code was never used."""
    delete_of_guild(tx, guild_id)
    if code is not None:
        tx.run("INSERT INTO vanity_urls (code, guild_id) VALUES (?, ?)", code, guild_id)


def use(tx: Tx, code: str) -> None:
    """Count one more who came by it."""
    tx.run("UPDATE vanity_urls SET uses = uses + 1 WHERE code = ?", code.lower())


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Take a guild's code away."""
    tx.run("DELETE FROM vanity_urls WHERE guild_id = ?", guild_id)
