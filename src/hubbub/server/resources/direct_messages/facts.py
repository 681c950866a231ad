"""What the direct messages slice tells others, inside the transaction."""

import msgspec


class RecipientCame(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody came to a group."""

    channel_id: int
    user_id: int


class RecipientGoes(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody is about to be in a group no more; they are until this is told."""

    channel_id: int
    user_id: int
