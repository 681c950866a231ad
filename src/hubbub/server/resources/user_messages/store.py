"""Rows of messages that pass, of invites, of what moderation says, and of notices that were read."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.enums import ActivityActionType
from hubbub.server.core.store import Tx, places

AT_ONCE: Final = 500
"""Ids in one query."""


class PassingRow(NamedTuple):
    """A message that nobody keeps: who said it to whom."""

    id: int
    author_id: int
    recipient_id: int
    application_id: int
    family_id: int
    expires_ms: int


class InviteRow(NamedTuple):
    """An invite to join, or a request for one."""

    message_id: int
    channel_id: int
    type: int
    sender_id: int
    recipient_id: int
    application_id: int
    session_id: str
    """The session that is to be joined, or of who asks."""
    party_id: str
    expires_ms: int
    answered_ms: int | None = None


_PASSING = ", ".join(PassingRow._fields)
_INVITE = ", ".join(InviteRow._fields)


def insert_passing(tx: Tx, row: PassingRow) -> None:
    """Know of a message for a while."""
    tx.run(f"INSERT INTO passing_messages ({_PASSING}) VALUES ({places(row)})", *row)


def find_passing(tx: Tx, message_id: int, now: int) -> PassingRow | None:
    """A message that passed lately, or None."""
    return tx.find(
        PassingRow, f"SELECT {_PASSING} FROM passing_messages WHERE id = ? AND expires_ms > ?", message_id, now
    )


def delete_passing(tx: Tx, message_id: int) -> None:
    """Forget a message."""
    tx.run("DELETE FROM passing_messages WHERE id = ?", message_id)


def insert_invite(tx: Tx, row: InviteRow) -> None:
    """Keep an invite."""
    tx.run(f"INSERT INTO game_invites ({_INVITE}) VALUES ({places(row)})", *row)


def find_invite(tx: Tx, message_id: int, now: int) -> InviteRow | None:
    """An invite that is still good, or None."""
    return tx.find(
        InviteRow, f"SELECT {_INVITE} FROM game_invites WHERE message_id = ? AND expires_ms > ?", message_id, now
    )


def list_unanswered(tx: Tx, recipient_id: int, now: int) -> list[InviteRow]:
    """The invites and requests to somebody that are still good and that they did nothing about, the oldest first."""
    return tx.fetch(
        InviteRow,
        f"SELECT {_INVITE} FROM game_invites "
        "WHERE recipient_id = ? AND expires_ms > ? AND answered_ms IS NULL ORDER BY message_id",
        recipient_id,
        now,
    )


def answer_invite(tx: Tx, message_id: int, now: int) -> None:
    """An invite was accepted."""
    tx.run("UPDATE game_invites SET answered_ms = ? WHERE message_id = ?", now, message_id)


def answer_requests(tx: Tx, asker_id: int, recipient_id: int, application_id: int, now: int) -> None:
    """Who asked to join a game was invited to it."""
    tx.run(
        "UPDATE game_invites SET answered_ms = ? "
        "WHERE recipient_id = ? AND sender_id = ? AND application_id = ? AND type = ? AND answered_ms IS NULL",
        now,
        recipient_id,
        asker_id,
        application_id,
        ActivityActionType.JOIN_REQUEST,
    )


def forget_invites(tx: Tx, message_ids: Iterable[int]) -> None:
    """The messages that carried invites were taken back."""
    wanted = list(message_ids)
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        tx.run(f"DELETE FROM game_invites WHERE message_id IN ({places(some)})", *some)


def forget_old(tx: Tx, now: int) -> int | None:
    """Remove what is over; when the next will be, or None where nothing is left."""
    tx.run("DELETE FROM passing_messages WHERE expires_ms <= ?", now)
    tx.run("DELETE FROM game_invites WHERE expires_ms <= ?", now)
    left = [
        tx.value("SELECT MAX(expires_ms) FROM passing_messages"),
        tx.value("SELECT MAX(expires_ms) FROM game_invites"),
    ]
    return max((each for each in left if each is not None), default=None)


def moderation(tx: Tx, family_id: int, message_ids: Iterable[int]) -> dict[int, dict[str, str]]:
    """What a family's moderation says of some messages."""
    wanted = list(message_ids)
    if not wanted:
        return {}
    rows = tx.all(
        f"SELECT message_id, metadata FROM message_moderation WHERE message_id IN ({places(wanted)}) AND family_id = ?",
        *wanted,
        family_id,
    )
    return {row[0]: json.decode(row[1], dict[str, str]) for row in rows}


def moderators(tx: Tx, message_id: int) -> list[int]:
    """The families whose moderation says something of a message."""
    return [row[0] for row in tx.all("SELECT family_id FROM message_moderation WHERE message_id = ?", message_id)]


def put_moderation(tx: Tx, family_id: int, message_id: int, metadata: dict[str, str]) -> None:
    """Keep what a family's moderation says of a message, in the place of what it said before."""
    tx.run("DELETE FROM message_moderation WHERE message_id = ? AND family_id = ?", message_id, family_id)
    if metadata:
        tx.run(
            "INSERT INTO message_moderation (message_id, family_id, metadata) VALUES (?, ?, ?)",
            message_id,
            family_id,
            json.encode(metadata).decode(),
        )


def forget_moderation(tx: Tx, message_ids: Iterable[int]) -> None:
    """Forget what was said of some messages."""
    wanted = list(message_ids)
    tx.run(f"DELETE FROM message_moderation WHERE message_id IN ({places(wanted)})", *wanted)


def acknowledged(tx: Tx, user_id: int, application_id: int) -> list[int]:
    """The notices that somebody has read."""
    rows = tx.all(
        "SELECT type FROM disclosures WHERE user_id = ? AND application_id = ? ORDER BY type", user_id, application_id
    )
    return [row[0] for row in rows]


def acknowledge(tx: Tx, user_id: int, application_id: int, types: Iterable[int]) -> None:
    """Remember that somebody has read notices."""
    for each in types:
        tx.run(
            "INSERT INTO disclosures (user_id, application_id, type) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            user_id,
            application_id,
            each,
        )


def forget_user(tx: Tx, user_id: int) -> None:
    """Forget what is kept of somebody who is gone."""
    tx.run("DELETE FROM disclosures WHERE user_id = ?", user_id)
    tx.run("DELETE FROM passing_messages WHERE author_id = ? OR recipient_id = ?", user_id, user_id)
    tx.run("DELETE FROM game_invites WHERE sender_id = ? OR recipient_id = ?", user_id, user_id)
