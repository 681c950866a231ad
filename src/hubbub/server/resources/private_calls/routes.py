"""Private calls over HTTP: whether one may call, and whom a call rings."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import private_calls as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import voice_states
from hubbub.server.resources.private_calls import actions, rules, store


@handles(wire.GET_CALL)
def get_call(call: Call, channel_id: ChannelId) -> wire.CallEligibility:
    """Whether the caller may call in a private channel."""
    channel = rules.require_place(call, channel_id)
    return wire.CallEligibility(ringable=rules.can_call(call.tx, channel, call.user_id))


@handles(wire.RING_CALL)
def ring_call(call: Call, channel_id: ChannelId, body: wire.Ring) -> None:
    """Ring people; whoever rings is in the call."""
    channel = rules.require_place(call, channel_id)
    known = store.find(call.tx, channel_id)
    inside = {each.user_id for each in voice_states.calls.callers(call.tx, [channel_id]).get(channel_id, ())}
    if known is None or call.user_id not in inside:
        raise errors.UNKNOWN_VOICE_STATE()
    if not rules.can_call(call.tx, channel, call.user_id):
        raise errors.CANNOT_MESSAGE_USER()
    actions.ring(call, known, rules.ringable(call, channel, body.recipients or None, inside))


@handles(wire.STOP_RINGING_CALL)
def stop_ringing_call(call: Call, channel_id: ChannelId, body: wire.Ring) -> None:
    """Decline, or as one who is in the call, ring others no longer."""
    rules.require_place(call, channel_id)
    known = store.find(call.tx, channel_id)
    named = list(body.recipients or (call.user_id,))
    caller = voice_states.calls.find_caller(call.tx, channel_id, call.user_id)
    if named != [call.user_id] and caller is None:
        raise errors.UNKNOWN_VOICE_STATE()
    if known is not None:
        actions.stop_ringing(call, known, named)
