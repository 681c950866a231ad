"""Calls begin, ring, and end with the last who leaves: write, publish."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import wire as json
from hubbub.protocol.enums import MessageType
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.messages import MessageCall
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE, VoiceServer
from hubbub.server.core import access, jobs
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import channels, direct_messages, messages, voice_states
from hubbub.server.resources.direct_messages import RecipientCame, RecipientGoes
from hubbub.server.resources.private_calls import store, views
from hubbub.server.resources.private_calls.store import CallRow
from hubbub.server.resources.relationships import UserBlocked
from hubbub.server.resources.voice_states import CallerDisplaced, CallerLeaves, CallKind, CallStateRow

SILENCE: Final = "private_calls.silence"
"""The job that ends rings which nobody answers."""


class Silence(msgspec.Struct, kw_only=True):
    """Where it may be time."""

    channel_id: ChannelId


def put(call: Call, channel: ChannelRef, row: CallStateRow) -> None:
    """Somebody comes into the call of a channel, or is in it in another way; the first one begins it."""
    if voice_states.calls.find_caller(call.tx, row.call_id, row.user_id) is None:
        known = store.find(call.tx, channel.id)
        if known is None:
            _begin(call, channel, row.user_id)
        else:
            _took_part(call, channel, known, row.user_id)
            stop_ringing(call, known, [row.user_id])
    done = voice_states.calls.put(call, row)
    if done.changed:
        _tell(call, channel.id, VOICE_STATE_UPDATE, views.voice_state(row))
    if done.needs_ticket:
        # voice.md 1: the state always comes before the server, so that libraries connect.
        _admit(call, row)
    if done.changed or done.needs_ticket:
        voice_states.calls.tell_server(call, row)


def _begin(call: Call, channel: ChannelRef, user_id: int) -> None:
    said = messages.system(call, channel, MessageType.CALL, user_id, about=MessageCall(participants=[UserId(user_id)]))
    row = CallRow(int(channel.id), int(said.id))
    store.insert(call.tx, row)
    _tell(call, channel.id, wire.CALL_CREATE, views.call(call.tx, row))


def _took_part(call: Call, channel: ChannelRef, known: CallRow, user_id: int) -> None:
    """The message says who took part, since somebody new does."""
    said = messages.find(call.tx, known.channel_id, known.message_id)
    about = None if said is None else messages.views.extra(said).call
    if said is not None and about is not None and user_id not in about.participants:
        _say(call, channel, said, MessageCall(participants=[*about.participants, UserId(user_id)]))


def _say(call: Call, channel: ChannelRef, said: messages.MessageRow, about: MessageCall) -> None:
    extra = messages.views.extra(said)
    extra.call = about
    messages.change(call, channel, said._replace(extra=messages.encode_extra(extra)))


def _admit(call: Call, row: CallStateRow) -> None:
    token, endpoint = voice_states.calls.admit(call, row)
    server = VoiceServer(token=token, guild_id=None, channel_id=ChannelId(row.call_id), endpoint=endpoint)
    call.tx.emit(VOICE_SERVER_UPDATE, server, voice_states.calls.holder(row))


def leave(call: Call, rows: Sequence[CallStateRow], *, ended: bool = False) -> None:
    """People leave calls; the last one ends it. `ended`: nobody may stay."""
    for row in rows:
        voice_states.calls.remove(call, row)
        _tell(call, row.call_id, VOICE_STATE_UPDATE, views.voice_state(row, left=True))
    left = dict.fromkeys(int(row.call_id) for row in rows)
    still = voice_states.calls.callers(call.tx, list(left))
    for channel_id in left:
        known = store.find(call.tx, channel_id)
        if channel_id not in still and known is not None:
            _end(call, known)
    for row in rows:
        voice_states.calls.tell_server(call, row, ended=ended)


def _end(call: Call, known: CallRow) -> None:
    store.delete(call.tx, known.channel_id)
    jobs.cancel(call.tx, SILENCE, _key(known.channel_id))
    _tell(call, known.channel_id, wire.CALL_DELETE, wire.CallEnded(channel_id=ChannelId(known.channel_id)))
    channel = access.find_channel(call.tx, known.channel_id)
    said = messages.find(call.tx, known.channel_id, known.message_id)
    about = None if said is None else messages.views.extra(said).call
    if channel is not None and said is not None and about is not None and about.ended_timestamp is UNSET:
        about.ended_timestamp = json.timestamp(call.now)
        _say(call, channel, said, about)


def reset(call: Call) -> None:
    """Nobody is in a call any more."""
    for known in store.list_all(call.tx):
        _end(call, known)


# Ringing


def ring(call: Call, known: CallRow, user_ids: Sequence[int]) -> None:
    """Ring some people for a while; who is rung already is rung for longer."""
    rung = store.ringing(call.tx, known.channel_id)
    store.ring(call.tx, known.channel_id, user_ids, call.now + wire.RING_SECONDS * 1000)
    if not user_ids:
        return
    _silence_later(call, known)
    if set(user_ids) - rung.keys():
        _tell_ringing(call, known)


def stop_ringing(call: Call, known: CallRow, user_ids: Sequence[int]) -> None:
    """Ring some people no longer: they declined, or who called gave up."""
    if store.stop_ringing(call.tx, known.channel_id, user_ids):
        _silence_later(call, known)
        _tell_ringing(call, known)


def _silence_later(call: Call, known: CallRow) -> None:
    jobs.cancel(call.tx, SILENCE, _key(known.channel_id))
    ends = store.ringing(call.tx, known.channel_id).values()
    if ends:
        silence = Silence(channel_id=ChannelId(known.channel_id))
        call.tx.enqueue(SILENCE, silence, due_ms=min(ends), key=_key(known.channel_id))


def silence(call: Call, job: jobs.Job) -> None:
    """End the rings whose time is over."""
    known = store.find(call.tx, job.decode(Silence).channel_id)
    if known is not None:
        rung = store.ringing(call.tx, known.channel_id)
        stop_ringing(call, known, [user_id for user_id, ends_ms in rung.items() if ends_ms <= call.now])


def _key(channel_id: int) -> str:
    return f"{SILENCE}:{int(channel_id)}"


def _tell_ringing(call: Call, known: CallRow) -> None:
    _tell(call, known.channel_id, wire.CALL_UPDATE, views.change(call.tx, known))


# What others do


def caller_leaves(call: Call, fact: CallerLeaves) -> None:
    """The voice server lost somebody for good, or they are somewhere else now."""
    if fact.row.kind == CallKind.PRIVATE:
        leave(call, [fact.row])


def caller_displaced(call: Call, fact: CallerDisplaced) -> None:
    """The voice server itself was lost."""
    if fact.row.kind == CallKind.PRIVATE:
        _admit(call, fact.row)
        voice_states.calls.tell_server(call, fact.row)


def recipient_came(call: Call, fact: RecipientCame) -> None:
    """Who comes to a group learns of its call."""
    known = store.find(call.tx, fact.channel_id)
    if known is not None:
        call.tx.emit(wire.CALL_CREATE, views.call(call.tx, known), Audience.of_users(fact.user_id))


def recipient_goes(call: Call, fact: RecipientGoes) -> None:
    """Who leaves a group leaves its call."""
    known = store.find(call.tx, fact.channel_id)
    if known is None:
        return
    stop_ringing(call, known, [fact.user_id])
    row = voice_states.calls.find_caller(call.tx, fact.channel_id, fact.user_id)
    if row is not None:
        leave(call, [row])


def user_blocked(call: Call, fact: UserBlocked) -> None:
    """Two people of whom one blocks the other speak no more; in a group each may stay."""
    channel_id = direct_messages.find_channel(call.tx, fact.user_id, fact.other_id)
    if channel_id is not None:
        leave(call, voice_states.calls.callers(call.tx, [channel_id]).get(channel_id, []), ended=True)


def _tell(call: Call, channel_id: int, event: Event[Any], payload: Any) -> None:
    call.tx.emit(event, payload, Audience.of_users(*channels.recipients_of(call.tx, channel_id)))
