"""Does a text hold what a rule looks for? Pure functions; every one of them takes time in proportion to the text.

Words are compared in any case. Positions are those of the text as written, so that what was found can be shown and what is allowed
can be told from it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from hubbub.protocol.ids import MAX_WIDE

PATTERN_MEMORY: Final = 512 << 10
"""How many bytes a compiled pattern may take, its automaton included: what needs more is refused when the rule is written."""
LIST_MEMORY: Final = 4 << 20
"""The same for a list of words; one that needs more is looked through word by word."""
FEW: Final = 16
"""So many phrases and beginnings of words are faster looked for one by one."""
FOUND_MAX: Final = 100
"""After so many places that the allow list excuses, a pattern counts as not found."""

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

    def find(self, folded: str) -> Iterator[Span]:
        """Where it stands in a folded text."""
        length = len(self.needle)
        start = folded.find(self.needle)
        while start >= 0:
            end = start + length
            if not (self.begins and start and _is_word(folded[start - 1])) and not (
                self.ends and end < len(folded) and _is_word(folded[end])
            ):
                yield start, end
            start = folded.find(self.needle, start + 1)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def keyword(written: str) -> Keyword:
    """Read an entry of a list: a star at either end lets a word go on there (http.md 3.10)."""
    needle = written.removeprefix("*").removesuffix("*") if len(written) > 1 else written
    return Keyword(written, fold(needle.strip()), not written.startswith("*"), not written.endswith("*"))


class WordList:
    """Many words and phrases. Whole single words, which most are, cost one look each word of the text."""

    def __init__(self, written: Iterable[str]) -> None:
        self._whole: dict[str, Keyword] = {}
        self._others: list[Keyword] = []
        for entry in map(keyword, written):
            if entry.begins and entry.ends and _WORD.fullmatch(entry.needle):
                self._whole.setdefault(entry.needle, entry)
            elif entry.needle:
                self._others.append(entry)
        self._any = _any_of(self._others) if len(self._others) > FEW else None

    def find(self, folded: str) -> Iterator[tuple[Keyword, Span]]:
        """Every entry that stands in a folded text, and where."""
        if self._whole:
            for match in _WORD.finditer(folded):
                entry = self._whole.get(match[0])
                if entry is not None:
                    yield entry, match.span()
        if self._any is not None and self._any.search(folded) is None:
            return
        for entry in self._others:
            for span in entry.find(folded):
                yield entry, span


def _any_of(entries: Iterable[Keyword]) -> Any:
    """One automaton for many words: a text that holds none of them is read once, not once for each."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.max_mem = LIST_MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile("|".join(sorted({re2.escape(entry.needle) for entry in entries})), options)
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
        self._patterns = list(_compiled(patterns))
        self._allowed = WordList(allowed)

    def find(self, text: str) -> Hit | None:
        """The first thing in a text that the rule does not let pass."""
        folded = fold(text)
        allowed: list[Span] | None = None
        for written, start, end in self._found(text, folded):
            if allowed is None:
                allowed = [span for _, span in self._allowed.find(folded)]
            if not any(first <= start and end <= last for first, last in allowed):
                return Hit(written, text[start:end])
        return None

    def _found(self, text: str, folded: str) -> Iterator[tuple[str, int, int]]:
        for entry, (start, end) in self._keywords.find(folded):
            yield entry.written, start, end
        for written, pattern in self._patterns:
            for place, match in enumerate(pattern.finditer(text)):
                if place >= FOUND_MAX:
                    break
                start, end = match.span()
                # A pattern that matches nothing at all would match every text.
                if start != end:
                    yield written, start, end


def mentions(text: str) -> int:
    """How many different users and roles a text mentions."""
    found = {(kind == "&", int(number)) for kind, number in _MENTION.findall(text)} if "<@" in text else set()
    return sum(number <= MAX_WIDE for _, number in found)


def links(text: str) -> int:
    """How many links and invites a text holds."""
    return sum(1 for _ in _LINK.finditer(text)) if "/" in text else 0
