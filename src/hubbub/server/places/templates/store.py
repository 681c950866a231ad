"""SQL for the guild_templates table."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("guild_templates",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="guild_templates.creator_id", erasure=Erasure.KEPT, reason=GUILD_RECORD, export="guild_templates"
    ),
)
"""Columns of these tables that contain IDs of users."""


class TemplateRow(NamedTuple):
    """A template that was created from a guild. A guild has at most one."""

    code: str
    guild_id: int
    name: str
    description: str | None
    usage_count: int
    creator_id: int
    created_ms: int
    updated_ms: int
    snapshot: str
    """JSON of `TemplateGuild`."""


COLUMNS = ", ".join(TemplateRow._fields)


def find(tx: Tx, code: str) -> TemplateRow | None:
    return tx.find(TemplateRow, f"SELECT {COLUMNS} FROM guild_templates WHERE code = ?", code)


def find_guild_template(tx: Tx, guild_id: int) -> TemplateRow | None:
    return tx.find(TemplateRow, f"SELECT {COLUMNS} FROM guild_templates WHERE guild_id = ?", guild_id)


def list_by_creator(tx: Tx, user_id: int) -> list[TemplateRow]:
    """Return the templates that a user created, oldest first."""
    return tx.fetch(
        TemplateRow, f"SELECT {COLUMNS} FROM guild_templates WHERE creator_id = ? ORDER BY created_ms, code", user_id
    )


def insert(tx: Tx, row: TemplateRow) -> None:
    tx.run(f"INSERT INTO guild_templates ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: TemplateRow) -> None:
    """Update the mutable columns of a template."""
    tx.run(
        "UPDATE guild_templates SET name = ?, description = ?, updated_ms = ?, snapshot = ? WHERE code = ?",
        row.name,
        row.description,
        row.updated_ms,
        row.snapshot,
        row.code,
    )


def increment_usage_count(tx: Tx, code: str) -> None:
    tx.run("UPDATE guild_templates SET usage_count = usage_count + 1 WHERE code = ?", code)


def delete(tx: Tx, code: str) -> None:
    tx.run("DELETE FROM guild_templates WHERE code = ?", code)


def delete_guild_template(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM guild_templates WHERE guild_id = ?", guild_id)
