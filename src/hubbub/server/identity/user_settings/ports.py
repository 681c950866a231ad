"""Port of the user settings slice: the guilds of a user."""

from collections.abc import Collection

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def filter_member_guilds(call: Call, user_id: int, guild_ids: Collection[int]) -> set[int]:
    """Return the IDs of the given guilds that a user is a member of."""
