"""The table of chat client features in `docs/status.md`: its counts are right, and the tests that it names exist."""

import re

from tests.contract.language import ROOT

_ROW_PATTERN = re.compile(r"^\| ([^|]+) \| (yes|partly|no)\b([^|]*) \| (?:`(test_\w+)`)? ?\|$", re.MULTILINE)


def test_the_tests_of_the_features_exist() -> None:
    table = (ROOT / "docs" / "status.md").read_text().partition("## Features of the chat client")[2]
    rows = _ROW_PATTERN.findall(table)
    states = [state for _, state, _, _ in rows]
    counts = [states.count(state) for state in ("yes", "partly", "no")]
    assert len(rows) == 70
    assert f"{counts[0]} work, {counts[1]} work partly, {counts[2]} are missing" in table
    assert [name for name, state, _, test in rows if state == "yes" and not test] == []

    defined_tests = {
        name
        for folder in ("tests/web", "tests/server")
        for path in (ROOT / folder).rglob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert [test for _, _, _, test in rows if test and test not in defined_tests] == []
