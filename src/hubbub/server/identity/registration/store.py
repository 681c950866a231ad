"""SQL for registration invites and requests."""

from typing import Final, NamedTuple

from hubbub.protocol.ids import Snowflake, UserId
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("registration_invites", "registration_requests")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="registration_invites.creator_id", erasure=Erasure.DELETED, export="registration_invites"),
    PersonalColumn(column="registration_requests.user_id", erasure=Erasure.DELETED, export="registration_requests"),
)
"""Columns of these tables that contain IDs of users."""


class RegistrationInviteRow(NamedTuple):
    """An invite with which visitors register."""

    id: Snowflake
    creator_id: UserId | None
    """User who created the invite; None for the command line."""
    note: str
    uses: int
    uses_max: int | None
    """Maximum number of uses; None for no limit."""
    created_ms: int
    expires_ms: int | None
    """Unix milliseconds at which the invite expires; None if it does not expire."""


class RegistrationRequestRow(NamedTuple):
    """A registered account that an operator has to approve or has rejected."""

    user_id: UserId
    message: str
    created_ms: int
    rejected_ms: int | None
    """Time of the rejection in Unix milliseconds; None while the request is pending."""
    reason: str | None


_INVITE_COLUMNS: Final = ", ".join(RegistrationInviteRow._fields)
_REQUEST_COLUMNS: Final = ", ".join(RegistrationRequestRow._fields)
_USABLE_CONDITION: Final = "(expires_ms IS NULL OR expires_ms > ?) AND (uses_max IS NULL OR uses < uses_max)"


# Invites


def insert_invite(tx: Tx, digest: bytes, row: RegistrationInviteRow) -> None:
    """Insert an invite; `digest` is the hash of its code."""
    tx.run(f"INSERT INTO registration_invites (hash, {_INVITE_COLUMNS}) VALUES (?, {placeholders(row)})", digest, *row)


def find_invite(tx: Tx, invite_id: int) -> RegistrationInviteRow | None:
    """Return an invite, usable or not, or None."""
    return tx.find(RegistrationInviteRow, f"SELECT {_INVITE_COLUMNS} FROM registration_invites WHERE id = ?", invite_id)


def list_usable(tx: Tx, now_ms: int, limit: int) -> list[RegistrationInviteRow]:
    """Return the invites that can be used, newest first."""
    return tx.fetch(
        RegistrationInviteRow,
        f"SELECT {_INVITE_COLUMNS} FROM registration_invites WHERE {_USABLE_CONDITION} ORDER BY id DESC LIMIT ?",
        now_ms,
        limit,
    )


def list_by_creator(tx: Tx, user_id: int) -> list[RegistrationInviteRow]:
    """Return the invites of a user, usable or not, oldest first."""
    return tx.fetch(
        RegistrationInviteRow,
        f"SELECT {_INVITE_COLUMNS} FROM registration_invites WHERE creator_id = ? ORDER BY id",
        user_id,
    )


def list_usable_by_creator(tx: Tx, user_id: int, now_ms: int) -> list[RegistrationInviteRow]:
    """Return the invites of a user that can be used, newest first."""
    return tx.fetch(
        RegistrationInviteRow,
        f"SELECT {_INVITE_COLUMNS} FROM registration_invites WHERE creator_id = ? AND {_USABLE_CONDITION} ORDER BY id DESC",
        user_id,
        now_ms,
    )


def use_invite(tx: Tx, digest: bytes, now_ms: int) -> bool:
    """Count a use of the invite with this hash. Return False if it is unknown, used up or expired."""
    return bool(
        tx.run(
            f"UPDATE registration_invites SET uses = uses + 1 WHERE hash = ? AND {_USABLE_CONDITION}", digest, now_ms
        )
    )


def set_code_hash(tx: Tx, invite_id: int, digest: bytes, now_ms: int) -> bool:
    """Replace the hash of an invite. Return False if it is unknown, used up or expired."""
    return bool(
        tx.run(
            f"UPDATE registration_invites SET hash = ? WHERE id = ? AND {_USABLE_CONDITION}", digest, invite_id, now_ms
        )
    )


def delete_invite(tx: Tx, invite_id: int) -> None:
    tx.run("DELETE FROM registration_invites WHERE id = ?", invite_id)


def delete_user_invites(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM registration_invites WHERE creator_id = ?", user_id)


# Requests


def insert_request(tx: Tx, row: RegistrationRequestRow) -> None:
    """Insert the request of a new account."""
    tx.run(f"INSERT INTO registration_requests ({_REQUEST_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_request(tx: Tx, user_id: int) -> RegistrationRequestRow | None:
    """Return the request of a user; None if the account is approved."""
    return tx.find(
        RegistrationRequestRow, f"SELECT {_REQUEST_COLUMNS} FROM registration_requests WHERE user_id = ?", user_id
    )


def list_requests(tx: Tx, *, is_rejected: bool, after_id: int, limit: int) -> list[RegistrationRequestRow]:
    """Return pending or rejected requests of users with IDs above `after_id`, oldest first."""
    condition = "IS NOT NULL" if is_rejected else "IS NULL"
    return tx.fetch(
        RegistrationRequestRow,
        f"SELECT {_REQUEST_COLUMNS} FROM registration_requests WHERE rejected_ms {condition} AND user_id > ? "
        "ORDER BY user_id LIMIT ?",
        after_id,
        limit,
    )


def reject_request(tx: Tx, user_id: int, reason: str | None, now_ms: int) -> None:
    """Store the rejection of a request, with the reason for the user."""
    tx.run("UPDATE registration_requests SET rejected_ms = ?, reason = ? WHERE user_id = ?", now_ms, reason, user_id)


def delete_request(tx: Tx, user_id: int) -> None:
    """Delete the request of a user. An account without a request counts as approved."""
    tx.run("DELETE FROM registration_requests WHERE user_id = ?", user_id)
