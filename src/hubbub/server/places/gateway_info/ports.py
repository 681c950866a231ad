"""Port of the gateway info slice: the session start limit, which the gateway of the process counts."""

from hubbub.protocol.resources import gateway as wire
from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


@port
def find_session_start_limit(call: Call, guild_count: int) -> wire.SessionStartLimit | None:
    """Return the session start limit of the calling bot, which is in `guild_count` guilds, with the remaining starts.

    Return None in a process without a gateway."""
