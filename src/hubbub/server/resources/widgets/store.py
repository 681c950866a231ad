"""Which invite a guild's widget shows; everything else about it is in the guild's own row."""

from hubbub.server.core.store import Tx


def find_invite(tx: Tx, guild_id: int) -> str | None:
    """The code that a widget shows, or None; the invite may be gone."""
    code: str | None = tx.value("SELECT code FROM widget_invites WHERE guild_id = ?", guild_id)
    return code


def put_invite(tx: Tx, guild_id: int, code: str | None) -> None:
    """Keep the code that a widget shows, or none."""
    tx.run("DELETE FROM widget_invites WHERE guild_id = ?", guild_id)
    if code is not None:
        tx.run("INSERT INTO widget_invites (guild_id, code) VALUES (?, ?)", guild_id, code)
