"""What the channels slice tells upper floors, inside the transaction."""

import msgspec


class LinkedChannelChanged(msgspec.Struct, frozen=True):
    """A channel that is linked to a lobby is called something else now: who plays there sees it by its name."""

    channel_id: int


class ChannelsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """Channels (or threads) are going: what hangs on them goes too. Their rows are still there while this is told."""

    guild_id: int | None
    channel_ids: tuple[int, ...]
