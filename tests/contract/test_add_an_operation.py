"""The steps of docs/add-an-operation.md work: they are applied to a copy of the repository, and its tests run."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.contract.documentation import blocks
from tests.contract.language import ROOT

PAGE = "docs/add-an-operation.md"
BLOCK_COMMENT_PATTERN = re.compile(r"<!-- append: (?P<path>\S+) -->")
"""The comment before a block of the page, which names the file that the block is appended to."""
FILE_COUNTS = {"Add a read operation": 3, "Add a write operation": 4}
"""Number of files that the blocks of each section change, by the heading of the section."""

OPERATION_READ_PATTERN = re.compile(r"\boperations\(\)|\bEndpointTable\b|\bendpoints_for\b")
"""Names in test modules that read the table of operations."""
SLOW_MODULES = {
    "test_schemathesis.py": "sends a minute of generated requests; `create_seeds` builds those of a new operation",
}
"""Contract tests that read the table of operations and do not run in the copy, with the reason."""
SLOW_TESTS = ("prose", "stop_list", "exception_is_used", "docstrings_say")
"""Parts of the names of contract tests that read every file of the repository instead of the table of operations."""
SERVER_TESTS = ("tests/server/places/test_roles.py", "tests/server/places/test_invites.py")
"""Files that the tests of the two operations are appended to."""
OPERATION_TESTS = ("revoking_all", "highest")
"""Parts of the names of the tests of the two operations."""


def files_by_section() -> dict[str, set[str]]:
    """Return the files that the blocks of each section change, by the heading of the section."""
    files: dict[str, set[str]] = {}
    heading = ""
    for line in (ROOT / PAGE).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif comment := BLOCK_COMMENT_PATTERN.fullmatch(line):
            files.setdefault(heading, set()).add(comment["path"])
    return files


def operation_contracts() -> list[str]:
    """Return the contract tests that read the table of operations, without those of SLOW_MODULES."""
    return [
        f"tests/contract/{path.name}"
        for path in sorted((ROOT / "tests" / "contract").glob("test_*.py"))
        if OPERATION_READ_PATTERN.search(path.read_text(encoding="utf-8"))
        if path.name not in {*SLOW_MODULES, Path(__file__).name}
    ]


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
        target = BLOCK_COMMENT_PATTERN.fullmatch(block.comment)
        assert target is not None, f"{block.location}: no comment says where this block belongs"
        path = tmp_path / target["path"]
        path.write_text(f"{path.read_text().rstrip()}\n\n\n{block.text}")

    skip_expression = " or ".join((*SLOW_TESTS, "postgres"))
    for files, selection in (
        (SERVER_TESTS, f"({' or '.join(OPERATION_TESTS)}) and not postgres"),
        (operation_contracts(), f"not ({skip_expression})"),
    ):
        run_tests(tmp_path, files, selection)


def run_tests(folder: Path, files: Iterable[str], selection: str) -> None:
    """Run the tests of some files in a copy of the repository, which must pass."""
    result = subprocess.run(
        [sys.executable, *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"), "-k", selection, *files],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder}", "PYTEST_XDIST_WORKER": ""},
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
