"""What the relationships slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class UserBlocked(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody blocks another."""

    user_id: UserId
    other_id: UserId
