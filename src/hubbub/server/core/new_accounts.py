"""New accounts, which the setting `protection.new_account_minutes` limits (decisions/0138)."""

from typing import Final

from hubbub.protocol.ids import Snowflake
from hubbub.server.core.call import Call

MINUTE_MS: Final = 60_000


def is_limited(call: Call) -> bool:
    """Return whether the caller is a user with a new account. Bots and users of games are not limited."""
    actor = call.actor_or_none
    return actor is not None and actor.kind == "user" and _remaining_ms(call, actor.user_id) > 0


def describe_wait(call: Call) -> str:
    """Return the sentence that tells a limited caller when the limits end."""
    minutes = -(-_remaining_ms(call, call.user_id) // MINUTE_MS)
    return f"Try again in {minutes} minute{'' if minutes == 1 else 's'}."


def _remaining_ms(call: Call, user_id: int) -> int:
    limit_duration_ms = call.config.protection.new_account_minutes * MINUTE_MS
    return Snowflake(user_id).created_ms + limit_duration_ms - call.now_ms if limit_duration_ms else 0
