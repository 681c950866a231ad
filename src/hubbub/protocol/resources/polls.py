"""Polls in messages: what they are, and voting. Ending one answers with its message, so that operation is in `poll_ends`."""

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

POLL_QUESTION_MAX: Final = 300
POLL_ANSWER_MAX: Final = 55
POLL_ANSWERS_MAX: Final = 10
POLL_HOURS_DEFAULT: Final = 24
POLL_HOURS_MAX: Final = 768


class PollMedia(Struct, kw_only=True):
    """The text and emoji of a question or an answer."""

    text: str | UnsetType = UNSET
    emoji: PartialEmoji | UnsetType = UNSET


class PollAnswer(Struct, kw_only=True):
    """One answer to choose."""

    answer_id: int
    """Counted from 1."""
    poll_media: PollMedia


class PollAnswerCount(Struct, kw_only=True):
    """The votes one answer has."""

    id: int
    count: int
    me_voted: bool


class PollResults(Struct, kw_only=True):
    """The votes; exact once `is_finalized`."""

    is_finalized: bool
    answer_counts: list[PollAnswerCount]


class Poll(Struct, kw_only=True):
    """A poll as a message carries it."""

    question: PollMedia
    answers: list[PollAnswer]
    expiry: Timestamp
    allow_multiselect: bool
    layout_type: int
    results: PollResults


class PollEmojiRequest(Struct, kw_only=True):
    """An emoji of an answer: a custom one's id or a unicode emoji's name."""

    id: EmojiId | None | UnsetType = UNSET
    name: Annotated[str, Meta(max_length=32)] | None | UnsetType = UNSET
    animated: bool | None | UnsetType = UNSET


class PollQuestionRequest(Struct, kw_only=True):
    """The question, text only."""

    text: Annotated[str, Meta(min_length=1, max_length=POLL_QUESTION_MAX)]


class PollAnswerMediaRequest(Struct, kw_only=True):
    """The text of an answer, perhaps with an emoji."""

    text: Annotated[str, Meta(min_length=1, max_length=POLL_ANSWER_MAX)] | None | UnsetType = UNSET
    emoji: PollEmojiRequest | None | UnsetType = UNSET


class PollAnswerRequest(Struct, kw_only=True):
    """One answer to offer."""

    poll_media: PollAnswerMediaRequest


class CreatePoll(Struct, kw_only=True):
    """A poll to send with a message."""

    question: PollQuestionRequest
    answers: Annotated[list[PollAnswerRequest], Meta(min_length=1, max_length=POLL_ANSWERS_MAX)]
    # discord.py sends whole hours as 24.0.
    duration: Annotated[float, Meta(ge=1, le=POLL_HOURS_MAX)] | None | UnsetType = UNSET
    """Hours."""
    allow_multiselect: bool | None | UnsetType = UNSET
    layout_type: PollLayoutType | None | UnsetType = UNSET


class PollAnswerId(WideInt):
    """The number of an answer; clients write it as a number or as text."""

    __slots__ = ()


class VoteInPoll(Struct, kw_only=True):
    """The answers that a person now votes for, in place of all they chose before; none takes the vote back."""

    answer_ids: Annotated[list[PollAnswerId], Meta(max_length=POLL_ANSWERS_MAX)]


class ListVoters(Struct, kw_only=True):
    """Which of those who voted for an answer to return."""

    after: UserId | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=100)] = 25


class PollVoters(Struct, kw_only=True):
    """Who voted for an answer, in the order of their ids."""

    users: list[User]


class PollVote(Struct, kw_only=True):
    """That somebody voted for an answer, or took that vote back: one event per answer."""

    user_id: UserId
    channel_id: ChannelId
    message_id: MessageId
    answer_id: int
    guild_id: GuildId | UnsetType = UNSET


MESSAGE_POLL_VOTE_ADD = Event(
    "MESSAGE_POLL_VOTE_ADD",
    PollVote,
    intents=Intents.GUILD_MESSAGE_POLLS,
    dm_intents=Intents.DIRECT_MESSAGE_POLLS,
)
MESSAGE_POLL_VOTE_REMOVE = Event(
    "MESSAGE_POLL_VOTE_REMOVE",
    PollVote,
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

# Apps cannot vote (http.md 3.4), so the public description lacks this; it is what the chat client says (decisions/0023).
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
