"""Read states: up to where people have read, for all of their own clients (gateway.md 10 names MESSAGE_ACK; decisions/0057)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions

ACKED_AT_ONCE_MAX: Final = 100


class ReadState(Struct, kw_only=True):
    """How far a channel was read."""

    id: ChannelId
    last_message_id: MessageId


class ReadStates(Struct, kw_only=True):
    """The part of READY that holds all of a person's."""

    entries: list[ReadState]
    partial: bool = False
    """Whether entries are left out; ours never are."""
    version: int = 0


class AckMessage(Struct, kw_only=True):
    """That a channel was read up to a message."""

    token: str | None | UnsetType = UNSET
    """What the answer before had; clients send it back."""
    manual: bool | None | UnsetType = UNSET
    """True where somebody marks what follows as unread again: only then the mark goes back."""


class Acked(Struct, kw_only=True):
    """That a mark was taken."""

    token: str | None = None


class AckedMessage(Struct, kw_only=True):
    """One mark among several."""

    channel_id: ChannelId
    message_id: MessageId


class AckBulk(Struct, kw_only=True):
    """Channels that were read."""

    read_states: Annotated[list[AckedMessage], Meta(min_length=1, max_length=ACKED_AT_ONCE_MAX)]


class MessageAcked(Struct, kw_only=True):
    """That one of a person's clients has read on, or went back."""

    channel_id: ChannelId
    message_id: MessageId
    manual: bool | UnsetType = UNSET


MESSAGE_ACK = Event("MESSAGE_ACK", MessageAcked)
"""To the person's own clients, and to no game."""

ACK_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages/{message_id}/ack",
    body=AckMessage,
    result=Acked,
    auth=Auth.USER,
    needs=Permissions.VIEW_CHANNEL,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS),
    emits=(MESSAGE_ACK,),
    limit=RateLimit(20, 10.0),
    optional_body=True,
)

ACK_BULK = Operation(
    "POST",
    "/read-states/ack-bulk",
    body=AckBulk,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
    emits=(MESSAGE_ACK,),
)
