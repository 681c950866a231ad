"""Permission and validity checks for sounds."""

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import EmojiId, GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import soundboard as wire
from hubbub.protocol.sounds import SoundData
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions import emojis, store
from hubbub.server.places.expressions.kinds import SOUNDS
from hubbub.server.places.expressions.sounds import defaults
from hubbub.server.places.standing import ChannelAccess


def require_valid_sound(sound: SoundData) -> str:
    """Return the hash of a valid sound file, or raise an error."""
    if sound.content_type is None:
        raise errors.FILE_TYPE_INVALID()
    if not sound.duration_ms:
        raise errors.FILE_WITHOUT_DURATION()
    if sound.duration_ms > wire.SOUND_MS_MAX:
        raise errors.FILE_TOO_LONG()
    return sound.hash


def require_valid_emoji(
    tx: Tx, guild_id: GuildId, emoji_id: EmojiId | UnsetType | None, emoji_name: str | UnsetType | None
) -> None:
    """Raise an error unless the emoji of a sound is a custom emoji of the guild (`emoji_id`) or a Unicode emoji (`emoji_name`).

    A sound without an emoji is valid."""
    if emoji_id:
        row = emojis.find(tx, emoji_id)
        if row is None or row.guild_id != guild_id:
            raise errors.UNKNOWN_EMOJI()
    if emoji_name and not emojis.is_unicode_emoji(emoji_name):
        raise errors.invalid("emoji_name", "INVALID_EMOJI", "Invalid emoji")


def require_unsilenced(call: Call, channel_access: ChannelAccess) -> None:
    """Raise an error unless the caller is connected to the voice channel and is not silenced (`ConnectedMember`) in it."""
    if channel_access.channel.type not in (ChannelType.GUILD_VOICE, ChannelType.GUILD_STAGE_VOICE):
        raise errors.WRONG_CHANNEL_TYPE()
    member = store.find_connected_member(call.tx, channel_access.guild_id, call.user_id)
    if member is None or member.channel_id != channel_access.channel.id:
        raise errors.TARGET_NOT_IN_VOICE()
    if member.is_silenced:
        raise errors.VOICE_EFFECT_WHILE_SILENCED()


def require_playable(call: Call, channel_access: ChannelAccess, body: wire.SendSound) -> wire.SoundboardSound:
    """Return the requested sound if the caller may play it in the channel, otherwise raise an error.

    Allowed are default sounds, the guild's sounds and, with USE_EXTERNAL_SOUNDS, sounds of the caller's other
    guilds."""
    default_sound = defaults.find(body.sound_id)
    if default_sound is not None:
        return default_sound
    row = SOUNDS.table.find(call.tx, body.sound_id)
    if row is None or (body.source_guild_id and body.source_guild_id != row.guild_id):
        raise errors.UNKNOWN_SOUND()
    if row.guild_id != channel_access.guild_id:
        if not store.is_member(call.tx, row.guild_id, call.user_id):
            raise errors.UNKNOWN_SOUND()
        channel_access.require(Permissions.USE_EXTERNAL_SOUNDS)
    return SOUNDS.view(row)
