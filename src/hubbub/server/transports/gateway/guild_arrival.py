"""The data that a session receives when it is added to a guild."""

import msgspec

from hubbub.server.core.gateway_queries import GuildState, MemberState
from hubbub.server.core.store import Snapshot


class GuildArrival(msgspec.Struct, kw_only=True):
    """The state of a guild and a member for a session, and the session's GUILD_CREATE."""

    state: GuildState
    snapshot: Snapshot
    """The snapshot of the read; events that it covers are already contained in the data."""
    member: MemberState
    visible: frozenset[int]
    """IDs of the channels that the member can view."""
    moderated: frozenset[int]
    """IDs of the channels whose private threads are all visible to the member."""
    body: bytes | None
    """The payload of GUILD_CREATE, or None if the session lacks the GUILDS intent."""
