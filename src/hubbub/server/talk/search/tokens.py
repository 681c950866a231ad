"""Tokenization of messages and search texts, and the proximity and relevance of matches.

Tokenization is identical for indexing and searching, and on both databases.

Case, width and Latin accents are ignored. Scripts that are written without spaces are split into single characters;
characters that are adjacent in a search text must be adjacent in the message."""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

Phrase = tuple[str, ...]
"""Words that must follow each other: usually one word, several for a run of characters without spaces."""

WORD_LENGTH_MAX: Final = 64
"""Maximum length of a word in characters; longer words are truncated, in messages and searches alike."""
PHRASES_MAX: Final = 64
"""Maximum number of words and phrases that a search uses; the text of a search can contain up to 512."""

# Kana, Han, Thai, Lao, Khmer and Burmese have no spaces between words.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Vowel signs and points, which belong to words but are not letters in Python's regular expressions.
_COMBINING_SIGNS: Final = "\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_ASCII_WORD_PATTERN: Final = re.compile(r"[a-z0-9]+")
_ACCENT_PATTERN: Final = re.compile("[\u0300-\u036f]")

SATURATION: Final = 1.2
"""BM25 parameter k1."""
LENGTH_SHARE: Final = 0.75
"""BM25 parameter b."""
AVERAGE_LENGTH: Final = 12
"""Average length of a message in words, for BM25."""


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word; it is compiled at the first use, because that takes several milliseconds."""
    return re.compile(f"[{_UNSPACED}]|(?:[^\\W_{_UNSPACED}]|[{_COMBINING_SIGNS}])+")


@functools.cache
def _unspaced_pattern() -> re.Pattern[str]:
    """Return the pattern of a character of a script without spaces."""
    return re.compile(f"[{_UNSPACED}]")


def _fold(text: str) -> str:
    """Return a text without differences of case, width and Latin accents."""
    decomposed_text = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", _ACCENT_PATTERN.sub("", decomposed_text)).casefold()


def tokenize(text: str) -> list[str]:
    """Return the words of a text in order."""
    if text.isascii():
        return [word[:WORD_LENGTH_MAX] for word in _ASCII_WORD_PATTERN.findall(text.lower())]
    return [word[:WORD_LENGTH_MAX] for word in _word_pattern().findall(_fold(text))]


def parse_query(text: str) -> tuple[Phrase, ...]:
    """Return the distinct words and phrases of a search text, at most `PHRASES_MAX`."""
    phrases: dict[Phrase, None] = {}
    unspaced_words: list[str] = []
    unspaced_end = -1
    folded_text = _fold(text)
    for match in _word_pattern().finditer(folded_text):
        word = match[0][:WORD_LENGTH_MAX]
        is_unspaced = _unspaced_pattern().fullmatch(word) is not None
        if unspaced_words and (not is_unspaced or match.start() != unspaced_end):
            phrases[tuple(unspaced_words)] = None
            unspaced_words = []
        if is_unspaced:
            unspaced_words.append(word)
            unspaced_end = match.end()
        else:
            phrases[word,] = None
    if unspaced_words:
        phrases[tuple(unspaced_words)] = None
    return tuple(phrases)[:PHRASES_MAX]


def window_size(phrases: Sequence[Phrase], slop: int) -> int:
    """Return the maximum number of words between the first and the last matched phrase of `phrases`.

    It is the sum of `slop`, the number of other words, and of the maximum number of words of the phrases in between."""
    lengths = sorted(len(phrase) for phrase in phrases)
    return slop + sum(lengths[2:])


def is_near(words: Sequence[str], phrases: Sequence[Phrase], slop: int) -> bool:
    """Return whether the words of a text contain all `phrases`, in any order, with at most `slop` other words among them.

    The result agrees with FTS5's NEAR, so that both databases find the same messages."""
    positions_by_phrase = [
        [position for position in range(len(words)) if tuple(words[position : position + len(phrase)]) == phrase]
        for phrase in phrases
    ]
    if not all(positions_by_phrase):
        return False
    if len(phrases) == 1:
        return True
    window_words = window_size(phrases, slop)
    matches = sorted(
        (position, phrase_number)
        for phrase_number, phrase_positions in enumerate(positions_by_phrase)
        for position in phrase_positions
    )
    match_counts = [0] * len(phrases)
    missing_count, first_index = len(phrases), 0
    for position, phrase_number in matches:
        match_counts[phrase_number] += 1
        missing_count -= match_counts[phrase_number] == 1
        while missing_count == 0:
            start_position, dropped_phrase_number = matches[first_index]
            if position - start_position - len(phrases[dropped_phrase_number]) <= window_words:
                return True
            match_counts[dropped_phrase_number] -= 1
            missing_count += match_counts[dropped_phrase_number] == 0
            first_index += 1
    return False


def score(words: Sequence[str], phrases: Iterable[Phrase]) -> float:
    """Return the BM25 relevance of the text with the words `words` for the phrases `phrases`.

    The inverse document frequency of BM25 is left out, since all compared texts contain all phrases."""
    length_norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(words) / AVERAGE_LENGTH)
    total = 0.0
    for phrase in phrases:
        for word in phrase:
            frequency = words.count(word)
            total += frequency * (SATURATION + 1) / (frequency + length_norm) if frequency else 0.0
    return total
