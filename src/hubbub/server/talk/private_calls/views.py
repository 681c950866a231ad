"""Build the wire models of private calls."""

from typing import Any

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.voice_states import VoiceState
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places import voice_regions, voice_states
from hubbub.server.places.voice_states.connections.calls import VoiceCallParticipantRow
from hubbub.server.talk.private_calls import store
from hubbub.server.talk.private_calls.store import PrivateCallRow


def build_voice_state(row: VoiceCallParticipantRow, *, has_left: bool = False) -> VoiceState:
    """Return a participant's voice state; with `has_left`, the state that reports their departure."""
    return VoiceState(
        guild_id=None,
        channel_id=None if has_left else ChannelId(row.voice_call_id),
        user_id=UserId(row.user_id),
        session_id=row.session_id,
        deaf=False,
        mute=False,
        self_deaf=bool(row.self_deaf),
        self_mute=bool(row.self_mute),
        self_video=bool(row.self_video),
        suppress=False,
        request_to_speak_timestamp=None,
    )


def build_ringing_call(tx: Tx, row: PrivateCallRow) -> wire.RingingCall:
    """Return the payload about a call's ringing recipients."""
    return wire.RingingCall(
        channel_id=ChannelId(row.channel_id),
        message_id=MessageId(row.message_id),
        region=voice_regions.REGIONS[0].id,
        ringing=[UserId(user_id) for user_id in store.find_ring_ends(tx, row.channel_id)],
    )


def build_private_call(tx: Tx, row: PrivateCallRow) -> wire.PrivateCall:
    """Return a call with its participants."""
    ringing_call = build_ringing_call(tx, row)
    participants = voice_states.calls.find_participants(tx, [row.channel_id]).get(row.channel_id, [])
    return wire.PrivateCall(
        channel_id=ringing_call.channel_id,
        message_id=ringing_call.message_id,
        region=ringing_call.region,
        ringing=ringing_call.ringing,
        voice_states=[build_voice_state(participant) for participant in participants],
    )


def can_read_private_calls(call: Call) -> bool:
    """Return whether the actor is a user or has a token with the scope DM_CHANNELS_READ."""
    actor = call.actor
    return actor.kind == "user" or (actor.kind == "bearer" and Scope.DM_CHANNELS_READ in actor.scopes)


def ready_fields(call: Call) -> dict[str, Any]:
    """Return the READY fields of private calls: the ongoing calls of the caller's private channels, if they may be read."""
    if not can_read_private_calls(call):
        return {}
    return {"calls": [build_private_call(call.tx, row) for row in store.list_user_calls(call.tx, call.user_id)]}
