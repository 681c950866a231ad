"""Listeners for changed second factors and deleted users."""

from hubbub.server.core.call import Call
from hubbub.server.identity import accounts
from hubbub.server.identity.accounts.signals import SecondFactorChanged
from hubbub.server.identity.administration import store
from hubbub.server.identity.users.signals import UserDeleting


def on_second_factor_changed(call: Call, signal: SecondFactorChanged) -> None:
    """End the other sessions of an operator who enables two-factor authentication: they were opened without a code."""
    actor = call.actor_or_none
    if signal.is_enabled and store.find_operator(call.tx, signal.user_id) is not None:
        accounts.management.sign_out(call, signal.user_id, except_id=None if actor is None else actor.token_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the operator role and the scheduled deletion of a deleted user. The audit log is kept."""
    store.delete_operator(call.tx, signal.user_id)
    store.delete_deletion(call.tx, signal.user_id)
