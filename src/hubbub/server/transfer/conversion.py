"""Construction of the records of a guild from other formats than archives."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol.ids import EPOCH_MS
from hubbub.server.transfer.records import CODECS, Record

OWNER_ID: Final = 1
"""ID of the owner in the records of a source that does not name the owner."""


def make_record(table: str, values: Mapping[str, Any], *, file: str, line: int = 0) -> Record:
    """Return a record from built-in values; None and UNSET are left out. Raise InvalidArchive if it is invalid."""
    present_values = {name: value for name, value in values.items() if value is not None and value is not UNSET}
    return CODECS[table].from_values(present_values, file=file, line_number=line)


def guild_records(
    guild_id: int, name: str, *, everyone_permissions: int, file: str, **settings: Any
) -> Iterator[Record]:
    """Yield the records of a guild and its role @everyone; `settings` are other columns of the guild."""
    guild = {"id": str(guild_id), "name": name[:100] or "Imported guild", "owner_id": str(OWNER_ID)}
    yield make_record("guilds", {**guild, "features": [], **settings}, file=file)
    everyone = {"id": str(guild_id), "name": "@everyone", "permissions": str(everyone_permissions)}
    yield make_record("roles", everyone, file=file)


def make_snowflake(created_ms: int, sequence_number: int) -> int:
    """Return an ID for an object without an ID of its own; `sequence_number` distinguishes objects of the same time."""
    return max(0, created_ms - EPOCH_MS) << 22 | sequence_number
