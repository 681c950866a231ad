"""Match texts against the keywords and patterns of a rule, and count their mentions and links.

Keyword matching is linear in the text and the number of its matches, which is at most the length of the text times the
length of the longest keyword, regardless of the number of keywords. A pattern search is linear in the text;
continuing the search after allowed matches is bounded by `PATTERN_CPU_SECONDS_MAX`.

Matching ignores case. Positions refer to the original text, so the matched content can be reported.
"""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hubbub.protocol.ids import WIDE_MAX

if TYPE_CHECKING:
    from ahocorasick_rs import AhoCorasick

PATTERN_MEMORY_BYTES_MAX: Final = 512 << 10
"""Memory limit of a compiled pattern with its automaton, in bytes. Larger patterns are rejected when the rule is
saved."""
WINDOW_LENGTH: Final = 512
"""Number of characters searched at a time, which limits the memory for the matches of a long text."""
PATTERN_CPU_SECONDS_MAX: Final = 0.1
"""CPU seconds per rule and text for continuing a pattern search after allowed matches.

Beyond this limit a match counts even if it is allowed or empty, so that expensive input cannot bypass a rule."""

FOLLOWS_WORD: Final = 1
"""Bit of an occurrence that follows a word character."""
PRECEDES_WORD: Final = 2
"""Bit of an occurrence that is followed by a word character."""
CONTEXT_COUNT: Final = 4
"""Number of combinations of the bits FOLLOWS_WORD and PRECEDES_WORD."""
WHOLE_WORD_RANK: Final = -1
"""Rank of entries that match a whole word, which precede all others. The rank of another entry is its list position."""
NO_MATCH_RANK: Final = sys.maxsize
"""Rank of an occurrence whose context matches no entry."""

_WORD_PATTERN: Final = re.compile(r"\w+")
_MENTION_PATTERN: Final = re.compile(r"<@(&|!?)(\d{1,20})>", re.ASCII)
_LINK_PATTERN: Final = re.compile(
    r"https?://\S|(?:^|[\s/])(?:discord\.gg|discord(?:app)?\.com/invite)/\w", re.IGNORECASE
)


class MatchedText(NamedTuple):
    """A match of a rule in a text."""

    keyword: str | None
    """The matched keyword or pattern as the rule has it; None for rules without keywords."""
    content: str | None
    """The matched part of the text; None for rules that count mentions."""


Span = tuple[int, int]
"""Start and end of a part of a text; the end is exclusive."""


def fold(text: str) -> str:
    """Lowercase a text without changing its length."""
    folded_text = text.lower()
    if len(folded_text) != len(text):
        folded_text = "".join(character.lower() if len(character.lower()) == 1 else character for character in text)
    return folded_text


class Keyword(NamedTuple):
    """A word or phrase of a list and its boundary conditions."""

    text: str
    """The entry as the list has it, with its stars."""
    needle: str
    """The lowercase text to search for, without the wildcard stars at its ends."""
    is_at_word_start: bool
    """Whether the match must start at a word boundary."""
    is_at_word_end: bool
    """Whether the match must end at a word boundary."""

    def matches(self, context: int) -> bool:
        """Return whether an occurrence of the needle is a match. `context` has the bits of the characters around it."""
        return not (self.is_at_word_start and context & FOLLOWS_WORD) and not (
            self.is_at_word_end and context & PRECEDES_WORD
        )


def parse_keyword(text: str) -> Keyword:
    """Parse a list entry: a star at either end removes the boundary condition at that end (spec/http.md#3.10)."""
    needle = text.removeprefix("*").removesuffix("*") if len(text) > 1 else text
    return Keyword(text, fold(needle.strip()), not text.startswith("*"), not text.endswith("*"))


