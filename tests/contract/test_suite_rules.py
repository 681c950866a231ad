"""Rules of the test suite: no test depends on the speed of the machine, and assertions accept one outcome."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tests.contract.tables import parse_file, python_files

TESTS = Path(__file__).parents[1]

Node = TypeVar("Node", bound=ast.stmt | ast.expr)

BANNED_CALLS = {
    "wait_for_function": "fails under our Content-Security-Policy; use tests.web.polling.wait_until",
    "wait_for_timeout": "waits for time instead of a condition; use tests.web.polling.wait_until, a locator or expect",
}
"""Methods of Playwright that no test calls, with the reason."""

ERROR_STATUSES = range(400, 600)

SKIP_REASON_PATTERN = re.compile(
    r"^requires Linux|^Node\.js (?:.*)is not installed$|: make (?:browser|client-deps|third-party)$"
)
"""Reasons for which a test is skipped."""


def test_no_test_calls_a_banned_method_of_playwright() -> None:
    calls = [
        f"{location}: {node.func.attr} {BANNED_CALLS[node.func.attr]}"
        for location, node in _nodes(ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr in BANNED_CALLS
    ]
    assert not calls, "\n".join(calls)


def test_only_make_chaos_checks_time_bounds() -> None:
    """Measured times are compared in tests/time_bounds.py, which does nothing in `make test`."""
    assertions = [location for location, node in _nodes(ast.Assert) if _compares_with_time_bound(node)]
    assert not assertions, "\n".join(
        f"{location}: call check_seconds of tests/time_bounds.py" for location in assertions
    )


def test_no_assertion_accepts_either_of_two_errors() -> None:
    assertions = [location for location, node in _nodes(ast.Assert) if _accepts_several_errors(node.test)]
    assert not assertions, "\n".join(f"{location}: name the one expected status" for location in assertions)


def test_skip_reasons_name_what_to_install() -> None:
    """CONTRIBUTING.md lists the same reasons."""
    reasons = [
        (location, "".join(ast.literal_eval(part) for part in ast.walk(value) if isinstance(part, ast.Constant)))
        for location, node in _nodes(ast.Call)
        if ast.unparse(node.func) in ("pytest.skip", "pytest.mark.skip", "pytest.mark.skipif")
        for value in [keyword.value for keyword in node.keywords if keyword.arg == "reason"] or node.args[:1]
        if isinstance(value, ast.Constant | ast.JoinedStr)
    ]
    assert len(reasons) > 20
    wrong = [f"{location}: {reason}" for location, reason in reasons if not SKIP_REASON_PATTERN.search(reason)]
    assert not wrong, "\n".join(wrong)


def test_a_run_names_missing_programs_in_one_line(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    root = TESTS.parent
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(root / "src"), str(root))))
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.program("no-such-program")
        def test_a_program(): ...

        @pytest.mark.program("/checkout/.venvs/no-such-library/bin/python")
        def test_a_library(): ...

        def test_others(): ...
        """
    )
    line = "Not run, because a program is not installed (number of tests): no-such-library (1), no-such-program (1)"
    for arguments in ((), ("-n", "1")):
        result = pytester.runpytest_subprocess("-p", "tests.fixtures.programs", *arguments)
        result.assert_outcomes(passed=1, deselected=0 if arguments else 2)
        assert result.outlines.count(line) == 1


def test_the_rules_recognize_violations() -> None:
    def parse(text: str) -> ast.Assert:
        (statement,) = ast.parse(text).body
        assert isinstance(statement, ast.Assert)
        return statement

    assert _compares_with_time_bound(parse("assert max(times) < STOP_SECONDS_MAX"))
    assert _compares_with_time_bound(parse("assert time.monotonic() - started < 5"))
    assert not _compares_with_time_bound(parse("assert time.monotonic() < deadline"))
    assert _accepts_several_errors(parse("assert response.status in (400, 401)").test)
    assert not _accepts_several_errors(parse("assert response.status in (200, 404)").test)


def _compares_with_time_bound(assertion: ast.Assert) -> bool:
    """Return whether an assertion compares a duration with a bound."""
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)
        and any(_is_duration(side) for side in (node.left, *node.comparators))
        for node in ast.walk(assertion.test)
    )


def _is_duration(node: ast.expr) -> bool:
    """Return whether an expression is a limit whose name ends with _SECONDS_MAX, or a difference of two times of a clock."""
    if isinstance(node, ast.Name):
        return node.id.endswith("_SECONDS_MAX")
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and _reads_clock(node.left)


def _reads_clock(node: ast.expr) -> bool:
    """Return whether an expression is `time.monotonic()` or `time.perf_counter()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("monotonic", "perf_counter")
    )


def _accepts_several_errors(test: ast.expr) -> bool:
    """Return whether a condition is `value in (…)` with several error statuses and no other."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In | ast.LtE)):
        return False
    values = test.comparators[0]
    if not isinstance(values, ast.Tuple | ast.Set | ast.List) or len(values.elts) < 2:
        return False
    return all(isinstance(value, ast.Constant) and value.value in ERROR_STATUSES for value in values.elts)


def _nodes(kind: type[Node]) -> Iterator[tuple[str, Node]]:
    """Return every syntax node of a kind in the tests, with its location."""
    for path in python_files(TESTS):
        # The fuzzer is not part of the suite, and npm packages contain Python files.
        if not {"fuzz", "node_modules"} & set(path.parts) and path.name != "time_bounds.py":
            for node in ast.walk(parse_file(path)):
                if isinstance(node, kind):
                    yield f"{path.relative_to(TESTS.parent)}:{node.lineno}", node
