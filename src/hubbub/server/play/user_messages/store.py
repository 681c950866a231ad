"""SQL for passing messages, game invites, moderation metadata and acknowledged disclosures."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.enums import ActivityActionType
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "disclosures",
    "game_invites",
    "message_moderation",
    "passing_messages",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="disclosures.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="game_invites.recipient_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="game_invites.sender_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="passing_messages.author_id", erasure=Erasure.DELETED, omission=TECHNICAL),
    PersonalColumn(column="passing_messages.recipient_id", erasure=Erasure.DELETED, omission=TECHNICAL),
)
"""Columns of these tables that contain IDs of users."""


class PassingMessageRow(NamedTuple):
    """A passing message: its participants and its application, without its content."""

    id: int
    author_id: int
    recipient_id: int
    application_id: int
    family_id: int
    """Application family whose games relay the message."""
    expires_ms: int
    """Unix milliseconds after which the message cannot be edited, deleted or moderated."""


class GameInviteRow(NamedTuple):
    """An invite to join the sender's activity, or a request to join the recipient's."""

    message_id: int
    channel_id: int
    """The direct message channel; for a passing message, the sender's user ID."""
    type: int
    """Value of `ActivityActionType`."""
    sender_id: int
    recipient_id: int
    application_id: int
    session_id: str
    """The session to join, or the session of the requesting player."""
    party_id: str
    """The party to join; may be empty for a request."""
    expires_ms: int
    """Unix milliseconds after which the invite is invalid."""
    answered_ms: int | None = None
    """Unix milliseconds when the invite was accepted or the request was answered, or None."""


_PASSING_MESSAGE_COLUMNS = ", ".join(PassingMessageRow._fields)
_INVITE_COLUMNS = ", ".join(GameInviteRow._fields)


