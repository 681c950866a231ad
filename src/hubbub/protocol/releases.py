"""Releases of the specification's SDK and its support window (spec/sdk.md#17).

Patch releases without a known date are not listed.
"""

from datetime import UTC, datetime
from typing import Final

RELEASES: Final = {
    "1.0": "2025-03-17",
    "1.1": "2025-04-16",
    "1.1.8318": "2025-04-21",
    "1.2": "2025-05-05",
    "1.3": "2025-06-05",
    "1.4": "2025-06-26",
    "1.5.10839": "2025-08-15",
    "1.5.11353": "2025-08-28",
    "1.6": "2025-09-26",
    "1.6.12170": "2025-10-15",
    "1.5.12211": "2025-10-16",
    "1.6.12767": "2025-11-05",
    "1.7": "2025-11-12",
    "1.7.13024": "2025-11-20",
    "1.7.13152": "2025-12-04",
    "1.6.13305": "2025-12-10",
    "1.7.13357": "2025-12-16",
    "1.8.13395": "2025-12-17",
    "1.6.14448": "2026-03-05",
    "1.7.14433": "2026-03-05",
    "1.8.14985": "2026-04-06",
    "1.9.15332": "2026-04-23",
    "1.9.17379": "2026-06-30",
    "1.10.18247": "2026-07-28",
    "1.8.18335": "2026-08-11",
    "1.9.18337": "2026-08-11",
    "1.10.18369": "2026-08-11",
    "1.10.18687": "2026-08-13",
}
"""Release date by version, oldest first."""

SUPPORTED_MINORS_MAX: Final = 5
"""Maximum number of supported minor versions (spec/sdk.md#17)."""


def version_tuple(version: str) -> tuple[int, ...]:
    """Return the numbers of a version such as "1.10.18247", so that versions can be compared."""
    return tuple(map(int, version.split(".")))


NEWEST_RELEASE: Final = max(RELEASES, key=version_tuple)


def is_supported(version: str, now_ms: int) -> bool:
    """Return whether a version is in the support window at a time in Unix milliseconds.

    The window contains the newest minor version released until that time and the four before it: for 1.10, 1.6 to 1.10.
    """
    today = datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
    released_versions = (version_tuple(name) for name, day in RELEASES.items() if day <= today)
    newest_major, newest_minor = max(released_versions, default=(0, -1))[:2]
    major, minor = version_tuple(version)[:2]
    return major == newest_major and newest_minor - SUPPORTED_MINORS_MAX < minor <= newest_minor
