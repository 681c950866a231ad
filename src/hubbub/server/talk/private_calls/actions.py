"""Start, ring and end private calls, add and remove their participants, and publish the events."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import MessageType
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.message_parts import MessageCall
from hubbub.protocol.resources.voice_states import VOICE_SERVER_UPDATE, VOICE_STATE_UPDATE, VoiceServer
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity.relationships import UserBlocked
from hubbub.server.places import channels, voice_states
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.places.voice_states.connections.calls import VoiceCallKind, VoiceCallParticipantRow
from hubbub.server.places.voice_states.signals import ParticipantDisplaced
from hubbub.server.talk import direct_messages, messages
from hubbub.server.talk.direct_messages import RecipientAdded, RecipientRemoving
from hubbub.server.talk.private_calls import store, views
from hubbub.server.talk.private_calls.store import PrivateCallRow

RING_TIMEOUT_JOB: Final = "private_calls.ring_timeout"
"""Kind of the job that ends unanswered rings."""


class RingTimeout(msgspec.Struct, kw_only=True):
    """Payload of the job that ends unanswered rings."""

    channel_id: ChannelId


def put_participant(call: Call, channel: ChannelRef, row: VoiceCallParticipantRow) -> None:
    """Add a participant to a channel's call, or update their voice state. The first participant starts the call."""
    if voice_states.calls.find_participant(call.tx, row.voice_call_id, row.user_id) is None:
        private_call = store.find(call.tx, channel.id)
        if private_call is None:
            _start_call(call, channel, row.user_id)
        else:
            _add_to_call_message(call, channel, private_call, row.user_id)
            stop_ringing(call, private_call, [row.user_id])
    result = voice_states.calls.put_participant(call, row)
    if result.has_changed:
        _publish_to_recipients(call, channel.id, VOICE_STATE_UPDATE, views.build_voice_state(row))
    if result.needs_ticket:
        # spec/voice.md#1: the state always precedes the server, since libraries connect when they receive the server.
        _send_voice_server(call, row)
    if result.has_changed or result.needs_ticket:
        voice_states.calls.notify_voice_server(call, row)


def _start_call(call: Call, channel: ChannelRef, user_id: int) -> None:
    """Create a channel's call and its system message, and publish the call."""
    message = messages.system_messages.create_system_message(
        call, channel, MessageType.CALL, user_id, call_info=MessageCall(participants=[UserId(user_id)])
    )
    row = PrivateCallRow(int(channel.id), int(message.id))
    store.insert(call.tx, row)
    _publish_to_recipients(call, channel.id, wire.CALL_CREATE, views.build_private_call(call.tx, row))


def _add_to_call_message(call: Call, channel: ChannelRef, private_call: PrivateCallRow, user_id: int) -> None:
    """Add a user to the participants listed in the call's message."""
    message = messages.history.find(call.tx, private_call.channel_id, private_call.message_id)
    call_info = None if message is None else messages.views.extra(message).call
    if message is not None and call_info is not None and user_id not in call_info.participants:
        _update_call_message(
            call, channel, message, MessageCall(participants=[*call_info.participants, UserId(user_id)])
        )


def _update_call_message(call: Call, channel: ChannelRef, message: messages.MessageRow, call_info: MessageCall) -> None:
    extra = messages.views.extra(message)
    extra.call = call_info
    messages.changes.update(call, channel, message._replace(extra=messages.content.encode_extra(extra)))


def _send_voice_server(call: Call, row: VoiceCallParticipantRow) -> None:
    token, endpoint = voice_states.calls.issue_ticket(call, row)
    server = VoiceServer(token=token, guild_id=None, channel_id=ChannelId(row.voice_call_id), endpoint=endpoint)
    call.tx.emit(VOICE_SERVER_UPDATE, server, voice_states.calls.session_audience(row))


def leave(call: Call, rows: Sequence[VoiceCallParticipantRow], *, has_ended: bool = False) -> None:
    """Remove participants from their calls. A call ends when its last participant leaves.

    `has_ended` informs the voice server that the call was ended for all participants."""
    for row in rows:
        voice_states.calls.remove_participant(call, row)
        _publish_to_recipients(call, row.voice_call_id, VOICE_STATE_UPDATE, views.build_voice_state(row, has_left=True))
    channel_ids = dict.fromkeys(int(row.voice_call_id) for row in rows)
    participants_by_channel = voice_states.calls.find_participants(call.tx, list(channel_ids))
    for channel_id in channel_ids:
        private_call = store.find(call.tx, channel_id)
        if channel_id not in participants_by_channel and private_call is not None:
            _end_call(call, private_call)
    for row in rows:
        voice_states.calls.notify_voice_server(call, row, has_voice_call_ended=has_ended)


def _end_call(call: Call, private_call: PrivateCallRow) -> None:
    store.delete(call.tx, private_call.channel_id)
    jobs.cancel_jobs(call.tx, RING_TIMEOUT_JOB, _ring_job_key(private_call.channel_id))
    _publish_to_recipients(
        call, private_call.channel_id, wire.CALL_DELETE, wire.CallEnded(channel_id=ChannelId(private_call.channel_id))
    )
    channel = access.find_channel(call.tx, private_call.channel_id)
    message = messages.history.find(call.tx, private_call.channel_id, private_call.message_id)
    call_info = None if message is None else messages.views.extra(message).call
    if channel is not None and message is not None and call_info is not None and call_info.ended_timestamp is UNSET:
        call_info.ended_timestamp = codec.timestamp(call.now_ms)
        _update_call_message(call, channel, message, call_info)


