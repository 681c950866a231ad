"""Soundboard: short sounds that users play in voice channels, and the effects of voice channels."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, SoundId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.users import User
from hubbub.protocol.sounds import SoundData

SOUND_NAME_MIN: Final = 2
SOUND_NAME_MAX: Final = 32
SOUND_EMOJI_NAME_MAX: Final = 32
SOUND_MS_MAX: Final = 5_200
"""Maximum duration of a sound in milliseconds."""
SOUNDS_MAX_BY_TIER: Final = (8, 24, 36, 48)
"""Maximum number of sounds by the guild's premium tier."""
SOUNDS_MAX_WITH_MORE_SOUNDBOARD: Final = 96
"""Maximum number of sounds with the feature MORE_SOUNDBOARD."""

SoundName = Annotated[str, Meta(min_length=SOUND_NAME_MIN, max_length=SOUND_NAME_MAX)]
SoundVolume = Annotated[float, Meta(ge=0, le=1)]
SoundEmojiName = Annotated[str, Meta(min_length=1, max_length=SOUND_EMOJI_NAME_MAX)]


class SoundboardSound(Struct, kw_only=True):
    """A sound of a guild, or a default sound."""

    name: str
    """Name of the sound."""
    sound_id: SoundId
    """ID of the sound."""
    volume: float
    """Volume from 0 to 1."""
    emoji_id: EmojiId | None
    """ID of the sound's custom emoji; null if there is none."""
    emoji_name: str | None
    """Unicode emoji of the sound; null if there is none."""
    available: bool
    """Whether the sound can be used; always true."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for default sounds."""
    user: User | UnsetType = UNSET
    """User who uploaded the sound. Sent to holders of CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS."""


class GuildSounds(Struct, kw_only=True):
    """The sounds of a guild in HTTP responses."""

    items: list[SoundboardSound]
    """Sounds of the guild."""


class CreateSound(Struct, kw_only=True):
    """A new sound of a guild."""

    name: SoundName
    """Name of the sound."""
    sound: SoundData
    """Sound as a data URI, MP3 or Ogg; at most 512 KiB and 5.2 seconds."""
    volume: SoundVolume | None | UnsetType = UNSET
    """Volume from 0 to 1; default 1."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji of the guild; null or absent for none."""
    emoji_name: SoundEmojiName | None | UnsetType = UNSET
    """Unicode emoji; null or absent for none."""


