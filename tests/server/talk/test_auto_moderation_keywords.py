"""The keyword matcher of auto moderation, its counts of mentions and links, and the preset keyword lists."""

import itertools
import random
from typing import Any

import pytest

from hubbub.protocol.enums import AutoModerationKeywordPresetType
from hubbub.protocol.resources.auto_moderation import KEYWORD_LENGTH_MAX
from hubbub.server.core.config import AutoModerationConfig
from hubbub.server.talk.auto_moderation.triggers import keyword_matcher, presets
from hubbub.server.talk.auto_moderation.triggers.keyword_matcher import (
    PATTERN_CPU_SECONDS_MAX,
    WINDOW_LENGTH,
    InvalidPattern,
    MatchedText,
    Matcher,
)


@pytest.mark.parametrize(
    ("entry", "text", "expected"),
    [
        ("cat", "the CAT sat", "CAT"),
        ("cat", "catalog", None),
        ("cat", "tomcat", None),
        ("cat", "cat", "cat"),
        ("cat", "a cat!", "cat"),
        ("cat*", "a Catalog", "Cat"),
        ("cat*", "tomcat", None),
        ("*cat", "tomcat", "cat"),
        ("*cat", "catalog", None),
        ("*cat*", "the tomcats", "cat"),
        ("the cat", "see The Cat here", "The Cat"),
        ("the cat", "bathe cat", None),
        ("c++", "I like C++ much", "C++"),
        ("a*b", "a*b", "a*b"),
        ("ärger", "So ein ÄRGER!", "ÄRGER"),
        ("ärger", "verärgert", None),
        ("*ärger*", "verärgert", "ärger"),
        ("cat", "İ cat", "cat"),
    ],
)
def test_wildcards_decide_where_a_keyword_matches(entry: str, text: str, expected: str | None) -> None:
    hit = Matcher([entry], [], []).find(text)
    assert hit == (None if expected is None else MatchedText(entry, expected))
    # Other keywords in the list do not change the result.
    other_keywords = [f"*nothing{number}*" for number in range(50)]
    assert Matcher([*other_keywords, entry], [], []).find(text) == hit


def test_the_allow_list_only_permits_matches_inside_its_entries() -> None:
    matcher = Matcher(["*ass*"], [r"b\d+"], ["class", "b42"])
    assert matcher.find("the class") is None
    assert matcher.find("the class of an ass") == MatchedText("*ass*", "ass")
    assert matcher.find("b42") is None
    assert matcher.find("b42 b43") == MatchedText(r"b\d+", "b43")


