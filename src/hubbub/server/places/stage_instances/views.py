"""Build the wire models of stage instances."""

from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId
from hubbub.protocol.resources import stage_instances as wire
from hubbub.server.places.stage_instances.store import StageInstanceRow


def stage_instance(row: StageInstanceRow) -> wire.StageInstance:
    """Build the stage instance for members who can see its channel."""
    event_id = row.scheduled_event_id
    return wire.StageInstance(
        id=StageInstanceId(row.id),
        guild_id=GuildId(row.guild_id),
        channel_id=ChannelId(row.channel_id),
        topic=row.topic,
        privacy_level=row.privacy_level,
        guild_scheduled_event_id=None if event_id is None else ScheduledEventId(event_id),
    )
