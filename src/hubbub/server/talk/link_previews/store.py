"""SQL for the cache of link previews."""

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.resources.embeds import Embed
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("link_previews",)
"""Tables that only this slice writes."""

_DELETED_ROWS_MAX: Final = 100_000
"""Maximum number of surplus rows that one trim deletes."""


class _PreviewRow(NamedTuple):
    url_hash: str
    embed: str | None
    """JSON of an Embed; None if the link has no preview."""


def hash_link(link: str) -> str:
    """Return the key of a link in the cache; the fragment, which is not sent to the server, does not matter."""
    return hashlib.sha256(link.partition("#")[0].encode()).hexdigest()


def find_many(tx: Tx, links: Iterable[str], now_ms: int) -> dict[str, Embed | None]:
    """Return the unexpired previews in the cache by link; None stands for a link without a preview."""
    links_by_hash: dict[str, list[str]] = {}
    for link in links:
        links_by_hash.setdefault(hash_link(link), []).append(link)
    if not links_by_hash:
        return {}
    rows = tx.fetch(
        _PreviewRow,
        f"SELECT url_hash, embed FROM link_previews WHERE url_hash IN ({placeholders(links_by_hash)}) AND expires_ms > ?",
        *links_by_hash,
        now_ms,
    )
    return {
        link: None if row.embed is None else codec.decode(row.embed, Embed)
        for row in rows
        for link in links_by_hash[row.url_hash]
    }


def replace(tx: Tx, link: str, embed: Embed | None, expires_ms: int) -> None:
    """Store the preview of a link, or that it has none, until `expires_ms` (Unix milliseconds)."""
    tx.run(
        "INSERT INTO link_previews (url_hash, embed, expires_ms) VALUES (?, ?, ?) "
        "ON CONFLICT (url_hash) DO UPDATE SET embed = excluded.embed, expires_ms = excluded.expires_ms",
        hash_link(link),
        None if embed is None else codec.encode(embed).decode(),
        expires_ms,
    )


def trim(tx: Tx, now_ms: int, rows_max: int) -> bool:
    """Delete the expired previews. If more than `rows_max` remain, also delete those that expire first.

    Return whether any remain."""
    tx.run("DELETE FROM link_previews WHERE expires_ms <= ?", now_ms)
    tx.run(
        "DELETE FROM link_previews WHERE url_hash IN ("
        "SELECT url_hash FROM link_previews ORDER BY expires_ms DESC, url_hash LIMIT ? OFFSET ?)",
        _DELETED_ROWS_MAX,
        rows_max,
    )
    return tx.value("SELECT 1 FROM link_previews LIMIT 1") is not None
