"""Signals that the relationships slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class UserBlocked(msgspec.Struct, frozen=True, kw_only=True):
    """A user blocked another user."""

    user_id: UserId
    """ID of the user who blocks."""
    other_id: UserId
    """ID of the blocked user."""
