"""Stage instances: a stage channel that is live."""

from typing import Final

from msgspec import Struct

from hubbub.protocol.ids import ChannelId, GuildId, Snowflake

STAGE_TOPIC_MAX: Final = 120


class StageInstance(Struct, kw_only=True):
    """What is being said on a stage now."""

    id: Snowflake
    guild_id: GuildId
    channel_id: ChannelId
    topic: str
    privacy_level: int = 2
    discoverable_disabled: bool = False
    guild_scheduled_event_id: Snowflake | None
