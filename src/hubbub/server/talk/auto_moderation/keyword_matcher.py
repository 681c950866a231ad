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
        return not (self.at_word_start and start and _is_word(folded[start - 1])) and not (
            self.at_word_end and end < len(folded) and _is_word(folded[end])
        )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def parse_keyword(written: str) -> Keyword:
    """Parse a list entry: a star at either end removes the boundary condition at that end (spec/http.md#3.10)."""
    needle = written.removeprefix("*").removesuffix("*") if len(written) > 1 else written
    return Keyword(written, fold(needle.strip()), not written.startswith("*"), not written.endswith("*"))


class KeywordList:
    """A list of keywords.

    Whole single words, the common case, cost one lookup per word of the text. Other entries cost one lookup per
    distinct length and possible start position."""

    def __init__(self, written: Iterable[str]) -> None:
        self._whole: dict[str, Keyword] = {}
        self._others: dict[str, list[tuple[int, Keyword]]] = {}
        """Entries that are not whole single words, with their list positions, by needle. Only entries that differ in
        their stars share a needle."""
        lengths: dict[str, set[int]] = {}
        seen_conditions = set()
        for position, entry in enumerate(map(parse_keyword, written)):
            if not entry.needle or entry[1:] in seen_conditions:
                continue
            seen_conditions.add(entry[1:])
            if entry.at_word_start and entry.at_word_end and _WORD.fullmatch(entry.needle):
                self._whole[entry.needle] = entry
            else:
                self._others.setdefault(entry.needle, []).append((position, entry))
                lengths.setdefault(entry.needle[0], set()).add(len(entry.needle))
        self._lengths = {first: sorted(entry_lengths, reverse=True) for first, entry_lengths in lengths.items()}
        """Lengths of the needles in `_others` by first letter, longest first."""
        self._any = (
            _compile_any_of({needle[:PREFIX_LENGTH] for needle in self._others})
            if len(self._others) > LINEAR_SEARCH_MAX
            else None
        )

    def find_first(self, folded: str, allowed: "AllowedSpans") -> tuple[Keyword, Span] | None:
        """Return the first whole word that is an entry, or else the matching entry that is listed first."""
        if self._whole:
            for match in _WORD.finditer(folded):
                entry = self._whole.get(match[0])
                if entry is not None and match.end() > allowed.until(match.start()):
                    return entry, match.span()
        first_match: tuple[Keyword, Span] | None = None
        best_position = sys.maxsize
        for start, lengths in self._starts(folded):
            for end in (start + length for length in lengths):
                entries = self._others.get(folded[start:end])
                if entries is None or end > len(folded):
                    continue
                if end <= allowed.until(start):
                    # Shorter entries at this position are allowed, too.
                    break
                for position, entry in entries:
                    if position < best_position and entry.matches_at(folded, start, end):
                        best_position, first_match = position, (entry, (start, end))
        return first_match

    def reach(self, folded: str) -> list[int]:
        """Return, for each position, how far entries that start at or before it extend; empty if no entry matches."""
        ends: dict[int, int] = {}
        if self._whole:
            for match in _WORD.finditer(folded):
                if match[0] in self._whole:
                    ends[match.start()] = match.end()
        for start, lengths in self._starts(folded):
            for end in (start + length for length in lengths):
                entries = self._others.get(folded[start:end])
                if (
                    entries is not None
                    and end <= len(folded)
                    and any(entry.matches_at(folded, start, end) for _, entry in entries)
                ):
                    ends[start] = max(end, ends.get(start, 0))
                    break
        return list(accumulate((ends.get(start, 0) for start in range(len(folded))), max)) if ends else []

    def _starts(self, folded: str) -> Iterator[tuple[int, list[int]]]:
        """Yield the positions where entries of `_others` could start, with their possible lengths, longest first."""
        if self._others and self._may_hold(folded):
            for start, first in enumerate(folded):
                lengths = self._lengths.get(first)
                if lengths is not None:
                    yield start, lengths

    def _may_hold(self, folded: str) -> bool:
        """Return False if no entry of `_others` is in the text: a fast check for the common case."""
        if self._any is not None:
            return self._any.search(folded) is not None
        return len(self._others) > LINEAR_SEARCH_MAX or any(needle in folded for needle in self._others)


class AllowedSpans:
    """The spans of one text that a rule's allow list permits, computed on first use."""

    def __init__(self, words: KeywordList, folded: str) -> None:
        self._words = words
        self._folded = folded
        self._reach: list[int] | None = None

    def until(self, start: int) -> int:
        """Return the end of the allowed span that covers `start`, or 0."""
        # Computed lazily: most texts match nothing, so the allow list is rarely needed.
        if self._reach is None:
            self._reach = self._words.reach(self._folded)
        return self._reach[start] if self._reach else 0


def _compile_any_of(needles: Iterable[str]) -> Any:
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


class BadPattern(Exception):
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
        raise BadPattern(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None


def _compile_valid_patterns(patterns: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield each valid pattern with its compiled form."""
    for pattern in patterns:
        try:
            yield pattern, compile_pattern(pattern)
        except BadPattern:
            # The pattern was valid for an older version of the engine; the rest of the rule still applies.
            continue


class Matcher:
    """The keywords, patterns and allow list of a rule."""

    def __init__(self, keywords: Iterable[str], patterns: Iterable[str], allowed: Iterable[str]) -> None:
        self._keywords = KeywordList(keywords)
        self._patterns = list(_compile_valid_patterns(dict.fromkeys(patterns)))
        self._allowed = KeywordList(allowed)

    def find(self, text: str) -> Hit | None:
        """Return the first match that the allow list does not permit, or None."""
        folded = fold(text)
        allowed = AllowedSpans(self._allowed, folded)
        keyword_match = self._keywords.find_first(folded, allowed)
        if keyword_match is not None:
            entry, (start, end) = keyword_match
            return Hit(entry.text, text[start:end])
        spent_seconds = 0.0
        for written, pattern in self._patterns:
            started_at: float | None = None
            for match in pattern.finditer(text):
                start, end = match.span()
                # Skip empty matches: a pattern that can match nothing would match every text.
                if start != end and end > allowed.until(start):
                    return Hit(written, text[start:end])
                started_at = time.thread_time() if started_at is None else started_at
                if spent_seconds + time.thread_time() - started_at > PATTERN_CPU_SECONDS_MAX:
                    return Hit(written, text[start:end])
            if started_at is not None:
                spent_seconds += time.thread_time() - started_at
        return None


def count_mentions(text: str) -> int:
    """Return the number of distinct users and roles that a text mentions."""
    mentions = {(kind == "&", int(id_number)) for kind, id_number in _MENTION.findall(text)} if "<@" in text else set()
    return sum(id_number <= WIDE_MAX for _, id_number in mentions)


def count_links(text: str) -> int:
    """Return the number of links and invites in a text."""
    return sum(1 for _ in _LINK.finditer(text)) if "/" in text else 0
