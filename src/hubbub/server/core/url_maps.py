"""URL maps of activities: the mapping of path prefixes to targets (spec/activities.md#8), and the site of an activity.

A prefix consists of whole segments: `/api` matches `/api` and `/api/x`, but not `/apis`. A `{name}` in it matches one
word, which is inserted in the target. Paths are matched as sent, without percent-decoding.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

PLACEHOLDER_PATTERN: Final = re.compile(r"\{([a-z]+)\}")
_PLACEHOLDER_VALUE: Final = r"[A-Za-z0-9_-]+"
"""The pattern of the value of a placeholder. It excludes dots and slashes, so a value cannot change other parts of the target."""


class MappedPath(NamedTuple):
    """The result of mapping a path."""

    prefix: str
    """The matched prefix of the path; empty for the root."""
    authority: str
    """The target's host, with its port if it has one."""
    directory: str
    """The target's own path, without a trailing slash."""
    rest: str
    """The path after the prefix; may be empty."""

    @property
    def path(self) -> str:
        """The path to request from the target."""
        return f"{self.directory}{self.rest}" or "/"


def find(url_map: Iterable[tuple[str, str]], path: str) -> MappedPath | None:
    """Map a path by the first mapping (prefix, target) that matches; None without a match."""
    for prefix, target in url_map:
        match = _prefix_pattern(prefix).match(path)
        if match is not None:
            filled_target = PLACEHOLDER_PATTERN.sub(lambda placeholder, match=match: match[placeholder[1]], target)  # type: ignore[misc]
            authority, _, directory = filled_target.partition("/")
            matched_prefix = match[0]
            return MappedPath(
                matched_prefix, authority, f"/{directory}" if directory else "", path[len(matched_prefix) :]
            )
    return None


@lru_cache(1024)
def _prefix_pattern(prefix: str) -> re.Pattern[str]:
    # A segment has at most one placeholder, so no path makes the pattern slow.
    parts = PLACEHOLDER_PATTERN.split(prefix.rstrip("/"))
    pattern_text = "".join(
        f"(?P<{part}>{_PLACEHOLDER_VALUE})" if position % 2 else re.escape(part) for position, part in enumerate(parts)
    )
    return re.compile(rf"{pattern_text}(?=/|$)")


class ActivityTicket(NamedTuple):
    """A signed statement for the application's server about the user who sent the request."""

    text: str
    """The ticket as it appears in URLs and cookies."""
    headers: Mapping[str, str]
    """Headers to add to forwarded requests."""
    seconds: int
    """Remaining validity in seconds."""


class ActivitySite(NamedTuple):
    """The URL map of an application's host, and the ticket of the user who sent the request."""

    url_map: Sequence[tuple[str, str]]
    ticket: ActivityTicket | None
    """The ticket of the user who sent the request; None if the user has no valid one."""
