"""SQL for activity links: URLs that open an activity and pass a custom ID to it."""

from typing import Final, NamedTuple

from hubbub.protocol.resources import activity_links as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("activity_links",)
"""Tables that only this slice writes."""


class LinkRow(NamedTuple):
    """A link that opens an activity."""

    id: int
    application_id: int
    type: int
    """`LINK_TYPE_MANAGED` or `LINK_TYPE_QUICK` of `protocol.resources.activity_links`."""
    title: str
    description: str
    custom_id: str | None
    """Value passed to the activity, or None."""
    image: str
    """The hash of the image."""
    expires_ms: int | None
    """Expiry in Unix milliseconds; None for a managed link."""


_COLUMNS = ", ".join(LinkRow._fields)


def find(tx: Tx, application_id: int, link_type: int, link_id: int, now_ms: int) -> LinkRow | None:
    """Return the unexpired link of an application with a type and an ID, or None. `now_ms` is in Unix milliseconds."""
    return tx.find(
        LinkRow,
        f"SELECT {_COLUMNS} FROM activity_links WHERE id = ? AND application_id = ? AND type = ? "
        "AND (expires_ms IS NULL OR expires_ms > ?)",
        link_id,
        application_id,
        link_type,
        now_ms,
    )


def list_application_links(tx: Tx, application_id: int, link_type: int) -> list[LinkRow]:
    """List the links of an application of the type `link_type`, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM activity_links WHERE application_id = ? AND type = ? ORDER BY id"
    return tx.fetch(LinkRow, sql, application_id, link_type)


def count(tx: Tx, application_id: int, link_type: int) -> int:
    """Return the number of links of an application of the type `link_type`."""
    sql = "SELECT COUNT(*) FROM activity_links WHERE application_id = ? AND type = ?"
    return int(tx.value(sql, application_id, link_type))


def insert(tx: Tx, row: LinkRow) -> None:
    tx.run(f"INSERT INTO activity_links ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: LinkRow) -> None:
    """Update every column of a link."""
    assignments = ", ".join(f"{name} = ?" for name in LinkRow._fields[1:])
    tx.run(f"UPDATE activity_links SET {assignments} WHERE id = ?", *row[1:], row.id)


def delete(tx: Tx, link_id: int) -> None:
    tx.run("DELETE FROM activity_links WHERE id = ?", link_id)


def delete_expired(tx: Tx, application_id: int, now_ms: int) -> None:
    """Delete the expired links of an application, all of which are quick links."""
    sql = "DELETE FROM activity_links WHERE application_id = ? AND type = ? AND expires_ms <= ?"
    tx.run(sql, application_id, wire.LINK_TYPE_QUICK, now_ms)


def delete_application_links(tx: Tx, application_id: int) -> None:
    tx.run("DELETE FROM activity_links WHERE application_id = ?", application_id)


def find_image_key(tx: Tx, link_id: int) -> str | None:
    """Return the file store key of a link's image, or None."""
    image: str | None = tx.value("SELECT image FROM activity_links WHERE id = ?", link_id)
    return None if image is None else cdn_urls.image_key(image)
