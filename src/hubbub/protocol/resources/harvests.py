"""A person's copy of all that they wrote, in pages."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import ChannelId, GuildId, MessageId, Timestamp
from hubbub.protocol.operation import Auth, Operation, RateLimit

PAGE_MAX: Final = 500


class HarvestedFile(Struct, kw_only=True):
    """A file that came with a message."""

    filename: str
    size: int
    url: str
    """Good for a day."""


class HarvestedMessage(Struct, kw_only=True):
    """What its author gets of a message, also where they can no longer read the channel."""

    id: MessageId
    channel_id: ChannelId
    guild_id: GuildId | None
    timestamp: Timestamp
    edited_timestamp: Timestamp | None
    content: str
    attachments: list[HarvestedFile]


class ListHarvestedMessages(Struct, kw_only=True):
    """Which page."""

    after: MessageId | UnsetType = UNSET
    """The last id of the page before."""
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX)] = 100


LIST_HARVESTED_MESSAGES = Operation(
    "GET",
    "/users/@me/harvest/messages",
    query=ListHarvestedMessages,
    result=list[HarvestedMessage],
    auth=Auth.USER,
    limit=RateLimit(60, 10.0),
)
"""The caller's own messages, oldest first; the last page is short."""
