"""Records of a guild's hub: its members with sessions on this node, and channels that changed recently."""

from typing import NamedTuple

from hubbub.server.core.gateway_queries import MemberState
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import GuildSubscription


class TrackedMember:
    """A member of the guild with at least one session on this node."""

    __slots__ = ("subscriptions", "snapshot", "state")

    def __init__(self, state: MemberState | None, snapshot: Snapshot) -> None:
        self.state = state
        """The member as of the last read; None if the user left the guild."""
        self.snapshot = snapshot
        self.subscriptions: list[GuildSubscription] = []


class ChangedChannel(NamedTuple):
    """A channel before a change of its obfuscated form or before its deletion."""

    obfuscated_body: bytes
    viewer_ids: frozenset[int]
    """IDs of the users who could view a deleted channel; empty for a changed channel."""
    changed_at: float
    """Time at which the change was read, in seconds of the event loop's clock."""
