"""Voice states over HTTP, without a gateway connection."""

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import members
from hubbub.server.resources.voice_states import actions, store, views
from hubbub.server.resources.voice_states.store import VoiceStateRow


@handles(wire.GET_SELF_VOICE_STATE)
def get_self_voice_state(call: Call, guild_id: GuildId) -> wire.VoiceState:
    """The caller's own voice state."""
    access.guild(call, guild_id)
    return _show(call, store.find(call.tx, guild_id, call.user_id))


@handles(wire.GET_VOICE_STATE)
def get_voice_state(call: Call, guild_id: GuildId, user_id: UserId) -> wire.VoiceState:
    """Another's voice state, in a channel the caller could connect to."""
    access.guild(call, guild_id)
    row = store.find(call.tx, guild_id, user_id)
    if row is not None and row.user_id != call.user_id:
        access.require_channel(call, row.channel_id, Permissions.CONNECT)
    return _show(call, row)


@handles(wire.UPDATE_VOICE_CHANNEL_STATUS)
def update_voice_channel_status(call: Call, channel_id: ChannelId, body: wire.UpdateVoiceChannelStatus) -> None:
    """Set the line above a voice channel."""
    standing = access.channel(call, channel_id)
    if standing.channel.type != ChannelType.GUILD_VOICE:
        raise errors.WRONG_CHANNEL_TYPE()
    own = store.find(call.tx, standing.guild_id, call.user_id)
    if own is None or own.channel_id != channel_id:
        # Spec, PUT voice-status: who is not connected there also needs MANAGE_CHANNELS.
        standing.require(Permissions.MANAGE_CHANNELS)
    actions.set_status(call, standing.guild_id, channel_id, body.status or None)


def _show(call: Call, row: VoiceStateRow | None) -> wire.VoiceState:
    if row is None:
        raise errors.UNKNOWN_VOICE_STATE()
    return views.voice_state(row, members.find_views(call.tx, row.guild_id, [row.user_id]).get(row.user_id))
