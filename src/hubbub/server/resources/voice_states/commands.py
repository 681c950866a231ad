"""Voice over the gateway: joining and leaving, and what a channel object does not carry."""

from typing import Final

import msgspec
from msgspec import UNSET

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.protocol.resources import voice_states as wire
from hubbub.server.core import access, jobs, voice
from hubbub.server.core.call import Call
from hubbub.server.core.slices import obeys
from hubbub.server.resources.voice_states import actions, calls, rules, store
from hubbub.server.resources.voice_states.facts import CallerLeaves, PrivateVoiceAsked, WaitingForgotten
from hubbub.server.resources.voice_states.store import CallKind, VoiceStateRow


@obeys(wire.SET_VOICE_STATE, writes=True)
def set_voice_state(call: Call, body: wire.SetVoiceState) -> None:
    """Join, move to or leave a voice channel. What is not allowed is not answered (gateway.md 7)."""
    if body.guild_id is None:
        _set_private(call, body)
        return
    failures, failed_ms = store.failures(call.tx, body.guild_id, call.user_id)
    if failures:
        # A later wish takes the place of one that waits.
        jobs.cancel(call.tx, JOIN, _key(body.guild_id, call.user_id))
    if body.channel_id is None:
        if (before := store.find(call.tx, body.guild_id, call.user_id)) is not None:
            actions.leave(call, [before])
        return
    wish = Wish(
        guild_id=body.guild_id,
        user_id=call.user_id,
        channel_id=body.channel_id,
        session_id=voice.session_id(call.session_id),
        game_session=call.session_id if call.actor.kind == "bearer" else None,
        person=not call.actor.is_bot,
        self_deaf=body.self_deaf,
        self_mute=body.self_mute,
        self_video=body.self_video,
    )
    waits_ms = rules.waits_ms(call, failures, failed_ms)
    if waits_ms:
        call.tx.enqueue(JOIN, wish, due_ms=call.now + waits_ms, key=_key(wish.guild_id, wish.user_id))
    else:
        _connect(call, wish)


def _set_private(call: Call, body: wire.SetVoiceState) -> None:
    """Without a guild: a person joins the call of a private channel, or leaves wherever they are. Bots and games have no
    private calls."""
    if call.actor.kind != "user":
        return
    failed = _forget_waiting(call, call.user_id)
    if body.channel_id is None:
        actions.leave_guilds(call, call.user_id)
    call.tell(PrivateVoiceAsked(body=body, failed=failed))


class Wish(msgspec.Struct, kw_only=True):
    """Who wants to be connected where, and how."""

    guild_id: GuildId
    user_id: UserId
    channel_id: ChannelId
    session_id: str
    """As voice states show it."""
    game_session: str | None
    """The gateway session that asks, where it is a game's."""
    person: bool
    self_deaf: bool
    self_mute: bool
    self_video: bool


JOIN: Final = "voice_states.join"


def _key(guild_id: int, user_id: int) -> str:
    return f"{JOIN}:{guild_id}:{user_id}"


def join_at_last(call: Call, job: jobs.Job) -> None:
    """Connect somebody who had to wait, since the voice server refused them before."""
    _connect(call, job.decode(Wish))


def _connect(call: Call, wish: Wish) -> None:
    before = store.find(call.tx, wish.guild_id, wish.user_id)
    stays = before if before is not None and before.channel_id == wish.channel_id else None
    here = rules.find_standing(call, wish.guild_id, wish.channel_id, wish.user_id)
    if here is None or not rules.can_connect(call, here, enters=stays is None):
        return
    if wish.person and before is None:
        # voice.md 1: a person is in one channel in all, a bot in one of each guild.
        actions.leave_guilds(call, wish.user_id)
        for caller in calls.list_of_user(call, CallKind.PRIVATE, wish.user_id):
            call.tell(CallerLeaves(row=caller))
    row = VoiceStateRow(
        guild_id=wish.guild_id,
        user_id=wish.user_id,
        channel_id=wish.channel_id,
        session_id=wish.session_id,
        self_deaf=int(wish.self_deaf),
        self_mute=int(wish.self_mute),
        self_video=int(wish.self_video),
        self_stream=0,
        suppress=int(rules.suppressed(here)) if stays is None else stays.suppress,
        request_to_speak_ms=None if stays is None else stays.request_to_speak_ms,
        joined_ms=call.now if stays is None else stays.joined_ms,
    )
    actions.put(call, before, row, game_session=wish.game_session)


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
    shown = voice.session_id(session_id)
    if failed := _forget_waiting(call, user_id):
        call.tell(WaitingForgotten(user_id=UserId(user_id), server_ids=failed))
    for row in store.list_of_session(call.tx, user_id, shown):
        actions.leave(call, [row])
    for caller in store.calls_of_user(call.tx, user_id):
        if caller.session_id == shown:
            call.tell(CallerLeaves(row=caller))


def _forget_waiting(call: Call, user_id: int) -> tuple[int, ...]:
    """Join nobody who waits in a guild; what refused them, in guilds and elsewhere."""
    failed = tuple(store.failed_at(call.tx, user_id))
    for server_id in failed:
        jobs.cancel(call.tx, JOIN, _key(server_id, user_id))
    return failed
