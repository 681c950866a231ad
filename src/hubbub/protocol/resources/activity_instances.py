"""Activity instances: who plays an embedded application together, and where."""

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, UserId
from hubbub.protocol.operation import Auth, Operation


class ActivityLocation(Struct, kw_only=True):
    """Where an activity runs: `gc` in a guild's channel, `pc` in a private one."""

    id: str
    kind: str
    channel_id: ChannelId
    guild_id: GuildId | UnsetType = UNSET


class ActivityInstance(Struct, kw_only=True):
    """A running activity."""

    application_id: ApplicationId
    instance_id: str
    launch_id: str
    location: ActivityLocation
    users: list[UserId]


APPLICATIONS_GET_ACTIVITY_INSTANCE = Operation(
    "GET",
    "/applications/{application_id}/activity-instances/{instance_id}",
    result=ActivityInstance,
    auth=Auth.BOT,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.NOT_FOUND),
)
