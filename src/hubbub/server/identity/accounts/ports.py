"""Ports of the accounts slice: the appeal of a suspended user, and credentials and tokens that other slices store."""

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.ports import multi_port, port


@port
def describe_appeal(call: Call, user_id: int) -> str:
    """Return a sentence for a suspended user about an appeal: how to appeal, or the state of the appeal."""


@multi_port
def remove_credentials(call: Call, user_id: UserId) -> None:
    """Delete the credentials of a user that a slice stores, such as passkeys."""


@multi_port
def revoke_tokens(call: Call, user_id: UserId) -> None:
    """Revoke the tokens that a banned account controls besides its own: those of its bots and of applications."""
