"""Port of the administration of guilds: the number of messages and the size of the files in a guild."""

from typing import NamedTuple

from hubbub.server.core.call import Call
from hubbub.server.core.ports import port


class GuildUsage(NamedTuple):
    """The amount of messages and files in a guild."""

    message_count: int
    storage_bytes: int


@port
def compute_usage(call: Call, guild_id: int) -> GuildUsage:
    """Return the number of messages in a guild and the size of its uploaded files in bytes."""
