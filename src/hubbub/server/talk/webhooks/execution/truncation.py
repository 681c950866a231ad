"""Truncation of Slack and GitHub texts to the limits of messages."""

from typing import Final

ELLIPSIS: Final = "..."


def truncate(text: str, length_max: int) -> str:
    """Return the text, truncated with an ellipsis to at most `length_max` characters."""
    return text if len(text) <= length_max else text[: length_max - len(ELLIPSIS)] + ELLIPSIS
