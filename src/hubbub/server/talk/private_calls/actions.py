"""Start, ring and end private calls: store, publish. A call ends when its last participant leaves."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import MessageType
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.messages import MessageCall
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE, VoiceServer
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity.relationships import UserBlocked
from hubbub.server.places import channels, voice_states
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.places.voice_states import CallerDisplaced, CallerMustLeave, CallKind, CallStateRow
from hubbub.server.talk import direct_messages, messages
from hubbub.server.talk.direct_messages import RecipientAdded, RecipientRemoving
from hubbub.server.talk.private_calls import store, views
from hubbub.server.talk.private_calls.store import CallRow

RING_TIMEOUT: Final = "private_calls.silence"
"""Kind of the job that ends unanswered rings."""


class RingTimeout(msgspec.Struct, kw_only=True):
    """Payload of the job that ends unanswered rings."""

    channel_id: ChannelId


def put(call: Call, channel: ChannelRef, row: CallStateRow) -> None:
    """Add a participant to a channel's call, or update their voice state. The first participant starts the call."""
    if voice_states.calls.find_caller(call.tx, row.call_id, row.user_id) is None:
        known = store.find(call.tx, channel.id)
        if known is None:
            _begin(call, channel, row.user_id)
        else:
            _add_participant(call, channel, known, row.user_id)
            stop_ringing(call, known, [row.user_id])
    done = voice_states.calls.put(call, row)
    if done.changed:
        _publish(call, channel.id, VOICE_STATE_UPDATE, views.voice_state(row))
    if done.needs_ticket:
        # spec/voice.md#1: the state always precedes the server, since libraries connect when they receive the server.
        _send_voice_server(call, row)
    if done.changed or done.needs_ticket:
        voice_states.calls.notify_voice_server(call, row)


def _begin(call: Call, channel: ChannelRef, user_id: int) -> None:
    message = messages.create_system_message(
        call, channel, MessageType.CALL, user_id, call_info=MessageCall(participants=[UserId(user_id)])
    )
    row = CallRow(int(channel.id), int(message.id))
    store.insert(call.tx, row)
    _publish(call, channel.id, wire.CALL_CREATE, views.private_call(call.tx, row))


def _add_participant(call: Call, channel: ChannelRef, known: CallRow, user_id: int) -> None:
    """Add a user to the participants listed in the call's message."""
    message = messages.find(call.tx, known.channel_id, known.message_id)
    about = None if message is None else messages.views.extra(message).call
    if message is not None and about is not None and user_id not in about.participants:
        _update_message(call, channel, message, MessageCall(participants=[*about.participants, UserId(user_id)]))


def _update_message(call: Call, channel: ChannelRef, message: messages.MessageRow, about: MessageCall) -> None:
    extra = messages.views.extra(message)
    extra.call = about
    messages.update(call, channel, message._replace(extra=messages.encode_extra(extra)))


def _send_voice_server(call: Call, row: CallStateRow) -> None:
    token, endpoint = voice_states.calls.issue_ticket(call, row)
    server = VoiceServer(token=token, guild_id=None, channel_id=ChannelId(row.call_id), endpoint=endpoint)
    call.tx.emit(VOICE_SERVER_UPDATE, server, voice_states.calls.session_audience(row))


def leave(call: Call, rows: Sequence[CallStateRow], *, ended: bool = False) -> None:
    """Remove participants from their calls. A call ends when its last participant leaves.

    `ended` tells the voice server that no participant may stay."""
    for row in rows:
        voice_states.calls.remove(call, row)
        _publish(call, row.call_id, VOICE_STATE_UPDATE, views.voice_state(row, left=True))
    left = dict.fromkeys(int(row.call_id) for row in rows)
    remaining = voice_states.calls.list_callers(call.tx, list(left))
    for channel_id in left:
        known = store.find(call.tx, channel_id)
        if channel_id not in remaining and known is not None:
            _end(call, known)
    for row in rows:
        voice_states.calls.notify_voice_server(call, row, ended=ended)


