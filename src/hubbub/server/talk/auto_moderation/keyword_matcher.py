"""Match texts against the keywords and patterns of a rule.

Keyword matching is bounded by the length of the text times the length of the longest keyword (60), regardless of the
number of keywords and of allowed spans. A pattern search is linear in the text; continuing the search after allowed
matches is bounded by `PATTERN_CPU_SECONDS_MAX`.

Matching ignores case. Positions refer to the original text, so the matched content can be reported.
"""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple

from hubbub.protocol.ids import WIDE_MAX

PATTERN_MEMORY_MAX: Final = 512 << 10
"""Memory limit of a compiled pattern with its automaton, in bytes. Larger patterns are rejected when the rule is
saved."""
LIST_MEMORY_MAX: Final = 4 << 20
"""Memory limit of the automaton for the prefixes of a keyword list, in bytes."""
PREFIX_LENGTH: Final = 4
"""Length of the prefixes in the automaton of a keyword list. Whole keywords would exceed `LIST_MEMORY_MAX`."""
LINEAR_SEARCH_MAX: Final = 16
"""Number of entries up to which searching one by one is faster than an automaton."""
PATTERN_CPU_SECONDS_MAX: Final = 0.1
"""CPU seconds per rule and text for continuing a pattern search after allowed matches.

Beyond it a match counts even if it is allowed, so that expensive input cannot bypass a rule."""

_WORD: Final = re.compile(r"\w+")
_MENTION: Final = re.compile(r"<@(&|!?)(\d{1,20})>", re.ASCII)
_LINK: Final = re.compile(r"https?://\S|(?:^|[\s/])(?:discord\.gg|discord(?:app)?\.com/invite)/\w", re.IGNORECASE)


class Hit(NamedTuple):
    """A match of a rule in a text."""

    keyword: str | None
    """The matched keyword or pattern as the rule has it; None for rules without keywords."""
    content: str | None
    """The matched part of the text; None for rules that count mentions."""


Span = tuple[int, int]
"""Start and end of a part of a text; the end is exclusive."""