def insert_passing_message(tx: Tx, row: PassingMessageRow) -> None:
    tx.run(f"INSERT INTO passing_messages ({_PASSING_MESSAGE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_passing_message(tx: Tx, message_id: int, now_ms: int) -> PassingMessageRow | None:
    """Return a passing message that has not expired, or None."""
    return tx.find(
        PassingMessageRow,
        f"SELECT {_PASSING_MESSAGE_COLUMNS} FROM passing_messages WHERE id = ? AND expires_ms > ?",
        message_id,
        now_ms,
    )


def delete_passing_message(tx: Tx, message_id: int) -> None:
    tx.run("DELETE FROM passing_messages WHERE id = ?", message_id)


def insert_invite(tx: Tx, row: GameInviteRow) -> None:
    tx.run(f"INSERT INTO game_invites ({_INVITE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_invite(tx: Tx, message_id: int, now_ms: int) -> GameInviteRow | None:
    """Return an invite or a join request that has not expired, answered or not, or None."""
    return tx.find(
        GameInviteRow,
        f"SELECT {_INVITE_COLUMNS} FROM game_invites WHERE message_id = ? AND expires_ms > ?",
        message_id,
        now_ms,
    )


def list_pending_invites(tx: Tx, recipient_id: int, now_ms: int) -> list[GameInviteRow]:
    """Return a user's pending invites and requests that have not expired, oldest first."""
    return tx.fetch(
        GameInviteRow,
        f"SELECT {_INVITE_COLUMNS} FROM game_invites "
        "WHERE recipient_id = ? AND expires_ms > ? AND answered_ms IS NULL ORDER BY message_id",
        recipient_id,
        now_ms,
    )


def mark_invite_accepted(tx: Tx, message_id: int, now_ms: int) -> None:
    tx.run("UPDATE game_invites SET answered_ms = ? WHERE message_id = ?", now_ms, message_id)


def mark_requests_answered(tx: Tx, requester_id: int, recipient_id: int, application_id: int, now_ms: int) -> None:
    """Mark the join requests of the user `requester_id` to the user `recipient_id` as answered by an invite."""
    tx.run(
        "UPDATE game_invites SET answered_ms = ? "
        "WHERE recipient_id = ? AND sender_id = ? AND application_id = ? AND type = ? AND answered_ms IS NULL",
        now_ms,
        recipient_id,
        requester_id,
        application_id,
        ActivityActionType.JOIN_REQUEST,
    )


def delete_invites(tx: Tx, message_ids: Iterable[int]) -> None:
    """Delete the invites of deleted messages."""
    listed_ids = list(message_ids)
    for batch in batches(listed_ids):
        tx.run(f"DELETE FROM game_invites WHERE message_id IN ({placeholders(batch)})", *batch)


def delete_expired(tx: Tx, now_ms: int) -> int | None:
    """Delete expired messages and invites; return the Unix milliseconds of the next sweep, or None if none are left."""
    tx.run("DELETE FROM passing_messages WHERE expires_ms <= ?", now_ms)
    tx.run("DELETE FROM game_invites WHERE expires_ms <= ?", now_ms)
    latest_expiries = [
        tx.value("SELECT MAX(expires_ms) FROM passing_messages"),
        tx.value("SELECT MAX(expires_ms) FROM game_invites"),
    ]
    return max((expires_ms for expires_ms in latest_expiries if expires_ms is not None), default=None)


def find_moderation_metadata(tx: Tx, family_id: int, message_ids: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return the moderation metadata that the games of a family set, by message ID."""
    listed_ids = list(message_ids)
    if not listed_ids:
        return {}
    rows = tx.all(
        f"SELECT message_id, metadata FROM message_moderation WHERE message_id IN ({placeholders(listed_ids)}) AND family_id = ?",
        *listed_ids,
        family_id,
    )
    return {row[0]: codec.decode(row[1], dict[str, str]) for row in rows}


def list_moderating_families(tx: Tx, message_id: int) -> list[int]:
    """Return the IDs of the application families that set moderation metadata on a message."""
    return [row[0] for row in tx.all("SELECT family_id FROM message_moderation WHERE message_id = ?", message_id)]


def replace_moderation_metadata(tx: Tx, family_id: int, message_id: int, metadata: dict[str, str]) -> None:
    """Replace a family's moderation metadata of a message; an empty map deletes it."""
    tx.run("DELETE FROM message_moderation WHERE message_id = ? AND family_id = ?", message_id, family_id)
    if metadata:
        tx.run(
            "INSERT INTO message_moderation (message_id, family_id, metadata) VALUES (?, ?, ?)",
            message_id,
            family_id,
            codec.encode(metadata).decode(),
        )


def delete_moderation_metadata(tx: Tx, message_ids: Iterable[int]) -> None:
    listed_ids = list(message_ids)
    tx.run(f"DELETE FROM message_moderation WHERE message_id IN ({placeholders(listed_ids)})", *listed_ids)


def list_acknowledged_disclosures(tx: Tx, user_id: int, application_id: int) -> list[int]:
    """Return the types of an application's disclosures that a user has acknowledged."""
    rows = tx.all(
        "SELECT type FROM disclosures WHERE user_id = ? AND application_id = ? ORDER BY type", user_id, application_id
    )
    return [row[0] for row in rows]


def acknowledge_disclosures(tx: Tx, user_id: int, application_id: int, disclosure_types: Iterable[int]) -> None:
    """Record that a user acknowledged an application's disclosures of some types."""
    for disclosure_type in disclosure_types:
        tx.run(
            "INSERT INTO disclosures (user_id, application_id, type) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            user_id,
            application_id,
            disclosure_type,
        )


def delete_user_rows(tx: Tx, user_id: int) -> None:
    """Delete the disclosures, passing messages and game invites of a user."""
    tx.run("DELETE FROM disclosures WHERE user_id = ?", user_id)
    tx.run("DELETE FROM passing_messages WHERE author_id = ? OR recipient_id = ?", user_id, user_id)
    tx.run("DELETE FROM game_invites WHERE sender_id = ? OR recipient_id = ?", user_id, user_id)
