"""Voice states: the voice connections of users, and the status of voice channels."""

from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, GatewayOpcode
from hubbub.protocol.ids import ChannelId, GuildId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command, Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import Member

VOICE_STATUS_MAX = 500
"""Maximum length of the status of a voice channel, in characters."""


class VoiceState(Struct, kw_only=True):
    """A user's connection to a voice channel or call."""

    channel_id: ChannelId | None
    """ID of the voice channel; null if the user left."""
    user_id: UserId
    """ID of the user."""
    session_id: str
    """ID with which the user's client identifies to the voice server; differs from the ID of the gateway session."""
    deaf: bool
    """Whether the user is deafened by the guild."""
    mute: bool
    """Whether the user is muted by the guild."""
    self_deaf: bool
    """Whether the user deafened themselves."""
    self_mute: bool
    """Whether the user muted themselves."""
    self_video: bool
    """Whether the user's camera is on."""
    suppress: bool
    """Whether the user is in the audience of a stage and cannot speak."""
    request_to_speak_timestamp: Timestamp | None
    """Time at which the user requested to speak on a stage; null if they did not."""
    guild_id: GuildId | None | UnsetType = UNSET
    """ID of the guild; absent inside GUILD_CREATE, null in a private call."""
    self_stream: bool | None = False
    """Whether the user shares their screen."""
    member: Member | UnsetType = UNSET
    """Member of the guild; absent outside guilds."""


class SetVoiceState(Struct, kw_only=True):
    """The voice channel or call to join, move to or stay in, and the user's own settings."""

    channel_id: ChannelId | None
    """ID of the voice channel or private channel to join; null to leave."""
    guild_id: GuildId | None = None
    """ID of the guild; null for a private call, and to leave any channel together with a null `channel_id`."""
    self_mute: bool = False
    """Whether the user muted themselves."""
    self_deaf: bool = False
    """Whether the user deafened themselves."""
    self_video: bool = False
    """Whether the user's camera is on."""
    self_stream: bool = False
    """Whether the user shares their screen in a guild channel; ignored without the permission STREAM there."""


class VoiceServer(Struct, kw_only=True):
    """The voice server to connect to."""

    token: str
    """Token with which the client identifies to the voice server."""
    guild_id: GuildId | None
    """ID of the guild; null for a private call."""
    endpoint: str | None
    """Host and optional port of the voice server, without a scheme.
    Null while the server is being replaced; the client then disconnects and waits."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the private channel of a call; absent in guilds."""


class RequestChannelInfo(Struct, kw_only=True):
    """A request for channel fields that channel objects do not include."""

    guild_id: GuildId
    """ID of the guild."""
    fields: list[str]
    """Fields to return: `status` and `voice_start_time`; unknown names are ignored."""


class RequestedChannelInfo(Struct, kw_only=True):
    """The requested fields of one channel."""

    id: ChannelId
    """ID of the channel."""
    status: str | None | UnsetType = UNSET
    """Status of the voice channel; null if there is none."""
    voice_start_time: int | None | UnsetType = UNSET
    """Time at which the first user in the voice channel joined, in Unix seconds; null if the channel is empty."""


class ChannelInfo(Struct, kw_only=True):
    """The channels of a guild that have values for the requested fields."""

    guild_id: GuildId
    """ID of the guild."""
    channels: list[RequestedChannelInfo]
    """Channels with the requested fields."""


class VoiceChannelStatus(Struct, kw_only=True):
    """Text that clients show below the name of a voice channel."""

    id: ChannelId
    """ID of the channel."""
    guild_id: GuildId
    """ID of the guild."""
    status: str | None
    """New status of the voice channel; null if it was cleared."""


class VoiceChannelStartTime(Struct, kw_only=True):
    """The start time of the conversation in a voice channel."""

    id: ChannelId
    """ID of the channel."""
    guild_id: GuildId
    """ID of the guild."""
    voice_start_time: int | None
    """Time at which the first user in the channel joined, in Unix seconds; null if the channel is empty."""


class UpdateVoiceState(Struct, kw_only=True):
    """Changes to a user's voice state on a stage; null or absent `suppress` keeps the value."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the stage channel the user is in; null or absent for the user's current channel."""
    suppress: bool | None | UnsetType = UNSET
    """Whether the user is in the audience; false makes them a speaker."""


