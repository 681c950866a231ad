"""Polls in messages."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.enums import PollLayoutType
from hubbub.protocol.ids import EmojiId, Timestamp
from hubbub.protocol.resources.emojis import PartialEmoji

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
