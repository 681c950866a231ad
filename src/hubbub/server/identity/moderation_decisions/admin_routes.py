"""HTTP handlers of operators for decisions and appeals."""

from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import moderation_decisions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.moderation_decisions import actions, store, views


@handles(wire.LIST_DECISIONS)
def list_decisions(call: Call, query: wire.ListDecisions) -> list[wire.AdministeredDecision]:
    """List the decisions of operators about accounts, newest first."""
    rows = store.list_page(
        call.tx,
        user_id=query.user_id,
        appeal_state=None if query.appeal is None else query.appeal.value,
        before_id=query.before,
        limit=query.limit,
    )
    return views.administered_decisions(call, rows)


@handles(wire.DECIDE_APPEAL)
def decide_appeal(call: Call, decision_id: Snowflake, body: wire.DecideAppeal) -> wire.AdministeredDecision:
    """Update the appeal against a decision: grant or reject it.

    The operator of the decision cannot decide about the appeal if the server has another moderator or owner.
    """
    row = actions.decide_appeal(
        call, actions.require_decision(call, decision_id), is_granted=body.grant, note=body.note
    )
    return views.administered_decisions(call, [row])[0]
