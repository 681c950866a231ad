"""HTTP handlers for private calls: eligibility and ringing."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import private_calls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import voice_states
from hubbub.server.talk.private_calls import actions, rules, store


@handles(wire.GET_CALL)
def get_call(call: Call, channel_id: ChannelId) -> wire.CallEligibility:
    """Get whether the current user may start a call in a private channel."""
    channel = rules.require_private_channel(call, channel_id)
    return wire.CallEligibility(ringable=rules.can_call(call.tx, channel, call.user_id))


@handles(wire.RING_CALL)
def ring_call(call: Call, channel_id: ChannelId, body: wire.RingRecipients) -> None:
    """Ring the recipients of a call.

    The caller must be in the call. Without a list of recipients, all recipients who are not in the call are rung, except
    bots and blocked users."""
    channel = rules.require_private_channel(call, channel_id)
    private_call = store.find(call.tx, channel_id)
    participants = {
        row.user_id for row in voice_states.calls.find_participants(call.tx, [channel_id]).get(channel_id, ())
    }
    if private_call is None or call.user_id not in participants:
        raise errors.UNKNOWN_VOICE_STATE()
    if not rules.can_call(call.tx, channel, call.user_id):
        raise errors.CANNOT_MESSAGE_USER()
    actions.ring(call, private_call, rules.list_ringable_ids(call, channel, body.recipients or None, participants))


@handles(wire.STOP_RINGING_CALL)
def stop_ringing_call(call: Call, channel_id: ChannelId, body: wire.RingRecipients) -> None:
    """Stop ringing recipients of a call.

    Without a list of recipients, the caller declines the call. Only a participant may stop ringing other users."""
    rules.require_private_channel(call, channel_id)
    private_call = store.find(call.tx, channel_id)
    recipient_ids = list(body.recipients or (call.user_id,))
    participant = voice_states.calls.find_participant(call.tx, channel_id, call.user_id)
    if recipient_ids != [call.user_id] and participant is None:
        raise errors.UNKNOWN_VOICE_STATE()
    if private_call is not None:
        actions.stop_ringing(call, private_call, recipient_ids)
