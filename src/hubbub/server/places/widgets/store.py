"""SQL for the widget_invites table. All other widget settings are in the guild's own row."""

from typing import Final

from hubbub.server.core.store import Tx

TABLES: Final = ("widget_invites",)
"""Tables that only this slice writes."""


def find_invite_code(tx: Tx, guild_id: int) -> str | None:
    """Return the invite code of a widget, or None. The invite may have been deleted."""
    code: str | None = tx.value("SELECT code FROM widget_invites WHERE guild_id = ?", guild_id)
    return code


def put_invite_code(tx: Tx, guild_id: int, code: str | None) -> None:
    """Set or delete the invite code of a widget."""
    tx.run("DELETE FROM widget_invites WHERE guild_id = ?", guild_id)
    if code is not None:
        tx.run("INSERT INTO widget_invites (guild_id, code) VALUES (?, ?)", guild_id, code)
