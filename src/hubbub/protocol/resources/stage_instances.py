"""Stage instances: live stages, each in a stage channel."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, StagePrivacyLevel
from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions

STAGE_TOPIC_MAX: Final = 120
STAGE_MODERATOR_PERMISSIONS: Final = Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS | Permissions.MOVE_MEMBERS
"""Permissions of a stage moderator; all three are required (spec/http.md#3.9)."""
STAGE_IDLE_MS: Final = 5 * 60_000
"""Time in milliseconds after which a stage without speakers closes. The specification gives only "minutes" (decisions/0021)."""

StageTopic = Annotated[str, Meta(min_length=1, max_length=STAGE_TOPIC_MAX)]


class StageInstance(Struct, kw_only=True):
    """A live stage."""

    id: StageInstanceId
    """ID of the stage instance."""
    guild_id: GuildId
    """ID of the guild."""
    channel_id: ChannelId
    """ID of the stage channel."""
    topic: str
    """Topic of the stage."""
    privacy_level: int = StagePrivacyLevel.GUILD_ONLY.value
    """Visibility of the stage: 2 members of the guild only; 1, public, is deprecated and has no effect."""
    discoverable_disabled: bool = True
    """Always true; public stages, to which the field applied, no longer exist."""
    guild_scheduled_event_id: ScheduledEventId | None
    """ID of the scheduled event of the stage; null if there is none."""


class CreateStageInstance(Struct, kw_only=True):
    """A stage to open."""

    channel_id: ChannelId
    """ID of the stage channel."""
    topic: StageTopic
    """Topic of the stage."""
    privacy_level: StagePrivacyLevel | None | UnsetType = UNSET
    """Visibility of the stage: 2 members of the guild only, the default; 1, public, is deprecated and has no effect."""
    guild_scheduled_event_id: ScheduledEventId | None | UnsetType = UNSET
    """ID of the scheduled event that the stage starts; null or absent for none."""
    send_start_notification: bool | None | UnsetType = UNSET
    """Whether to notify @everyone, default false; requires MENTION_EVERYONE."""


class UpdateStageInstance(Struct, kw_only=True):
    """Changes to a live stage; absent fields keep their value."""

    topic: StageTopic | UnsetType = UNSET
    """Topic of the stage."""
    privacy_level: StagePrivacyLevel | UnsetType = UNSET
    """Visibility of the stage: 2 members of the guild only; 1, public, is deprecated and has no effect."""


STAGE_INSTANCE_CREATE = Event(
    "STAGE_INSTANCE_CREATE", StageInstance, "Sent when a stage opens.", intents=Intents.GUILDS
)
STAGE_INSTANCE_UPDATE = Event(
    "STAGE_INSTANCE_UPDATE", StageInstance, "Sent when a stage changes.", intents=Intents.GUILDS
)
STAGE_INSTANCE_DELETE = Event(
    "STAGE_INSTANCE_DELETE", StageInstance, "Sent when a stage closes.", intents=Intents.GUILDS
)

# The caller needs STAGE_MODERATOR_PERMISSIONS in the channel that the body names, and MENTION_EVERYONE for the notification.
CREATE_STAGE_INSTANCE = Operation(
    "POST",
    "/stage-instances",
    body=CreateStageInstance,
    result=StageInstance,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.WRONG_CHANNEL_TYPE,
        errors.STAGE_ALREADY_OPEN,
        errors.UNKNOWN_SCHEDULED_EVENT,
        errors.WRONG_EVENT_ENTITY_TYPE,
        errors.BANNED_WORDS,
    ),
    emits=(STAGE_INSTANCE_CREATE,),
    audits=(AuditLogAction.STAGE_INSTANCE_CREATE,),
)

GET_STAGE_INSTANCE = Operation(
    "GET",
    "/stage-instances/{channel_id}",
    result=StageInstance,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.UNKNOWN_STAGE_INSTANCE),
)

UPDATE_STAGE_INSTANCE = Operation(
    "PATCH",
    "/stage-instances/{channel_id}",
    body=UpdateStageInstance,
    result=StageInstance,
    needs=STAGE_MODERATOR_PERMISSIONS,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_STAGE_INSTANCE,
        errors.BANNED_WORDS,
    ),
    emits=(STAGE_INSTANCE_UPDATE,),
    audits=(AuditLogAction.STAGE_INSTANCE_UPDATE,),
)

DELETE_STAGE_INSTANCE = Operation(
    "DELETE",
    "/stage-instances/{channel_id}",
    needs=STAGE_MODERATOR_PERMISSIONS,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_STAGE_INSTANCE,
    ),
    emits=(STAGE_INSTANCE_DELETE,),
    audits=(AuditLogAction.STAGE_INSTANCE_DELETE,),
)
