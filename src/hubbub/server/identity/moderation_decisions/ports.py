"""Ports of the moderation decisions slice: suspensions of guilds, and notices to users."""

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def unsuspend_guild(call: Call, guild_id: int, reason: str) -> None:
    """Lift the suspension of a guild after an appeal. Do nothing if the guild is not suspended."""


@port
def send_notice(call: Call, user_id: int, content: str) -> None:
    """Send a direct message of the system to a user."""
