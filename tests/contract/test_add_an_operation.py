"""The steps of docs/add-an-operation.md work: they are applied to a copy of the repository, and its tests run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.documentation import blocks
from tests.contract.language import ROOT

PAGE = "docs/add-an-operation.md"
BLOCK_COMMENT = re.compile(r"<!-- append: (?P<path>\S+) -->")
"""The comment before a block of the page, which names the file that the block is appended to."""
FILE_COUNTS = {"Add a read operation": 3, "Add a write operation": 4}
"""Number of files that the blocks of each section change, by the heading of the section."""


def files_by_section() -> dict[str, set[str]]:
    """Return the files that the blocks of each section change, by the heading of the section."""
    files: dict[str, set[str]] = {}
    heading = ""
    for line in (ROOT / PAGE).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif comment := BLOCK_COMMENT.fullmatch(line):
            files.setdefault(heading, set()).add(comment["path"])
    return files


def test_the_operations_of_the_guide_change_few_files() -> None:
    assert {heading: len(files) for heading, files in files_by_section().items()} == FILE_COUNTS


@pytest.mark.timeout(600)
def test_the_guide_can_be_applied(tmp_path: Path) -> None:
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for block in blocks(PAGE):
        if block.language == "console":
            continue
        target = BLOCK_COMMENT.fullmatch(block.comment)
        assert target is not None, f"{block.location}: no comment says where this block belongs"
        path = tmp_path / target["path"]
        path.write_text(f"{path.read_text().rstrip()}\n\n\n{block.text}")

    result = subprocess.run(
        [
            sys.executable,
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", "(revoking_all or highest or audit or tables or every_operation or summaries) and not postgres"),
            "tests/server/places/test_roles.py",
            "tests/server/places/test_invites.py",
            "tests/contract/test_audit_entries.py",
            "tests/contract/test_grants.py",
            "tests/contract/test_language.py",
            "tests/contract/test_tables.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}", "PYTEST_XDIST_WORKER": ""},
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
