"""What the direct messages slice asks others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import UserId


class FriendshipAsked(msgspec.Struct, kw_only=True):
    """Whether two people are friends decides something. Whoever keeps friendships sets `friends`."""

    user_id: UserId
    other_id: UserId
    friends: bool = False
