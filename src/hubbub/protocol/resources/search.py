"""Search: messages of a guild or private channel, and threads of a channel."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, MessageId, RoleId, TagId, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.messages import Message
from hubbub.protocol.resources.thread_membership import ThreadMember

SEARCH_LIMIT_MAX: Final = 25
"""Maximum number of results on a page."""
SEARCH_OFFSET_MAX: Final = 9975
"""Maximum number of results that a page can skip."""
SEARCH_RESULTS_MAX: Final = SEARCH_OFFSET_MAX + SEARCH_LIMIT_MAX
"""Maximum number of results that can be paged through, which also limits `total_results`."""
SLOP_MAX: Final = 100
"""Maximum number of other words that a request can allow between the words of a query."""
SLOP_DEFAULT: Final = 2
"""Default number of other words allowed between the words of a query."""
SEARCH_CONTENT_MAX: Final = 1024
"""Maximum length of the text of a search, in characters."""
SEARCH_CHANNELS_MAX: Final = 500
"""Maximum number of channels of a search."""
SEARCH_VALUES_MAX: Final = 100
"""Maximum number of IDs, names or hostnames in one parameter."""
SEARCH_TAGS_MAX: Final = 20
"""Maximum number of tags of a thread search."""
RETRY_AFTER_SECONDS: Final = 2
"""Seconds after which a client should retry while the index is being built."""


class MessageSortBy(StrEnum):
    """The sort key of message search results."""

    TIMESTAMP = "timestamp"
    RELEVANCE = "relevance"


class SearchSortOrder(StrEnum):
    """The sort direction of search results."""

    ASC = "asc"
    DESC = "desc"


class AuthorType(StrEnum):
    """A type of author to find, or to exclude with a leading `-`."""

    USER = "user"
    BOT = "bot"
    WEBHOOK = "webhook"
    NO_USER = "-user"
    NO_BOT = "-bot"
    NO_WEBHOOK = "-webhook"


class ContentFilter(StrEnum):
    """A kind of content to find, or to exclude with a leading `-`."""

    LINK = "link"
    EMBED = "embed"
    FILE = "file"
    IMAGE = "image"
    VIDEO = "video"
    SOUND = "sound"
    """Audio files."""
    STICKER = "sticker"
    POLL = "poll"
    SNAPSHOT = "snapshot"
    """Forwarded messages."""
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
    """The kind of content of an embed."""

    IMAGE = "image"
    VIDEO = "video"
    GIFV = "gif"
    SOUND = "sound"
    ARTICLE = "article"


class ThreadSortBy(StrEnum):
    """The sort key of thread search results."""

    RELEVANCE = "relevance"
    CREATION_TIME = "creation_time"
    LAST_MESSAGE_TIME = "last_message_time"
    ARCHIVE_TIME = "archive_time"


class TagMatching(StrEnum):
    """Whether a thread must have all tags of the query or at least one."""

    MATCH_ALL = "match_all"
    """All tags."""
    MATCH_SOME = "match_some"
    """At least one tag."""


SearchTerm = Annotated[str, Meta(max_length=256)]


class SearchMessages(Struct, kw_only=True):
    """The filters of a message search.

    A message must match every parameter. Of a list it must match one value, except for `has`, of which it must
    match all.
    """

    sort_by: MessageSortBy = MessageSortBy.TIMESTAMP
    """Sort key of the results."""
    sort_order: SearchSortOrder = SearchSortOrder.DESC
    """Sort direction of the results."""
    content: Annotated[str, Meta(max_length=SEARCH_CONTENT_MAX)] = ""
    """Words that the text of the message must contain."""
    slop: Annotated[int, Meta(ge=0, le=SLOP_MAX)] = SLOP_DEFAULT
    """Maximum number of other words between the words of `content`."""
    limit: Annotated[int, Meta(ge=1, le=SEARCH_LIMIT_MAX)] = SEARCH_LIMIT_MAX
    """Maximum number of messages to return."""
    offset: Annotated[int, Meta(ge=0, le=SEARCH_OFFSET_MAX)] = 0
    """Number of results to skip."""
    min_id: MessageId | UnsetType = UNSET
    """Return messages with a greater ID."""
    max_id: MessageId | UnsetType = UNSET
    """Return messages with a smaller ID."""
    channel_id: Annotated[list[ChannelId], Meta(max_length=SEARCH_CHANNELS_MAX)] = []
    """IDs of the channels to search; empty searches all channels of the guild, or the private channel."""
    author_id: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """IDs of authors."""
    author_type: Annotated[list[AuthorType], Meta(max_length=6)] = []
    """Types of author."""
    mentions: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """IDs of mentioned users."""
    mentions_role_id: Annotated[list[RoleId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """IDs of mentioned roles."""
    mention_everyone: bool | UnsetType = UNSET
    """Whether the message mentions everyone; absent matches both."""
    replied_to_user_id: Annotated[list[UserId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """IDs of users who are replied to."""
    replied_to_message_id: Annotated[list[MessageId], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """IDs of messages that are replied to."""
    pinned: bool | UnsetType = UNSET
    """Whether the message is pinned; absent matches both."""
    has: Annotated[list[ContentFilter], Meta(max_length=18)] = []
    """Kinds of content that the message must have."""
    embed_type: Annotated[list[SearchableEmbedType], Meta(max_length=5)] = []
    """Kinds of embed."""
    embed_provider: Annotated[list[SearchTerm], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """Names of embed providers."""
    link_hostname: Annotated[list[SearchTerm], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """Hostnames of links in the message, or domains above them."""
    attachment_filename: Annotated[list[Annotated[str, Meta(max_length=1024)]], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """Names of attached files."""
    attachment_extension: Annotated[list[SearchTerm], Meta(max_length=SEARCH_VALUES_MAX)] = []
    """Extensions of attached files, without the dot."""
    include_nsfw: bool = False
    """Whether to search age-restricted channels."""


class FoundMessage(Message, kw_only=True):
    """A message found by a search, without `reactions`."""

    hit: bool = True
    """Whether the message matches the search; always true."""


class FoundMessages(Struct, kw_only=True):
    """A page of message search results."""

    doing_deep_historical_index: bool
    """Whether older messages are still being indexed; always false."""
    total_results: int
    """Number of results; counting stops at 2,000 unless the page needs more, and at 10,000."""
    messages: list[list[FoundMessage]]
    """Results as arrays of one message each."""
    threads: list[Thread] | UnsetType = UNSET
    """Threads of the messages on this page; absent if there are none."""
    members: list[ThreadMember] | UnsetType = UNSET
    """Memberships of the current user in the threads of `threads`; absent if `threads` is absent."""


class SearchThreads(Struct, kw_only=True):
    """The filters of a thread search."""

    name: Annotated[str, Meta(max_length=100)] = ""
    """Words that the name of the thread must contain."""
    slop: Annotated[int, Meta(ge=0, le=SLOP_MAX)] = SLOP_DEFAULT
    """Maximum number of other words between the words of `name`."""
    min_id: ChannelId | UnsetType = UNSET
    """Return threads with a greater ID."""
    max_id: ChannelId | UnsetType = UNSET
    """Return threads with a smaller ID."""
    tag: Annotated[list[TagId], Meta(max_length=SEARCH_TAGS_MAX, extra={"comma": True})] = []
    """IDs of tags that the thread has, separated by commas."""
    tag_setting: TagMatching = TagMatching.MATCH_SOME
    """Whether the thread must have all tags or at least one."""
    archived: bool | UnsetType = UNSET
    """Whether the thread is archived; absent matches both."""
    sort_by: ThreadSortBy = ThreadSortBy.LAST_MESSAGE_TIME
    """Sort key of the results."""
    sort_order: SearchSortOrder = SearchSortOrder.DESC
    """Sort direction of the results."""
    limit: Annotated[int, Meta(ge=1, le=SEARCH_LIMIT_MAX)] = SEARCH_LIMIT_MAX
    """Maximum number of threads to return."""
    offset: Annotated[int, Meta(ge=0, le=SEARCH_OFFSET_MAX)] = 0
    """Number of results to skip."""


class FoundThreads(Struct, kw_only=True):
    """A page of thread search results."""

    threads: list[Thread]
    """Threads that match the search."""
    members: list[ThreadMember]
    """Memberships of the current user in the threads of `threads`."""
    has_more: bool
    """Whether there are further results."""
    total_results: int
    """Number of threads that match the search."""
    first_messages: list[Message] | UnsetType = UNSET
    """First message of each forum post on this page; absent in other channels."""


# The slice requires READ_MESSAGE_HISTORY in at least one channel and, for bots, the message content intent; otherwise it
# raises MISSING_ACCESS (spec/http.md#3.4).
GUILD_SEARCH = Operation(
    "GET",
    "/guilds/{guild_id}/messages/search",
    result=FoundMessages,
    query=SearchMessages,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.INDEX_NOT_AVAILABLE),
    limit=RateLimit(10, 60.0),
    other_statuses=(202,),
)

# First-party: the chat client searches direct messages and groups with this operation (decisions/0123).
CHANNEL_SEARCH = Operation(
    "GET",
    "/channels/{channel_id}/messages/search",
    result=FoundMessages,
    query=SearchMessages,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.WRONG_CHANNEL_TYPE, errors.INDEX_NOT_AVAILABLE),
    limit=RateLimit(10, 60.0),
    other_statuses=(202,),
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
    other_statuses=(202,),
)
