"""References in the database: to files of the file store, and between tables."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hubbub.server.core import cdn_urls

RunQuery = Callable[[str], Iterable[tuple[Any, ...]]]
"""Function that executes a query of a database and returns its rows."""

IMAGE_COLUMNS: Final = (
    ("activity_links", "image"),
    ("application_assets", "image"),
    ("applications", "cover_image"),
    ("applications", "icon"),
    ("channels", "icon"),
    ("emojis", "image"),
    ("guilds", "banner"),
    ("guilds", "discovery_splash"),
    ("guilds", "icon"),
    ("guilds", "splash"),
    ("members", "avatar"),
    ("members", "banner"),
    ("roles", "icon"),
    ("scheduled_events", "image"),
    ("stickers", "image"),
    ("teams", "icon"),
    ("users", "avatar"),
    ("users", "banner"),
    ("webhooks", "avatar"),
)
"""Columns with the name of an image in the file store, or null."""
SOUND_COLUMNS: Final = (("sounds", "file"),)
"""Columns with the name of a sound in the file store."""

PARENT_COLUMNS: Final = (
    ("accounts", "user_id", "users"),
    ("channels", "guild_id", "guilds"),
    ("member_roles", "role_id", "roles"),
    ("members", "guild_id", "guilds"),
    ("members", "user_id", "users"),
    ("roles", "guild_id", "guilds"),
)
"""Tables, columns with the ID of a row of a parent table, and parent tables.

A row is deleted at the latest in the transaction that deletes the row of its parent table. The operations maintain these
references; the schema declares no foreign keys (decisions/0003)."""

READS: Final = (
    dict.fromkeys((parent for _, _, parent in PARENT_COLUMNS), "references to their rows")
    | dict.fromkeys((table for table, _, _ in PARENT_COLUMNS), "references to parent tables")
    | dict.fromkeys((table for table, _ in (*IMAGE_COLUMNS, *SOUND_COLUMNS)), "names of files")
    | dict.fromkeys(("message_files", "ephemeral_messages"), "IDs of attached files")
)
"""Tables of slices that this module reads, with the reason.

A backup reads a database without the platform, so that no function of a slice can run on it."""


def list_file_keys(run_query: RunQuery) -> Iterator[str]:
    """Yield the key of every file that the database refers to, possibly more than once."""
    for columns, make_key in ((IMAGE_COLUMNS, cdn_urls.image_key), (SOUND_COLUMNS, cdn_urls.sound_key)):
        for table, column in columns:
            for (name,) in run_query(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL"):
                yield make_key(name)
    for (file_id,) in run_query("SELECT id FROM message_files"):
        yield cdn_urls.attachment_key(file_id)
    for (attachments,) in run_query("SELECT attachments FROM ephemeral_messages WHERE attachments IS NOT NULL"):
        for attachment in json.loads(attachments):
            yield cdn_urls.attachment_key(int(attachment["id"]))


def find_orphans(run_query: RunQuery) -> Iterator[str]:
    """Yield a description of each column with IDs of rows that do not exist."""
    for table, column, parent_table in PARENT_COLUMNS:
        [(orphan_count,)] = run_query(
            f"SELECT COUNT(*) FROM {table} WHERE {column} IS NOT NULL"
            f" AND NOT EXISTS (SELECT 1 FROM {parent_table} WHERE {parent_table}.id = {table}.{column})"
        )
        if orphan_count:
            yield f"{orphan_count} rows of {table} have a {column} that is not in {parent_table}"
