"""Version of the SDK in the specification that this library implements, and the revision of this build."""

from contextlib import suppress
from functools import cache
from pathlib import Path

from hubbub.protocol import releases
from hubbub.protocol.releases import NEWEST_RELEASE, version_tuple
from hubbub.sdk.clock import read_machine_ms

__all__ = ["get_version_hash", "get_version_major", "get_version_minor", "get_version_patch", "is_supported"]

MAJOR, MINOR, PATCH = version_tuple(NEWEST_RELEASE)
"""The newest SDK release in the specification, which this library implements."""


def is_supported(version: str, now_ms: int | None = None) -> bool:
    """Return whether a release of the SDK is in the support window.

    `now_ms` is a time as Unix milliseconds; None uses the machine's clock."""
    return releases.is_supported(version, read_machine_ms() if now_ms is None else now_ms)


def get_version_major() -> int:
    """Return the major version, such as 1 for 1.10.18687."""
    return MAJOR


def get_version_minor() -> int:
    """Return the minor version, such as 10 for 1.10.18687."""
    return MINOR


def get_version_patch() -> int:
    """Return the patch version, such as 18687 for 1.10.18687."""
    return PATCH


@cache
def get_version_hash() -> str:
    """Return the git commit hash of this build, or the package version if it does not run from a git checkout."""
    from hubbub import __version__

    # Read git's files instead of running git: this is called on the game's thread, which must not start a process.
    with suppress(OSError, ValueError):
        return _read_commit_hash(Path(__file__).parents[3] / ".git") or __version__
    return __version__


def _read_commit_hash(git_path: Path) -> str:
    """Return the checked-out commit from the files of a git directory; empty if they do not name one."""
    git_dir = git_path
    if git_path.is_file():
        # In a worktree `.git` is a file that names the worktree's git directory; its `commondir` names the shared one.
        git_dir = git_path.parent / git_path.read_text(encoding="utf-8").partition("gitdir:")[2].strip()
    head = (git_dir / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref: "):
        return head
    branch = head.removeprefix("ref: ")
    commondir_file = git_dir / "commondir"
    shared_dir = git_dir / commondir_file.read_text(encoding="utf-8").strip() if commondir_file.is_file() else git_dir
    if (shared_dir / branch).is_file():
        return (shared_dir / branch).read_text(encoding="utf-8").strip()
    packed_refs = shared_dir / "packed-refs"
    lines = packed_refs.read_text(encoding="utf-8").splitlines() if packed_refs.is_file() else ()
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {branch}")), "")
