"""Does a text hold what a rule looks for? Nothing here reads more than the rule and the text.

Words: the work is bounded by the length of the text times that of the longest word (60), however many words there are and however
many places the allow list excuses. Patterns: a search is linear in the text, and searching on after what is excused is bounded by
`TIRED_S`.

Words are compared in any case. Positions are those of the text as written, so that what was found can be shown and what is allowed
can be told from it.
"""

import re
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple

from hubbub.protocol.ids import MAX_WIDE

PATTERN_MEMORY: Final = 512 << 10
"""How many bytes a compiled pattern may take, its automaton included: what needs more is refused when the rule is written."""
LIST_MEMORY: Final = 4 << 20
"""The same for the beginnings of a list of words."""
HEAD: Final = 4
"""How many letters of a word such a beginning has: whole words would make automata that the engine cannot keep."""
FEW: Final = 16
"""So many phrases and beginnings of words are faster looked for one by one."""
TIRED_S: Final = 0.1
"""So many seconds of a processor the patterns of a rule may search on in one text after what the allow list excuses. Above it, what
is found counts, excused or not: nobody shall pass a rule by tiring it."""

_WORD: Final = re.compile(r"\w+")
_MENTION: Final = re.compile(r"<@(&|!?)(\d{1,20})>", re.ASCII)
_LINK: Final = re.compile(r"https?://\S|(?:^|[\s/])(?:discord\.gg|discord(?:app)?\.com/invite)/\w", re.IGNORECASE)


class Hit(NamedTuple):
    """What was found."""

    keyword: str | None
    """The rule's own word or pattern; None where a rule has none."""
    content: str | None
    """The part of the text."""


Span = tuple[int, int]


def fold(text: str) -> str:
    """A text without its case, as long as it was."""
    folded = text.lower()
    if len(folded) != len(text):
        folded = "".join(each.lower() if len(each.lower()) == 1 else each for each in text)
    return folded


class Keyword(NamedTuple):
    """A word or phrase of a list, with how it must stand."""

    written: str
    needle: str
    begins: bool
    """Nothing of a word may stand before it."""
    ends: bool
    """Nothing of a word may stand after it."""

    def stands(self, folded: str, start: int, end: int) -> bool:
        """Whether what is around a place where its letters are lets it stand there."""
        return not (self.begins and start and _is_word(folded[start - 1])) and not (
            self.ends and end < len(folded) and _is_word(folded[end])
        )


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def keyword(written: str) -> Keyword:
    """Read an entry of a list: a star at either end lets a word go on there (http.md 3.10)."""
    needle = written.removeprefix("*").removesuffix("*") if len(written) > 1 else written
    return Keyword(written, fold(needle.strip()), not written.startswith("*"), not written.endswith("*"))


class WordList:
    """Many words and phrases. Whole single words, which most are, cost one look each word of the text; the others one look for each
    length that they have and each place where one can begin."""

    def __init__(self, written: Iterable[str]) -> None:
        self._whole: dict[str, Keyword] = {}
        self._others: dict[str, list[tuple[int, Keyword]]] = {}
        """By their letters, with their places in the list; only entries that differ in their stars share letters."""
        lengths: dict[str, set[int]] = {}
        seen = set()
        for place, entry in enumerate(map(keyword, written)):
            if not entry.needle or entry[1:] in seen:
                continue
            seen.add(entry[1:])
            if entry.begins and entry.ends and _WORD.fullmatch(entry.needle):
                self._whole[entry.needle] = entry
            else:
                self._others.setdefault(entry.needle, []).append((place, entry))
                lengths.setdefault(entry.needle[0], set()).add(len(entry.needle))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}
        """Of the others by their first letter, the longest first."""
        self._any = _any_of({needle[:HEAD] for needle in self._others}) if len(self._others) > FEW else None

    def first(self, folded: str, allowed: "Allowed") -> tuple[Keyword, Span] | None:
        """The first whole word of a folded text that is an entry, or else the first other entry that stands in it."""
        if self._whole:
            for match in _WORD.finditer(folded):
                entry = self._whole.get(match[0])
                if entry is not None and match.end() > allowed.until(match.start()):
                    return entry, match.span()
        found: tuple[Keyword, Span] | None = None
        best = sys.maxsize
        for start, lengths in self._starts(folded):
            for end in (start + length for length in lengths):
                entries = self._others.get(folded[start:end])
                if entries is None or end > len(folded):
                    continue
                if end <= allowed.until(start):
                    # So is what is shorter.
                    break
                for place, entry in entries:
                    if place < best and entry.stands(folded, start, end):
                        best, found = place, (entry, (start, end))
        return found

    def reach(self, folded: str) -> list[int]:
        """For each place of a folded text, how far entries go that begin there or before; empty where none stands."""
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
                    and any(entry.stands(folded, start, end) for _, entry in entries)
                ):
                    ends[start] = max(end, ends.get(start, 0))
                    break
        return list(accumulate((ends.get(start, 0) for start in range(len(folded))), max)) if ends else []

    def _starts(self, folded: str) -> Iterator[tuple[int, list[int]]]:
        """Where other entries could begin in a folded text, and the lengths they would have, the longest first."""
        if self._others and self._may_hold(folded):
            for start, first in enumerate(folded):
                lengths = self._lengths.get(first)
                if lengths is not None:
                    yield start, lengths

    def _may_hold(self, folded: str) -> bool:
        """False where no other entry is in a folded text, which is usual and soon known."""
        if self._any is not None:
            return self._any.search(folded) is not None
        return len(self._others) > FEW or any(needle in folded for needle in self._others)


