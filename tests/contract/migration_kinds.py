"""Classification of the statements of a migration by their effect on programs of the previous version.

A statement expands the schema if a program that does not know of it works as before. Every other statement contracts it,
including statements that this module does not know.
"""

import re
from collections.abc import Iterator

from hubbub.server.core.migrations import Dialect, Migration

_CREATE_TABLE_PATTERN = re.compile(r"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)", re.IGNORECASE)
_CREATE_INDEX_PATTERN = re.compile(r"CREATE (UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON (\w+)", re.IGNORECASE)
_CREATE_TRIGGER_PATTERN = re.compile(r"CREATE TRIGGER \w+ .*? ON (\w+)", re.IGNORECASE | re.DOTALL)
_ADD_COLUMN_PATTERN = re.compile(r"ALTER TABLE (\w+) ADD (?:COLUMN )?(\w+) (.*)", re.IGNORECASE | re.DOTALL)
_ALTER_TABLE_PATTERN = re.compile(r"ALTER TABLE (\w+)", re.IGNORECASE)
_ROW_CHANGE_PATTERN = re.compile(r"(?:INSERT INTO|DELETE FROM) (\w+)", re.IGNORECASE)
_UPDATE_PATTERN = re.compile(r"UPDATE (\w+) SET (.*?)(?: WHERE |$)", re.IGNORECASE | re.DOTALL)
_ASSIGNED_COLUMN_PATTERN = re.compile(r"(?:^|,)\s*(\w+)\s*=")


def contract_reasons(migration: Migration) -> list[str]:
    """Return why programs of the previous version may fail after a migration; empty if it only expands the schema."""
    dialects: tuple[Dialect, ...] = ("sqlite", "postgres")
    return sorted({reason for dialect in dialects for reason in _reasons(migration.statements(dialect))})


def _reasons(statements: list[str]) -> Iterator[str]:
    new_tables: set[str] = set()
    new_columns: set[tuple[str, str]] = set()
    for raw_statement in statements:
        statement = " ".join(raw_statement.split())
        if match := _CREATE_TABLE_PATTERN.match(statement):
            new_tables.add(match[1])
        elif match := _CREATE_INDEX_PATTERN.match(statement):
            if match[1] and match[2] not in new_tables:
                yield f"a unique index restricts the existing table {match[2]}"
        elif match := _CREATE_TRIGGER_PATTERN.match(statement):
            if match[1] not in new_tables:
                yield f"a trigger changes the writes of the existing table {match[1]}"
        elif match := _ADD_COLUMN_PATTERN.match(statement):
            new_columns.add((match[1], match[2]))
            definition = match[3].upper()
            if match[1] not in new_tables and "NOT NULL" in definition and "DEFAULT" not in definition:
                yield f"the column {match[1]}.{match[2]} is required and has no default"
            elif match[1] not in new_tables and re.search(r"\b(?:UNIQUE|REFERENCES|CHECK)\b", definition):
                yield f"the column {match[1]}.{match[2]} has a constraint"
        elif match := _UPDATE_PATTERN.match(statement):
            columns = {(match[1], column) for column in _ASSIGNED_COLUMN_PATTERN.findall(match[2])}
            if match[1] not in new_tables and (not columns or columns - new_columns):
                yield f"rows of the existing table {match[1]} change"
        elif match := _ROW_CHANGE_PATTERN.match(statement):
            if match[1] not in new_tables:
                yield f"rows of the existing table {match[1]} change"
        elif (match := _ALTER_TABLE_PATTERN.match(statement)) is None or match[1] not in new_tables:
            yield " ".join(statement.split()[:6])