class KeywordList:
    """A list of keywords, compiled to one automaton that finds all of them in a single pass over the text."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self._entries = [parse_keyword(keyword) for keyword in keywords]
        self._whole_words: dict[str, Keyword] = {}
        """Entries that match one whole word, by needle."""
        ranks_by_needle: dict[str, list[int]] = {}
        for position, parsed_keyword in enumerate(self._entries):
            if not parsed_keyword.needle:
                continue
            rank = position
            if (
                parsed_keyword.is_at_word_start
                and parsed_keyword.is_at_word_end
                and _WORD_PATTERN.fullmatch(parsed_keyword.needle)
            ):
                self._whole_words.setdefault(parsed_keyword.needle, parsed_keyword)
                rank = WHOLE_WORD_RANK
            ranks = ranks_by_needle.setdefault(parsed_keyword.needle, [NO_MATCH_RANK] * CONTEXT_COUNT)
            for context in range(CONTEXT_COUNT):
                if parsed_keyword.matches(context):
                    ranks[context] = min(ranks[context], rank)
        self._ranks = list(ranks_by_needle.values())
        """Rank of the first entry that matches, by index of the needle and context of the occurrence."""
        self._needle_length_max = max(map(len, ranks_by_needle), default=0)
        self._automaton = _compile_needles(ranks_by_needle) if ranks_by_needle else None

    def find_first(self, folded_text: str, allowed_spans: "AllowedSpans") -> tuple[Keyword, Span] | None:
        """Return the keyword and the span of the first match that is not allowed, or None.

        Whole words precede other entries, which are compared by list position."""
        first_rank, first_start, first_end = NO_MATCH_RANK, 0, 0
        for rank, start, end in self._find_matches(folded_text):
            is_earlier = rank < first_rank or (rank == first_rank and start < first_start)
            if is_earlier and end > allowed_spans.end_at(start):
                first_rank, first_start, first_end = rank, start, end
        if first_rank == NO_MATCH_RANK:
            return None
        is_whole_word = first_rank == WHOLE_WORD_RANK
        keyword = self._whole_words[folded_text[first_start:first_end]] if is_whole_word else self._entries[first_rank]
        return keyword, (first_start, first_end)

    def furthest_ends(self, folded_text: str) -> list[int]:
        """Return, for each position, the greatest end of the matches that start at or before it, or 0.

        The list is empty if no entry matches."""
        ends_by_start: dict[int, int] = {}
        for _, start, end in self._find_matches(folded_text):
            if end > ends_by_start.get(start, 0):
                ends_by_start[start] = end
        return (
            list(accumulate((ends_by_start.get(start, 0) for start in range(len(folded_text))), max))
            if ends_by_start
            else []
        )

    def _find_matches(self, folded_text: str) -> Iterator[tuple[int, int, int]]:
        """Yield the rank, start and end of every match. Matches near the border of two windows may be repeated."""
        if self._automaton is None:
            return
        ranks = self._ranks
        word_flags: bytes | None = None
        for offset in range(0, len(folded_text), WINDOW_LENGTH):
            # The window is extended so that it contains every needle that starts in it.
            window = folded_text[offset : offset + WINDOW_LENGTH + self._needle_length_max - 1]
            for needle_index, start, end in self._automaton.find_matches_as_indexes(window, overlapping=True):
                if word_flags is None:
                    word_flags = _flag_word_characters(folded_text)
                start += offset
                end += offset
                # The flags have an additional 0 in front, so `start` is the flag of the character before the match.
                context = word_flags[start] * FOLLOWS_WORD | word_flags[end + 1] * PRECEDES_WORD
                rank = ranks[needle_index][context]
                if rank != NO_MATCH_RANK:
                    yield rank, start, end


def _flag_word_characters(text: str) -> bytes:
    """Return 1 for each word character of a text and 0 for each other one, with a 0 at both ends."""
    return b"\0" + bytes(map(str.isalnum, text.replace("_", "a"))) + b"\0"


class AllowedSpans:
    """The spans of one text that a rule's allow list permits, computed on first use."""

    def __init__(self, allow_list: KeywordList, folded_text: str) -> None:
        self._allow_list = allow_list
        self._folded_text = folded_text
        self._furthest_ends: list[int] | None = None

    def end_at(self, start: int) -> int:
        """Return the greatest end of the allowed spans that start at or before `start`, or 0."""
        # Most texts match no entry, so the allow list is rarely needed.
        if self._furthest_ends is None:
            self._furthest_ends = self._allow_list.furthest_ends(self._folded_text)
        return self._furthest_ends[start] if self._furthest_ends else 0


def _compile_needles(needles: Iterable[str]) -> "AhoCorasick":
    """Return one automaton for many strings. A match refers to its string by index."""
    # The import is local because only processes that load a rule with keywords need the library.
    from ahocorasick_rs import AhoCorasick

    return AhoCorasick(needles)


class InvalidPattern(Exception):
    """A regular expression that cannot be used, with the reason."""


def compile_pattern(pattern: str) -> Any:
    """Compile a pattern with RE2, which never backtracks. Raise InvalidPattern if RE2 rejects the pattern."""
    # The import is local because only processes that check or load a rule with patterns need re2.
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_BYTES_MAX
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise InvalidPattern(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None


def _compile_valid_patterns(patterns: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield each valid pattern with its compiled form."""
    for pattern in patterns:
        try:
            yield pattern, compile_pattern(pattern)
        except InvalidPattern:
            # The pattern was valid for an older version of the engine; the rest of the rule still applies.
            continue


class Matcher:
    """The keywords, patterns and allow list of a rule."""

    def __init__(self, keywords: Iterable[str], patterns: Iterable[str], allow_list: Iterable[str]) -> None:
        self._keywords = KeywordList(keywords)
        self._patterns = list(_compile_valid_patterns(dict.fromkeys(patterns)))
        self._allow_list = KeywordList(allow_list)

    def find(self, text: str) -> MatchedText | None:
        """Return the first match that the allow list does not permit, or None."""
        folded_text = fold(text)
        allowed_spans = AllowedSpans(self._allow_list, folded_text)
        keyword_match = self._keywords.find_first(folded_text, allowed_spans)
        if keyword_match is not None:
            keyword, (start, end) = keyword_match
            return MatchedText(keyword.text, text[start:end])
        cpu_seconds = 0.0
        for pattern_text, pattern in self._patterns:
            started_at: float | None = None
            for match in pattern.finditer(text):
                start, end = match.span()
                # Skip empty matches: a pattern that can match nothing would match every text.
                if start != end and end > allowed_spans.end_at(start):
                    return MatchedText(pattern_text, text[start:end])
                started_at = time.thread_time() if started_at is None else started_at
                if cpu_seconds + time.thread_time() - started_at > PATTERN_CPU_SECONDS_MAX:
                    return MatchedText(pattern_text, text[start:end])
            if started_at is not None:
                cpu_seconds += time.thread_time() - started_at
        return None


def count_mentions(text: str) -> int:
    """Return the number of distinct users and roles that a text mentions."""
    mentions = (
        {(prefix == "&", int(id_text)) for prefix, id_text in _MENTION_PATTERN.findall(text)} if "<@" in text else set()
    )
    return sum(mentioned_id <= WIDE_MAX for _, mentioned_id in mentions)


def count_links(text: str) -> int:
    """Return the number of links and invites in a text."""
    return sum(1 for _ in _LINK_PATTERN.finditer(text)) if "/" in text else 0
