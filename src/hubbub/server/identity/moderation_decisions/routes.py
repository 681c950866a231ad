"""HTTP handlers for decisions about the caller's account, and for appeals."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import moderation_decisions as wire
from hubbub.protocol.resources.administration import PAGE_LIMIT_MAX
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import accounts
from hubbub.server.identity.moderation_decisions import actions, store, views


@handles(wire.LIST_MY_DECISIONS)
def list_my_decisions(call: Call) -> list[wire.ModerationDecision]:
    """List the decisions of operators about the current user, newest first."""
    rows = store.list_page(call.tx, user_id=call.user_id, appeal_state=None, before_id=None, limit=PAGE_LIMIT_MAX)
    return [views.decision(row) for row in rows]


@handles(wire.CREATE_APPEAL)
def create_appeal(call: Call, decision_id: Snowflake, body: wire.CreateAppeal) -> wire.ModerationDecision:
    """Create an appeal against a decision about the current user.

    An account can appeal once against each decision that is not reversed.
    """
    row = store.find(call.tx, decision_id)
    if row is None or row.user_id != call.user_id:
        raise errors.NOT_FOUND()
    return views.decision(actions.appeal(call, row, body.text))


@handles(wire.AUTH_APPEAL)
async def auth_appeal(operation: AsyncOperation, body: wire.CreateAppealWithPassword) -> wire.ModerationDecision:
    """Create an appeal against the suspension of an account.

    A suspended account cannot log in, so the password in the body is verified as at login.
    """
    user_id = await accounts.logins.verify_credentials(operation, body)

    def appeal(call: Call) -> wire.ModerationDecision:
        accounts.logins.record_login(call, body, user_id)
        return views.decision(actions.appeal(call, actions.find_or_create_suspension(call, user_id), body.text))

    return await operation.write(appeal)
