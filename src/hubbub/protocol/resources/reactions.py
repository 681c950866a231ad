"""Reactions: emoji that users add to messages, and their removal."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ReactionType
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User

REACTIONS_MAX: Final = 20
"""Maximum number of different emoji on one message."""

REACTION_LIMIT: Final = RateLimit(1, 0.25, per="channel_id", bucket="reactions")


class ReactionCountDetails(Struct, kw_only=True):
    """The number of reactions by type."""

    normal: int
    """Number of normal reactions."""
    burst: int
    """Number of super reactions."""


class Reaction(Struct, kw_only=True):
    """The reactions to a message with one emoji."""

    emoji: PartialEmoji
    """Emoji of the reaction."""
    count: int
    """Number of reactions with the emoji, of both types."""
    count_details: ReactionCountDetails
    """Number of reactions by type."""
    me: bool
    """Whether the current user reacted with the emoji."""
    me_burst: bool = False
    """Whether the current user added a super reaction with the emoji."""
    burst_colors: list[str]
    """Colors of the super reaction; always empty."""


class ListReactions(Struct, kw_only=True):
    """Page selection for the users who reacted."""

    after: UserId | UnsetType = UNSET
    """Return users with a greater ID."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    """Maximum number of users to return."""
    type: ReactionType = ReactionType.NORMAL
    """Type of reaction to list: 0 normal, 1 super reaction."""


class AddReaction(Struct, kw_only=True):
    """Parameters of adding a reaction."""

    type: ReactionType = ReactionType.NORMAL
    """Type of the reaction: 0 normal, 1 super reaction, which only premium users can add."""


class ReactionRemoved(Struct, kw_only=True):
    """A reaction that was removed, by its user or by a moderator."""

    user_id: UserId
    """ID of the user who added the reaction."""
    channel_id: ChannelId
    """ID of the channel."""
    message_id: MessageId
    """ID of the message."""
    emoji: PartialEmoji
    """Emoji of the reaction."""
    burst: bool = False
    """Whether the reaction is a super reaction."""
    type: int = 0
    """Type of the reaction: 0 normal, 1 super reaction."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""


class ReactionAdded(ReactionRemoved, kw_only=True):
    """A reaction that was added."""

    member: Member | UnsetType = UNSET
    """Member who reacted; absent outside guilds."""
    message_author_id: UserId | UnsetType = UNSET
    """ID of the message's author; absent for webhooks."""
    burst_colors: list[str] | UnsetType = UNSET
    """Colors of a super reaction; always empty, absent for normal reactions."""


class ReactionsCleared(Struct, kw_only=True):
    """A message whose reactions were all removed."""

    channel_id: ChannelId
    """ID of the channel."""
    message_id: MessageId
    """ID of the message."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""


class EmojiReactionsCleared(ReactionsCleared, kw_only=True):
    """A message whose reactions with one emoji were all removed."""

    emoji: PartialEmoji
    """Emoji of the removed reactions."""


MESSAGE_REACTION_ADD = Event(
    "MESSAGE_REACTION_ADD",
    ReactionAdded,
    "Sent when a user adds a reaction to a message.",
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE = Event(
    "MESSAGE_REACTION_REMOVE",
    ReactionRemoved,
    "Sent when a reaction of one user is removed from a message.",
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE_ALL = Event(
    "MESSAGE_REACTION_REMOVE_ALL",
    ReactionsCleared,
    "Sent when all reactions are removed from a message.",
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE_EMOJI = Event(
    "MESSAGE_REACTION_REMOVE_EMOJI",
    EmojiReactionsCleared,
    "Sent when all reactions with one emoji are removed from a message.",
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)

_REACTION_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.UNKNOWN_MESSAGE,
    errors.UNKNOWN_EMOJI,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.THREAD_ARCHIVED,
)

LIST_MESSAGE_REACTIONS_BY_EMOJI = Operation(
    "GET",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}",
    result=list[User],
    query=ListReactions,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.UNKNOWN_EMOJI,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
    ),
)

# The slice also checks ADD_REACTIONS for the first use of an emoji, and USE_EXTERNAL_EMOJIS for emoji of other guilds.
ADD_MY_MESSAGE_REACTION = Operation(
    "PUT",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me",
    query=AddReaction,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(*_REACTION_ERRORS, errors.MAX_REACTIONS, errors.BURST_REACTIONS_UNAVAILABLE, errors.REACTION_BLOCKED),
    emits=(MESSAGE_REACTION_ADD,),
    limit=REACTION_LIMIT,
)

DELETE_MY_MESSAGE_REACTION = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me",
    needs=Permissions.VIEW_CHANNEL,
    raises=_REACTION_ERRORS,
    emits=(MESSAGE_REACTION_REMOVE,),
    limit=REACTION_LIMIT,
)

# The next three operations require MANAGE_MESSAGES. The slice checks it, because private channels are rejected with
# CANNOT_EXECUTE_ON_DM instead of MISSING_PERMISSIONS.
DELETE_USER_MESSAGE_REACTION = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/{user_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REACTION_ERRORS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE,),
    limit=REACTION_LIMIT,
)

DELETE_ALL_MESSAGE_REACTIONS = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REACTION_ERRORS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE_ALL,),
    limit=REACTION_LIMIT,
)

DELETE_ALL_MESSAGE_REACTIONS_BY_EMOJI = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REACTION_ERRORS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE_EMOJI,),
    limit=REACTION_LIMIT,
)
