"""SQL for the member_verification_forms and join_requests tables."""

from typing import Any, Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.enums import JoinRequestStatus
from hubbub.protocol.resources import join_requests as wire
from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "join_requests",
    "member_verification_forms",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="join_requests.actioned_by", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD
    ),
    PersonalColumn(column="join_requests.user_id", erasure=Erasure.DELETED, export="join_requests"),
)
"""Columns of these tables that contain IDs of users."""


class FormRow(NamedTuple):
    """The member verification form of a guild.

    The guild's features, not this row, decide whether new members must complete the form."""

    guild_id: int
    version_ms: int
    """Time of the last change in Unix milliseconds. A join request must contain it, so that an outdated form is rejected."""
    description: str | None = None
    fields: str = "[]"
    """JSON list of `FormField`."""

    @property
    def form_fields(self) -> list[wire.FormField]:
        """The form fields, decoded from `fields`."""
        return codec.decode(self.fields, list[wire.FormField])


class JoinRequestRow(NamedTuple):
    """A request of a user to become a full member of a guild. A user has at most one request per guild."""

    id: int
    guild_id: int
    user_id: int
    status: str
    """Value of `JoinRequestStatus`."""
    created_ms: int
    reviewed_ms: int | None = None
    """Time of the approval or rejection in Unix milliseconds; None before."""
    rejection_reason: str | None = None
    responses: str = "[]"
    """JSON list of `AnsweredField`."""
    actioned_by: int | None = None
    """ID of the user who approved or rejected the request; None before, and if no review was needed."""

    @property
    def answered_fields(self) -> list[wire.AnsweredField]:
        """The form fields with the user's responses, decoded from `responses`."""
        return codec.decode(self.responses, list[wire.AnsweredField])


COLUMNS = ", ".join(JoinRequestRow._fields)


def find_form(tx: Tx, guild_id: int) -> FormRow | None:
    """Return a guild's form, or None if it was never set."""
    return tx.find(
        FormRow,
        "SELECT guild_id, version_ms, description, fields FROM member_verification_forms WHERE guild_id = ?",
        guild_id,
    )


def put_form(tx: Tx, row: FormRow) -> None:
    """Insert or update a guild's form."""
    tx.run(
        "INSERT INTO member_verification_forms (guild_id, version_ms, description, fields) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET version_ms = excluded.version_ms, description = excluded.description, "
        "fields = excluded.fields",
        *row,
    )


def find(tx: Tx, guild_id: int, request_id: int) -> JoinRequestRow | None:
    return tx.find(
        JoinRequestRow, f"SELECT {COLUMNS} FROM join_requests WHERE id = ? AND guild_id = ?", request_id, guild_id
    )


def find_user_request(tx: Tx, guild_id: int, user_id: int) -> JoinRequestRow | None:
    return tx.find(
        JoinRequestRow, f"SELECT {COLUMNS} FROM join_requests WHERE guild_id = ? AND user_id = ?", guild_id, user_id
    )


def count(tx: Tx, guild_id: int, status: str) -> int:
    """Return the number of a guild's join requests with a status."""
    return int(tx.value("SELECT COUNT(*) FROM join_requests WHERE guild_id = ? AND status = ?", guild_id, status) or 0)


def list_page(
    tx: Tx, guild_id: int, status: str, *, before: int | None, after: int | None, limit: int
) -> list[JoinRequestRow]:
    """Return a page of a guild's join requests with a status. With `after`, `before` is ignored; both are request IDs.

    Submitted requests are ordered by descending ID, others by review time, latest first."""
    where, condition_values = "guild_id = ? AND status = ?", [guild_id, status]
    if after is not None:
        where, condition_values = f"{where} AND id > ?", [*condition_values, after]
    elif before is not None:
        where, condition_values = f"{where} AND id < ?", [*condition_values, before]
    sort_order = "id DESC" if status == JoinRequestStatus.SUBMITTED else "reviewed_ms DESC, id DESC"
    parameters: list[Any] = [*condition_values, limit]
    return tx.fetch(
        JoinRequestRow, f"SELECT {COLUMNS} FROM join_requests WHERE {where} ORDER BY {sort_order} LIMIT ?", *parameters
    )


def put(tx: Tx, row: JoinRequestRow) -> None:
    """Insert a join request. It replaces the user's earlier request in the guild."""
    tx.run("DELETE FROM join_requests WHERE guild_id = ? AND user_id = ?", row.guild_id, row.user_id)
    tx.run(f"INSERT INTO join_requests ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def delete(tx: Tx, request_id: int) -> None:
    tx.run("DELETE FROM join_requests WHERE id = ?", request_id)


def delete_guild_form_and_requests(tx: Tx, guild_id: int) -> None:
    """Delete a guild's form and all its join requests."""
    tx.run("DELETE FROM member_verification_forms WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM join_requests WHERE guild_id = ?", guild_id)


def list_by_user(tx: Tx, user_id: int) -> list[JoinRequestRow]:
    """Return a user's requests in all guilds, oldest first."""
    return tx.fetch(JoinRequestRow, f"SELECT {COLUMNS} FROM join_requests WHERE user_id = ? ORDER BY id", user_id)
