"""Rows of stage instances."""

from collections.abc import Sequence
from typing import NamedTuple

from hubbub.server.core.store import Tx, places


class StageInstanceRow(NamedTuple):
    """A live stage as we keep it; a channel has at most one."""

    channel_id: int
    id: int
    guild_id: int
    topic: str
    privacy_level: int
    scheduled_event_id: int | None = None
    opened_by: int | None = None


COLUMNS = ", ".join(StageInstanceRow._fields)


def find(tx: Tx, channel_id: int) -> StageInstanceRow | None:
    """What is live on a stage channel, or None."""
    return tx.find(StageInstanceRow, f"SELECT {COLUMNS} FROM stage_instances WHERE channel_id = ?", channel_id)


def list_of_guild(tx: Tx, guild_id: int) -> list[StageInstanceRow]:
    """All live stages of a guild, the oldest first."""
    return tx.fetch(StageInstanceRow, f"SELECT {COLUMNS} FROM stage_instances WHERE guild_id = ? ORDER BY id", guild_id)


def list_of_channels(tx: Tx, channel_ids: Sequence[int]) -> list[StageInstanceRow]:
    """What is live on some channels."""
    found: list[StageInstanceRow] = []
    for start in range(0, len(channel_ids), 500):
        some = channel_ids[start : start + 500]
        found += tx.fetch(
            StageInstanceRow, f"SELECT {COLUMNS} FROM stage_instances WHERE channel_id IN ({places(some)})", *some
        )
    return found


def insert(tx: Tx, row: StageInstanceRow) -> None:
    """Keep a stage that opens."""
    tx.run(f"INSERT INTO stage_instances ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: StageInstanceRow) -> None:
    """Keep what may change of a live stage."""
    tx.run(
        "UPDATE stage_instances SET topic = ?, privacy_level = ? WHERE channel_id = ?",
        row.topic,
        row.privacy_level,
        row.channel_id,
    )


def delete(tx: Tx, channel_id: int) -> None:
    """Forget a stage that closed."""
    tx.run("DELETE FROM stage_instances WHERE channel_id = ?", channel_id)
