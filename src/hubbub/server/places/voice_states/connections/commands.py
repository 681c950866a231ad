"""Gateway commands of voice: join and leave voice channels, and request channel information.

Delayed joins, and the departure of a session that ends, are here as well."""

from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles_command
from hubbub.server.places.standing import access
from hubbub.server.places.voice_states import actions, ports, rules, store
from hubbub.server.places.voice_states.connections import calls
from hubbub.server.places.voice_states.signals import PendingJoinsCanceled
from hubbub.server.places.voice_states.store import VoiceCallKind, VoiceStateRow


@handles_command(wire.SET_VOICE_STATE, writes=True)
def set_voice_state(call: Call, body: wire.SetVoiceState) -> None:
    """Join, move to or leave a voice channel.

    A request that is not allowed is ignored without an error (spec/gateway.md#7)."""
    if body.guild_id is None:
        _set_private_voice_state(call, body)
        return
    failure_count, last_failure_ms = store.find_failures(call.tx, body.guild_id, call.user_id)
    if failure_count:
        # A new request replaces a pending join.
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(body.guild_id, call.user_id))
    if body.channel_id is None:
        if (current_state := store.find(call.tx, body.guild_id, call.user_id)) is not None:
            actions.leave(call, [current_state])
        return
    request = VoiceJoinRequest(
        guild_id=body.guild_id,
        user_id=call.user_id,
        channel_id=body.channel_id,
        session_id=voice.derive_session_id(call.session_id),
        oauth2_session_id=call.session_id if call.actor.kind == "bearer" else None,
        is_user=not call.actor.is_bot,
        self_deaf=body.self_deaf,
        self_mute=body.self_mute,
        self_video=body.self_video,
        self_stream=body.self_stream,
    )
    delay_ms = rules.compute_join_delay_ms(call, failure_count, last_failure_ms)
    if delay_ms:
        call.tx.enqueue(
            JOIN_JOB, request, due_ms=call.now_ms + delay_ms, key=_join_job_key(request.guild_id, request.user_id)
        )
    else:
        _connect(call, request)


def _set_private_voice_state(call: Call, body: wire.SetVoiceState) -> None:
    """Join the call of a private channel, or leave all guild channels and private calls if the body has no channel.

    Only users have private calls; bots and OAuth2 sessions are ignored."""
    if call.actor.kind != "user":
        return
    failed_server_ids = _cancel_pending_joins(call, call.user_id)
    if body.channel_id is None:
        actions.leave_guild_channels(call, call.user_id)
    ports.set_private_voice_state(call, body, failed_server_ids)


class VoiceJoinRequest(msgspec.Struct, kw_only=True):
    """A request to join a voice channel. Stored as JSON in jobs, so the encoded names must not change."""

    guild_id: GuildId
    user_id: UserId
    channel_id: ChannelId
    session_id: str
    """ID of the session in voice states, which is derived from the gateway session ID."""
    oauth2_session_id: str | None = msgspec.field(name="game_session")
    """ID of the requesting gateway session if it is an OAuth2 session, otherwise None."""
    is_user: bool = msgspec.field(name="person")
    """Whether the member is a user and not a bot."""
    self_deaf: bool
    self_mute: bool
    self_video: bool
    self_stream: bool = False


JOIN_JOB: Final = "voice_states.join"
"""Kind of the job that joins a voice channel after a delay."""


def _join_job_key(guild_id: int, user_id: int) -> str:
    return f"{JOIN_JOB}:{guild_id}:{user_id}"


def join_after_delay(call: Call, job: jobs.Job) -> None:
    """Join a voice channel after the delay imposed because the voice server rejected earlier connections."""
    _connect(call, job.decode(VoiceJoinRequest))


def _connect(call: Call, request: VoiceJoinRequest) -> None:
    """Join or move the user, or update their state if they are in the channel already; ignore a forbidden request."""
    current_state = store.find(call.tx, request.guild_id, request.user_id)
    state_in_channel = (
        current_state if current_state is not None and current_state.channel_id == request.channel_id else None
    )
    channel_access = rules.find_voice_channel_standing(call, request.guild_id, request.channel_id, request.user_id)
    if channel_access is None or not rules.can_connect(call, channel_access, is_joining=state_in_channel is None):
        return
    if request.is_user and current_state is None:
        # spec/voice.md#1: a user is in at most one channel, a bot in one per guild.
        actions.leave_guild_channels(call, request.user_id)
        for participant in calls.list_participations(call, VoiceCallKind.PRIVATE, request.user_id):
            ports.remove_participant(call, participant)
    row = VoiceStateRow(
        guild_id=request.guild_id,
        user_id=request.user_id,
        channel_id=request.channel_id,
        session_id=request.session_id,
        self_deaf=int(request.self_deaf),
        self_mute=int(request.self_mute),
        self_video=int(request.self_video and rules.can_send_video(channel_access)),
        self_stream=int(request.self_stream and rules.can_send_video(channel_access)),
        suppress=int(rules.is_suppressed(channel_access)) if state_in_channel is None else state_in_channel.suppress,
        request_to_speak_ms=None if state_in_channel is None else state_in_channel.request_to_speak_ms,
        joined_ms=call.now_ms if state_in_channel is None else state_in_channel.joined_ms,
    )
    actions.put(call, current_state, row, oauth2_session_id=request.oauth2_session_id)


@handles_command(wire.REQUEST_CHANNEL_INFO)
def request_channel_info(call: Call, body: wire.RequestChannelInfo) -> None:
    """Send the status and start time of the guild's voice channels that the caller can see."""
    standing = access.find_guild_standing(call.tx, call.now_ms, body.guild_id, call.user_id)
    if standing is None:
        return
    visible_channels = access.visible_channels(call.tx, standing)
    channel_infos = []
    for row in store.list_channels(call.tx, body.guild_id):
        channel_info = wire.RequestedChannelInfo(
            id=ChannelId(row.channel_id),
            status=row.status if "status" in body.fields else UNSET,
            voice_start_time=_seconds_or_none(row.started_ms) if "voice_start_time" in body.fields else UNSET,
        )
        # spec/gateway.md#6.2: channels without any information are left out.
        if row.channel_id in visible_channels and (channel_info.status or channel_info.voice_start_time):
            channel_infos.append(channel_info)
    call.replies.append((wire.CHANNEL_INFO, wire.ChannelInfo(guild_id=body.guild_id, channels=channel_infos)))


def _seconds_or_none(time_ms: int | None) -> int | None:
    return None if time_ms is None else time_ms // 1000


def on_session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Disconnect a gateway session that ended from all channels and calls."""
    voice_session_id = voice.derive_session_id(session_id)
    if failed_server_ids := _cancel_pending_joins(call, user_id):
        call.notify(PendingJoinsCanceled(user_id=UserId(user_id), server_ids=failed_server_ids))
    for row in store.list_session_states(call.tx, user_id, voice_session_id):
        actions.leave(call, [row])
    for participant in store.list_participations_of_user(call.tx, user_id):
        if participant.session_id == voice_session_id:
            ports.remove_participant(call, participant)


def _cancel_pending_joins(call: Call, user_id: int) -> tuple[int, ...]:
    """Cancel a user's pending joins of guild channels.

    Return the IDs of guilds, lobbies and private channels whose voice server recently rejected the user."""
    failed_server_ids = tuple(store.list_failed_server_ids(call.tx, user_id))
    for server_id in failed_server_ids:
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(server_id, user_id))
    return failed_server_ids
