"""Rows of guild templates."""

from typing import NamedTuple

from hubbub.server.core.store import Tx, places


class TemplateRow(NamedTuple):
    """A template as we keep it; a guild has at most one."""

    code: str
    guild_id: int
    name: str
    description: str | None
    usage_count: int
    creator_id: int
    created_ms: int
    updated_ms: int
    snapshot: str
    """`TemplateGuild` as JSON."""


COLUMNS = ", ".join(TemplateRow._fields)


def find(tx: Tx, code: str) -> TemplateRow | None:
    """A template, or None."""
    return tx.find(TemplateRow, f"SELECT {COLUMNS} FROM guild_templates WHERE code = ?", code)


def find_of_guild(tx: Tx, guild_id: int) -> TemplateRow | None:
    """A guild's template, or None."""
    return tx.find(TemplateRow, f"SELECT {COLUMNS} FROM guild_templates WHERE guild_id = ?", guild_id)


def insert(tx: Tx, row: TemplateRow) -> None:
    """Keep a new template."""
    tx.run(f"INSERT INTO guild_templates ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: TemplateRow) -> None:
    """Keep what changed of a template."""
    tx.run(
        "UPDATE guild_templates SET name = ?, description = ?, updated_ms = ?, snapshot = ? WHERE code = ?",
        row.name,
        row.description,
        row.updated_ms,
        row.snapshot,
        row.code,
    )


def use(tx: Tx, code: str) -> None:
    """Count one more guild made from it."""
    tx.run("UPDATE guild_templates SET usage_count = usage_count + 1 WHERE code = ?", code)


def delete(tx: Tx, code: str) -> None:
    """Forget a template."""
    tx.run("DELETE FROM guild_templates WHERE code = ?", code)


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Forget the template of a guild that is going."""
    tx.run("DELETE FROM guild_templates WHERE guild_id = ?", guild_id)