def test_a_pattern_with_only_empty_matches_finds_nothing() -> None:
    assert Matcher([], ["x*"], []).find("hello") is None


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "(?<!a)b", r"\p{L}{1000}"])
def test_invalid_unsupported_and_too_large_patterns_are_rejected(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        keyword_matcher.compile_pattern(pattern)


def test_patterns_are_matched_without_backtracking() -> None:
    # An engine that backtracks would not return from any of these.
    matcher = Matcher([], ["(a+)+$", "(x+x+)+y", "(.*a){12}$"], [])
    assert matcher.find("a" * 1999 + "!" + "x" * 1999) is None


LETTER_GENERATOR = random.Random(7)
RANDOM_TEXT = "".join(LETTER_GENERATOR.choice("ab") for _ in range(4000))
STAR_POSITIONS = (("", "*"), ("*", ""), ("*", "*"))


@pytest.mark.parametrize(
    ("keywords", "patterns", "allow_list", "text"),
    [
        (["*a*"] * 1000, [], ["*a*"], "a" * 4000),
        ([f"*{'a' * length}*" for length in range(1, 58)], [], [f"*{'a' * 58}*"], "a" * 4000),
        (
            [f"{prefix}{'a' * length}{suffix}" for length in range(1, 59) for prefix, suffix in STAR_POSITIONS],
            [],
            [f"*{'a' * 58}*"],
            "x" + "a" * 3998 + "x",
        ),
        (
            [f"*{RANDOM_TEXT[offset : offset + 1 + offset % 18]}*" for offset in range(1000)],
            [],
            [f"*{RANDOM_TEXT[offset : offset + 58]}*" for offset in range(0, 4000, 40)],
            RANDOM_TEXT,
        ),
        (
            [f"*{'a' * (58 - offset % 50)}{chr(98 + offset // 50)}{'a' * (offset % 50)}*" for offset in range(1000)],
            [],
            [],
            "a" * 4000,
        ),
        ([f"*{'a' * length}{end}*" for length in range(1, 57) for end in "bcdefghijklmnopqr"], [], [], "a" * 4000),
        ([], ["a"], ["*a*"], "a" * 4000),
    ],
)
def test_the_number_of_lookups_depends_only_on_the_text_and_the_longest_keyword(
    keywords: list[str], patterns: list[str], allow_list: list[str], text: str
) -> None:
    matcher = Matcher(keywords, patterns, allow_list)
    keyword_lists = (matcher._keywords, matcher._allow_list)
    for keyword_list in keyword_lists:
        keyword_list._ranks = CountingList(keyword_list._ranks)

    assert matcher.find(text) is None

    for keyword_list in keyword_lists:
        assert isinstance(keyword_list._ranks, CountingList)
        assert keyword_list._ranks.lookup_count <= (len(text) + KEYWORD_LENGTH_MAX) * KEYWORD_LENGTH_MAX


class CountingList(list[Any]):
    """A list that counts lookups by index."""

    lookup_count = 0

    def __getitem__(self, index: Any) -> Any:
        self.lookup_count += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("length", [1, 2, 58])
def test_keywords_are_found_anywhere_in_a_long_text(length: int) -> None:
    keyword = "b" * length
    matchers = [Matcher([entry], [], []) for entry in (f"*{keyword}*", keyword)]
    for start in range(WINDOW_LENGTH - 60, WINDOW_LENGTH + 3):
        text = "a" * (start - 1) + " " + keyword + " " + "ä" * WINDOW_LENGTH
        for matcher in matchers:
            hit = matcher.find(text)
            assert hit is not None
            assert hit.content == keyword


def test_input_that_exceeds_the_budget_counts_as_a_match(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu_seconds = itertools.count(step=PATTERN_CPU_SECONDS_MAX * 0.3)
    monkeypatch.setattr(keyword_matcher.time, "thread_time", lambda: next(cpu_seconds))
    matcher = Matcher([], ["b[a-z]"], ["ba", "bb", "bc", "bd", "be"])

    assert matcher.find("ba bb bc") is None
    # Each match takes 30 % of the budget, so the fourth exceeds it.
    assert matcher.find("ba bb bc bd be") == MatchedText("b[a-z]", "bd")


def test_allowed_matches_never_hide_a_blocked_one() -> None:
    for count in (0, 99, 100, 400):
        assert Matcher([], [r"b\w+"], ["best"]).find("best " * count + "bad") == MatchedText(r"b\w+", "bad")
        assert Matcher(["*b*"], [], ["best"]).find("best " * count + "bad") == MatchedText("*b*", "b")
        assert Matcher(["*b*"], [r"b\w+"], ["best"]).find("best " * count) is None


def test_the_matcher_agrees_with_an_exhaustive_search() -> None:
    rng = random.Random(3)

    def random_entries(count_max: int) -> list[str]:
        return [
            f"{rng.choice(('', '*'))}{''.join(rng.choice('ab -') for _ in range(rng.randint(1, 4)))}{rng.choice(('', '*'))}"
            for _ in range(rng.randint(0, count_max))
        ]

    for _ in range(400):
        keywords, allowed_words = random_entries(rng.choice((3, 40))), random_entries(rng.choice((3, 40)))
        text = "".join(rng.choice("ab -") for _ in range(rng.randint(0, 30)))
        allowed_spans = {
            span
            for entry in map(keyword_matcher.parse_keyword, allowed_words)
            for span in find_occurrences(entry, text)
        }
        expected = {
            entry.text: spans
            for entry in map(keyword_matcher.parse_keyword, keywords)
            if (
                spans := [
                    span
                    for span in find_occurrences(entry, text)
                    if not any(start <= span[0] and span[1] <= end for start, end in allowed_spans)
                ]
            )
        }

        hit = Matcher(keywords, [], allowed_words).find(text)

        assert (hit is None) == (not expected), (keywords, allowed_words, text)
        if hit is not None and hit.keyword is not None:
            assert hit.content == text[slice(*expected[hit.keyword][0])]


def find_occurrences(entry: keyword_matcher.Keyword, text: str) -> list[tuple[int, int]]:
    """Return the spans of every occurrence of an entry in a text."""
    spans = [(start, start + len(entry.needle)) for start in range(len(text) - len(entry.needle) + 1)]
    return [
        (start, end)
        for start, end in spans
        if entry.needle
        and text[start:end] == entry.needle
        and not (entry.is_at_word_start and text[:start][-1:].isalnum())
        and not (entry.is_at_word_end and text[end:][:1].isalnum())
    ]


def test_mentions_and_links_are_counted() -> None:
    assert keyword_matcher.count_mentions("<@1> <@!1> <@2> <@&2> @everyone <@x>") == 3
    assert keyword_matcher.count_links("https://a.test http://b.test discord.gg/abc nothing/here") == 3


# Presets


@pytest.mark.parametrize(
    ("text", "is_matched"),
    [
        ("fuck", True),
        ("What a MOTHERFUCKER", True),
        ("shit happens", True),
        ("bullshit!", True),
        ("you assholes", True),
        ("f*ck this", True),
        ("the bass class of Scunthorpe assesses Matsushita's arsenal", False),
        ("Dick Swank pricked a shiitake; a cockatoo sang", False),
    ],
)
def test_profanity_is_distinguished_from_words_that_contain_it(text: str, is_matched: bool) -> None:
    keywords = presets.list_keywords([AutoModerationKeywordPresetType.PROFANITY], AutoModerationConfig())
    assert (Matcher(keywords, [], []).find(text) is not None) == is_matched


@pytest.mark.parametrize("preset", AutoModerationKeywordPresetType)
def test_presets_contain_each_keyword_once(preset: AutoModerationKeywordPresetType) -> None:
    keywords = presets.list_keywords([preset], AutoModerationConfig())
    assert len(set(keywords)) == len(keywords)
    assert all(0 < len(keyword) <= KEYWORD_LENGTH_MAX for keyword in keywords)
