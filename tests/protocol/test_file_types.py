"""File type filters: their syntax, and the file names that match."""

import pytest

from hubbub.protocol.resources.attachments import is_file_type, matches_file_types


@pytest.mark.parametrize("text", ["image", "VIDEO", "Audio", ".png", ".TAR.gz", ".7z", ".c++", ".файл"])
def test_valid_filters_are_accepted(text: str) -> None:
    assert is_file_type(text)


@pytest.mark.parametrize(
    "text", ["", ".", "..", "png", "image/png", "image/*", "*.png", ".p ng", ".png.", "." + "x" * 17]
)
def test_invalid_filters_are_rejected(text: str) -> None:
    assert not is_file_type(text)


@pytest.mark.parametrize(
    ("filename", "filters", "matches"),
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
def test_file_names_match_by_category_or_extension(filename: str, filters: list[str], matches: bool) -> None:
    assert matches_file_types(filename, filters) is matches
