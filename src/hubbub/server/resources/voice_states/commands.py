"""Voice over the gateway: joining and leaving, and what a channel object does not carry."""

from msgspec import UNSET

from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import obeys
from hubbub.server.resources.voice_states import actions, rules, store
from hubbub.server.resources.voice_states.store import VoiceStateRow


@obeys(wire.SET_VOICE_STATE, writes=True)
def set_voice_state(call: Call, body: wire.SetVoiceState) -> None:
    """Join, move to or leave a voice channel. What is not allowed is not answered (gateway.md 7)."""
    if body.guild_id is None:
        return
    before = store.find(call.tx, body.guild_id, call.user_id)
    if body.channel_id is None:
        if before is not None:
            actions.leave(call, [before])
        return
    stays = before if before is not None and before.channel_id == body.channel_id else None
    here = rules.find_standing(call, body.guild_id, body.channel_id, call.user_id)
    if here is None or not rules.can_connect(call, here, enters=stays is None):
        return
    row = VoiceStateRow(
        guild_id=body.guild_id,
        user_id=call.user_id,
        channel_id=body.channel_id,
        session_id=store.voice_session_id(call.session_id),
        self_deaf=int(body.self_deaf),
        self_mute=int(body.self_mute),
        self_video=int(body.self_video),
        self_stream=0,
        suppress=int(rules.suppressed(here)) if stays is None else stays.suppress,
        request_to_speak_ms=None if stays is None else stays.request_to_speak_ms,
        joined_ms=call.now if stays is None else stays.joined_ms,
    )
    actions.put(call, before, row)
    # Another session of the same user takes over: it needs a connection of its own.
    if stays is None or stays.session_id != row.session_id:
        call.replies.append((wire.VOICE_SERVER_UPDATE, actions.server(call, body.guild_id)))


@obeys(wire.REQUEST_CHANNEL_INFO)
def request_channel_info(call: Call, body: wire.RequestChannelInfo) -> None:
    """Tell the status and start time of the guild's voice channels that the caller sees and that have any."""
    member = access.find_member(call.tx, call.now, body.guild_id, call.user_id)
    if member is None:
        return
    visible = access.visible_channels(call.tx, member)
    channels = []
    for row in store.list_channels(call.tx, body.guild_id):
        info = wire.InfoOfChannel(
            id=ChannelId(row.channel_id),
            status=row.status if "status" in body.fields else UNSET,
            voice_start_time=_seconds(row.started_ms) if "voice_start_time" in body.fields else UNSET,
        )
        # gateway.md 6.2: only channels with something to tell.
        if row.channel_id in visible and (info.status or info.voice_start_time):
            channels.append(info)
    call.replies.append((wire.CHANNEL_INFO, wire.ChannelInfo(guild_id=body.guild_id, channels=channels)))


def _seconds(ms: int | None) -> int | None:
    return None if ms is None else ms // 1000


def session_ended(call: Call, user_id: int, session_id: str) -> None:
    """A gateway session is gone for good: whatever it was connected to, it leaves."""
    for row in store.list_of_session(call.tx, user_id, store.voice_session_id(session_id)):
        actions.leave(call, [row])
