"""Records of a guild's hub: its members with sessions on this node, and channels that changed recently."""

from typing import NamedTuple

from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.gateway_queries import MemberState
from hubbub.server.core.store import Snapshot
from hubbub.server.transports.gateway.session import GatewaySession, GuildSubscription


class TrackedMember:
    """A member of the guild with at least one session on this node."""

    __slots__ = ("subscriptions", "snapshot", "state")

    def __init__(self, state: MemberState | None, snapshot: Snapshot) -> None:
        self.state = state
        """The member as of the last read; None if the user left the guild."""
        self.snapshot = snapshot
        self.subscriptions: dict[GuildSubscription, None] = {}
        """Subscriptions of the member's sessions, in the order of their admission."""

    def intent_exempt_sessions(
        self, dispatch: Dispatch, only: GuildSubscription | None, recipients: set[GatewaySession]
    ) -> list[GatewaySession]:
        """Return the sessions of a member who needs no intent, without those that are already recipients.

        `only` limits them to one session that is still processing its backlog.
        """
        if self.state is None:
            return []
        return [
            subscription.session
            for subscription in self.subscriptions
            if subscription.session not in recipients
            and (only is None or subscription is only)
            and subscription.needs_event(dispatch)
        ]


class ChangedChannel(NamedTuple):
    """A channel before a change of its obfuscated form or before its deletion."""

    obfuscated_body: bytes
    viewer_ids: frozenset[int]
    """IDs of the users who could view a deleted channel; empty for a changed channel."""
    changed_at: float
    """Time at which the change was read, in seconds of the event loop's clock."""
