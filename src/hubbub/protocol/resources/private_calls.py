"""Private calls: voice calls in direct message channels and groups (decisions/0059)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Command, Event, Operation, RateLimit
from hubbub.protocol.resources.direct_messages import GROUP_RECIPIENTS_MAX
from hubbub.protocol.resources.voice_states import VoiceState

RING_TIMEOUT_SECONDS: Final = 30
"""Time in seconds after which a user who does not answer is no longer rung."""


class CallEligibility(Struct, kw_only=True):
    """Whether a call can be started in a private channel."""

    ringable: bool
    """Whether the current user may start a call in the channel."""


class RingRecipients(Struct, kw_only=True):
    """The users to ring or to stop ringing."""

    recipients: Annotated[list[UserId], Meta(max_length=GROUP_RECIPIENTS_MAX)] | None | UnsetType = UNSET
    """IDs of the users. Null, absent or empty rings all users who are not in the call, or stops ringing the current user."""


class RingingCall(Struct, kw_only=True):
    """A call and the users being rung by it."""

    channel_id: ChannelId
    """ID of the private channel."""
    message_id: MessageId
    """ID of the message that announces the call in the channel."""
    region: str
    """Region of the voice server."""
    ringing: list[UserId]
    """IDs of the users being rung."""


class PrivateCall(RingingCall, kw_only=True):
    """A call and its participants."""

    voice_states: list[VoiceState]
    """Voice states of the participants."""


class CallEnded(Struct, kw_only=True):
    """Payload of the event for the end of a call in a private channel."""

    channel_id: ChannelId
    """ID of the private channel."""


class ConnectCall(Struct, kw_only=True):
    """The private channel whose call a client requests."""

    channel_id: ChannelId
    """ID of the private channel."""


CONNECT_CALL = Command("CALL_CONNECT", GatewayOpcode.CALL_CONNECT, ConnectCall, allows_bots=False)
"""Command that requests the current call of a private channel, which is returned as CALL_CREATE."""

CALL_CREATE = Event(
    "CALL_CREATE",
    PrivateCall,
    "Sent when a call starts in a private channel, and in response to CALL_CONNECT.",
    intents=Intents.CALLS,
)
CALL_UPDATE = Event(
    "CALL_UPDATE", RingingCall, "Sent when the users being rung by a call change.", intents=Intents.CALLS
)
CALL_DELETE = Event("CALL_DELETE", CallEnded, "Sent when a call ends.", intents=Intents.CALLS)

_CALL_ERRORS: Final = (errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.WRONG_CHANNEL_TYPE)

GET_CALL = Operation("GET", "/channels/{channel_id}/call", result=CallEligibility, auth=Auth.USER, raises=_CALL_ERRORS)

# Without recipients, the operation rings every user who is not in the call.
RING_CALL = Operation(
    "POST",
    "/channels/{channel_id}/call/ring",
    body=RingRecipients,
    auth=Auth.USER,
    optional_body=True,
    raises=(*_CALL_ERRORS, errors.UNKNOWN_VOICE_STATE, errors.CANNOT_MESSAGE_USER, errors.INVALID_RECIPIENTS),
    emits=(CALL_UPDATE,),
    limit=RateLimit(10, 30.0),
)

# Without recipients, the operation declines the call for the current user.
STOP_RINGING_CALL = Operation(
    "POST",
    "/channels/{channel_id}/call/stop-ringing",
    body=RingRecipients,
    auth=Auth.USER,
    optional_body=True,
    raises=(*_CALL_ERRORS, errors.UNKNOWN_VOICE_STATE),
    emits=(CALL_UPDATE,),
)
