"""HTTP handlers for the soundboard."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, SoundId
from hubbub.protocol.resources import soundboard as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import expressions
from hubbub.server.places.soundboard import actions, defaults, rules, store, views
from hubbub.server.places.soundboard.store import SoundRow
from hubbub.server.places.standing import GuildAccess, access


@handles(wire.GET_SOUNDBOARD_DEFAULT_SOUNDS)
def get_soundboard_default_sounds(call: Call) -> list[wire.SoundboardSound]:
    """List the default soundboard sounds."""
    return defaults.list_sounds()


@handles(wire.LIST_GUILD_SOUNDBOARD_SOUNDS)
def list_guild_soundboard_sounds(call: Call, guild_id: GuildId) -> wire.GuildSounds:
    """List guild soundboard sounds."""
    standing = access.guild(call, guild_id)
    rows = store.list_of_guild(call.tx, guild_id)
    return wire.GuildSounds(
        items=views.sounds(call.tx, rows, with_creators=expressions.can_see_creators(call, standing))
    )


@handles(wire.GET_GUILD_SOUNDBOARD_SOUND)
def get_guild_soundboard_sound(call: Call, guild_id: GuildId, sound_id: SoundId) -> wire.SoundboardSound:
    """Get a guild soundboard sound."""
    standing = access.guild(call, guild_id)
    return _view(call, standing, _get(call, guild_id, sound_id))


@handles(wire.CREATE_GUILD_SOUNDBOARD_SOUND)
def create_guild_soundboard_sound(call: Call, guild_id: GuildId, body: wire.CreateSound) -> wire.SoundboardSound:
    """Create a guild soundboard sound."""
    standing = expressions.require_create(call, guild_id)
    file = rules.require_sound(body.sound)
    rules.require_emoji(call.tx, guild_id, body.emoji_id, body.emoji_name)
    rules.require_slot(call.tx, guild_id)
    row = SoundRow(
        id=call.new_id(SoundId),
        guild_id=guild_id,
        user_id=call.user_id,
        name=body.name,
        volume=_volume(body),
        emoji_id=body.emoji_id or None,
        emoji_name=None if body.emoji_id else body.emoji_name or None,
        file=file,
    )
    actions.create(call, row)
    return _view(call, standing, row)


@handles(wire.UPDATE_GUILD_SOUNDBOARD_SOUND)
def update_guild_soundboard_sound(
    call: Call, guild_id: GuildId, sound_id: SoundId, body: wire.UpdateSound
) -> wire.SoundboardSound:
    """Update a guild soundboard sound.

    Name, volume and emoji can be changed."""
    standing = access.guild(call, guild_id)
    before = _get(call, guild_id, sound_id)
    expressions.require_change(call, guild_id, before.user_id)
    rules.require_emoji(call.tx, guild_id, body.emoji_id, body.emoji_name)
    after = before
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.volume is not UNSET:
        after = after._replace(volume=_volume(body))
    # A sound has one emoji: a new one replaces the other kind.
    if body.emoji_id is not UNSET:
        after = after._replace(emoji_id=body.emoji_id)
    if body.emoji_name is not UNSET:
        after = after._replace(emoji_name=body.emoji_name)
    if body.emoji_id:
        after = after._replace(emoji_name=None)
    elif body.emoji_name:
        after = after._replace(emoji_id=None)
    actions.change(call, before, after)
    return _view(call, standing, after)


@handles(wire.DELETE_GUILD_SOUNDBOARD_SOUND)
def delete_guild_soundboard_sound(call: Call, guild_id: GuildId, sound_id: SoundId) -> None:
    """Delete a guild soundboard sound."""
    access.guild(call, guild_id)
    row = _get(call, guild_id, sound_id)
    expressions.require_change(call, guild_id, row.user_id)
    actions.delete(call, row)


@handles(wire.SEND_SOUNDBOARD_SOUND)
def send_soundboard_sound(call: Call, channel_id: ChannelId, body: wire.SendSound) -> None:
    """Send a soundboard sound to a voice channel.

    The caller must be connected to the channel."""
    channel_access = access.channel(call, channel_id)
    rules.require_unsilenced(call, channel_access)
    actions.play(call, channel_access, rules.require_playable(call, channel_access, body))


def _volume(body: wire.CreateSound | wire.UpdateSound) -> float:
    return 1.0 if body.volume is UNSET or body.volume is None else float(body.volume)


def _get(call: Call, guild_id: GuildId, sound_id: SoundId) -> SoundRow:
    row = store.find(call.tx, sound_id)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_SOUND()
    return row


def _view(call: Call, standing: GuildAccess, row: SoundRow) -> wire.SoundboardSound:
    return views.sounds(call.tx, [row], with_creators=expressions.can_see_creators(call, standing))[0]
