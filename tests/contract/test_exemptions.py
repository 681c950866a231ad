"""Every exception of a contract test has a reason, and the tests that reasons name exist."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

CONTRACTS = Path(__file__).parent
TESTS = CONTRACTS.parent

LIST_NAME_PATTERN = re.compile(r"EXEMPT|ALLOWED$|WITHOUT_|^NOT_|_NOT_|NEVER_|^OTHER_|UNRESOLVED|PROVIDER_PAGES")
"""Names of constants that list exceptions."""

REASON_WORDS_MIN = 2
"""Minimum number of words of a reason."""

_FILE_PATTERN = re.compile(r"\b((?:tests/)?(?:\w+/)*test_\w+\.py)\b")


def reasons() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each reason."""
    for path in sorted(CONTRACTS.glob("*.py")):
        module = importlib.import_module(f"tests.contract.{path.stem}")
        for name, value in vars(module).items():
            if name.isupper() and LIST_NAME_PATTERN.search(name) and isinstance(value, dict):
                for key, reason in value.items():
                    yield f"{path.name}: {name}: {key}", reason[1] if isinstance(reason, tuple) else reason


def test_every_exception_has_a_reason() -> None:
    reasons_by_place = dict(reasons())

    assert len(reasons_by_place) > 200
    assert [place for place, reason in reasons_by_place.items() if len(reason.split()) < REASON_WORDS_MIN] == []


def test_the_tests_that_reasons_name_exist() -> None:
    names = {path.name for path in TESTS.rglob("test_*.py")}
    missing_names = [
        f"{place}: {file}"
        for place, reason in reasons()
        for file in _FILE_PATTERN.findall(reason)
        if not ((TESTS.parent / file).exists() if "/" in file else file in names)
    ]

    assert missing_names == []
