"""From text to words: the same for what is indexed and what is searched for, and the same on both stores.

Case, width and Latin accents do not matter. Scripts that are written without spaces are cut into single characters; characters
that stand together in a search must stand together in the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

Unit = tuple[str, ...]
"""Words that must follow each other: mostly one, several for a run of characters without spaces."""

WORD_MAX: Final = 64
"""Longer words are cut, here and in searches alike."""
UNITS_MAX: Final = 64
"""So many words of a search count; a search text has room for 512."""

# Kana, Han, Thai, Lao, Khmer, Burmese: no spaces between words.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Vowel signs and points, which belong to their word but are no letters to Python.
_SIGNS: Final = "\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_WORD: Final = re.compile(f"[{_UNSPACED}]|(?:[^\\W_{_UNSPACED}]|[{_SIGNS}])+")
_ASCII_WORD: Final = re.compile(r"[a-z0-9]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_ALONE: Final = re.compile(f"[{_UNSPACED}]")

SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75
USUAL_LENGTH: Final = 12
"""BM25's k1 and b, and the length of a usual message in words."""


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _ACCENTS.sub("", decomposed)).casefold()


def words(text: str) -> list[str]:
    """The words of a text, in order."""
    if text.isascii():
        return [word[:WORD_MAX] for word in _ASCII_WORD.findall(text.lower())]
    return [word[:WORD_MAX] for word in _WORD.findall(_fold(text))]


def units(text: str) -> tuple[Unit, ...]:
    """What a search text asks for, each thing once."""
    found: dict[Unit, None] = {}
    run: list[str] = []
    end = -1
    folded = _fold(text)
    for match in _WORD.finditer(folded):
        word = match[0][:WORD_MAX]
        alone = _ALONE.fullmatch(word) is not None
        if run and (not alone or match.start() != end):
            found[tuple(run)] = None
            run = []
        if alone:
            run.append(word)
            end = match.end()
        else:
            found[word,] = None
    if run:
        found[tuple(run)] = None
    return tuple(found)[:UNITS_MAX]


def reach(wanted: Sequence[Unit], slop: int) -> int:
    """How many words may lie between the first and the last of the wanted: those of `slop`, and the wanted in the middle."""
    lengths = sorted(len(unit) for unit in wanted)
    return slop + sum(lengths[2:])


def near(text: Sequence[str], wanted: Sequence[Unit], slop: int) -> bool:
    """Whether the wanted stand in a text in any order, with at most `slop` other words among them.

    It agrees with the NEAR of FTS5, so that both stores find the same."""
    places = [[at for at in range(len(text)) if tuple(text[at : at + len(unit)]) == unit] for unit in wanted]
    if not all(places):
        return False
    if len(wanted) == 1:
        return True
    most = reach(wanted, slop)
    marks = sorted((at, number) for number, found in enumerate(places) for at in found)
    counts = [0] * len(wanted)
    missing, first = len(wanted), 0
    for at, number in marks:
        counts[number] += 1
        missing -= counts[number] == 1
        while missing == 0:
            start, dropped = marks[first]
            if at - start - len(wanted[dropped]) <= most:
                return True
            counts[dropped] -= 1
            missing += counts[dropped] == 0
            first += 1
    return False


def score(text: Sequence[str], wanted: Iterable[Unit]) -> float:
    """How much a text is about the wanted words (BM25; all texts compared hold all words, so rarity does not enter)."""
    heavy = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(text) / USUAL_LENGTH)
    total = 0.0
    for unit in wanted:
        for word in unit:
            often = text.count(word)
            total += often * (SATURATION + 1) / (often + heavy) if often else 0.0
    return total
