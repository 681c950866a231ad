"""Signals that the administration slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class UserSuspended(msgspec.Struct, frozen=True, kw_only=True):
    """An operator suspended an account."""

    user_id: UserId
    reason: str | None
    ends_ms: int | None
    """End of the suspension in Unix milliseconds; None if it does not end by itself."""
