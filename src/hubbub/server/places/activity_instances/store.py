"""SQL for the activity_instances and activity_participants tables."""

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import SESSION, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "activity_instances",
    "activity_participants",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="activity_participants.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "recipients": "participants of activities in private channels",
}
"""Tables of other slices that this slice reads, with the reason."""


class InstanceRow(NamedTuple):
    """A running activity. An application has at most one in each channel."""

    id: int
    application_id: int
    channel_id: int
    guild_id: int | None
    launch_id: int
    """ID of the launch that created the instance."""

    @property
    def location_id(self) -> str:
        """The ID of the location: `pc-` and the channel ID, or `gc-`, the guild ID and the channel ID."""
        return f"pc-{self.channel_id}" if self.guild_id is None else f"gc-{self.guild_id}-{self.channel_id}"

    @property
    def composite_id(self) -> str:
        """The instance ID that applications see (spec/activities.md#3)."""
        return f"i-{self.id}-{self.location_id}"


class ParticipantRow(NamedTuple):
    """A user who takes part in an activity with one session."""

    instance_id: int
    user_id: int
    session_id: str
    """A value of `public_session_id`; empty if the user joined without a gateway session."""
    joined_ms: int


COLUMNS = ", ".join(InstanceRow._fields)
PARTICIPANT_COLUMNS = ", ".join(ParticipantRow._fields)


def public_session_id(gateway_session_id: str) -> str:
    """Return the session ID that is stored and published for a participant; empty for an empty ID.

    It is a hash, because other users must not learn the gateway session ID."""
    return hashlib.sha256(f"activity {gateway_session_id}".encode()).hexdigest()[:32] if gateway_session_id else ""


def find(tx: Tx, instance_id: int) -> InstanceRow | None:
    return tx.find(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE id = ?", instance_id)


def find_in_channel(tx: Tx, application_id: int, channel_id: int) -> InstanceRow | None:
    """Return the running activity of an application in a channel, or None."""
    return tx.find(
        InstanceRow,
        f"SELECT {COLUMNS} FROM activity_instances WHERE application_id = ? AND channel_id = ?",
        application_id,
        channel_id,
    )


def list_guild_instances(tx: Tx, guild_id: int) -> list[InstanceRow]:
    """List the running activities in a guild, oldest first."""
    return tx.fetch(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE guild_id = ? ORDER BY id", guild_id)


def list_application_instances(tx: Tx, application_id: int) -> list[InstanceRow]:
    """List the running activities of an application."""
    return tx.fetch(InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE application_id = ?", application_id)


def list_channel_instances(tx: Tx, channel_ids: Sequence[int]) -> list[InstanceRow]:
    """List the running activities in the given channels."""
    rows: list[InstanceRow] = []
    for batch in batches(channel_ids):
        rows += tx.fetch(
            InstanceRow, f"SELECT {COLUMNS} FROM activity_instances WHERE channel_id IN ({placeholders(batch)})", *batch
        )
    return rows


def list_user_instances(tx: Tx, user_id: int) -> list[tuple[InstanceRow, str]]:
    """List the activities a user takes part in, each with the public session ID they joined with.

    An activity that the user joined with several sessions is listed once for each."""
    rows = tx.all(
        f"SELECT {', '.join(f'i.{name}' for name in InstanceRow._fields)}, p.session_id FROM activity_participants p "
        "JOIN activity_instances i ON i.id = p.instance_id WHERE p.user_id = ? ORDER BY i.id",
        user_id,
    )
    return [(InstanceRow(*row[:-1]), row[-1]) for row in rows]


def find_last_joined(tx: Tx, application_id: int, user_id: int) -> InstanceRow | None:
    """Return the activity of an application that a user joined last, or None."""
    return tx.find(
        InstanceRow,
        f"SELECT {', '.join(f'i.{name}' for name in InstanceRow._fields)} FROM activity_participants p "
        "JOIN activity_instances i ON i.id = p.instance_id WHERE p.user_id = ? AND i.application_id = ? "
        "ORDER BY p.joined_ms DESC, i.id DESC LIMIT 1",
        user_id,
        application_id,
    )


def is_participant(tx: Tx, instance_id: int, user_id: int) -> bool:
    """Return whether a user takes part in an activity with any session."""
    sql = "SELECT 1 FROM activity_participants WHERE instance_id = ? AND user_id = ? LIMIT 1"
    return tx.value(sql, instance_id, user_id) is not None


def find_participants(tx: Tx, instance_ids: Sequence[int]) -> dict[int, list[ParticipantRow]]:
    """Return the participants of activities by instance ID, in the order they joined."""
    participants_by_instance: dict[int, list[ParticipantRow]] = {}
    for batch in batches(instance_ids):
        for row in tx.fetch(
            ParticipantRow,
            f"SELECT {PARTICIPANT_COLUMNS} FROM activity_participants WHERE instance_id IN ({placeholders(batch)}) "
            "ORDER BY joined_ms, user_id, session_id",
            *batch,
        ):
            participants_by_instance.setdefault(row.instance_id, []).append(row)
    return participants_by_instance


def list_recipient_ids(tx: Tx, channel_id: int) -> list[int]:
    """List the user IDs of the recipients of a private channel."""
    return [row[0] for row in tx.all("SELECT user_id FROM recipients WHERE channel_id = ?", channel_id)]


def insert(tx: Tx, row: InstanceRow) -> None:
    tx.run(f"INSERT INTO activity_instances ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def insert_participant(tx: Tx, row: ParticipantRow) -> bool:
    """Insert a participant. Return False if the user already takes part with the session."""
    return (
        tx.run(
            f"INSERT INTO activity_participants ({PARTICIPANT_COLUMNS}) VALUES ({placeholders(row)}) "
            "ON CONFLICT (instance_id, user_id, session_id) DO NOTHING",
            *row,
        )
        > 0
    )


def delete_participant(tx: Tx, instance_id: int, user_id: int, session_id: str | None) -> bool:
    """Delete the session of a participant, or all their sessions if `session_id` is None.

    Return False if there were none."""
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
    """Delete an activity and its participants."""
    tx.run("DELETE FROM activity_participants WHERE instance_id = ?", instance_id)
    tx.run("DELETE FROM activity_instances WHERE id = ?", instance_id)


def delete_all(tx: Tx) -> None:
    """Delete all activities and their participants."""
    tx.run("DELETE FROM activity_participants")
    tx.run("DELETE FROM activity_instances")
