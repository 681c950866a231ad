"""Rows of every table with a column of user IDs, for tests of the deletion and the export of a user's data."""

import itertools
import sqlite3
from collections.abc import Mapping
from typing import Any, NamedTuple

from hubbub.server.core import migrations
from hubbub.server.core.call import Call
from tests.world import NOW_MS

DAY_MS = 24 * 3_600_000

JSON_VALUES: Mapping[str, str] = {
    "actions": "[]",
    "evidence": '{"name": "carol"}',
    "exempt_channels": "[]",
    "exempt_roles": "[]",
    "option_ids": "[]",
    "request_state": "{}",
    "settings": "{}",
    "snapshot": "{}",
    "trigger_metadata": "{}",
}
"""Values of required text columns that contain JSON."""

ROW_VALUES: Mapping[str, Mapping[str, Any]] = {
    "application_testers": {"state": 2},
    "audit_log": {"action_type": 1},
    "call_states": {"kind": 1},
    "channels": {
        "type": 11,
        "name": "A title",
        "archive_changed_ms": NOW_MS,
        "auto_archive_duration": 60,
        "created_ms": NOW_MS,
    },
    "device_codes": {"state": "granted"},
    "entitlements": {"type": 1, "guild_id": None},
    "ephemeral_messages": {"type": 0, "flags": 0},
    "external_identities": {"provider_type": "OIDC"},
    "installations": {"scopes": "bot"},
    "invites": {"max_age": 0, "max_uses": 0},
    "join_requests": {"status": "SUBMITTED"},
    "lobby_messages": {"type": 0, "flags": 0},
    "messages": {"type": 0, "flags": 0},
    "moderation_decisions": {"action": "warn", "subject": "A message", "appeal": None},
    "operators": {"role": "moderator"},
    "overwrites": {"type": 1, "allow": 0, "deny": 0},
    "payments": {"state": 1, "guild_id": None},
    "poll_votes": {"answer_id": 1},
    "purchases": {"state": 1, "guild_id": None},
    "reactions": {"emoji": "👍", "emoji_name": "👍"},
    "registration_invites": {"uses": 0, "uses_max": 1},
    "relationships": {"type": 1, "family_id": 0},
    "report_cases": {"target_kind": "user"},
    "scheduled_events": {"entity_type": 3, "status": 1, "location": "The park", "end_ms": NOW_MS + 2 * DAY_MS},
    "stage_instances": {"privacy_level": 2},
    "stickers": {"format_type": 1},
    "subscriptions": {"status": 0, "anchor_day": 1, "guild_id": None},
    "team_members": {"state": 2, "role": "admin"},
    "tokens": {"kind": "user"},
    "webhooks": {"type": 1},
}
"""Values of columns that the code interprets, by table."""


class Column(NamedTuple):
    """A column of the schema."""

    name: str
    type: str
    """Declared type, such as BIGINT."""
    is_required: bool
    """Whether a row needs a value: the column is not nullable and has no default."""


def read_schema() -> dict[str, list[Column]]:
    """Return the columns of all tables."""
    connection = sqlite3.connect(":memory:")
    migrations.load_schema_sqlite(connection)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        table: [
            Column(name, declared_type, bool((is_not_null or key) and default is None))
            for _, name, declared_type, is_not_null, default, key in connection.execute(f"PRAGMA table_info({table})")
        ]
        for table in tables
    }


class RowBuilder:
    """Inserts rows whose columns with IDs refer to existing objects."""

    def __init__(self, references: Mapping[str, int]) -> None:
        self._references = references
        self._numbers = itertools.count(900_000)
        self._schema = read_schema()

    def insert(self, call: Call, table: str, **values: Any) -> None:
        """Insert a row with these values, and with generated values in the other required columns."""
        row = {
            column.name: self._value(column)
            for column in self._schema[table]
            if column.is_required or (column.name in {"guild_id", "application_id"} and column.name in self._references)
        }
        row |= ROW_VALUES.get(table, {}) | values
        marks = ", ".join("?" for _ in row)
        call.tx.run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())

    def required_names(self, table: str, names: tuple[str, ...]) -> list[str]:
        """Return the columns among `names` that a row of a table needs."""
        return [column.name for column in self._schema[table] if column.is_required and column.name in names]

    def _value(self, column: Column) -> Any:
        number = next(self._numbers)
        if column.name in self._references:
            return self._references[column.name]
        if column.type == "TEXT":
            return JSON_VALUES.get(column.name, f"text{number}")
        if column.type == "BLOB":
            return number.to_bytes(32, "big")
        return NOW_MS + DAY_MS if column.name.endswith("_ms") else number
