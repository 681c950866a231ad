"""Port of the accounts slice: the appeal of a suspended user."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def describe_appeal(call: Call, user_id: int) -> str:
    """Return a sentence for a suspended user about an appeal: how to appeal, or the state of the appeal."""
