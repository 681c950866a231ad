"""Cached recipients of the events of a guild."""

from collections.abc import Collection

from hubbub.server.transports.gateway.session import GatewaySession, GuildSubscription
from hubbub.server.transports.gateway.standings import may_receive

Recipients = tuple[list[GatewaySession], list[GatewaySession]]
"""Sessions that receive message content, and sessions that do not."""


class RecipientLists:
    """The sessions of a guild that may receive events, by channel ID, permission and intents.

    The lists are in the order in which the sessions were admitted."""

    __slots__ = ("_lists",)

    def __init__(self) -> None:
        self._lists: dict[tuple[int | None, int, int], Recipients] = {}

    def read(
        self,
        channel_id: int | None,
        permission: int,
        intents: int,
        subscriptions: Collection[GuildSubscription],
    ) -> Recipients:
        """Return the recipients among `subscriptions`, which are all of the guild; the caller must not change the lists."""
        key = (channel_id, permission, intents)
        recipients = self._lists.get(key)
        if recipients is None:
            recipients = self._lists[key] = ([], [])
            for subscription in subscriptions:
                _add_recipient(recipients, subscription, *key)
        return recipients

    def add(self, subscription: GuildSubscription) -> None:
        """Add a session to the lists of the events that it may receive."""
        for key, recipients in self._lists.items():
            _add_recipient(recipients, subscription, *key)

    def clear(self) -> None:
        """Discard all lists, because a standing changed or a session left."""
        self._lists.clear()


def _add_recipient(
    recipients: Recipients, subscription: GuildSubscription, channel_id: int | None, permission: int, intents: int
) -> None:
    session = subscription.session
    if (not intents or session.intents & intents) and may_receive(subscription.standing, channel_id, permission):
        recipients[0 if session.sees_content else 1].append(session)