class Allowed:
    """What the allow list of a rule excuses in one text: all that lies within one place where an entry stands."""

    def __init__(self, words: WordList, folded: str) -> None:
        self._words = words
        self._folded = folded
        self._reach: list[int] | None = None

    def until(self, start: int) -> int:
        """Up to where something that begins here is excused."""
        # Most texts hold nothing that a rule looks for, and then nobody asks.
        if self._reach is None:
            self._reach = self._words.reach(self._folded)
        return self._reach[start] if self._reach else 0


def _any_of(needles: Iterable[str]) -> Any:
    """One automaton for many words: a text that holds none of them is read once, not once for each."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem = LIST_MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile("|".join(sorted(map(re2.escape, needles))), options)
    except re2.error:
        return None


class BadPattern(Exception):
    """A regular expression that cannot be used, and why."""


def compile_pattern(pattern: str) -> Any:
    """A regular expression in an engine that never backtracks; BadPattern where it is none."""
    # Here and not above: guilds without patterns, and nodes that serve no API, never load it.
    import re2

    options = re2.Options()
    options.max_mem = PATTERN_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        raise BadPattern(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None


def _compiled(patterns: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        try:
            yield pattern, compile_pattern(pattern)
        except BadPattern:
            # It could be used when the rule was written, with another version of the engine; the rest of the rule still holds.
            continue


class Matcher:
    """The words and patterns of a rule, and what it lets pass."""

    def __init__(self, keywords: Iterable[str], patterns: Iterable[str], allowed: Iterable[str]) -> None:
        self._keywords = WordList(keywords)
        self._patterns = list(_compiled(dict.fromkeys(patterns)))
        self._allowed = WordList(allowed)

    def find(self, text: str) -> Hit | None:
        """The first thing in a text that the rule does not let pass."""
        folded = fold(text)
        allowed = Allowed(self._allowed, folded)
        found = self._keywords.first(folded, allowed)
        if found is not None:
            entry, (start, end) = found
            return Hit(entry.written, text[start:end])
        again = 0.0
        for written, pattern in self._patterns:
            began: float | None = None
            for match in pattern.finditer(text):
                start, end = match.span()
                # A pattern that matches nothing at all would match every text.
                if start != end and end > allowed.until(start):
                    return Hit(written, text[start:end])
                began = time.thread_time() if began is None else began
                if again + time.thread_time() - began > TIRED_S:
                    return Hit(written, text[start:end])
            if began is not None:
                again += time.thread_time() - began
        return None


def mentions(text: str) -> int:
    """How many different users and roles a text mentions."""
    found = {(kind == "&", int(number)) for kind, number in _MENTION.findall(text)} if "<@" in text else set()
    return sum(number <= MAX_WIDE for _, number in found)


def links(text: str) -> int:
    """How many links and invites a text holds."""
    return sum(1 for _ in _LINK.finditer(text)) if "/" in text else 0
