"""The steps of docs/add-an-operation.md work: they are applied to a copy of the repository, and its tests run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.language import ROOT

_BLOCK = re.compile(
    r"<!-- (append|insert after \"(?P<line>[^\"]+)\"): (?P<path>\S+) -->\n\n```python\n(?P<code>.*?)```", re.DOTALL
)


@pytest.mark.timeout(600)
def test_the_guide_can_be_applied(tmp_path: Path) -> None:
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    applied = 0
    for block in _BLOCK.finditer((ROOT / "docs" / "add-an-operation.md").read_text()):
        path = tmp_path / block["path"]
        text = path.read_text()
        if block["line"] is None:
            text = f"{text.rstrip()}\n\n\n{block['code']}"
        else:
            assert block["line"] in text
            text = text.replace(block["line"], f"{block['line']}\n{block['code'].rstrip()}", 1)
        path.write_text(text)
        applied += 1
    assert applied == 6

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
