"""Record decisions about accounts, and create and decide appeals."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.moderation_decisions import AppealState, DecisionAction
from hubbub.server.core.call import Call
from hubbub.server.core.config_sections import compute_expiry_cutoff_ms
from hubbub.server.identity import accounts, administration, users
from hubbub.server.identity.moderation_decisions import ports, store
from hubbub.server.identity.moderation_decisions.store import DecisionRow


def record(
    call: Call,
    user_id: int,
    action: DecisionAction,
    *,
    reason: str | None,
    subject: str = "",
    guild_id: int | None = None,
    case_id: int | None = None,
    ends_ms: int | None = None,
) -> DecisionRow:
    """Record a decision of the caller about an account."""
    row = DecisionRow(
        id=call.new_id(Snowflake),
        user_id=user_id,
        action=action.value,
        subject=subject,
        reason=reason,
        operator_id=call.user_id_or_none,
        guild_id=guild_id,
        case_id=case_id,
        created_ms=call.now_ms,
        ends_ms=ends_ms,
    )
    store.insert(call.tx, row)
    return row


def appeal(call: Call, row: DecisionRow, appeal_text: str) -> DecisionRow:
    """Store the appeal of the affected account. Raise FORBIDDEN if it cannot appeal, and a form error for an empty text."""
    if row.appeal is not None:
        raise errors.FORBIDDEN(message="You have already appealed against this decision.")
    if row.revoked_ms is not None:
        raise errors.FORBIDDEN(message="This decision was reversed. You do not need to appeal.")
    if row.ends_ms is not None and row.ends_ms <= call.now_ms:
        raise errors.FORBIDDEN(message="This suspension is over. You do not need to appeal.")
    if not appeal_text.strip():
        raise errors.invalid("text", *errors.required())
    store.set_appeal(call.tx, row.id, appeal_text.strip(), call.now_ms)
    return require_decision(call, row.id)


def find_or_create_suspension(call: Call, user_id: UserId) -> DecisionRow:
    """Return the decision that suspended an account, or raise a form error if the account is not suspended.

    A suspension without a decision, such as a suspension by the control API, gets a decision."""
    ban = accounts.management.find_ban(call.tx, user_id, call.now_ms)
    if ban is None:
        message = "This account is not suspended. Log in to see the decisions about it."
        raise errors.invalid("login", "ACCOUNT_NOT_DISABLED", message)
    row = store.find_active_suspension(call.tx, user_id)
    if row is None or (row.ends_ms is not None and row.ends_ms <= call.now_ms):
        row = record(call, user_id, DecisionAction.SUSPEND_USER, reason=ban.reason, ends_ms=ban.ends_ms)
    return row


def describe_appeal(call: Call, user_id: int) -> str:
    """Return a sentence for a suspended user about an appeal: how to appeal, or the state of the appeal."""
    row = store.find_active_suspension(call.tx, user_id)
    if row is None or row.appeal is None:
        return f"You can appeal at {call.config.web_url}/appeal."
    if row.appeal_outcome is None:
        return "An operator has not decided about your appeal yet."
    return "Your appeal was rejected." if row.appeal_note is None else f"Your appeal was rejected: {row.appeal_note}"


def decide_appeal(call: Call, row: DecisionRow, *, is_granted: bool, note: str | None) -> DecisionRow:
    """Grant or reject an appeal, or raise FORBIDDEN if none is open or another operator has to decide.

    Granting an appeal reverses the decision as far as possible."""
    if row.appeal is None or row.appeal_outcome is not None:
        raise errors.FORBIDDEN(message="No appeal against this decision is open.")
    actor = call.actor_or_none
    if actor is not None:
        _require_other_operator(call, row, actor.user_id)
    outcome = AppealState.GRANTED if is_granted else AppealState.REJECTED
    store.set_outcome(
        call.tx,
        row.id,
        outcome=outcome.value,
        note=note,
        operator_id=call.user_id_or_none,
        now_ms=call.now_ms,
    )
    user = users.find(call.tx, row.user_id)
    username = "" if user is None else user.username
    administration.audit.log_action(
        call, f"appeal.{outcome.value}", "user", target_id=row.user_id, target_name=username, reason=note
    )
    if is_granted:
        _reverse_decision(call, row)
    if user is not None and (is_granted or row.action != DecisionAction.SUSPEND_USER):
        quoted_note = "" if note is None else f"\n> {note}"
        outcome_phrase = "granted your appeal and reversed the decision" if is_granted else "rejected your appeal"
        ports.send_notice(call, row.user_id, f"The operators of this server {outcome_phrase}.{quoted_note}")
    return require_decision(call, row.id)


def require_decision(call: Call, decision_id: int) -> DecisionRow:
    """Return a decision, or raise NOT_FOUND."""
    row = store.find(call.tx, decision_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row


def delete_expired(call: Call, limit: int) -> bool:
    """Delete decisions that are older than the setting allows. Return whether there may be more."""
    cutoff_ms = compute_expiry_cutoff_ms(call.now_ms, call.config.retention.decision_days)
    if cutoff_ms is None:
        return False
    return store.delete_before(call.tx, Snowflake.at(cutoff_ms), call.now_ms, limit) == limit


def _require_other_operator(call: Call, row: DecisionRow, user_id: UserId) -> None:
    """Reject the operator of a decision if the server has another operator who can decide about the appeal."""
    if row.operator_id != user_id:
        return
    for operator in administration.operators.list_operators(call):
        if operator.user_id != user_id and administration.rules.includes_role(operator.role, OperatorRole.MODERATOR):
            raise errors.FORBIDDEN(message="You made this decision. Another operator decides about the appeal.")


def _reverse_decision(call: Call, row: DecisionRow) -> None:
    user = users.find(call.tx, row.user_id)
    if row.action == DecisionAction.SUSPEND_USER and user is not None:
        administration.accounts.unsuspend(call, user, reason="The appeal was granted.")
    elif row.action == DecisionAction.SUSPEND_GUILD and row.guild_id is not None:
        ports.unsuspend_guild(call, row.guild_id, "The appeal was granted.")
    store.revoke(call.tx, row.id, call.now_ms)
