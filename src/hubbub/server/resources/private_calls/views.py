"""A call as those in its channel see it."""

from typing import Any

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.resources import private_calls as wire
from hubbub.protocol.resources.voice_states import VoiceState
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import voice_regions, voice_states
from hubbub.server.resources.private_calls import store
from hubbub.server.resources.private_calls.store import CallRow
from hubbub.server.resources.voice_states import CallStateRow


def voice_state(row: CallStateRow, *, left: bool = False) -> VoiceState:
    """How somebody is in a call; `left` shows that they are not any more."""
    return VoiceState(
        guild_id=None,
        channel_id=None if left else ChannelId(row.call_id),
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


def change(tx: Tx, row: CallRow) -> wire.CallChange:
    """Whom a call rings."""
    return wire.CallChange(
        channel_id=ChannelId(row.channel_id),
        message_id=MessageId(row.message_id),
        region=voice_regions.REGIONS[0].id,
        ringing=[UserId(each) for each in store.ringing(tx, row.channel_id)],
    )


def call(tx: Tx, row: CallRow) -> wire.PrivateCall:
    """A whole call."""
    told = change(tx, row)
    inside = voice_states.calls.callers(tx, [row.channel_id]).get(row.channel_id, [])
    return wire.PrivateCall(
        channel_id=told.channel_id,
        message_id=told.message_id,
        region=told.region,
        ringing=told.ringing,
        voice_states=[voice_state(each) for each in inside],
    )


def can_read(asking: Call) -> bool:
    """Whether the caller may know of a person's conversations: the person, and a game that they let read those."""
    actor = asking.actor
    return actor.kind == "user" or (actor.kind == "bearer" and Scope.DM_CHANNELS_READ in actor.scopes)


def ready(asking: Call) -> dict[str, Any]:
    """The calls that go on in the caller's conversations."""
    if not can_read(asking):
        return {}
    return {"calls": [call(asking.tx, row) for row in store.list_of_user(asking.tx, asking.user_id)]}
