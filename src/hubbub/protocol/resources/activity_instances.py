"""Activity instances: who plays an embedded application together, and where."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ActivityInstanceId, ApplicationId, ChannelId, GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.members import Member

SESSION_ID_MAX = 128


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


class ActivityParticipant(Struct, kw_only=True):
    """Somebody who takes part."""

    user_id: UserId
    session_id: str
    """The same for what one device does, and nothing that could resume it."""
    nonce: str | None
    member: Member | UnsetType = UNSET
    """In a guild."""


class EmbeddedActivity(Struct, kw_only=True):
    """A running activity as those who see its channel are told of it; without participants it is over."""

    application_id: ApplicationId
    instance_id: ActivityInstanceId
    composite_instance_id: str
    """What the application knows as the instance's id."""
    launch_id: ActivityInstanceId
    location: ActivityLocation
    participants: list[ActivityParticipant]


class EmbeddedActivities(Struct, kw_only=True):
    """What runs of an application in a channel."""

    instances: list[EmbeddedActivity]


class LaunchActivity(Struct, kw_only=True):
    """Which of one's gateway sessions takes part."""

    session_id: Annotated[str, Meta(min_length=1, max_length=SESSION_ID_MAX)]


EMBEDDED_ACTIVITY_UPDATE_V2 = Event(
    "EMBEDDED_ACTIVITY_UPDATE_V2",
    EmbeddedActivity,
    intents=Intents.GUILD_EMBEDDED_ACTIVITIES,
    dm_intents=Intents.DIRECT_EMBEDDED_ACTIVITIES,
)

APPLICATIONS_GET_ACTIVITY_INSTANCE = Operation(
    "GET",
    "/applications/{application_id}/activity-instances/{instance_id}",
    result=ActivityInstance,
    auth=Auth.BOT,
    raises=(errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION, errors.NOT_FOUND),
)

# activities.md 2 and 3: the routes of the chat client.
LAUNCH_ACTIVITY = Operation(
    "POST",
    "/activities/{channel_id}/{application_id}",
    body=LaunchActivity,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_APPLICATION,
        errors.WRONG_CHANNEL_TYPE,
        errors.MISSING_PERMISSIONS,
        errors.INVALID_ACTIVITY_ACTION,
    ),
    emits=(EMBEDDED_ACTIVITY_UPDATE_V2,),
)

# activities.md 3: deprecated, GUILD_CREATE and EMBEDDED_ACTIVITY_UPDATE_V2 tell the same.
LIST_ACTIVITY_INSTANCES = Operation(
    "GET",
    "/activities/{application_id}/instances/{channel_id}",
    result=EmbeddedActivities,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.UNKNOWN_APPLICATION),
)

LEAVE_ACTIVITY = Operation(
    "POST",
    "/applications/{application_id}/activities/{location_id}/instances/{instance_id}/leave",
    body=LaunchActivity,
    result=dict[str, str],
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
    emits=(EMBEDDED_ACTIVITY_UPDATE_V2,),
)
