"""SQL for pinned messages, read from the messages table through a partial index."""

from typing import Final

from hubbub.server.core.store import Tx
from hubbub.server.talk.messages import MessageRow

READS: Final = {
    "messages": "pins are a column of messages, with an index of their own",
}
"""Tables of other slices that this slice reads, with the reason."""


_COLUMNS: Final = ", ".join(MessageRow._fields)


def count(tx: Tx, channel_id: int) -> int:
    """Return the number of pinned messages in a channel."""
    return int(
        tx.value("SELECT COUNT(*) FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL", channel_id) or 0
    )


def find_last_pin_ms(tx: Tx, channel_id: int) -> int | None:
    """Return the time of the channel's most recent pin in Unix milliseconds, or None."""
    pinned_ms: int | None = tx.value(
        "SELECT MAX(pinned_ms) FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL", channel_id
    )
    return pinned_ms


def list_newest(tx: Tx, channel_id: int, limit: int, before_ms: int | None = None) -> list[MessageRow]:
    """Return a channel's pinned messages, most recent pin first.

    `before_ms` (Unix milliseconds) restricts the list to messages pinned earlier."""
    condition, parameters = ("", ()) if before_ms is None else (" AND pinned_ms < ?", (before_ms,))
    return tx.fetch(
        MessageRow,
        f"SELECT {_COLUMNS} FROM messages WHERE channel_id = ? AND pinned_ms IS NOT NULL{condition} "
        "ORDER BY pinned_ms DESC, id DESC LIMIT ?",
        channel_id,
        *parameters,
        limit,
    )
