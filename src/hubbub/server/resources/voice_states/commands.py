"""Voice over the gateway: joining and leaving, and what a channel object does not carry."""

import secrets

from msgspec import UNSET

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.core.slices import obeys
from hubbub.server.resources.voice_states import actions, store
from hubbub.server.resources.voice_states.store import VoiceStateRow

STAGE_MODERATOR = Permissions.MANAGE_CHANNELS | Permissions.MUTE_MEMBERS | Permissions.MOVE_MEMBERS


@obeys(wire.SET_VOICE_STATE, writes=True)
def set_voice_state(call: Call, body: wire.SetVoiceState) -> None:
    """Join, move to or leave a voice channel. What is not allowed is not answered (gateway.md 7)."""
    if body.guild_id is None:
        return
    before = store.find(call.tx, body.guild_id, call.user_id)
    if body.channel_id is None:
        if before is not None:
            actions.leave(call, before)
        return
    entered = before is None or before.channel_id != body.channel_id
    standing = _may_connect(call, body.guild_id, body.channel_id, entered)
    if standing is None:
        return
    stage = standing.channel.type == ChannelType.GUILD_STAGE_VOICE
    row = VoiceStateRow(
        guild_id=body.guild_id,
        user_id=call.user_id,
        channel_id=body.channel_id,
        session_id=store.voice_session_id(call.session_id),
        self_deaf=int(body.self_deaf),
        self_mute=int(body.self_mute),
        self_video=int(body.self_video),
        self_stream=0,
        suppress=int(stage and not standing.can(STAGE_MODERATOR)) if entered or before is None else before.suppress,
        request_to_speak_ms=None if entered or before is None else before.request_to_speak_ms,
        joined_ms=call.now if entered or before is None else before.joined_ms,
    )
    actions.put(call, row)
    if entered or (before is not None and before.session_id != row.session_id):
        endpoint = call.config.voice.endpoint
        call.replies.append(
            (
                wire.VOICE_SERVER_UPDATE,
                wire.VoiceServer(token=secrets.token_hex(16), guild_id=body.guild_id, endpoint=endpoint),
            )
        )


def _may_connect(call: Call, guild_id: int, channel_id: ChannelId, entered: bool) -> ChannelAccess | None:
    member = access.find_member(call.tx, call.now, guild_id, call.user_id)
    ref = access.find_channel(call.tx, channel_id)
    if member is None or ref is None or ref.guild_id != guild_id or not ref.is_voice:
        return None
    standing = access.stand_in(call.tx, member, ref, access.permissions_in(call.tx, member, ref.id))
    if not standing.can(Permissions.VIEW_CHANNEL | Permissions.CONNECT):
        return None
    limit = store.user_limit(call.tx, channel_id)
    full = bool(limit) and store.connected(call.tx, channel_id) >= limit
    if entered and full and not standing.can(Permissions.MOVE_MEMBERS):
        return None
    return standing


@obeys(wire.REQUEST_CHANNEL_INFO)
def request_channel_info(call: Call, body: wire.RequestChannelInfo) -> None:
    """Tell the status and start time of the guild's voice channels that the caller sees and that have any."""
    member = access.find_member(call.tx, call.now, body.guild_id, call.user_id)
    if member is None:
        return
    visible = access.visible_channels(call.tx, member)
    channels = []
    for row in store.list_channels(call.tx, body.guild_id):
        status = row.status if "status" in body.fields else None
        started = row.started_ms if "voice_start_time" in body.fields else None
        if row.channel_id in visible and (status is not None or started is not None):
            channels.append(
                wire.InfoOfChannel(
                    id=ChannelId(row.channel_id),
                    status=status if "status" in body.fields else UNSET,
                    voice_start_time=(None if started is None else started // 1000)
                    if "voice_start_time" in body.fields
                    else UNSET,
                )
            )
    call.replies.append((wire.CHANNEL_INFO, wire.ChannelInfo(guild_id=body.guild_id, channels=channels)))


def session_ended(call: Call, user_id: int, session_id: str) -> None:
    """A gateway session is gone for good: whatever it was connected to, it leaves."""
    for row in store.list_of_session(call.tx, user_id, store.voice_session_id(session_id)):
        actions.leave(call, row)


