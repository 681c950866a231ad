"""Reactions to messages."""

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
"""Different emoji on one message."""

REACTION_LIMIT: Final = RateLimit(1, 0.25, per="channel_id", bucket="reactions")


class ReactionCountDetails(Struct, kw_only=True):
    """How many of each kind."""

    normal: int
    burst: int


class Reaction(Struct, kw_only=True):
    """One emoji on a message, counted for everyone."""

    emoji: PartialEmoji
    count: int
    count_details: ReactionCountDetails
    me: bool
    """That the reader reacted so."""
    me_burst: bool = False
    burst_colors: list[str]


class ListReactions(Struct, kw_only=True):
    """Which of those who reacted to return."""

    after: UserId | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    type: ReactionType = ReactionType.NORMAL


class AddReaction(Struct, kw_only=True):
    """How to react."""

    type: ReactionType = ReactionType.NORMAL
    """BURST is for people with premium."""


class ReactionRemoved(Struct, kw_only=True):
    """That somebody took a reaction back, or it was taken."""

    user_id: UserId
    channel_id: ChannelId
    message_id: MessageId
    emoji: PartialEmoji
    burst: bool = False
    type: int = 0
    guild_id: GuildId | UnsetType = UNSET


class ReactionAdded(ReactionRemoved, kw_only=True):
    """That somebody reacted."""

    member: Member | UnsetType = UNSET
    message_author_id: UserId | UnsetType = UNSET
    burst_colors: list[str] | UnsetType = UNSET


class ReactionsCleared(Struct, kw_only=True):
    """That a message lost all its reactions."""

    channel_id: ChannelId
    message_id: MessageId
    guild_id: GuildId | UnsetType = UNSET


class EmojiReactionsCleared(ReactionsCleared, kw_only=True):
    """That a message lost all reactions of one emoji."""

    emoji: PartialEmoji


MESSAGE_REACTION_ADD = Event(
    "MESSAGE_REACTION_ADD",
    ReactionAdded,
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE = Event(
    "MESSAGE_REACTION_REMOVE",
    ReactionRemoved,
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE_ALL = Event(
    "MESSAGE_REACTION_REMOVE_ALL",
    ReactionsCleared,
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)
MESSAGE_REACTION_REMOVE_EMOJI = Event(
    "MESSAGE_REACTION_REMOVE_EMOJI",
    EmojiReactionsCleared,
    intents=Intents.GUILD_MESSAGE_REACTIONS,
    dm_intents=Intents.DIRECT_MESSAGE_REACTIONS,
)

_REFUSALS: Final = (
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

# Only the first to use an emoji needs ADD_REACTIONS, only another guild's USE_EXTERNAL_EMOJIS: rules of the slice.
ADD_MY_MESSAGE_REACTION = Operation(
    "PUT",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me",
    query=AddReaction,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(*_REFUSALS, errors.MAX_REACTIONS, errors.BURST_REACTIONS_UNAVAILABLE, errors.REACTION_BLOCKED),
    emits=(MESSAGE_REACTION_ADD,),
    limit=REACTION_LIMIT,
)

DELETE_MY_MESSAGE_REACTION = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me",
    needs=Permissions.VIEW_CHANNEL,
    raises=_REFUSALS,
    emits=(MESSAGE_REACTION_REMOVE,),
    limit=REACTION_LIMIT,
)

# MANAGE_MESSAGES, for these three, is a rule of the slice: in a conversation the refusal is 50003 instead of 50013.
DELETE_USER_MESSAGE_REACTION = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/{user_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REFUSALS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE,),
    limit=REACTION_LIMIT,
)

DELETE_ALL_MESSAGE_REACTIONS = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REFUSALS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE_ALL,),
    limit=REACTION_LIMIT,
)

DELETE_ALL_MESSAGE_REACTIONS_BY_EMOJI = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(*_REFUSALS, errors.CANNOT_EXECUTE_ON_DM, errors.TWO_FACTOR_REQUIRED),
    emits=(MESSAGE_REACTION_REMOVE_EMOJI,),
    limit=REACTION_LIMIT,
)
