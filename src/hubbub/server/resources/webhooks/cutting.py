"""Text that somebody else wrote, in the room that there is for it."""

from typing import Final

ELLIPSIS: Final = "..."


def cut(text: str, most: int) -> str:
    """At most so many characters, with dots where there were more."""
    return text if len(text) <= most else text[: most - len(ELLIPSIS)] + ELLIPSIS
