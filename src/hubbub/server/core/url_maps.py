"""URL maps of activities: which target a path leads to (activities.md 8).

A prefix is made of whole segments: `/api` fits `/api` and `/api/x`, and not `/apis`. `{name}` in it stands for one word, and for
that word in the target. Paths are looked at as they were sent, percent signs and all.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

PLACEHOLDER: Final = re.compile(r"\{([a-z]+)\}")
_WORD: Final = r"[A-Za-z0-9_-]+"
"""What a placeholder stands for. It holds neither dots nor slashes, so it changes no more of a target than it is meant to."""


class Found(NamedTuple):
    """What a mapping makes of a path."""

    prefix: str
    """As it stands in the path; empty for the root."""
    authority: str
    """The target's host, and its port if it has one."""
    directory: str
    """The target's own path, without a slash at the end."""
    rest: str
    """What comes behind the prefix: nothing, or a path."""

    @property
    def path(self) -> str:
        """What to ask the target for."""
        return f"{self.directory}{self.rest}" or "/"


def find(url_map: Iterable[tuple[str, str]], path: str) -> Found | None:
    """Where a path leads: the first mapping (prefix, target) that fits wins."""
    for prefix, target in url_map:
        match = _pattern(prefix).match(path)
        if match is not None:
            filled = PLACEHOLDER.sub(lambda name, match=match: match[name[1]], target)  # type: ignore[misc]
            authority, _, directory = filled.partition("/")
            used = match[0]
            return Found(used, authority, f"/{directory}" if directory else "", path[len(used) :])
    return None


@lru_cache(1024)
def _pattern(prefix: str) -> re.Pattern[str]:
    # A segment holds one placeholder at most, so that no path makes this slow.
    parts = PLACEHOLDER.split(prefix.rstrip("/"))
    text = "".join(f"(?P<{part}>{_WORD})" if place % 2 else re.escape(part) for place, part in enumerate(parts))
    return re.compile(rf"{text}(?=/|$)")


class Ticket(NamedTuple):
    """That somebody is asking, as the application's server is told of it."""

    text: str
    """As addresses and cookies carry it."""
    headers: Mapping[str, str]
    """What is added to requests that are passed on."""
    seconds: int
    """How long it is still good."""


class Site(NamedTuple):
    """What is served on an application's host."""

    url_map: Sequence[tuple[str, str]]
    ticket: Ticket | None
    """Of whoever asks, if they came with one that is good."""
