"""Pages of the messages of a user for a data export. `accounts.DataExport` has the other data."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import ChannelId, GuildId, MessageId, Timestamp
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources.components import Component
from hubbub.protocol.resources.embeds import Embed
from hubbub.protocol.resources.messages import MessageReference
from hubbub.protocol.resources.polls import Poll
from hubbub.protocol.resources.stickers import StickerItem

DATA_EXPORT_PAGE_MAX: Final = 500
"""Maximum number of messages on a page."""
DATA_EXPORT_PAGE_DEFAULT: Final = 100
"""Number of messages on a page without `limit`."""


class DataExportFile(Struct, kw_only=True):
    """A file attached to an exported message."""

    filename: str
    """Name of the file."""
    size: int
    """Size of the file in bytes."""
    url: str
    """URL of the file, signed and valid for one day."""


class DataExportMessage(Struct, kw_only=True):
    """A message in its author's data export, included even if the author can no longer read the channel."""

    id: MessageId
    """ID of the message."""
    channel_id: ChannelId
    """ID of the channel the message was sent in."""
    guild_id: GuildId | None
    """ID of the guild of the channel; null outside guilds."""
    timestamp: Timestamp
    """Time at which the message was sent."""
    edited_timestamp: Timestamp | None
    """Time of the last edit; null if the message was never edited."""
    content: str
    """Text of the message."""
    attachments: list[DataExportFile]
    """Files attached to the message."""
    type: int
    """Value of `MessageType`."""
    embeds: list[Embed]
    """Embeds of the message."""
    components: list[Component]
    """Components of the message."""
    sticker_items: list[StickerItem]
    """Stickers of the message."""
    poll: Poll | None
    """Poll of the message without its votes; null if it has none."""
    message_reference: MessageReference | None
    """Message that this message replies to or forwards; null if there is none."""


class ListDataExportMessages(Struct, kw_only=True):
    """Query parameters for listing the caller's messages, oldest first."""

    after: MessageId | UnsetType = UNSET
    """Only messages with a higher ID than this; pass the last ID of the previous page. Absent for the first page."""
    limit: Annotated[int, Meta(ge=1, le=DATA_EXPORT_PAGE_MAX)] = DATA_EXPORT_PAGE_DEFAULT
    """Maximum number of messages to return, 1 to 500; 100 if absent."""


LIST_MY_EXPORTED_MESSAGES = Operation(
    "GET",
    "/users/@me/harvest/messages",
    query=ListDataExportMessages,
    result=list[DataExportMessage],
    auth=Auth.USER,
    limit=RateLimit(60, 10.0),
)
