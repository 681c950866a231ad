"""Search: messages of a guild, and threads of a channel."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, TagId, UserId
from hubbub.protocol.operation import Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.channels import Thread, ThreadMember
from hubbub.protocol.resources.messages import Message

SEARCH_LIMIT_MAX: Final = 25
SEARCH_OFFSET_MAX: Final = 9975
SEARCH_REACH: Final = SEARCH_OFFSET_MAX + SEARCH_LIMIT_MAX
"""No page goes further, so `total_results` counts no further either."""
SLOP_MAX: Final = 100
SLOP_DEFAULT: Final = 2
SEARCH_CONTENT_MAX: Final = 1024
SEARCH_CHANNELS_MAX: Final = 500
SEARCH_VALUES_MAX: Final = 100
"""Ids, names and hosts in one parameter."""
SEARCH_TAGS_MAX: Final = 20
RETRY_AFTER_S: Final = 2
"""When to ask again while the index is being built."""


class SortBy(StrEnum):
    """What search results are ordered by."""

    TIMESTAMP = "timestamp"
    RELEVANCE = "relevance"


class SortOrder(StrEnum):
    """Which of them come first."""

    ASC = "asc"
    DESC = "desc"


class AuthorType(StrEnum):
    """What an author is, or is not."""

    USER = "user"
    BOT = "bot"
    WEBHOOK = "webhook"
    NO_USER = "-user"
    NO_BOT = "-bot"
    NO_WEBHOOK = "-webhook"


class Has(StrEnum):
    """What a message has, or has not."""

    LINK = "link"
    EMBED = "embed"
    FILE = "file"
    IMAGE = "image"
    VIDEO = "video"
    SOUND = "sound"
    STICKER = "sticker"
    POLL = "poll"
    SNAPSHOT = "snapshot"
    NO_LINK = "-link"
    NO_EMBED = "-embed"
    NO_FILE = "-file"
    NO_IMAGE = "-image"
    NO_VIDEO = "-video"
    NO_SOUND = "-sound"
    NO_STICKER = "-sticker"
    NO_POLL = "-poll"
    NO_SNAPSHOT = "-snapshot"


class SearchableEmbedType(StrEnum):
    """What an embed shows."""

    IMAGE = "image"
    VIDEO = "video"
    GIFV = "gif"
    SOUND = "sound"
    ARTICLE = "article"


class ThreadSortBy(StrEnum):
    """What found threads are ordered by."""

    RELEVANCE = "relevance"
    CREATION_TIME = "creation_time"
    LAST_MESSAGE_TIME = "last_message_time"
    ARCHIVE_TIME = "archive_time"


class TagSetting(StrEnum):
    """How many of the tags a thread must wear."""

    MATCH_ALL = "match_all"
    MATCH_SOME = "match_some"


Word = Annotated[str, Meta(max_length=256)]


class SearchMessages(Struct, kw_only=True):
    """Which messages to find. All parameters must fit; of a list one value, but for `has`, where all must."""

    sort_by: SortBy = SortBy.TIMESTAMP
    sort_order: SortOrder = SortOrder.DESC
    content: Annotated[str, Meta(max_length=SEARCH_CONTENT_MAX)] = ""
    slop: Annotated[int, Meta(ge=0, le=SLOP_MAX)] = SLOP_DEFAULT
    """How many other words may stand among those of `content`."""
    limit: Annotated[int, Meta(ge=1, le=SEARCH_LIMIT_MAX)] = SEARCH_LIMIT_MAX
    offset: Annotated[int, Meta(ge=0, le=SEARCH_OFFSET_MAX)] = 0
    min_id: MessageId | UnsetType = UNSET
    """Only newer ones."""
    max_id: MessageId | UnsetType = UNSET
    """Only older ones."""
    channel_id: Annotated[list[ChannelId], Meta(max_length=SEARCH_CHANNELS_MAX)] = []
    author_id: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    author_type: Annotated[list[AuthorType], Meta(max_length=6)] = []
    mentions: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    mentions_role_id: Annotated[list[RoleId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    mention_everyone: bool | UnsetType = UNSET
    replied_to_user_id: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    replied_to_message_id: Annotated[list[MessageId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    pinned: bool | UnsetType = UNSET
    has: Annotated[list[Has], Meta(max_length=18)] = []
    embed_type: Annotated[list[SearchableEmbedType], Meta(max_length=5)] = []
    embed_provider: Annotated[list[Word], Meta(max_length=SEARCH_VALUES_MAX)] = []
    link_hostname: Annotated[list[Word], Meta(max_length=SEARCH_VALUES_MAX)] = []
    attachment_filename: Annotated[list[Annotated[str, Meta(max_length=1024)]], Meta(max_length=SEARCH_VALUES_MAX)] = []
    attachment_extension: Annotated[list[Word], Meta(max_length=SEARCH_VALUES_MAX)] = []
    include_nsfw: bool = False


class FoundMessage(Message, kw_only=True):
    """A message that was searched for; it comes without `reactions`."""

    hit: bool = True


class FoundMessages(Struct, kw_only=True):
    """A page of what was found: arrays of one message each."""

    doing_deep_historical_index: bool
    total_results: int
    """Counted as far as the page needs, and some way on; up to SEARCH_REACH."""
    messages: list[list[FoundMessage]]
    threads: list[Thread] | UnsetType = UNSET
    """Those that the messages of this page are in."""
    members: list[ThreadMember] | UnsetType = UNSET
    """The reader's own memberships in these threads."""


class SearchThreads(Struct, kw_only=True):
    """Which threads of a channel to find."""

    name: Annotated[str, Meta(max_length=100)] = ""
    slop: Annotated[int, Meta(ge=0, le=SLOP_MAX)] = SLOP_DEFAULT
    min_id: ChannelId | UnsetType = UNSET
    max_id: ChannelId | UnsetType = UNSET
    tag: Annotated[list[TagId], Meta(max_length=SEARCH_TAGS_MAX, extra={"comma": True})] = []
    tag_setting: TagSetting = TagSetting.MATCH_SOME
    archived: bool | UnsetType = UNSET
    """Absent: both."""
    sort_by: ThreadSortBy = ThreadSortBy.LAST_MESSAGE_TIME
    sort_order: SortOrder = SortOrder.DESC
    limit: Annotated[int, Meta(ge=1, le=SEARCH_LIMIT_MAX)] = SEARCH_LIMIT_MAX
    offset: Annotated[int, Meta(ge=0, le=SEARCH_OFFSET_MAX)] = 0


class FoundThreads(Struct, kw_only=True):
    """A page of threads, with the reader's own memberships and the first message of each post."""

    threads: list[Thread]
    members: list[ThreadMember]
    has_more: bool
    total_results: int
    first_messages: list[Message] | UnsetType = UNSET


# READ_MESSAGE_HISTORY somewhere, and the message content intent: rules of the slice, refused with 50001 (http.md 3.4).
GUILD_SEARCH = Operation(
    "GET",
    "/guilds/{guild_id}/messages/search",
    result=FoundMessages,
    query=SearchMessages,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.INDEX_NOT_AVAILABLE),
    limit=RateLimit(10, 60.0),
    also=(202,),
)

THREAD_SEARCH = Operation(
    "GET",
    "/channels/{channel_id}/threads/search",
    result=FoundThreads,
    query=SearchThreads,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.INDEX_NOT_AVAILABLE,
    ),
    also=(202,),
)
