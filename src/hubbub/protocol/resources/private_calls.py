"""Calls between people: in direct message channels and groups (decisions/0059)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Command, Event, Operation, RateLimit
from hubbub.protocol.resources.direct_messages import GROUP_RECIPIENTS_MAX
from hubbub.protocol.resources.voice_states import VoiceState

RING_SECONDS: Final = 30
"""How long somebody is rung who does not answer."""


class CallEligibility(Struct, kw_only=True):
    """What can be done with a private channel's call."""

    ringable: bool
    """Whether the caller may call there."""


class Ring(Struct, kw_only=True):
    """Whom to ring, or to ring no longer."""

    recipients: Annotated[list[UserId], Meta(max_length=GROUP_RECIPIENTS_MAX)] | None | UnsetType = UNSET


class CallChange(Struct, kw_only=True):
    """A call that rings others now."""

    channel_id: ChannelId
    message_id: MessageId
    """What tells of it in the channel."""
    region: str
    ringing: list[UserId]


class PrivateCall(CallChange, kw_only=True):
    """A call, and who is in it."""

    voice_states: list[VoiceState]


class CallEnded(Struct, kw_only=True):
    """A call that is over."""

    channel_id: ChannelId


class ConnectCall(Struct, kw_only=True):
    """A private channel of whose call one wants to know."""

    channel_id: ChannelId


CONNECT_CALL = Command("CALL_CONNECT", GatewayOpcode.CALL_CONNECT, ConnectCall, bots=False)

CALL_CREATE = Event("CALL_CREATE", PrivateCall, intents=Intents.CALLS)
CALL_UPDATE = Event("CALL_UPDATE", CallChange, intents=Intents.CALLS)
CALL_DELETE = Event("CALL_DELETE", CallEnded, intents=Intents.CALLS)

_HERE: Final = (errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.WRONG_CHANNEL_TYPE)

GET_CALL = Operation("GET", "/channels/{channel_id}/call", result=CallEligibility, auth=Auth.USER, raises=_HERE)

# Without recipients: everybody who is not in the call.
RING_CALL = Operation(
    "POST",
    "/channels/{channel_id}/call/ring",
    body=Ring,
    auth=Auth.USER,
    optional_body=True,
    raises=(*_HERE, errors.UNKNOWN_VOICE_STATE, errors.CANNOT_MESSAGE_USER, errors.INVALID_RECIPIENTS),
    emits=(CALL_UPDATE,),
    limit=RateLimit(10, 30.0),
)

# Without recipients: oneself, who declines.
STOP_RINGING_CALL = Operation(
    "POST",
    "/channels/{channel_id}/call/stop-ringing",
    body=Ring,
    auth=Auth.USER,
    optional_body=True,
    raises=(*_HERE, errors.UNKNOWN_VOICE_STATE),
    emits=(CALL_UPDATE,),
)
