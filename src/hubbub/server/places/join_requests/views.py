"""Build the wire models of member verification forms and join requests."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, JoinRequestId, UserId
from hubbub.protocol.resources import join_requests as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.join_requests.store import FormRow, JoinRequestRow


def member_verification(row: FormRow) -> wire.MemberVerification:
    """Build the member verification form of a guild."""
    return wire.MemberVerification(
        version=codec.timestamp(row.version_ms), form_fields=row.form_fields, description=row.description
    )


def join_requests(tx: Tx, rows: Sequence[JoinRequestRow]) -> list[wire.JoinRequest]:
    """Build join requests with their applicants and reviewers."""
    user_ids = [user_id for row in rows for user_id in (row.user_id, row.actioned_by) if user_id is not None]
    users_by_id = users.find_many(tx, user_ids)

    def user_view(user_id: int | None) -> User | None:
        return users.user_view(users_by_id[user_id]) if user_id in users_by_id else None

    return [
        wire.JoinRequest(
            id=JoinRequestId(row.id),
            created_at=codec.timestamp(row.created_ms),
            reviewed_at=None if row.reviewed_ms is None else codec.timestamp(row.reviewed_ms),
            application_status=row.status,
            rejection_reason=row.rejection_reason,
            guild_id=GuildId(row.guild_id),
            user_id=UserId(row.user_id),
            user=user_view(row.user_id),
            form_responses=row.answered_fields,
            actioned_by_user=user_view(row.actioned_by),
        )
        for row in rows
    ]


def join_request(tx: Tx, row: JoinRequestRow) -> wire.JoinRequest:
    """Build a join request with its applicant and its reviewer."""
    return join_requests(tx, [row])[0]
