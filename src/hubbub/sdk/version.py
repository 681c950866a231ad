"""Which release of the specification's SDK this one speaks like, and which releases are still looked after."""

from contextlib import suppress
from functools import cache
from pathlib import Path

from hubbub.protocol.releases import NEWEST, is_supported, number

__all__ = ["get_version_hash", "get_version_major", "get_version_minor", "get_version_patch", "is_supported"]

MAJOR, MINOR, PATCH = number(NEWEST)
"""The newest release that the specification names; we implement what it can do."""


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

    # Read and not asked of git: this is called on the game's thread, which no program should be started from.
    with suppress(OSError, ValueError):
        return _revision(Path(__file__).parents[3] / ".git") or __version__
    return __version__


def _revision(git: Path) -> str:
    """What is checked out, by git's own files; empty if they do not say."""
    if git.is_file():
        # A worktree: this file names its folder, which names the one that all of them share.
        git = git.parent / git.read_text(encoding="utf-8").partition("gitdir:")[2].strip()
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    _, is_branch, branch = head.partition("ref: ")
    if not is_branch:
        return head
    shared = git / "commondir"
    common = git / shared.read_text(encoding="utf-8").strip() if shared.is_file() else git
    if (common / branch).is_file():
        return (common / branch).read_text(encoding="utf-8").strip()
    packed = common / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else ()
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {branch}")), "")
