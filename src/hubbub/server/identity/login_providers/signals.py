"""Signals that the slice of external logins sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class IdentityLinked(msgspec.Struct, frozen=True, kw_only=True):
    """An identity at a provider was linked to an existing account."""

    user_id: UserId
    provider_name: str


class IdentityUnlinked(msgspec.Struct, frozen=True, kw_only=True):
    """An identity at a provider was removed from an account."""

    user_id: UserId
    provider_name: str
