"""SQL for the stage_instances table."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("stage_instances",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="stage_instances.opened_by",
        erasure=Erasure.EXPIRES,
        reason="Kept until the stage ends.",
        omission=TECHNICAL,
    ),
)
"""Columns of these tables that contain IDs of users."""


class StageInstanceRow(NamedTuple):
    """A stage instance: a stage channel that is live. A channel has at most one."""

    channel_id: int
    id: int
    guild_id: int
    topic: str
    privacy_level: int
    """Value of `StagePrivacyLevel`."""
    scheduled_event_id: int | None = None
    opened_by: int | None = None
    """ID of the user who started the stage; None if it started without an acting user."""


COLUMNS: Final = ", ".join(StageInstanceRow._fields)


def find(tx: Tx, channel_id: int) -> StageInstanceRow | None:
    return tx.find(StageInstanceRow, f"SELECT {COLUMNS} FROM stage_instances WHERE channel_id = ?", channel_id)


def list_guild_instances(tx: Tx, guild_id: int) -> list[StageInstanceRow]:
    """Return all stage instances of a guild, oldest first."""
    return tx.fetch(StageInstanceRow, f"SELECT {COLUMNS} FROM stage_instances WHERE guild_id = ? ORDER BY id", guild_id)


def list_channel_instances(tx: Tx, channel_ids: Sequence[int]) -> list[StageInstanceRow]:
    """Return the stage instances of channels, in no defined order."""
    rows: list[StageInstanceRow] = []
    for batch in batches(channel_ids):
        rows += tx.fetch(
            StageInstanceRow,
            f"SELECT {COLUMNS} FROM stage_instances WHERE channel_id IN ({placeholders(batch)})",
            *batch,
        )
    return rows


def insert(tx: Tx, row: StageInstanceRow) -> None:
    tx.run(f"INSERT INTO stage_instances ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: StageInstanceRow) -> None:
    """Update the mutable columns of a stage instance."""
    tx.run(
        "UPDATE stage_instances SET topic = ?, privacy_level = ? WHERE channel_id = ?",
        row.topic,
        row.privacy_level,
        row.channel_id,
    )


def delete(tx: Tx, channel_id: int) -> None:
    tx.run("DELETE FROM stage_instances WHERE channel_id = ?", channel_id)