def fold(text: str) -> str:
    """Lowercase a text without changing its length."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(character.lower() if len(character.lower()) == 1 else character for character in text)
    return folded


class Keyword(NamedTuple):
    """A word or phrase of a list and its boundary conditions."""

    text: str
    """The entry as the list has it, with its stars."""
    needle: str
    """The lowercase text to search for, without stars."""
    at_word_start: bool
    """Whether the match must start at a word boundary."""
    at_word_end: bool
    """Whether the match must end at a word boundary."""

    def matches_at(self, folded: str, start: int, end: int) -> bool:
        """Return whether the boundary conditions hold for a match from `start` to `end` of a lowercase text."""
        return not (self.at_word_start and start and _is_word_character(folded[start - 1])) and not (
            self.at_word_end and end < len(folded) and _is_word_character(folded[end])
        )


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


def parse_keyword(text: str) -> Keyword:
    """Parse a list entry: a star at either end removes the boundary condition at that end (spec/http.md#3.10)."""
    needle = text.removeprefix("*").removesuffix("*") if len(text) > 1 else text
    return Keyword(text, fold(needle.strip()), not text.startswith("*"), not text.endswith("*"))


class KeywordList:
    """A list of keywords.

    Whole single words, the common case, cost one lookup per word of the text. Other entries cost one lookup per
    distinct length and possible start position."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self._whole_words: dict[str, Keyword] = {}
        self._other_entries: dict[str, list[tuple[int, Keyword]]] = {}
        """Entries that are not whole single words, with their list positions, by needle. Only entries that differ in
        their stars share a needle."""
        lengths_by_first_letter: dict[str, set[int]] = {}
        seen_conditions = set()
        for position, entry in enumerate(map(parse_keyword, keywords)):
            if not entry.needle or entry[1:] in seen_conditions:
                continue
            seen_conditions.add(entry[1:])
            if entry.at_word_start and entry.at_word_end and _WORD.fullmatch(entry.needle):
                self._whole_words[entry.needle] = entry
            else:
                self._other_entries.setdefault(entry.needle, []).append((position, entry))
                lengths_by_first_letter.setdefault(entry.needle[0], set()).add(len(entry.needle))
        self._lengths_by_first_letter = {
            first_letter: sorted(lengths, reverse=True) for first_letter, lengths in lengths_by_first_letter.items()
        }
        """Lengths of the needles in `_other_entries` by first letter, longest first."""
        self._prefix_automaton = (
            _compile_alternatives({needle[:PREFIX_LENGTH] for needle in self._other_entries})
            if len(self._other_entries) > LINEAR_SEARCH_MAX
            else None
        )

    def find_first(self, folded: str, allowed_spans: "AllowedSpans") -> tuple[Keyword, Span] | None:
        """Return the first whole word that is an entry, or else the matching entry that is listed first."""
        if self._whole_words:
            for match in _WORD.finditer(folded):
                entry = self._whole_words.get(match[0])
                if entry is not None and match.end() > allowed_spans.end_at(match.start()):
                    return entry, match.span()
        first_match: tuple[Keyword, Span] | None = None
        best_position = sys.maxsize
        for start, lengths in self._find_starts(folded):
            for end in (start + length for length in lengths):
                entries = self._other_entries.get(folded[start:end])
                if entries is None or end > len(folded):
                    continue
                if end <= allowed_spans.end_at(start):
                    # Lengths are in descending order, so shorter entries at this position are allowed, too.
                    break
                for position, entry in entries:
                    if position < best_position and entry.matches_at(folded, start, end):
                        best_position, first_match = position, (entry, (start, end))
        return first_match

    def furthest_ends(self, folded: str) -> list[int]:
        """Return, for each position, the greatest end of the matches that start at or before it, or 0.

        The list is empty if no entry matches."""
        ends_by_start: dict[int, int] = {}
        if self._whole_words:
            for match in _WORD.finditer(folded):
                if match[0] in self._whole_words:
                    ends_by_start[match.start()] = match.end()
        for start, lengths in self._find_starts(folded):
            for end in (start + length for length in lengths):
                entries = self._other_entries.get(folded[start:end])
                if (
                    entries is not None
                    and end <= len(folded)
                    and any(entry.matches_at(folded, start, end) for _, entry in entries)
                ):
                    ends_by_start[start] = max(end, ends_by_start.get(start, 0))
                    break
        return (
            list(accumulate((ends_by_start.get(start, 0) for start in range(len(folded))), max))
            if ends_by_start
            else []
        )

    def _find_starts(self, folded: str) -> Iterator[tuple[int, list[int]]]:
        """Yield the positions where entries of `_other_entries` could start, with their possible lengths, longest first."""
        if self._other_entries and self._may_match(folded):
            for start, first_letter in enumerate(folded):
                lengths = self._lengths_by_first_letter.get(first_letter)
                if lengths is not None:
                    yield start, lengths

    def _may_match(self, folded: str) -> bool:
        """Return False if no entry of `_other_entries` is in the text: a fast check for the common case."""
        if self._prefix_automaton is not None:
            return self._prefix_automaton.search(folded) is not None
        return len(self._other_entries) > LINEAR_SEARCH_MAX or any(needle in folded for needle in self._other_entries)


class AllowedSpans:
    """The spans of one text that a rule's allow list permits, computed on first use."""

    def __init__(self, allow_list: KeywordList, folded: str) -> None:
        self._allow_list = allow_list
        self._folded = folded
        self._furthest_ends: list[int] | None = None

    def end_at(self, start: int) -> int:
        """Return the end of the allowed span that covers `start`, or 0."""
        # Most texts match no entry, so the allow list is rarely needed.
        if self._furthest_ends is None:
            self._furthest_ends = self._allow_list.furthest_ends(self._folded)
        return self._furthest_ends[start] if self._furthest_ends else 0


def _compile_alternatives(needles: Iterable[str]) -> Any:
    """Return one automaton for many strings, so that a text is scanned once, or None if it exceeds the memory limit."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem = LIST_MEMORY_MAX
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile("|".join(sorted(map(re2.escape, needles))), options)
    except re2.error:
        return None


class InvalidPattern(Exception):
    """A regular expression that cannot be used, with the reason."""


def compile_pattern(pattern: str) -> Any:
    """Compile a pattern with RE2, which never backtracks. Raises BadPattern."""
    # The import is local because guilds without patterns, and nodes without the HTTP server, never need re2.
    import re2

    options = re2.Options()
    options.max_mem = PATTERN_MEMORY_MAX
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

    def find(self, text: str) -> Hit | None:
        """Return the first match that the allow list does not permit, or None."""
        folded = fold(text)
        allowed_spans = AllowedSpans(self._allow_list, folded)
        keyword_match = self._keywords.find_first(folded, allowed_spans)
        if keyword_match is not None:
            entry, (start, end) = keyword_match
            return Hit(entry.text, text[start:end])
        cpu_seconds = 0.0
        for source, pattern in self._patterns:
            started_at: float | None = None
            for match in pattern.finditer(text):
                start, end = match.span()
                # Skip empty matches: a pattern that can match nothing would match every text.
                if start != end and end > allowed_spans.end_at(start):
                    return Hit(source, text[start:end])
                started_at = time.thread_time() if started_at is None else started_at
                if cpu_seconds + time.thread_time() - started_at > PATTERN_CPU_SECONDS_MAX:
                    return Hit(source, text[start:end])
            if started_at is not None:
                cpu_seconds += time.thread_time() - started_at
        return None


def count_mentions(text: str) -> int:
    """Return the number of distinct users and roles that a text mentions."""
    mentions = {(prefix == "&", int(id_text)) for prefix, id_text in _MENTION.findall(text)} if "<@" in text else set()
    return sum(mentioned_id <= WIDE_MAX for _, mentioned_id in mentions)


def count_links(text: str) -> int:
    """Return the number of links and invites in a text."""
    return sum(1 for _ in _LINK.finditer(text)) if "/" in text else 0
