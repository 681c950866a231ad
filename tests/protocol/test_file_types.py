"""Filters of files: what they can say, and which names pass."""

import pytest

from hubbub.protocol.resources.attachments import is_file_type, is_of_type


@pytest.mark.parametrize("word", ["image", "VIDEO", "Audio", ".png", ".TAR.gz", ".7z", ".c++", ".файл"])
def test_what_a_filter_can_say(word: str) -> None:
    assert is_file_type(word)


@pytest.mark.parametrize(
    "word", ["", ".", "..", "png", "image/png", "image/*", "*.png", ".p ng", ".png.", "." + "x" * 17]
)
def test_what_a_filter_cannot_say(word: str) -> None:
    assert not is_file_type(word)


@pytest.mark.parametrize(
    ("filename", "words", "passes"),
    [
        ("a.png", ["image"], True),
        ("a.JFIF", ["Image"], True),
        ("a.svg", ["image"], False),
        ("a.qt", ["audio", "video"], True),
        ("a.opus", ["audio"], True),
        ("a.mp4", ["audio"], False),
        ("a.tar.gz", [".gz"], True),
        ("a.gz", [".tar.gz"], False),
        ("A.TXT", [".txt"], True),
        ("txt", [".txt"], False),
        ("image", ["image"], False),
    ],
)
def test_which_names_pass(filename: str, words: list[str], passes: bool) -> None:
    assert is_of_type(filename, words) is passes
