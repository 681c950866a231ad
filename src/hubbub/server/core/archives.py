"""Declarations of the tables that an archive of a guild contains.

A slice lists its tables in `archive=` of its `Slice`. `hubbub.server.transfer` writes them to archives and reads them again,
so a slice needs no code of its own for exports and imports (decisions/0129). The declaration of the owner carries the
statements: only this module builds SQL with the name of an archived table.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from hubbub.protocol.ids import LATEST_MS
from hubbub.server.core.store import Tx, placeholders

TEXT_MAX: Final = 4000
"""Default maximum length of a text in an archive, in characters."""
PAGE_SIZE: Final = 500
"""Number of rows that one query of an export returns."""


class ColumnKind(StrEnum):
    """Kind of a column, which decides how its values are written to an archive and converted by an import."""

    ID = "id"
    """ID of the row itself, or of an object that need not be in the archive. It is replaced by a new ID."""
    REFERENCE = "reference"
    """ID of another row of the archive. It is replaced by the new ID of that row."""
    USER = "user"
    """ID of a user. The archive contains the user, and an import creates a placeholder account."""
    GUILD = "guild"
    """ID of the guild. It is not in the archive."""
    NUMBER = "number"
    REAL = "real"
    TEXT = "text"
    MARKDOWN = "markdown"
    """Text that may mention users, roles, channels, emoji and messages by ID."""
    JSON = "json"
    """JSON of a known type, in which IDs are replaced."""
    IMAGE = "image"
    """Hash of an image in the file store."""
    SOUND = "sound"
    """Hash of a sound in the file store."""


class ArchiveColumn(msgspec.Struct, frozen=True):
    """The declaration of a column: how an archive contains its values, and which values an import accepts."""

    kind: ColumnKind
    is_nullable: bool = False
    max: int = TEXT_MAX
    """Maximum length of a text, or maximum of a number."""
    type: Any = None
    """Type of a JSON value."""
    default: Any = None
    """Value of a column that the record does not contain; None if the record must contain it or the column is nullable."""


class ArchiveTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table whose rows of one guild are in an archive.

    Rows are selected by `guild_column`, or by `parent_column` if the table has a parent. Messages are selected by channel."""

    name: str
    """Name of the table and of its file in the archive, or of the field of the parent's records."""
    columns: Mapping[str, ArchiveColumn]
    key: tuple[str, ...]
    """Columns that order the rows, usually the primary key without the guild."""
    parent: str = ""
    """Name of the table to whose records the rows belong; empty for a table with its own file."""
    parent_column: str = ""
    """Column with the ID of the parent's record; empty for a table without a parent."""
    guild_column: str = "guild_id"
    """Column with the ID of the guild; empty for messages, which are selected by channel. Not used for a table with a parent."""
    is_optional: bool = False
    """Whether an export contains the table only if the operator requests it."""


_INTEGER_MAX: Final = (1 << 63) - 1

ID: Final = ArchiveColumn(ColumnKind.ID)
OPTIONAL_ID: Final = ArchiveColumn(ColumnKind.ID, True)
REFERENCE: Final = ArchiveColumn(ColumnKind.REFERENCE)
OPTIONAL_REFERENCE: Final = ArchiveColumn(ColumnKind.REFERENCE, True)
USER: Final = ArchiveColumn(ColumnKind.USER)
OPTIONAL_USER: Final = ArchiveColumn(ColumnKind.USER, True)
GUILD: Final = ArchiveColumn(ColumnKind.GUILD)
OPTIONAL_IMAGE: Final = ArchiveColumn(ColumnKind.IMAGE, True, 64)
SOUND: Final = ArchiveColumn(ColumnKind.SOUND, False, 64)
REAL: Final = ArchiveColumn(ColumnKind.REAL)
FLAG: Final = ArchiveColumn(ColumnKind.NUMBER, False, 1, default=0)
"""A boolean as 0 or 1."""
TIME: Final = ArchiveColumn(ColumnKind.NUMBER, False, LATEST_MS)
"""Unix milliseconds."""
OPTIONAL_TIME: Final = ArchiveColumn(ColumnKind.NUMBER, True, LATEST_MS)


