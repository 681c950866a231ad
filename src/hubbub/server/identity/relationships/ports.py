"""Ports of the relationships slice: users who share a guild or a private channel."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def have_mutual_guild(call: Call, user_id: int, other_id: int) -> bool:
    """Return whether two users are members of the same guild."""


@port
def list_private_channel_partners(call: Call, user_id: int) -> set[int]:
    """Return the IDs of users, without bots, who share a recent private channel with a user and have not hidden it."""
