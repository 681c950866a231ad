"""The source of the previous release, from the tags of the repository."""

import io
import os
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def find_previous_version() -> str | None:
    """Return the commit of `HUBBUB_PREVIOUS`, or the last release before this commit.

    A release is a tag, or in a clone without tags a commit whose subject begins with `release: `. Return None in a clone without
    history, and outside of a repository."""
    if commit := os.environ.get("HUBBUB_PREVIOUS"):
        return commit
    for command in (
        ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^"],
        ["git", "log", "-1", "--format=%H", "--grep=^release: ", "HEAD^"],
    ):
        try:
            search_result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        except OSError:
            return None
        if search_result.returncode == 0 and (version := search_result.stdout.strip()):
            return version
    return None


def extract_source(folder: Path) -> Path:
    """Write the source of the previous release to a folder, and return the folder of its package.

    Return that of this version if the clone does not contain the previous one; only the recorded statements of the release
    (tests/released_statements.py) are checked then."""
    version = find_previous_version()
    if version is None:
        return ROOT / "src"
    archive = subprocess.run(
        ["git", "archive", "--format=tar", version, "src"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"
