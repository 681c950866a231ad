"""Which messages are pinned, read from the messages themselves by their own small index."""

from typing import Final

from hubbub.server.core.store import Tx
from hubbub.server.resources.messages import MessageRow

_COLUMNS: Final = ", ".join(MessageRow._fields)


def count(tx: Tx, channel_id: int) -> int:
    """How many messages of a channel are pinned."""
    return int(
        tx.value("SELECT COUNT(*) FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL", channel_id) or 0
    )


def newest_ms(tx: Tx, channel_id: int) -> int | None:
    """When the latest of a channel's pins was made."""
    found: int | None = tx.value(
        "SELECT MAX(pinned_ms) FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL", channel_id
    )
    return found


def list_newest(tx: Tx, channel_id: int, limit: int, before_ms: int | None = None) -> list[MessageRow]:
    """A channel's pinned messages (pinned before a moment), the latest pin first."""
    bound, parameters = ("", ()) if before_ms is None else (" AND pinned_ms < ?", (before_ms,))
    return tx.fetch(
        MessageRow,
        f"SELECT {_COLUMNS} FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL{bound} "
        "ORDER BY pinned_ms DESC, id DESC LIMIT ?",
        channel_id,
        *parameters,
        limit,
    )