def _end(call: Call, known: CallRow) -> None:
    store.delete(call.tx, known.channel_id)
    jobs.cancel(call.tx, RING_TIMEOUT, _key(known.channel_id))
    _publish(call, known.channel_id, wire.CALL_DELETE, wire.CallEnded(channel_id=ChannelId(known.channel_id)))
    channel = access.find_channel(call.tx, known.channel_id)
    message = messages.find(call.tx, known.channel_id, known.message_id)
    about = None if message is None else messages.views.extra(message).call
    if channel is not None and message is not None and about is not None and about.ended_timestamp is UNSET:
        about.ended_timestamp = codec.timestamp(call.now)
        _update_message(call, channel, message, about)


def reset(call: Call) -> None:
    """End every call."""
    for known in store.list_all(call.tx):
        _end(call, known)


# Ringing


def ring(call: Call, known: CallRow, user_ids: Sequence[int]) -> None:
    """Ring users for a limited time; a ring that is already active is extended."""
    ringing = store.list_ringing(call.tx, known.channel_id)
    store.ring(call.tx, known.channel_id, user_ids, call.now + wire.RING_TIMEOUT_SECONDS * 1000)
    if not user_ids:
        return
    _schedule_ring_timeout(call, known)
    if set(user_ids) - ringing.keys():
        _publish_ringing(call, known)


def stop_ringing(call: Call, known: CallRow, user_ids: Sequence[int]) -> None:
    """Stop ringing users who declined, or whose caller canceled."""
    if store.stop_ringing(call.tx, known.channel_id, user_ids):
        _schedule_ring_timeout(call, known)
        _publish_ringing(call, known)


def _schedule_ring_timeout(call: Call, known: CallRow) -> None:
    jobs.cancel(call.tx, RING_TIMEOUT, _key(known.channel_id))
    ends = store.list_ringing(call.tx, known.channel_id).values()
    if ends:
        timeout = RingTimeout(channel_id=ChannelId(known.channel_id))
        call.tx.enqueue(RING_TIMEOUT, timeout, due_ms=min(ends), key=_key(known.channel_id))


def expire_rings(call: Call, job: jobs.Job) -> None:
    """End expired rings."""
    known = store.find(call.tx, job.decode(RingTimeout).channel_id)
    if known is not None:
        ringing = store.list_ringing(call.tx, known.channel_id)
        stop_ringing(call, known, [user_id for user_id, ends_ms in ringing.items() if ends_ms <= call.now])


def _key(channel_id: int) -> str:
    return f"{RING_TIMEOUT}:{int(channel_id)}"


def _publish_ringing(call: Call, known: CallRow) -> None:
    _publish(call, known.channel_id, wire.CALL_UPDATE, views.call_change(call.tx, known))


# Listeners


def on_caller_left(call: Call, signal: CallerMustLeave) -> None:
    """Remove a user after the voice server lost them permanently, or after they joined another channel."""
    if signal.row.kind == CallKind.PRIVATE:
        leave(call, [signal.row])


def on_caller_displaced(call: Call, signal: CallerDisplaced) -> None:
    """Send a new voice server to a user after theirs was lost."""
    if signal.row.kind == CallKind.PRIVATE:
        _send_voice_server(call, signal.row)
        voice_states.calls.notify_voice_server(call, signal.row)


def on_recipient_added(call: Call, signal: RecipientAdded) -> None:
    """Publish the current call to a new recipient of a group channel."""
    known = store.find(call.tx, signal.channel_id)
    if known is not None:
        call.tx.emit(wire.CALL_CREATE, views.private_call(call.tx, known), Audience.of_users(signal.user_id))


def on_recipient_removed(call: Call, signal: RecipientRemoving) -> None:
    """Remove a recipient who leaves a group channel from its call."""
    known = store.find(call.tx, signal.channel_id)
    if known is None:
        return
    stop_ringing(call, known, [signal.user_id])
    row = voice_states.calls.find_caller(call.tx, signal.channel_id, signal.user_id)
    if row is not None:
        leave(call, [row])


def on_user_blocked(call: Call, signal: UserBlocked) -> None:
    """End the direct message call of two users when one blocks the other. Group calls continue."""
    channel_id = direct_messages.find_channel(call.tx, signal.user_id, signal.other_id)
    if channel_id is not None:
        leave(call, voice_states.calls.list_callers(call.tx, [channel_id]).get(channel_id, []), ended=True)


def _publish(call: Call, channel_id: int, event: Event[Any], payload: Any) -> None:
    call.tx.emit(event, payload, Audience.of_users(*channels.recipients_of(call.tx, channel_id)))
