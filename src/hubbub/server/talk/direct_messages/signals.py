"""Signals that the direct messages slice sends inside the transaction."""

import msgspec


class RecipientAdded(msgspec.Struct, frozen=True, kw_only=True):
    """A user was added to a group."""

    channel_id: int
    user_id: int


class RecipientRemoving(msgspec.Struct, frozen=True, kw_only=True):
    """A user is about to leave a group or to be removed from it, and is still a recipient."""

    channel_id: int
    user_id: int
