"""Wire models of decisions and appeals, and the decisions of a data export."""

from collections.abc import Sequence
from typing import Any

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import moderation_decisions as wire
from hubbub.protocol.resources.moderation_decisions import AppealState, DecisionAction
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.moderation_decisions import store
from hubbub.server.identity.moderation_decisions.store import DecisionRow

EXPORT_MAX = 1000
"""Maximum number of decisions in a data export."""


def decision(row: DecisionRow) -> wire.ModerationDecision:
    """Build the wire model of a decision for the affected account."""
    return wire.ModerationDecision(**_decision_fields(row))


def administered_decisions(call: Call, rows: Sequence[DecisionRow]) -> list[wire.AdministeredDecision]:
    """Build the wire models of decisions for operators."""
    user_ids = [user_id for row in rows for user_id in (row.user_id, row.operator_id) if user_id is not None]
    usernames_by_id = {user_id: user.username for user_id, user in users.find_many(call.tx, user_ids).items()}
    return [
        wire.AdministeredDecision(
            **_decision_fields(row),
            user_id=UserId(row.user_id),
            username=usernames_by_id.get(row.user_id),
            operator_id=None if row.operator_id is None else UserId(row.operator_id),
            operator_name=None if row.operator_id is None else usernames_by_id.get(row.operator_id),
            case_id=None if row.case_id is None else Snowflake(row.case_id),
        )
        for row in rows
    ]


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the decisions about a user for the data export."""
    rows = store.list_page(call.tx, user_id=user_id, appeal_state=None, before_id=None, limit=EXPORT_MAX)
    return {"moderation_decisions": [decision(row) for row in rows]}


def _decision_fields(row: DecisionRow) -> dict[str, Any]:
    return {
        "id": Snowflake(row.id),
        "action": DecisionAction(row.action),
        "subject": row.subject,
        "reason": row.reason,
        "created_at": codec.timestamp(row.created_ms),
        "ends_at": None if row.ends_ms is None else codec.timestamp(row.ends_ms),
        "revoked": row.revoked_ms is not None,
        "appeal": _appeal_view(row),
    }


def _appeal_view(row: DecisionRow) -> wire.Appeal | None:
    if row.appeal is None or row.appealed_ms is None:
        return None
    return wire.Appeal(
        text=row.appeal,
        created_at=codec.timestamp(row.appealed_ms),
        state=AppealState.PENDING if row.appeal_outcome is None else AppealState(row.appeal_outcome),
        note=row.appeal_note,
    )
