"""Activity instances: running embedded activities, their channels and participants."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ActivityInstanceId, ApplicationId, ChannelId, GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources.members import Member

ACTIVITY_SESSION_ID_MAX = 128


class ActivityLocation(Struct, kw_only=True):
    """Channel in which an activity instance runs."""

    id: str
    """ID of the location: `gc-{guild_id}-{channel_id}` in a guild, `pc-{channel_id}` in a private channel."""
    kind: str
    """Kind of the location: `gc` for a guild channel, `pc` for a private channel."""
    channel_id: ChannelId
    """ID of the channel."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for private channels."""


class ActivityInstance(Struct, kw_only=True):
    """A running activity with the fields that its application can read."""

    application_id: ApplicationId
    """ID of the application."""
    instance_id: str
    """Composite ID of the instance, in the form `i-{id}-{location ID}`."""
    launch_id: str
    """ID of the launch that created the instance."""
    location: ActivityLocation
    """Channel in which the instance runs."""
    users: list[UserId]
    """IDs of the users connected to the instance."""


class ActivityParticipant(Struct, kw_only=True):
    """A user connected to an activity instance."""

    user_id: UserId
    """ID of the user."""
    session_id: str
    """Opaque ID of the participant's client session; it cannot be used to resume the session."""
    nonce: str | None
    """Always null."""
    member: Member | UnsetType = UNSET
    """Guild member of the user; absent in private channels."""


class EmbeddedActivity(Struct, kw_only=True):
    """A running activity with the fields that users of its channel can read; an instance without participants has ended."""

    application_id: ApplicationId
    """ID of the application."""
    instance_id: ActivityInstanceId
    """ID of the instance, without its location."""
    composite_instance_id: str
    """Composite ID of the instance, which the application receives, in the form `i-{id}-{location ID}`."""
    launch_id: ActivityInstanceId
    """ID of the launch that created the instance."""
    location: ActivityLocation
    """Channel in which the instance runs."""
    participants: list[ActivityParticipant]
    """Users connected to the instance; empty once it has ended."""


class EmbeddedActivities(Struct, kw_only=True):
    """Running instances of an application in a channel."""

    instances: list[EmbeddedActivity]
    """Running instances; at most one, because a channel has one instance per application."""


class ActivitySession(Struct, kw_only=True):
    """Request body for launching, joining or leaving an activity."""

    session_id: Annotated[str, Meta(min_length=1, max_length=ACTIVITY_SESSION_ID_MAX)]
    """ID of the gateway session with which the caller joins or leaves the activity."""


EMBEDDED_ACTIVITY_UPDATE_V2 = Event(
    "EMBEDDED_ACTIVITY_UPDATE_V2",
    EmbeddedActivity,
    "Sent when an activity instance starts, its participants change, or it ends.",
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

# Routes of the chat client (spec/activities.md#2, spec/activities.md#3).
LAUNCH_ACTIVITY = Operation(
    "POST",
    "/activities/{channel_id}/{application_id}",
    body=ActivitySession,
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

LIST_ACTIVITY_INSTANCES = Operation(
    "GET",
    "/activities/{application_id}/instances/{channel_id}",
    result=EmbeddedActivities,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.UNKNOWN_APPLICATION),
    # Both events contain the same data as this response (spec/activities.md#3).
    replaced_by="the events `GUILD_CREATE` and `EMBEDDED_ACTIVITY_UPDATE_V2`",
)

LEAVE_ACTIVITY = Operation(
    "POST",
    "/applications/{application_id}/activities/{location_id}/instances/{instance_id}/leave",
    body=ActivitySession,
    result=dict[str, str],
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
    emits=(EMBEDDED_ACTIVITY_UPDATE_V2,),
)
