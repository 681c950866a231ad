"""Signals that the accounts slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class AccountBanned(msgspec.Struct, frozen=True, kw_only=True):
    """An operator banned an account; listeners end everything that acts for it."""

    user_id: UserId
    ends_ms: int | None
    """End of the ban in Unix milliseconds. None means permanent."""


class AccountUnbanned(msgspec.Struct, frozen=True, kw_only=True):
    """An operator lifted a ban before it ended."""

    user_id: UserId
