"""SQL for imports, the IDs that they assign, placeholder accounts, and the messages that refer to them."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("import_ids", "imports", "placeholder_messages", "placeholders")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="imports.owner_id", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD),
    PersonalColumn(
        column="placeholder_messages.user_id",
        erasure=Erasure.KEPT,
        reason="A placeholder account of an import.",
        omission="A placeholder account has no login.",
    ),
    PersonalColumn(column="placeholders.claimed_by", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD),
    PersonalColumn(
        column="placeholders.user_id",
        erasure=Erasure.KEPT,
        reason="A placeholder account of an import.",
        omission="A placeholder account has no login.",
    ),
)
"""Columns of these tables that contain IDs of users."""


class ImportRow(NamedTuple):
    """An import of a guild file, running or done."""

    id: int
    digest: str
    """SHA-256 of the imported file."""
    format: str
    owner_id: int
    guild_id: int
    """ID of the guild that the import creates; 0 until it is known."""
    state: str
    """`running` or `done`."""
    stage: int
    """Number of the stage that runs."""
    position: int
    """Number of records that the stage has processed."""
    created_ms: int
    completed_ms: int | None = None


class PlaceholderRow(NamedTuple):
    """A placeholder account of an imported guild, and the user who claimed it."""

    user_id: int
    guild_id: int
    username: str
    """Name of the user on the server that the guild came from."""
    global_name: str | None
    """Display name of the user on the server that the guild came from, or None."""
    code_hash: bytes
    claimed_by: int | None = None
    """ID of the user who claimed the account, or None."""
    claimed_ms: int | None = None


_IMPORT_COLUMNS: Final = ", ".join(ImportRow._fields)
_PLACEHOLDER_COLUMNS: Final = ", ".join(PlaceholderRow._fields)


# Imports


def find_import(tx: Tx, digest: str, owner_id: int) -> ImportRow | None:
    """Return the import of a file for an owner, or None."""
    sql = f"SELECT {_IMPORT_COLUMNS} FROM imports WHERE digest = ? AND owner_id = ?"
    return tx.find(ImportRow, sql, digest, owner_id)


def insert_import(tx: Tx, row: ImportRow) -> None:
    tx.run(f"INSERT INTO imports ({_IMPORT_COLUMNS}) VALUES ({placeholders(row)})", *row)


def set_progress(tx: Tx, import_id: int, old_progress: tuple[int, int], new_progress: tuple[int, int]) -> bool:
    """Store the progress of an import as stage and position; return False if the stored progress is not `old_progress`."""
    sql = "UPDATE imports SET stage = ?, position = ? WHERE id = ? AND stage = ? AND position = ?"
    return tx.run(sql, *new_progress, import_id, *old_progress) == 1


def set_guild(tx: Tx, import_id: int, guild_id: int) -> None:
    """Store the ID of the guild that an import creates."""
    tx.run("UPDATE imports SET guild_id = ? WHERE id = ?", guild_id, import_id)


def complete(tx: Tx, import_id: int, now_ms: int) -> None:
    """Mark an import as done."""
    tx.run("UPDATE imports SET state = 'done', completed_ms = ? WHERE id = ?", now_ms, import_id)


def delete_guild_imports(tx: Tx, guild_id: int) -> None:
    """Delete the imports of a guild, so that the same file can be imported again; the IDs stay assigned."""
    tx.run("DELETE FROM imports WHERE guild_id = ?", guild_id)


# IDs


def find_new_ids(tx: Tx, import_id: int, old_ids: Collection[int]) -> dict[int, int]:
    """Return the new IDs of objects by their old ID; objects without a new ID are absent."""
    new_ids_by_old_id: dict[int, int] = {}
    for batch in batches(old_ids):
        sql = f"SELECT old_id, new_id FROM import_ids WHERE import_id = ? AND old_id IN ({placeholders(batch)})"
        new_ids_by_old_id.update(tx.all(sql, import_id, *batch))
    return new_ids_by_old_id


def find_taken_ids(tx: Tx, new_ids: Iterable[int]) -> set[int]:
    """Return the IDs among `new_ids` that an import has assigned."""
    taken_ids: set[int] = set()
    for batch in batches(new_ids):
        sql = f"SELECT new_id FROM import_ids WHERE new_id IN ({placeholders(batch)})"
        taken_ids.update(row[0] for row in tx.all(sql, *batch))
    return taken_ids


def find_highest_id(tx: Tx, first_id: int, end_id: int) -> int | None:
    """Return the highest assigned ID from `first_id` up to but not including `end_id`, or None."""
    highest_id: int | None = tx.value(
        "SELECT MAX(new_id) FROM import_ids WHERE new_id >= ? AND new_id < ?", first_id, end_id
    )
    return highest_id


def insert_ids(tx: Tx, import_id: int, id_pairs: Sequence[tuple[int, int]]) -> None:
    """Assign new IDs; `id_pairs` contains the old and the new ID of each object."""
    if id_pairs:
        tx.run_many(
            "INSERT INTO import_ids (import_id, old_id, new_id) VALUES (?, ?, ?)",
            [(import_id, old_id, new_id) for old_id, new_id in id_pairs],
        )


# Placeholders


def insert_placeholders(tx: Tx, rows: Sequence[PlaceholderRow]) -> None:
    """Insert placeholder accounts; existing rows stay unchanged."""
    if rows:
        tx.run_many(
            f"INSERT INTO placeholders ({_PLACEHOLDER_COLUMNS}) VALUES ({placeholders(rows[0])}) ON CONFLICT DO NOTHING",
            rows,
        )


def find_placeholder(tx: Tx, user_id: int) -> PlaceholderRow | None:
    """Return a placeholder account, claimed or not, or None if the account is not a placeholder account."""
    return tx.find(PlaceholderRow, f"SELECT {_PLACEHOLDER_COLUMNS} FROM placeholders WHERE user_id = ?", user_id)


def find_by_code(tx: Tx, code_hash: bytes) -> PlaceholderRow | None:
    """Return the placeholder account with the hash of a claim code, or None."""
    return tx.find(PlaceholderRow, f"SELECT {_PLACEHOLDER_COLUMNS} FROM placeholders WHERE code_hash = ?", code_hash)


def list_placeholders(tx: Tx, guild_id: int, *, after_id: int, limit: int) -> list[PlaceholderRow]:
    """Return the placeholder accounts of a guild with IDs above `after_id`, by ascending ID."""
    return tx.fetch(
        PlaceholderRow,
        f"SELECT {_PLACEHOLDER_COLUMNS} FROM placeholders WHERE guild_id = ? AND user_id > ? ORDER BY user_id LIMIT ?",
        guild_id,
        after_id,
        limit,
    )


def find_source_names(tx: Tx, user_ids: Iterable[int]) -> dict[int, tuple[str, str | None]]:
    """Return the name and display name that users of placeholder accounts had on their server, by ID of the account."""
    names_by_id: dict[int, tuple[str, str | None]] = {}
    for batch in batches(user_ids):
        sql = f"SELECT user_id, username, global_name FROM placeholders WHERE user_id IN ({placeholders(batch)})"
        names_by_id.update((row[0], (row[1], row[2])) for row in tx.all(sql, *batch))
    return names_by_id


def claim(tx: Tx, user_id: int, claimed_by: int, now_ms: int) -> None:
    """Record the user who claimed a placeholder account."""
    tx.run("UPDATE placeholders SET claimed_by = ?, claimed_ms = ? WHERE user_id = ?", claimed_by, now_ms, user_id)


# References of messages to placeholder accounts


class ImportedMessageKey(NamedTuple):
    """Channel and ID of a message that mentions a placeholder account, or that the account wrote, reacted to or voted in."""

    channel_id: int
    message_id: int


def insert_message_references(tx: Tx, rows: Sequence[tuple[int, int, int]]) -> None:
    """Record that messages refer to placeholder accounts. A row has the IDs of account, message and channel."""
    if rows:
        tx.run_many(
            "INSERT INTO placeholder_messages (user_id, message_id, channel_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            rows,
        )


def list_referencing_messages(tx: Tx, user_id: int, limit: int) -> list[ImportedMessageKey]:
    """Return at most `limit` messages that refer to a placeholder account, oldest first."""
    return tx.fetch(
        ImportedMessageKey,
        "SELECT channel_id, message_id FROM placeholder_messages WHERE user_id = ? ORDER BY message_id LIMIT ?",
        user_id,
        limit,
    )


def delete_message_references(tx: Tx, user_id: int, message_ids: Collection[int]) -> None:
    """Delete the records of messages that no longer refer to a placeholder account."""
    for batch in batches(message_ids):
        sql = f"DELETE FROM placeholder_messages WHERE user_id = ? AND message_id IN ({placeholders(batch)})"
        tx.run(sql, user_id, *batch)
