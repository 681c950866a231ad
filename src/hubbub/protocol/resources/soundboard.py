"""The soundboard: short sounds played into a voice channel."""

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
SOUNDS_MAX_BY_TIER: Final = (8, 24, 36, 48)
SOUNDS_MAX_MORE: Final = 96
"""With the feature MORE_SOUNDBOARD."""

SoundName = Annotated[str, Meta(min_length=SOUND_NAME_MIN, max_length=SOUND_NAME_MAX)]
SoundVolume = Annotated[float, Meta(ge=0, le=1)]
SoundEmojiName = Annotated[str, Meta(min_length=1, max_length=SOUND_EMOJI_NAME_MAX)]


class SoundboardSound(Struct, kw_only=True):
    """A sound of a guild, or one of the defaults."""

    name: str
    sound_id: SoundId
    volume: float
    """From 0 to 1."""
    emoji_id: EmojiId | None
    emoji_name: str | None
    available: bool
    """False when the guild lost the boosts that gave room for it."""
    guild_id: GuildId | UnsetType = UNSET
    user: User | UnsetType = UNSET
    """Who uploaded it, for those who may know."""


class GuildSounds(Struct, kw_only=True):
    """All sounds of a guild, over HTTP."""

    items: list[SoundboardSound]


class CreateSound(Struct, kw_only=True):
    """A new sound of a guild."""

    name: SoundName
    sound: SoundData
    volume: SoundVolume | None | UnsetType = UNSET
    """1 where nothing is said."""
    emoji_id: EmojiId | None | UnsetType = UNSET
    """A custom emoji of the guild to show beside it,"""
    emoji_name: SoundEmojiName | None | UnsetType = UNSET
    """or a unicode one."""


class UpdateSound(Struct, kw_only=True):
    """What of a guild's sound may change."""

    name: SoundName | UnsetType = UNSET
    volume: SoundVolume | None | UnsetType = UNSET
    emoji_id: EmojiId | None | UnsetType = UNSET
    emoji_name: SoundEmojiName | None | UnsetType = UNSET


class SendSound(Struct, kw_only=True):
    """Which sound to play."""

    sound_id: SoundId
    source_guild_id: GuildId | None | UnsetType = UNSET
    """The guild it belongs to, where that is another one."""


class SoundDeleted(Struct, kw_only=True):
    """A sound that is gone."""

    guild_id: GuildId
    sound_id: SoundId


class SoundboardSounds(Struct, kw_only=True):
    """All sounds of one guild."""

    guild_id: GuildId
    soundboard_sounds: list[SoundboardSound]


class VoiceChannelEffect(Struct, kw_only=True):
    """A sound (or an emoji) that somebody let loose in a voice channel."""

    channel_id: ChannelId
    guild_id: GuildId
    user_id: UserId
    emoji: PartialEmoji | None | UnsetType = UNSET
    animation_type: int | None | UnsetType = UNSET
    animation_id: int | UnsetType = UNSET
    sound_id: str | int | UnsetType = UNSET
    """A string; a number for a default sound."""
    sound_volume: float | UnsetType = UNSET


GUILD_SOUNDBOARD_SOUND_CREATE = Event(
    "GUILD_SOUNDBOARD_SOUND_CREATE", SoundboardSound, intents=Intents.GUILD_EXPRESSIONS
)
GUILD_SOUNDBOARD_SOUND_UPDATE = Event(
    "GUILD_SOUNDBOARD_SOUND_UPDATE", SoundboardSound, intents=Intents.GUILD_EXPRESSIONS
)
GUILD_SOUNDBOARD_SOUND_DELETE = Event("GUILD_SOUNDBOARD_SOUND_DELETE", SoundDeleted, intents=Intents.GUILD_EXPRESSIONS)
# Several sounds changed at once.
GUILD_SOUNDBOARD_SOUNDS_UPDATE = Event(
    "GUILD_SOUNDBOARD_SOUNDS_UPDATE", SoundboardSounds, intents=Intents.GUILD_EXPRESSIONS
)
VOICE_CHANNEL_EFFECT_SEND = Event("VOICE_CHANNEL_EFFECT_SEND", VoiceChannelEffect, intents=Intents.GUILD_VOICE_STATES)

_IN_GUILD: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_CHANGING: Final = (*_IN_GUILD, errors.UNKNOWN_SOUND, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)

GET_SOUNDBOARD_DEFAULT_SOUNDS = Operation("GET", "/soundboard-default-sounds", result=list[SoundboardSound])

LIST_GUILD_SOUNDBOARD_SOUNDS = Operation(
    "GET", "/guilds/{guild_id}/soundboard-sounds", result=GuildSounds, raises=_IN_GUILD
)

GET_GUILD_SOUNDBOARD_SOUND = Operation(
    "GET",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    result=SoundboardSound,
    raises=(*_IN_GUILD, errors.UNKNOWN_SOUND),
)

# CREATE_GUILD_EXPRESSIONS; before permission_splits MANAGE_GUILD_EXPRESSIONS suffices too.
CREATE_GUILD_SOUNDBOARD_SOUND = Operation(
    "POST",
    "/guilds/{guild_id}/soundboard-sounds",
    body=CreateSound,
    result=SoundboardSound,
    status=201,
    raises=(
        *_IN_GUILD,
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

# One's own with CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS, others' with the latter.
UPDATE_GUILD_SOUNDBOARD_SOUND = Operation(
    "PATCH",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    body=UpdateSound,
    result=SoundboardSound,
    raises=(*_CHANGING, errors.UNKNOWN_EMOJI),
    emits=(GUILD_SOUNDBOARD_SOUND_UPDATE,),
    audits=(AuditLogAction.SOUNDBOARD_SOUND_UPDATE,),
)

DELETE_GUILD_SOUNDBOARD_SOUND = Operation(
    "DELETE",
    "/guilds/{guild_id}/soundboard-sounds/{sound_id}",
    raises=_CHANGING,
    emits=(GUILD_SOUNDBOARD_SOUND_DELETE,),
    audits=(AuditLogAction.SOUNDBOARD_SOUND_DELETE,),
)

# A sound of another guild also needs USE_EXTERNAL_SOUNDS.
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
