"""Create, update, delete and play sounds: store, record in the audit log, publish."""

from msgspec import UNSET

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, SoundId
from hubbub.protocol.resources import soundboard as wire
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.places import emojis
from hubbub.server.places.audit_log import audit
from hubbub.server.places.soundboard import store, views
from hubbub.server.places.soundboard.store import SoundRow
from hubbub.server.places.standing import ChannelAccess

_AUDITED = ("name", "volume", "emoji_id", "emoji_name")


def create(call: Call, row: SoundRow) -> None:
    """Create a sound in a guild."""
    store.insert(call.tx, row)
    view = views.sound(row)
    changes = audit.differences(None, view, _AUDITED)
    audit.record(call, row.guild_id, AuditLogAction.SOUNDBOARD_SOUND_CREATE, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_CREATE, view, Audience.guild(row.guild_id))


def change(call: Call, before: SoundRow, after: SoundRow) -> None:
    """Update a sound. Does nothing if nothing changed."""
    if after == before:
        return
    store.update(call.tx, after)
    view = views.sound(after)
    changes = audit.differences(views.sound(before), view, _AUDITED)
    audit.record(call, after.guild_id, AuditLogAction.SOUNDBOARD_SOUND_UPDATE, target_id=after.id, changes=changes)
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_UPDATE, view, Audience.guild(after.guild_id))


def delete(call: Call, row: SoundRow) -> None:
    """Delete a sound."""
    store.delete(call.tx, row.id)
    changes = audit.differences(views.sound(row), None, _AUDITED)
    audit.record(call, row.guild_id, AuditLogAction.SOUNDBOARD_SOUND_DELETE, target_id=row.id, changes=changes)
    payload = wire.SoundDeleted(guild_id=GuildId(row.guild_id), sound_id=SoundId(row.id))
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_DELETE, payload, Audience.guild(row.guild_id))


def play(call: Call, channel_access: ChannelAccess, sound: wire.SoundboardSound) -> None:
    """Play a sound to every member connected to a voice channel."""
    is_guild_sound = sound.guild_id is not UNSET
    payload = wire.VoiceChannelEffect(
        channel_id=channel_access.channel.id,
        guild_id=channel_access.guild_id,
        user_id=call.user_id,
        emoji=_emoji(call, sound),
        # spec/gateway.md#10: default sounds have a number, other sounds a snowflake ID.
        sound_id=str(int(sound.sound_id)) if is_guild_sound else int(sound.sound_id),
        sound_volume=sound.volume,
    )
    audience = Audience.guild(
        channel_access.guild_id, users=store.list_connected_users(call.tx, channel_access.channel.id)
    )
    call.tx.emit(wire.VOICE_CHANNEL_EFFECT_SEND, payload, audience)


def _emoji(call: Call, sound: wire.SoundboardSound) -> PartialEmoji | None:
    if sound.emoji_id is not None:
        row = emojis.find(call.tx, sound.emoji_id)
        return None if row is None else emojis.partial(row)
    return None if sound.emoji_name is None else PartialEmoji(id=None, name=sound.emoji_name)


def on_emoji_deleted(call: Call, signal: emojis.EmojiDeleted) -> None:
    """Remove a deleted emoji from the guild's sounds and publish all sounds in one event."""
    if store.remove_emoji(call.tx, signal.guild_id, signal.emoji_id):
        payload = wire.SoundboardSounds(
            guild_id=signal.guild_id, soundboard_sounds=views.list_of_guild(call.tx, signal.guild_id)
        )
        call.tx.emit(wire.GUILD_SOUNDBOARD_SOUNDS_UPDATE, payload, Audience.guild(signal.guild_id))
