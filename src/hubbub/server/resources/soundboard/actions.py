"""Making, changing, deleting and playing sounds: write, audit, publish."""

from msgspec import UNSET

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, SoundId
from hubbub.protocol.resources import soundboard as wire
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.server.core import audit
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import emojis
from hubbub.server.resources.soundboard import store, views
from hubbub.server.resources.soundboard.store import SoundRow

_AUDITED = ("name", "volume", "emoji_id", "emoji_name")


def create(call: Call, row: SoundRow) -> None:
    """Add a sound to a guild."""
    store.insert(call.tx, row)
    shown = views.sound(row)
    changes = audit.differences(None, shown, _AUDITED)
    audit.record(call, row.guild_id, AuditLogAction.SOUNDBOARD_SOUND_CREATE, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_CREATE, shown, Audience.guild(row.guild_id))


def change(call: Call, before: SoundRow, after: SoundRow) -> None:
    """Keep what changed of a sound; nothing is said when nothing did."""
    if after == before:
        return
    store.update(call.tx, after)
    shown = views.sound(after)
    changes = audit.differences(views.sound(before), shown, _AUDITED)
    audit.record(call, after.guild_id, AuditLogAction.SOUNDBOARD_SOUND_UPDATE, target_id=after.id, changes=changes)
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_UPDATE, shown, Audience.guild(after.guild_id))


def delete(call: Call, row: SoundRow) -> None:
    """Take a sound from a guild."""
    store.delete(call.tx, row.id)
    changes = audit.differences(views.sound(row), None, _AUDITED)
    audit.record(call, row.guild_id, AuditLogAction.SOUNDBOARD_SOUND_DELETE, target_id=row.id, changes=changes)
    payload = wire.SoundDeleted(guild_id=GuildId(row.guild_id), sound_id=SoundId(row.id))
    call.tx.emit(wire.GUILD_SOUNDBOARD_SOUND_DELETE, payload, Audience.guild(row.guild_id))


def play(call: Call, here: ChannelAccess, sound: wire.SoundboardSound) -> None:
    """Let everybody in a voice channel hear a sound."""
    ours = sound.guild_id is not UNSET
    payload = wire.VoiceChannelEffect(
        channel_id=here.channel.id,
        guild_id=here.guild_id,
        user_id=call.user_id,
        emoji=_emoji(call, sound),
        # gateway.md 10: the number of a default sound, the id of any other.
        sound_id=str(int(sound.sound_id)) if ours else int(sound.sound_id),
        sound_volume=sound.volume,
    )
    audience = Audience.guild(here.guild_id, users=store.listeners(call.tx, here.channel.id))
    call.tx.emit(wire.VOICE_CHANNEL_EFFECT_SEND, payload, audience)


def _emoji(call: Call, sound: wire.SoundboardSound) -> PartialEmoji | None:
    if sound.emoji_id is not None:
        row = emojis.find(call.tx, sound.emoji_id)
        return None if row is None else emojis.partial(row)
    return None if sound.emoji_name is None else PartialEmoji(id=None, name=sound.emoji_name)


def emoji_deleted(call: Call, fact: emojis.EmojiDeleted) -> None:
    """Sounds that showed an emoji of the guild show none: several may change at once, so all are told together."""
    if store.forget_emoji(call.tx, fact.guild_id, fact.emoji_id):
        payload = wire.SoundboardSounds(
            guild_id=fact.guild_id, soundboard_sounds=views.of_guild(call.tx, fact.guild_id)
        )
        call.tx.emit(wire.GUILD_SOUNDBOARD_SOUNDS_UPDATE, payload, Audience.guild(fact.guild_id))
