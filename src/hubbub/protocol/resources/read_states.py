"""Read states and the mentions inbox.

A read state is the last message that a user has read in a channel; the user's clients synchronize it.
MESSAGE_ACK is described in spec/gateway.md#10, the rest in decisions/0057 and decisions/0103.
"""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import Message

BULK_ACKS_MAX: Final = 100
"""Maximum number of channels in one bulk request."""
MENTIONS_PAGE_MAX: Final = 100
"""Maximum number of messages in a page of the mentions inbox."""
PRIVATE_MENTION_COUNT_MAX: Final = 1000
"""Highest `mention_count` of a private channel, where all unread messages count; further messages are not counted."""


class ReadState(Struct, kw_only=True):
    """The last message that the user has read in a channel."""

    id: ChannelId
    """ID of the channel."""
    last_message_id: MessageId
    """ID of the last message that was read."""
    mention_count: int = 0
    """Number of later messages that mention the user, or of all later messages in a private channel."""


class ReadStates(Struct, kw_only=True):
    """The read states of the user, in READY and as a result of `LIST_READ_STATES`."""

    entries: list[ReadState]
    """Read states of the user."""
    partial: bool = False
    """Whether entries are missing; always false."""
    version: int = 0
    """Version of the read states; always 0."""


class AckMessage(Struct, kw_only=True):
    """Parameters of marking a channel as read up to a message."""

    token: str | None | UnsetType = UNSET
    """Token of the previous response, which clients send back; accepted and ignored."""
    manual: bool | None | UnsetType = UNSET
    """Whether the user marked later messages as unread; otherwise an older message does not change the read state."""


class AckResult(Struct, kw_only=True):
    """The result of marking a channel as read."""

    token: str | None = None
    """Always null."""


class BulkAckEntry(Struct, kw_only=True):
    """A channel and its last read message, in a bulk request."""

    channel_id: ChannelId
    """ID of the channel."""
    message_id: MessageId
    """ID of the last message that was read."""


class AckBulk(Struct, kw_only=True):
    """Channels to mark as read."""

    read_states: Annotated[list[BulkAckEntry], Meta(min_length=1, max_length=BULK_ACKS_MAX)]
    """Channels with the last message that was read in each."""


class MessageAcked(Struct, kw_only=True):
    """A read state that was changed by one of the user's clients."""

    channel_id: ChannelId
    """ID of the channel."""
    message_id: MessageId
    """ID of the last message that was read."""
    manual: bool | UnsetType = UNSET
    """Whether the user marked later messages as unread; absent if not."""
    mention_count: int | UnsetType = UNSET
    """Number of later messages that mention the user, or of all later messages in a private channel, as in `ReadState`.
    Present only with `manual`."""


class ListMentions(Struct, kw_only=True):
    """Query parameters of the mentions inbox."""

    before: MessageId | None = None
    """Return messages with a smaller ID; null or absent returns the newest messages."""
    limit: Annotated[int, Meta(ge=1, le=MENTIONS_PAGE_MAX)] = 25
    """Maximum number of messages to return."""
    guild_id: GuildId | None = None
    """Return only messages of this guild; null or absent returns messages of all guilds and private channels."""
    roles: bool = True
    """Whether mentions of the user's roles are included."""
    everyone: bool = True
    """Whether mentions of @everyone and @here are included."""


MESSAGE_ACK = Event(
    "MESSAGE_ACK",
    MessageAcked,
    "Sent to the user's own clients, and not to games, when a channel is marked as read or unread.",
)

ACK_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages/{message_id}/ack",
    body=AckMessage,
    result=AckResult,
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

LIST_READ_STATES = Operation("GET", "/users/@me/read-states", result=ReadStates, auth=Auth.USER)

LIST_MENTIONS = Operation(
    "GET",
    "/users/@me/mentions",
    query=ListMentions,
    result=list[Message],
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
)
