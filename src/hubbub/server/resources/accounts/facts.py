"""What the accounts slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class AccountBanned(msgspec.Struct, frozen=True, kw_only=True):
    """The operator closed an account: whatever acts for it ends."""

    user_id: UserId
    ends_ms: int | None
    """None: for good."""


class AccountUnbanned(msgspec.Struct, frozen=True, kw_only=True):
    """The operator opened an account again before its ban ended."""

    user_id: UserId