def number(maximum: int = _INTEGER_MAX, *, default: int = 0) -> ArchiveColumn:
    """Return a column of numbers from 0 to `maximum`."""
    return ArchiveColumn(ColumnKind.NUMBER, False, maximum, default=default)


def optional_number(maximum: int = _INTEGER_MAX) -> ArchiveColumn:
    """Return a column of numbers from 0 to `maximum`, or null."""
    return ArchiveColumn(ColumnKind.NUMBER, True, maximum)


def text(maximum: int = TEXT_MAX, *, default: str | None = None) -> ArchiveColumn:
    """Return a column of texts with at most `maximum` characters."""
    return ArchiveColumn(ColumnKind.TEXT, False, maximum, default=default)


def optional_text(maximum: int = TEXT_MAX) -> ArchiveColumn:
    """Return a column of texts with at most `maximum` characters, or null."""
    return ArchiveColumn(ColumnKind.TEXT, True, maximum)


def markdown(maximum: int = TEXT_MAX) -> ArchiveColumn:
    """Return a column of texts with at most `maximum` characters that may mention objects by ID."""
    return ArchiveColumn(ColumnKind.MARKDOWN, False, maximum)


def optional_markdown(maximum: int = TEXT_MAX) -> ArchiveColumn:
    """Return a column of texts with at most `maximum` characters that may mention objects by ID, or null."""
    return ArchiveColumn(ColumnKind.MARKDOWN, True, maximum)


def json(value_type: Any) -> ArchiveColumn:
    """Return a column with JSON of the type `value_type`."""
    return ArchiveColumn(ColumnKind.JSON, type=value_type)


def optional_json(value_type: Any) -> ArchiveColumn:
    """Return a column with JSON of the type `value_type`, or null."""
    return ArchiveColumn(ColumnKind.JSON, True, type=value_type)


def insert_archived(tx: Tx, table: ArchiveTable, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows, with values in the order of the columns, into a table. A row whose key exists is left out.

    An invalid archive may contain a row twice."""
    tx.run_many(
        f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({placeholders(table.columns)}) "
        "ON CONFLICT DO NOTHING",
        rows,
    )


def iter_archived_pages(
    tx: Tx, table: ArchiveTable, column: str, column_value: int, *, order: tuple[str, ...] | None = None
) -> Iterator[Sequence[Sequence[Any]]]:
    """Yield the rows with a value in a column, in pages ordered by `order`, by default the key of the table."""
    column_names = list(table.columns)
    key_columns = order or table.key
    key_indexes = [column_names.index(name) for name in key_columns]
    select = f"SELECT {', '.join(column_names)} FROM {table.name} WHERE {column} = ?"
    suffix = f"ORDER BY {', '.join(key_columns)} LIMIT {PAGE_SIZE}"
    page = tx.all(f"{select} {suffix}", column_value)
    while page:
        yield page
        if len(page) < PAGE_SIZE:
            return
        last_key = [page[-1][index] for index in key_indexes]
        page = tx.all(
            f"{select} AND ({', '.join(key_columns)}) > ({placeholders(key_columns)}) {suffix}", column_value, *last_key
        )


def list_archived_children(tx: Tx, table: ArchiveTable, parent_ids: Sequence[int]) -> Sequence[Sequence[Any]]:
    """Return the rows of a child table that belong to records of its parent table, in the order of the key."""
    return tx.all(
        f"SELECT {', '.join(table.columns)} FROM {table.name} "
        f"WHERE {table.parent_column} IN ({placeholders(parent_ids)}) ORDER BY {', '.join(table.key)}",
        *parent_ids,
    )
