"""HTTP handlers for soundboard sounds, and the handler of the gateway command that requests them."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, SoundId
from hubbub.protocol.resources import gateway
from hubbub.protocol.resources import soundboard as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles, handles_command
from hubbub.server.places.expressions import actions, rules, views
from hubbub.server.places.expressions.kinds import SOUNDS
from hubbub.server.places.expressions.sounds import defaults
from hubbub.server.places.expressions.sounds import rules as sound_rules
from hubbub.server.places.expressions.store import SoundRow
from hubbub.server.places.standing import access


@handles(wire.GET_SOUNDBOARD_DEFAULT_SOUNDS)
def get_soundboard_default_sounds(call: Call) -> list[wire.SoundboardSound]:
    """List the default soundboard sounds."""
    return defaults.list_sounds()


@handles(wire.LIST_GUILD_SOUNDBOARD_SOUNDS)
def list_guild_soundboard_sounds(call: Call, guild_id: GuildId) -> wire.GuildSounds:
    """List guild soundboard sounds."""
    return wire.GuildSounds(items=views.list_for_member(call, SOUNDS, access.get_guild_standing(call, guild_id)))


@handles(wire.GET_GUILD_SOUNDBOARD_SOUND)
def get_guild_soundboard_sound(call: Call, guild_id: GuildId, sound_id: SoundId) -> wire.SoundboardSound:
    """Get a guild soundboard sound."""
    row = rules.require_expression(call, SOUNDS, guild_id, sound_id)
    return views.for_member(call, SOUNDS, access.get_guild_standing(call, guild_id), row)


@handles(wire.CREATE_GUILD_SOUNDBOARD_SOUND)
def create_guild_soundboard_sound(call: Call, guild_id: GuildId, body: wire.CreateSound) -> wire.SoundboardSound:
    """Create a guild soundboard sound.

    The caller needs CREATE_GUILD_EXPRESSIONS. Before 23 February 2026, MANAGE_GUILD_EXPRESSIONS is sufficient, too.
    """
    standing = rules.require_can_create(call, guild_id)
    file_hash = sound_rules.require_valid_sound(body.sound)
    sound_rules.require_valid_emoji(call.tx, guild_id, body.emoji_id, body.emoji_name)
    rules.require_free_slot(call.tx, SOUNDS, guild_id, errors.MAX_SOUNDS)
    row = SoundRow(
        id=call.new_id(SoundId),
        guild_id=guild_id,
        user_id=call.user_id,
        name=body.name,
        volume=_volume_or_default(body),
        emoji_id=body.emoji_id or None,
        emoji_name=None if body.emoji_id else body.emoji_name or None,
        file=file_hash,
    )
    actions.create(call, SOUNDS, guild_id, row)
    return views.for_member(call, SOUNDS, standing, row)


@handles(wire.UPDATE_GUILD_SOUNDBOARD_SOUND)
def update_guild_soundboard_sound(
    call: Call, guild_id: GuildId, sound_id: SoundId, body: wire.UpdateSound
) -> wire.SoundboardSound:
    """Update a guild soundboard sound.

    Name, volume and emoji can be changed.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for a sound that the caller
    created.
    """
    before = after = rules.require_changeable(call, SOUNDS, guild_id, sound_id)
    sound_rules.require_valid_emoji(call.tx, guild_id, body.emoji_id, body.emoji_name)
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.volume is not UNSET:
        after = after._replace(volume=_volume_or_default(body))
    # A sound has at most one emoji: a new custom emoji replaces a Unicode emoji and the other way around.
    if body.emoji_id is not UNSET:
        after = after._replace(emoji_id=body.emoji_id)
    if body.emoji_name is not UNSET:
        after = after._replace(emoji_name=body.emoji_name)
    if body.emoji_id:
        after = after._replace(emoji_name=None)
    elif body.emoji_name:
        after = after._replace(emoji_id=None)
    actions.update(call, SOUNDS, guild_id, before, after)
    return views.for_member(call, SOUNDS, access.get_guild_standing(call, guild_id), after)


@handles(wire.DELETE_GUILD_SOUNDBOARD_SOUND)
def delete_guild_soundboard_sound(call: Call, guild_id: GuildId, sound_id: SoundId) -> None:
    """Delete a guild soundboard sound.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for a sound that the caller
    created.
    """
    actions.delete(call, SOUNDS, guild_id, rules.require_changeable(call, SOUNDS, guild_id, sound_id))


@handles(wire.SEND_SOUNDBOARD_SOUND)
def send_soundboard_sound(call: Call, channel_id: ChannelId, body: wire.SendSound) -> None:
    """Send a soundboard sound to a voice channel.

    The caller must be connected to the channel."""
    channel_access = access.get_channel_standing(call, channel_id)
    sound_rules.require_unsilenced(call, channel_access)
    actions.play(call, channel_access, sound_rules.require_playable(call, channel_access, body))


@handles_command(gateway.REQUEST_SOUNDBOARD_SOUNDS)
def request_soundboard_sounds(call: Call, payload: gateway.RequestSoundboardSounds) -> None:
    """Send the sounds of each requested guild that the caller is a member of (spec/gateway.md#6.3)."""
    for guild_id in dict.fromkeys(payload.guild_ids):
        standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, call.user_id)
        if standing is not None:
            sounds = views.list_for_member(call, SOUNDS, standing)
            reply = wire.SoundboardSounds(guild_id=guild_id, soundboard_sounds=sounds)
            call.replies.append((gateway.SOUNDBOARD_SOUNDS, reply))


def _volume_or_default(body: wire.CreateSound | wire.UpdateSound) -> float:
    return 1.0 if body.volume is UNSET or body.volume is None else float(body.volume)