class UpdateSelfVoiceState(UpdateVoiceState, kw_only=True):
    """Changes to the caller's own voice state on a stage."""

    request_to_speak_timestamp: datetime | None | UnsetType = UNSET
    """Time of the request to speak; a time in the past counts as now. Null withdraws the request."""


class UpdateVoiceChannelStatus(Struct, kw_only=True):
    """The status of a voice channel to set."""

    status: Annotated[str, Meta(max_length=VOICE_STATUS_MAX)] | None | UnsetType = UNSET
    """New status; null or an empty string clears it."""


# The event VOICE_STATE_UPDATE has the same documented name, so the constant of the command has another name.
SET_VOICE_STATE = Command("VOICE_STATE_UPDATE", GatewayOpcode.VOICE_STATE_UPDATE, SetVoiceState)
"""Command that joins, moves to or leaves a voice channel or private call."""
REQUEST_CHANNEL_INFO = Command("REQUEST_CHANNEL_INFO", GatewayOpcode.REQUEST_CHANNEL_INFO, RequestChannelInfo)
"""Command that requests channel fields of a guild, which are returned as CHANNEL_INFO."""

VOICE_STATE_UPDATE = Event(
    "VOICE_STATE_UPDATE",
    VoiceState,
    "Sent when a user joins, leaves or moves between voice channels, or changes their voice state.",
    intents=Intents.GUILD_VOICE_STATES,
    dm_intents=Intents.CALLS,
)
VOICE_SERVER_UPDATE = Event(
    "VOICE_SERVER_UPDATE",
    VoiceServer,
    "Sent when the client joins a voice channel or call, and when its voice server changes.",
)
CHANNEL_INFO = Event("CHANNEL_INFO", ChannelInfo, "Sent in response to REQUEST_CHANNEL_INFO.")

# The names of the next two events are in spec/gateway.md#6.2.
VOICE_CHANNEL_STATUS_UPDATE = Event(
    "VOICE_CHANNEL_STATUS_UPDATE",
    VoiceChannelStatus,
    "Sent when the status of a voice channel changes.",
    intents=Intents.GUILDS,
)
VOICE_CHANNEL_START_TIME_UPDATE = Event(
    "VOICE_CHANNEL_START_TIME_UPDATE",
    VoiceChannelStartTime,
    "Sent when the first user joins a voice channel, and when the last one leaves.",
    intents=Intents.GUILDS,
)

GET_SELF_VOICE_STATE = Operation(
    "GET",
    "/guilds/{guild_id}/voice-states/@me",
    result=VoiceState,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_VOICE_STATE),
)

# The caller must be able to connect to the user's channel, which the path does not contain.
GET_VOICE_STATE = Operation(
    "GET",
    "/guilds/{guild_id}/voice-states/{user_id}",
    result=VoiceState,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.UNKNOWN_VOICE_STATE,
    ),
)

# The operation works only on a stage. In the user's channel, speaking requires MUTE_MEMBERS, and a request to speak
# requires REQUEST_TO_SPEAK.
UPDATE_SELF_VOICE_STATE = Operation(
    "PATCH",
    "/guilds/{guild_id}/voice-states/@me",
    body=UpdateSelfVoiceState,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.UNKNOWN_VOICE_STATE,
        errors.WRONG_CHANNEL_TYPE,
    ),
    emits=(VOICE_STATE_UPDATE,),
)

# The operation works only on a stage, and requires MUTE_MEMBERS in the channel.
UPDATE_VOICE_STATE = Operation(
    "PATCH",
    "/guilds/{guild_id}/voice-states/{user_id}",
    body=UpdateVoiceState,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.UNKNOWN_VOICE_STATE,
        errors.WRONG_CHANNEL_TYPE,
    ),
    emits=(VOICE_STATE_UPDATE,),
    audits=(AuditLogAction.MEMBER_UPDATE,),
)

# A caller who is not connected to the channel also needs MANAGE_CHANNELS.
UPDATE_VOICE_CHANNEL_STATUS = Operation(
    "PUT",
    "/channels/{channel_id}/voice-status",
    body=UpdateVoiceChannelStatus,
    needs=Permissions.SET_VOICE_CHANNEL_STATUS,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.TWO_FACTOR_REQUIRED,
        errors.WRONG_CHANNEL_TYPE,
    ),
    emits=(VOICE_CHANNEL_STATUS_UPDATE,),
    audits=(AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE, AuditLogAction.VOICE_CHANNEL_STATUS_DELETE),
)
