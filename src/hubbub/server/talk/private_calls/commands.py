"""Gateway commands of private calls: opcode 4 without a guild, and opcode 13, which requests the state of a call."""

from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.resources.voice_states import SetVoiceState
from hubbub.server.core import jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles_command
from hubbub.server.identity import features
from hubbub.server.places import voice_states
from hubbub.server.places.voice_states.connections.calls import VoiceCallKind
from hubbub.server.places.voice_states.signals import PendingJoinsCanceled
from hubbub.server.talk.private_calls import actions, rules, store, views

JOIN_JOB: Final = "private_calls.join"
"""Kind of the job that joins a call after a delay."""


class PrivateCallJoinRequest(msgspec.Struct, kw_only=True):
    """A user's request to join a call, with their initial voice state."""

    channel_id: ChannelId
    user_id: UserId
    session_id: str
    """The session ID in the form that voice states contain."""
    self_mute: bool
    self_deaf: bool
    self_video: bool


def set_voice_state(call: Call, body: SetVoiceState, failed_server_ids: tuple[int, ...]) -> None:
    """Join the call of a private channel, or leave all private calls if the body has no channel.

    Joining starts the call if there is none. A request that is not allowed is ignored without an error.

    `failed_server_ids` are the IDs of the guilds, lobbies and private channels whose voice server recently rejected the
    user; pending joins of these private channels are canceled."""
    for server_id in failed_server_ids:
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(server_id, call.user_id))
    if body.channel_id is None:
        actions.leave(call, voice_states.calls.list_participations(call, VoiceCallKind.PRIVATE, call.user_id))
        return
    request = PrivateCallJoinRequest(
        channel_id=body.channel_id,
        user_id=call.user_id,
        session_id=voice.derive_session_id(call.session_id),
        self_mute=body.self_mute,
        self_deaf=body.self_deaf,
        self_video=body.self_video,
    )
    if delay_ms := voice_states.calls.compute_join_delay_ms(call, request.channel_id, request.user_id):
        call.tx.enqueue(
            JOIN_JOB, request, due_ms=call.now_ms + delay_ms, key=_join_job_key(request.channel_id, request.user_id)
        )
    else:
        _join_call(call, request)


def join_after_delay(call: Call, job: jobs.Job) -> None:
    """Join a call after a delay, because the voice server rejected an earlier attempt."""
    _join_call(call, job.decode(PrivateCallJoinRequest))


def _join_call(call: Call, request: PrivateCallJoinRequest) -> None:
    channel = rules.find_private_channel(call.tx, request.channel_id, request.user_id)
    if channel is None or not rules.can_call(call.tx, channel, request.user_id):
        return
    if not features.is_enabled(call, Feature.VOICE):
        return
    # spec/voice.md#1: a user is in at most one voice channel or call.
    voice_states.leave_guild_channels(call, request.user_id)
    current_rows = voice_states.calls.list_participations(call, VoiceCallKind.PRIVATE, request.user_id)
    actions.leave(call, [row for row in current_rows if row.voice_call_id != request.channel_id])
    row = voice_states.calls.new_participant(
        request.channel_id,
        request.user_id,
        VoiceCallKind.PRIVATE,
        request.session_id,
        call.now_ms,
        self_mute=request.self_mute,
        self_deaf=request.self_deaf,
        self_video=request.self_video,
    )
    actions.put_participant(call, channel, row)


@handles_command(wire.CONNECT_CALL)
def connect_call(call: Call, body: wire.ConnectCall) -> None:
    """Send the state of the call in one of the caller's private channels, if there is one."""
    private_call = store.find(call.tx, body.channel_id)
    if (
        private_call is not None
        and views.can_read_private_calls(call)
        and rules.find_private_channel(call.tx, body.channel_id, call.user_id) is not None
    ):
        call.replies.append((wire.CALL_CREATE, views.build_private_call(call.tx, private_call)))


def on_pending_joins_canceled(call: Call, signal: PendingJoinsCanceled) -> None:
    """Cancel the pending joins of a user."""
    for channel_id in signal.server_ids:
        jobs.cancel_jobs(call.tx, JOIN_JOB, _join_job_key(channel_id, signal.user_id))


def _join_job_key(channel_id: int, user_id: int) -> str:
    return f"{JOIN_JOB}:{int(channel_id)}:{int(user_id)}"
