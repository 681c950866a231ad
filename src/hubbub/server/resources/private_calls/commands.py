"""Private calls over the gateway: opcode 4 without a guild, and opcode 13, which asks of a call."""

from typing import Final

import msgspec

from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.resources import private_calls as wire
from hubbub.server.core import jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import obeys
from hubbub.server.resources import voice_states
from hubbub.server.resources.private_calls import actions, rules, store, views
from hubbub.server.resources.voice_states import CallKind, PrivateVoiceAsked, WaitingForgotten

JOIN: Final = "private_calls.join"


class Wish(msgspec.Struct, kw_only=True):
    """Who wants to be in which call, and how."""

    channel_id: ChannelId
    user_id: UserId
    session_id: str
    """As voice states show it."""
    self_mute: bool
    self_deaf: bool
    self_video: bool


def set_private_voice_state(call: Call, fact: PrivateVoiceAsked) -> None:
    """Come into the call of a private channel, which begins by that; or leave. What is not allowed is not answered."""
    body = fact.body
    for channel_id in fact.failed:
        jobs.cancel(call.tx, JOIN, _key(channel_id, call.user_id))
    if body.channel_id is None:
        actions.leave(call, voice_states.calls.list_of_user(call, CallKind.PRIVATE, call.user_id))
        return
    wish = Wish(
        channel_id=body.channel_id,
        user_id=call.user_id,
        session_id=voice.session_id(call.session_id),
        self_mute=body.self_mute,
        self_deaf=body.self_deaf,
        self_video=body.self_video,
    )
    if waits_ms := voice_states.calls.waits_ms(call, wish.channel_id, wish.user_id):
        call.tx.enqueue(JOIN, wish, due_ms=call.now + waits_ms, key=_key(wish.channel_id, wish.user_id))
    else:
        _join(call, wish)


def join_at_last(call: Call, job: jobs.Job) -> None:
    """Let somebody into a call who had to wait, since the voice server refused them before."""
    _join(call, job.decode(Wish))


def _join(call: Call, wish: Wish) -> None:
    channel = rules.find_place(call.tx, wish.channel_id, wish.user_id)
    if channel is None or not rules.can_call(call.tx, channel, wish.user_id):
        return
    # voice.md 1: a person is in one channel in all.
    voice_states.leave_guilds(call, wish.user_id)
    held = voice_states.calls.list_of_user(call, CallKind.PRIVATE, wish.user_id)
    actions.leave(call, [row for row in held if row.call_id != wish.channel_id])
    row = voice_states.calls.state(
        wish.channel_id,
        wish.user_id,
        CallKind.PRIVATE,
        wish.session_id,
        call.now,
        self_mute=wish.self_mute,
        self_deaf=wish.self_deaf,
        self_video=wish.self_video,
    )
    actions.put(call, channel, row)


@obeys(wire.CONNECT_CALL)
def connect_call(call: Call, body: wire.ConnectCall) -> None:
    """Tell of the call of a private channel that the caller is in, if there is one."""
    known = store.find(call.tx, body.channel_id)
    if (
        known is not None
        and views.can_read(call)
        and rules.find_place(call.tx, body.channel_id, call.user_id) is not None
    ):
        call.replies.append((wire.CALL_CREATE, views.call(call.tx, known)))


def forget_waiting(call: Call, fact: WaitingForgotten) -> None:
    """Let nobody in who waits."""
    for channel_id in fact.server_ids:
        jobs.cancel(call.tx, JOIN, _key(channel_id, fact.user_id))


def _key(channel_id: int, user_id: int) -> str:
    return f"{JOIN}:{int(channel_id)}:{int(user_id)}"
