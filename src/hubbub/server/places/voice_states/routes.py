"""HTTP handlers for voice states and the status of voice channels; they need no gateway connection."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import members
from hubbub.server.places.standing import access
from hubbub.server.places.voice_states import actions, rules, store, views
from hubbub.server.places.voice_states.store import VoiceStateRow


@handles(wire.GET_SELF_VOICE_STATE)
def get_self_voice_state(call: Call, guild_id: GuildId) -> wire.VoiceState:
    """Get the current user's voice state in a guild."""
    rules.require_reads_released(call.now_ms)
    access.get_guild_standing(call, guild_id)
    return _state_view(call, store.find(call.tx, guild_id, call.user_id))


@handles(wire.GET_VOICE_STATE)
def get_voice_state(call: Call, guild_id: GuildId, user_id: UserId) -> wire.VoiceState:
    """Get a user's voice state in a guild.

    The caller needs CONNECT in the user's channel."""
    rules.require_reads_released(call.now_ms)
    access.get_guild_standing(call, guild_id)
    row = store.find(call.tx, guild_id, user_id)
    if row is not None and row.user_id != call.user_id:
        access.require_channel(call, row.channel_id, Permissions.CONNECT)
    return _state_view(call, row)


@handles(wire.UPDATE_SELF_VOICE_STATE)
def update_self_voice_state(call: Call, guild_id: GuildId, body: wire.UpdateSelfVoiceState) -> None:
    """Update the current user's voice state on a stage.

    The user can stop being a speaker, become one if allowed, and request to speak or withdraw the request.

    A request to speak requires REQUEST_TO_SPEAK, and becoming a speaker requires MUTE_MEMBERS.
    """
    access.get_guild_standing(call, guild_id)
    before, channel_access = rules.require_on_stage(call, store.find(call.tx, guild_id, call.user_id), body)
    after = before
    if body.request_to_speak_timestamp is not UNSET:
        requested_time = body.request_to_speak_timestamp
        if requested_time is not None:
            channel_access.require(Permissions.REQUEST_TO_SPEAK)
        # Clients send a present or future time. The client's clock may be slow, so a past time means now.
        request_ms = None if requested_time is None else max(codec.milliseconds(requested_time), call.now_ms)
        after = after._replace(request_to_speak_ms=request_ms)
    if isinstance(body.suppress, bool) and bool(before.suppress) != body.suppress:
        if body.suppress:
            after = after._replace(request_to_speak_ms=None)
        else:
            channel_access.require(Permissions.MUTE_MEMBERS)
        after = after._replace(suppress=int(body.suppress))
    actions.update(call, before, after)


@handles(wire.UPDATE_VOICE_STATE)
def update_voice_state(call: Call, guild_id: GuildId, user_id: UserId, body: wire.UpdateVoiceState) -> None:
    """Update a user's voice state on a stage.

    The user becomes a speaker or moves to the audience. The caller needs CONNECT and MUTE_MEMBERS in the channel.
    """
    access.get_guild_standing(call, guild_id)
    before, channel_access = rules.require_on_stage(call, store.find(call.tx, guild_id, user_id), body)
    channel_access.require(Permissions.MUTE_MEMBERS)
    if not isinstance(body.suppress, bool) or bool(before.suppress) == body.suppress:
        return
    after = before._replace(suppress=int(body.suppress))
    user = users.find(call.tx, user_id)
    if body.suppress:
        after = after._replace(request_to_speak_ms=None)
    elif user is not None and not user.bot:
        # spec/http.md#3.9: for a user this is an invitation to speak, shown as a request to speak from now.
        after = after._replace(request_to_speak_ms=call.now_ms)
    actions.update_as_moderator(call, before, after)


@handles(wire.UPDATE_VOICE_CHANNEL_STATUS)
def update_voice_channel_status(call: Call, channel_id: ChannelId, body: wire.UpdateVoiceChannelStatus) -> None:
    """Set the status of a voice channel.

    A caller who is not connected to the channel needs MANAGE_CHANNELS."""
    rules.require_statuses_released(call.now_ms)
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.channel.type != ChannelType.GUILD_VOICE:
        raise errors.WRONG_CHANNEL_TYPE()
    own_state = store.find(call.tx, channel_access.guild_id, call.user_id)
    if own_state is None or own_state.channel_id != channel_id:
        # spec/voice.md#11: a caller who is not connected also needs MANAGE_CHANNELS.
        access.require_channel(call, channel_id, Permissions.MANAGE_CHANNELS)
    actions.set_status(call, channel_access.guild_id, channel_id, body.status or None)


def _state_view(call: Call, row: VoiceStateRow | None) -> wire.VoiceState:
    """Return a voice state with its member; raise UNKNOWN_VOICE_STATE if `row` is None."""
    if row is None:
        raise errors.UNKNOWN_VOICE_STATE()
    return views.voice_state(row, members.views.find_views(call.tx, row.guild_id, [row.user_id]).get(row.user_id))
