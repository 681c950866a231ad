"""Voice states: who is connected to which voice channel, and the line shown above it."""

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


class VoiceState(Struct, kw_only=True):
    """A user's connection to voice."""

    channel_id: ChannelId | None
    """Null when they left."""
    user_id: UserId
    session_id: str
    deaf: bool
    """Deafened by the guild; `self_deaf` is by themselves."""
    mute: bool
    self_deaf: bool
    self_mute: bool
    self_video: bool
    suppress: bool
    """That they are in the audience of a stage."""
    request_to_speak_timestamp: Timestamp | None
    guild_id: GuildId | None | UnsetType = UNSET
    """Absent inside GUILD_CREATE, null in a call."""
    self_stream: bool | None = False
    member: Member | UnsetType = UNSET


class SetVoiceState(Struct, kw_only=True):
    """Joins, moves to or leaves a voice channel."""

    channel_id: ChannelId | None
    guild_id: GuildId | None = None
    """Null for a call; with a null channel too, to leave wherever one is."""
    self_mute: bool = False
    self_deaf: bool = False
    self_video: bool = False


class VoiceServer(Struct, kw_only=True):
    """Where to open the voice connection."""

    token: str
    guild_id: GuildId | None
    """Null for a private call, which names its channel."""
    endpoint: str | None
    """host[:port] without a scheme; null while the server is being replaced."""
    channel_id: ChannelId | UnsetType = UNSET


class RequestChannelInfo(Struct, kw_only=True):
    """Asks for what channel objects do not carry."""

    guild_id: GuildId
    fields: list[str]
    """`status`, `voice_start_time`; unknown names are ignored."""


class InfoOfChannel(Struct, kw_only=True):
    """What was asked of one channel, and only that."""

    id: ChannelId
    status: str | None | UnsetType = UNSET
    voice_start_time: int | None | UnsetType = UNSET
    """Unix seconds."""


class ChannelInfo(Struct, kw_only=True):
    """The answer: the channels that have something to tell."""

    guild_id: GuildId
    channels: list[InfoOfChannel]


class VoiceChannelStatus(Struct, kw_only=True):
    """A voice channel's new status line."""

    id: ChannelId
    guild_id: GuildId
    status: str | None


class VoiceChannelStartTime(Struct, kw_only=True):
    """When the first of those in a voice channel joined."""

    id: ChannelId
    guild_id: GuildId
    voice_start_time: int | None
    """Unix seconds; null when the channel is empty."""


class UpdateVoiceState(Struct, kw_only=True):
    """Whether somebody on a stage speaks or listens."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """The stage they are on; absent: wherever they are."""
    suppress: bool | None | UnsetType = UNSET
    """True: in the audience."""


class UpdateSelfVoiceState(UpdateVoiceState, kw_only=True):
    """The same of oneself, and the hand one raises."""

    request_to_speak_timestamp: datetime | None | UnsetType = UNSET
    """Now or later; null lowers the hand."""


class UpdateVoiceChannelStatus(Struct, kw_only=True):
    """A new status line."""

    status: Annotated[str, Meta(max_length=VOICE_STATUS_MAX)] | None | UnsetType = UNSET
    """Null and the empty line clear it."""


# Named apart from the event, which has the same documented name.
SET_VOICE_STATE = Command("VOICE_STATE_UPDATE", GatewayOpcode.VOICE_STATE_UPDATE, SetVoiceState)
REQUEST_CHANNEL_INFO = Command("REQUEST_CHANNEL_INFO", GatewayOpcode.REQUEST_CHANNEL_INFO, RequestChannelInfo)

VOICE_STATE_UPDATE = Event(
    "VOICE_STATE_UPDATE", VoiceState, intents=Intents.GUILD_VOICE_STATES, dm_intents=Intents.CALLS
)
VOICE_SERVER_UPDATE = Event("VOICE_SERVER_UPDATE", VoiceServer)
CHANNEL_INFO = Event("CHANNEL_INFO", ChannelInfo)

# The specification leaves these two names open; gateway.md 6.2 has the ones we use.
VOICE_CHANNEL_STATUS_UPDATE = Event("VOICE_CHANNEL_STATUS_UPDATE", VoiceChannelStatus, intents=Intents.GUILDS)
VOICE_CHANNEL_START_TIME_UPDATE = Event(
    "VOICE_CHANNEL_START_TIME_UPDATE", VoiceChannelStartTime, intents=Intents.GUILDS
)

GET_SELF_VOICE_STATE = Operation(
    "GET",
    "/guilds/{guild_id}/voice-states/@me",
    result=VoiceState,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_VOICE_STATE),
)

# The caller must be able to connect to the other's channel, which the path does not name.
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

# On a stage only. To speak needs MUTE_MEMBERS, to ask for it REQUEST_TO_SPEAK, in the channel, which the path does not name.
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

# Needs MUTE_MEMBERS in the channel.
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

# Who is not connected there also needs MANAGE_CHANNELS.
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
