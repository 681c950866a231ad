"""Polls in messages, and their votes. The operation that ends a poll is in `poll_ends`."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import PollLayoutType
from hubbub.protocol.ids import ChannelId, EmojiId, GuildId, MessageId, Timestamp, UserId, WideInt
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.protocol.resources.users import User

POLL_QUESTION_LENGTH_MAX: Final = 300
POLL_ANSWER_LENGTH_MAX: Final = 55
POLL_ANSWERS_MAX: Final = 10
"""Maximum number of answers of a poll."""
POLL_HOURS_DEFAULT: Final = 24
"""Default duration of a poll in hours."""
POLL_HOURS_MAX: Final = 768
"""Maximum duration of a poll in hours."""


class PollMedia(Struct, kw_only=True):
    """The text and emoji of a question or an answer; each is absent if it is not set."""

    text: str | UnsetType = UNSET
    """Text of the question or answer."""
    emoji: PartialEmoji | UnsetType = UNSET
    """Emoji of the answer; questions have none."""


class PollAnswer(Struct, kw_only=True):
    """A choice that voters of a poll can select."""

    answer_id: int
    """Number of the answer, counted from 1."""
    poll_media: PollMedia
    """Text and emoji of the answer."""


class PollAnswerCount(Struct, kw_only=True):
    """The number of votes for an answer."""

    id: int
    """Number of the answer."""
    count: int
    """Number of votes."""
    me_voted: bool
    """Whether the current user voted for the answer."""


class PollResults(Struct, kw_only=True):
    """The votes of a poll, which are exact once `is_finalized` is true."""

    is_finalized: bool
    """Whether the votes have been counted exactly."""
    answer_counts: list[PollAnswerCount]
    """Numbers of votes by answer; answers without votes may be missing."""


class Poll(Struct, kw_only=True):
    """The poll of a message."""

    question: PollMedia
    """Question of the poll; text only."""
    answers: list[PollAnswer]
    """Answers to choose from."""
    expiry: Timestamp
    """Time at which the poll ends."""
    allow_multiselect: bool
    """Whether a user can vote for several answers."""
    layout_type: int
    """Layout of the poll; always 1."""
    results: PollResults
    """Numbers of votes, which are final after the poll has ended."""


class PollEmojiRequest(Struct, kw_only=True):
    """The emoji of an answer: the ID of a custom emoji, or a Unicode emoji."""

    id: EmojiId | None | UnsetType = UNSET
    """ID of the custom emoji."""
    name: Annotated[str, Meta(max_length=32)] | None | UnsetType = UNSET
    """Unicode emoji, or name of the custom emoji."""
    animated: bool | None | UnsetType = UNSET
    """Whether the custom emoji is animated."""


class PollQuestionRequest(Struct, kw_only=True):
    """The question of a new poll."""

    text: Annotated[str, Meta(min_length=1, max_length=POLL_QUESTION_LENGTH_MAX)]
    """Text of the question."""


class PollAnswerMediaRequest(Struct, kw_only=True):
    """The text and emoji of an answer; either may be null or absent."""

    text: Annotated[str, Meta(min_length=1, max_length=POLL_ANSWER_LENGTH_MAX)] | None | UnsetType = UNSET
    """Text of the answer."""
    emoji: PollEmojiRequest | None | UnsetType = UNSET
    """Emoji of the answer."""


class PollAnswerRequest(Struct, kw_only=True):
    """An answer of a new poll."""

    poll_media: PollAnswerMediaRequest
    """Text and emoji of the answer."""


class CreatePoll(Struct, kw_only=True):
    """A poll to send with a message."""

    question: PollQuestionRequest
    """Question of the poll."""
    answers: Annotated[list[PollAnswerRequest], Meta(min_length=1, max_length=POLL_ANSWERS_MAX)]
    """Answers to choose from."""
    # discord.py sends whole hours as 24.0.
    duration: Annotated[float, Meta(ge=1, le=POLL_HOURS_MAX)] | None | UnsetType = UNSET
    """Duration of the poll in hours; default 24."""
    allow_multiselect: bool | None | UnsetType = UNSET
    """Whether a user can vote for several answers; default false."""
    layout_type: PollLayoutType | None | UnsetType = UNSET
    """Layout of the poll; default 1."""


class PollAnswerId(WideInt):
    """The number of an answer, which clients send as a number or as a string."""

    __slots__ = ()


class VoteInPoll(Struct, kw_only=True):
    """The answers that the caller votes for, which replace all earlier votes."""

    answer_ids: Annotated[list[PollAnswerId], Meta(max_length=POLL_ANSWERS_MAX)]
    """Numbers of the answers; an empty list removes all votes of the caller."""


class ListVoters(Struct, kw_only=True):
    """Page selection for the voters of an answer."""

    after: UserId | UnsetType = UNSET
    """Return users with a greater ID."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 25
    """Maximum number of users to return."""


class PollVoters(Struct, kw_only=True):
    """The users who voted for an answer, in ascending order of ID."""

    users: list[User]
    """Users who voted for the answer."""


class PollVote(Struct, kw_only=True):
    """A vote that was added or removed; one event per answer."""

    user_id: UserId
    """ID of the user."""
    channel_id: ChannelId
    """ID of the channel."""
    message_id: MessageId
    """ID of the message."""
    answer_id: int
    """Number of the answer."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""


MESSAGE_POLL_VOTE_ADD = Event(
    "MESSAGE_POLL_VOTE_ADD",
    PollVote,
    "Sent when a user votes for an answer of a poll.",
    intents=Intents.GUILD_MESSAGE_POLLS,
    dm_intents=Intents.DIRECT_MESSAGE_POLLS,
)
MESSAGE_POLL_VOTE_REMOVE = Event(
    "MESSAGE_POLL_VOTE_REMOVE",
    PollVote,
    "Sent when a user removes their vote for an answer of a poll.",
    intents=Intents.GUILD_MESSAGE_POLLS,
    dm_intents=Intents.DIRECT_MESSAGE_POLLS,
)

GET_ANSWER_VOTERS = Operation(
    "GET",
    "/channels/{channel_id}/polls/{message_id}/answers/{answer_id}",
    result=PollVoters,
    query=ListVoters,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.INVALID_FORM_BODY,
    ),
)

# First-party: applications cannot vote (spec/http.md#3.4), so the published API has no such route (decisions/0023).
VOTE_IN_POLL = Operation(
    "PUT",
    "/channels/{channel_id}/polls/{message_id}/answers/@me",
    body=VoteInPoll,
    auth=Auth.USER,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.THREAD_ARCHIVED,
        errors.POLL_VOTING_BLOCKED,
        errors.POLL_EXPIRED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(MESSAGE_POLL_VOTE_ADD, MESSAGE_POLL_VOTE_REMOVE),
)
