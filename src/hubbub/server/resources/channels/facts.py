"""What the channels slice tells upper floors, inside the transaction."""

import msgspec


class ChannelsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """Channels (or threads) are going: what hangs on them goes too. Their rows are still there while this is told."""

    guild_id: int | None
    channel_ids: tuple[int, ...]
