"""Rows of running activities, and of who takes part in them."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from hubbub.server.core.store import Tx, places


class InstanceRow(NamedTuple):
    """A running activity; an application has at most one in a channel."""

    id: int
    application_id: int
    channel_id: int
    guild_id: int | None
    launch_id: int

    @property
    def location_id(self) -> str:
        """Where it runs, in one word."""
        return f"pc-{self.channel_id}" if self.guild_id is None else f"gc-{self.guild_id}-{self.channel_id}"

    @property
    def composite_id(self) -> str:
        """What applications know as its id (activities.md 3)."""
        return f"i-{self.id}-{self.location_id}"


class ParticipantRow(NamedTuple):
    """Somebody who takes part."""

    instance_id: int
    user_id: int
    session_id: str
    """Made from the gateway session's id, which others must not learn; empty where none was named."""
    joined_ms: int


COLUMNS = ", ".join(InstanceRow._fields)
PARTICIPANT_COLUMNS = ", ".join(ParticipantRow._fields)


def shown_session_id(gateway_session_id: str) -> str:
    """The session id that participants are kept and shown under."""
    return hashlib.sha256(f"activity {gateway_session_id}".encode()).hexdigest()[:32] if gateway_session_id else ""


def find(tx: Tx, instance_id: int) -> InstanceRow | None:
    """A running activity, or None."""
    return tx.find(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE id = ?", instance_id)


def find_in(tx: Tx, application_id: int, channel_id: int) -> InstanceRow | None:
    """What runs of an application in a channel, or None."""
    return tx.find(
        InstanceRow,
        f"SELECT {COLUMNS} FROM activity_instances WHERE application_id = ? AND channel_id = ?",
        application_id,
        channel_id,
    )


def list_of_guild(tx: Tx, guild_id: int) -> list[InstanceRow]:
    """What runs in a guild, the oldest first."""
    return tx.fetch(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE guild_id = ? ORDER BY id", guild_id)


def list_of_application(tx: Tx, application_id: int) -> list[InstanceRow]:
    """What runs of an application, anywhere."""
    return tx.fetch(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE application_id = ?", application_id)


def list_of_channels(tx: Tx, channel_ids: Sequence[int]) -> list[InstanceRow]:
    """What runs in some channels."""
    found: list[InstanceRow] = []
    for start in range(0, len(channel_ids), 500):
        some = channel_ids[start : start + 500]
        found += tx.fetch(
            InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE channel_id IN ({places(some)})", *some
        )
    return found


def list_of_user(tx: Tx, user_id: int) -> list[tuple[InstanceRow, str]]:
    """What somebody takes part in, and by which session."""
    rows = tx.all(
        f"SELECT {', '.join(f'i.{name}' for name in InstanceRow._fields)}, p.session_id FROM activity_participants p "
        "JOIN activity_instances i ON i.id = p.instance_id WHERE p.user_id = ? ORDER BY i.id",
        user_id,
    )
    return [(InstanceRow(*row[:-1]), row[-1]) for row in rows]


def find_joined(tx: Tx, application_id: int, user_id: int) -> InstanceRow | None:
    """What somebody takes part in of an application, the last that they joined; or None."""
    return tx.find(
        InstanceRow,
        f"SELECT {', '.join(f'i.{name}' for name in InstanceRow._fields)} FROM activity_participants p "
        "JOIN activity_instances i ON i.id = p.instance_id WHERE p.user_id = ? AND i.application_id = ? "
        "ORDER BY p.joined_ms DESC, i.id DESC LIMIT 1",
        user_id,
        application_id,
    )


def takes_part(tx: Tx, instance_id: int, user_id: int) -> bool:
    """Whether somebody is in, by any session."""
    sql = "SELECT 1 FROM activity_participants WHERE instance_id = ? AND user_id = ? LIMIT 1"
    return tx.value(sql, instance_id, user_id) is not None


def participants(tx: Tx, instance_ids: Sequence[int]) -> dict[int, list[ParticipantRow]]:
    """Who takes part in some activities, the first to come first."""
    found: dict[int, list[ParticipantRow]] = {}
    for start in range(0, len(instance_ids), 500):
        some = instance_ids[start : start + 500]
        for row in tx.fetch(
            ParticipantRow,
            f"SELECT {PARTICIPANT_COLUMNS} FROM activity_participants WHERE instance_id IN ({places(some)}) "
            "ORDER BY joined_ms, user_id, session_id",
            *some,
        ):
            found.setdefault(row.instance_id, []).append(row)
    return found


def recipients(tx: Tx, channel_id: int) -> list[int]:
    """Who is in a private channel."""
    return [row[0] for row in tx.all("SELECT user_id FROM recipients WHERE channel_id = ?", channel_id)]


def insert(tx: Tx, row: InstanceRow) -> None:
    """Keep an activity that begins."""
    tx.run(f"INSERT INTO activity_instances ({COLUMNS}) VALUES ({places(row)})", *row)


def join(tx: Tx, row: ParticipantRow) -> bool:
    """Let somebody in; False when they are in by this session."""
    return (
        tx.run(
            f"INSERT INTO activity_participants ({PARTICIPANT_COLUMNS}) VALUES ({places(row)}) "
            "ON CONFLICT (instance_id, user_id, session_id) DO NOTHING",
            *row,
        )
        > 0
    )


def leave(tx: Tx, instance_id: int, user_id: int, session_id: str | None) -> bool:
    """Let somebody go, by one session or by all; False when they are not in."""
    if session_id is None:
        return (
            tx.run("DELETE FROM activity_participants WHERE instance_id = ? AND user_id = ?", instance_id, user_id) > 0
        )
    return (
        tx.run(
            "DELETE FROM activity_participants WHERE instance_id = ? AND user_id = ? AND session_id = ?",
            instance_id,
            user_id,
            session_id,
        )
        > 0
    )


def delete(tx: Tx, instance_id: int) -> None:
    """Forget an activity that ended."""
    tx.run("DELETE FROM activity_participants WHERE instance_id = ?", instance_id)
    tx.run("DELETE FROM activity_instances WHERE id = ?", instance_id)


def clear(tx: Tx) -> None:
    """Forget all of them."""
    tx.run("DELETE FROM activity_participants")
    tx.run("DELETE FROM activity_instances")