def reset(call: Call) -> None:
    """End all private calls without removing their participants, whose voice states are reset afterwards."""
    for private_call in store.list_ongoing(call.tx):
        _end_call(call, private_call)


# Ringing


def ring(call: Call, private_call: PrivateCallRow, user_ids: Sequence[int]) -> None:
    """Ring users of the call `private_call` for `RING_TIMEOUT_SECONDS`; a ring that is already active is extended."""
    ring_ends_by_user = store.find_ring_ends(call.tx, private_call.channel_id)
    store.ring(call.tx, private_call.channel_id, user_ids, call.now_ms + wire.RING_TIMEOUT_SECONDS * 1000)
    if not user_ids:
        return
    _schedule_ring_timeout(call, private_call)
    if set(user_ids) - ring_ends_by_user.keys():
        _publish_ringing(call, private_call)


def stop_ringing(call: Call, private_call: PrivateCallRow, user_ids: Sequence[int]) -> None:
    """Stop ringing the users `user_ids` of the call `private_call`, and publish the call if a ring was active for one of them."""
    if store.stop_ringing(call.tx, private_call.channel_id, user_ids):
        _schedule_ring_timeout(call, private_call)
        _publish_ringing(call, private_call)


def _schedule_ring_timeout(call: Call, private_call: PrivateCallRow) -> None:
    jobs.cancel_jobs(call.tx, RING_TIMEOUT_JOB, _ring_job_key(private_call.channel_id))
    ring_ends_ms = store.find_ring_ends(call.tx, private_call.channel_id).values()
    if ring_ends_ms:
        timeout = RingTimeout(channel_id=ChannelId(private_call.channel_id))
        call.tx.enqueue(RING_TIMEOUT_JOB, timeout, due_ms=min(ring_ends_ms), key=_ring_job_key(private_call.channel_id))


def expire_rings(call: Call, job: jobs.Job) -> None:
    """Stop ringing the users of a call whose rings have expired."""
    private_call = store.find(call.tx, job.decode(RingTimeout).channel_id)
    if private_call is not None:
        ring_ends_by_user = store.find_ring_ends(call.tx, private_call.channel_id)
        stop_ringing(
            call, private_call, [user_id for user_id, ends_ms in ring_ends_by_user.items() if ends_ms <= call.now_ms]
        )


def _ring_job_key(channel_id: int) -> str:
    return f"{RING_TIMEOUT_JOB}:{int(channel_id)}"


def _publish_ringing(call: Call, private_call: PrivateCallRow) -> None:
    _publish_to_recipients(
        call, private_call.channel_id, wire.CALL_UPDATE, views.build_ringing_call(call.tx, private_call)
    )


# Implementation of a port of the voice states slice


def remove_participant(call: Call, row: VoiceCallParticipantRow) -> None:
    """Remove a user from a private call; ignore other calls."""
    if row.kind == VoiceCallKind.PRIVATE:
        leave(call, [row])


# Listeners


def on_participant_displaced(call: Call, signal: ParticipantDisplaced) -> None:
    """Assign another voice server to a user whose voice server was lost or shuts down."""
    if signal.row.kind == VoiceCallKind.PRIVATE:
        _send_voice_server(call, signal.row)
        voice_states.calls.notify_voice_server(call, signal.row)


def on_recipient_added(call: Call, signal: RecipientAdded) -> None:
    """Publish the current call to a new recipient of a group channel."""
    private_call = store.find(call.tx, signal.channel_id)
    if private_call is not None:
        call.tx.emit(wire.CALL_CREATE, views.build_private_call(call.tx, private_call), UserAudience.of(signal.user_id))


def on_recipient_removing(call: Call, signal: RecipientRemoving) -> None:
    """Remove a recipient who leaves a group channel, or is removed from it, from its call."""
    private_call = store.find(call.tx, signal.channel_id)
    if private_call is None:
        return
    stop_ringing(call, private_call, [signal.user_id])
    row = voice_states.calls.find_participant(call.tx, signal.channel_id, signal.user_id)
    if row is not None:
        leave(call, [row])


def on_user_blocked(call: Call, signal: UserBlocked) -> None:
    """End the direct message call of two users when one blocks the other. Group calls continue."""
    channel_id = direct_messages.find_direct_channel_id(call.tx, signal.user_id, signal.other_id)
    if channel_id is not None:
        leave(call, voice_states.calls.find_participants(call.tx, [channel_id]).get(channel_id, []), has_ended=True)


def _publish_to_recipients(call: Call, channel_id: int, event: Event[Any], payload: Any) -> None:
    """Publish an event to all recipients of a private channel."""
    call.tx.emit(event, payload, UserAudience.of(*channels.private_channels.list_recipient_ids(call.tx, channel_id)))
