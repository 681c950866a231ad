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
BLOCK_COMMENT = re.compile(r'<!-- (append|insert after "(?P<line>[^"]+)"): (?P<path>\S+) -->')
"""The comment before a block of the page, which says where the block belongs."""


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
        text = path.read_text()
        if target["line"] is None:
            text = f"{text.rstrip()}\n\n\n{block.text}"
        else:
            assert target["line"] in text
            text = text.replace(target["line"], f"{target['line']}\n{block.text.rstrip()}", 1)
        path.write_text(text)

    result = subprocess.run(
        [
            sys.executable,
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", "(swap or audit or writes or tables) and not postgres"),
            "tests/server/places/test_roles.py",
            "tests/contract/test_audit_entries.py",
            "tests/contract/test_tables.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}", "PYTEST_XDIST_WORKER": ""},
        capture_output=True,
        text=True,
    )

    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
