"""Which release of the specification's SDK this one speaks like, and which releases are still looked after."""

import subprocess
from functools import cache
from pathlib import Path
from typing import Final

MAJOR: Final = 1
MINOR: Final = 10
PATCH: Final = 18687
"""The newest release that the specification names; we implement what it can do."""

WINDOW: Final = 5
"""The five newest minor versions are supported (the specification, Versioning 2)."""


def get_version_major() -> int:
    """The 1 of 1.10.18687."""
    return MAJOR


def get_version_minor() -> int:
    """The 10 of 1.10.18687."""
    return MINOR


def get_version_patch() -> int:
    """The 18687 of 1.10.18687."""
    return PATCH


@cache
def get_version_hash() -> str:
    """The source revision of this build; the package's version where it was not built from a checkout."""
    from hubbub import __version__

    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return __version__
    try:
        told = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=2, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return __version__
    return told.stdout.strip()


def is_supported(version: str, newest: str = f"{MAJOR}.{MINOR}") -> bool:
    """Whether a release is inside the support window; with 1.10 that is 1.6 to 1.10."""
    major, minor = (int(part) for part in version.split(".")[:2])
    newest_major, newest_minor = (int(part) for part in newest.split(".")[:2])
    return major == newest_major and newest_minor - WINDOW < minor <= newest_minor