class UpdateSound(Struct, kw_only=True):
    """Changes to a sound; absent fields keep their value."""

    name: SoundName | UnsetType = UNSET
    """Name of the sound."""
    volume: SoundVolume | None | UnsetType = UNSET
    """Volume from 0 to 1; null sets 1."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """ID of a custom emoji of the guild; null removes it."""
    emoji_name: SoundEmojiName | None | UnsetType = UNSET
    """Unicode emoji; null removes it."""


class SendSound(Struct, kw_only=True):
    """A sound to play in a voice channel."""

    sound_id: SoundId
    """ID of the sound."""
    source_guild_id: GuildId | None | UnsetType = UNSET
    """ID of the guild that owns the sound; required if the channel is in another guild."""


class SoundDeleted(Struct, kw_only=True):
    """A sound that was deleted."""

    guild_id: GuildId
    """ID of the guild."""
    sound_id: SoundId
    """ID of the sound."""


class SoundboardSounds(Struct, kw_only=True):
    """The sounds of a guild in gateway events."""

    guild_id: GuildId
    """ID of the guild."""
    soundboard_sounds: list[SoundboardSound]
    """Sounds of the guild."""


class VoiceChannelEffect(Struct, kw_only=True):
    """A sound that a user plays in a voice channel; the server sends no emoji effects."""

    channel_id: ChannelId
    """ID of the voice channel."""
    guild_id: GuildId
    """ID of the guild."""
    user_id: UserId
    """ID of the user who sent the effect."""
    emoji: PartialEmoji | None | UnsetType = UNSET
    """Emoji of the sound; null if there is none."""
    animation_type: int | None | UnsetType = UNSET
    """Type of the animation, a `VoiceEffectAnimationType`; always absent."""
    animation_id: int | UnsetType = UNSET
    """ID of the animation; always absent."""
    sound_id: str | int | UnsetType = UNSET
    """ID of the sound: a string, or a number for a default sound."""
    sound_volume: float | UnsetType = UNSET
    """Volume of the sound from 0 to 1."""


GUILD_SOUNDBOARD_SOUND_CREATE = Event(
    "GUILD_SOUNDBOARD_SOUND_CREATE",
    SoundboardSound,
    "Sent when a sound of a guild is created.",
    intents=Intents.GUILD_EXPRESSIONS,
)
GUILD_SOUNDBOARD_SOUND_UPDATE = Event(
    "GUILD_SOUNDBOARD_SOUND_UPDATE",
    SoundboardSound,
    "Sent when a sound of a guild changes.",
    intents=Intents.GUILD_EXPRESSIONS,
)
GUILD_SOUNDBOARD_SOUND_DELETE = Event(
    "GUILD_SOUNDBOARD_SOUND_DELETE",
    SoundDeleted,
    "Sent when a sound of a guild is deleted.",
    intents=Intents.GUILD_EXPRESSIONS,
)
GUILD_SOUNDBOARD_SOUNDS_UPDATE = Event(
    "GUILD_SOUNDBOARD_SOUNDS_UPDATE",
    SoundboardSounds,
    "Sent when several sounds of a guild change at once.",
    intents=Intents.GUILD_EXPRESSIONS,
)
VOICE_CHANNEL_EFFECT_SEND = Event(
    "VOICE_CHANNEL_EFFECT_SEND",
    VoiceChannelEffect,
    "Sent when a user plays a sound or sends an emoji effect in a voice channel.",
    intents=Intents.GUILD_VOICE_STATES,
)

_GUILD_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_UPDATE_ERRORS: Final = (*_GUILD_ERRORS, errors.UNKNOWN_SOUND, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)

GET_SOUNDBOARD_DEFAULT_SOUNDS = Operation("GET", "/soundboard-default-sounds", result=list[SoundboardSound])

LIST_GUILD_SOUNDBOARD_SOUNDS = Operation(
    "GET", "/guilds/{guild_id}/soundboard-sounds", result=GuildSounds, raises=_GUILD_ERRORS
)

GET_GUILD_SOUNDBOARD_SOUND = Operation(
    "GET",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    result=SoundboardSound,
    raises=(*_GUILD_ERRORS, errors.UNKNOWN_SOUND),
)

# The caller needs CREATE_GUILD_EXPRESSIONS; before changes.PERMISSION_SPLITS, MANAGE_GUILD_EXPRESSIONS is also sufficient.
CREATE_GUILD_SOUNDBOARD_SOUND = Operation(
    "POST",
    "/guilds/{guild_id}/soundboard-sounds",
    body=CreateSound,
    result=SoundboardSound,
    status=201,
    raises=(
        *_GUILD_ERRORS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_EMOJI,
        errors.MAX_SOUNDS,
        errors.FILE_TYPE_INVALID,
        errors.FILE_TOO_LONG,
        errors.FILE_WITHOUT_DURATION,
    ),
    emits=(GUILD_SOUNDBOARD_SOUND_CREATE,),
    audits=(AuditLogAction.SOUNDBOARD_SOUND_CREATE,),
)

# The caller's own sounds require CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS; those of other members require
# MANAGE_GUILD_EXPRESSIONS.
UPDATE_GUILD_SOUNDBOARD_SOUND = Operation(
    "PATCH",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    body=UpdateSound,
    result=SoundboardSound,
    raises=(*_UPDATE_ERRORS, errors.UNKNOWN_EMOJI),
    emits=(GUILD_SOUNDBOARD_SOUND_UPDATE,),
    audits=(AuditLogAction.SOUNDBOARD_SOUND_UPDATE,),
)

DELETE_GUILD_SOUNDBOARD_SOUND = Operation(
    "DELETE",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    raises=_UPDATE_ERRORS,
    emits=(GUILD_SOUNDBOARD_SOUND_DELETE,),
    audits=(AuditLogAction.SOUNDBOARD_SOUND_DELETE,),
)

# A sound of another guild also requires USE_EXTERNAL_SOUNDS.
SEND_SOUNDBOARD_SOUND = Operation(
    "POST",
    "/channels/{channel_id}/send-soundboard-sound",
    body=SendSound,
    needs=Permissions.SPEAK | Permissions.USE_SOUNDBOARD,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.TARGET_NOT_IN_VOICE,
        errors.VOICE_EFFECT_WHILE_SILENCED,
        errors.UNKNOWN_SOUND,
    ),
    emits=(VOICE_CHANNEL_EFFECT_SEND,),
)
