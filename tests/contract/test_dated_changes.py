"""Every dated change has two sides that a test has seen.

A test that names a change with `@pytest.mark.dated` is failed by its own run when the platform did not behave by both
(tests/fixtures/dated.py). Here it is only looked up that no change is without such a test."""

import ast
from pathlib import Path

from hubbub.protocol import changes
from tests.contract.tables import SOURCE, files, name_of, tree

TESTS = Path(__file__).parents[1]

HALF_BUILT = {
    # Three types came first and one has a day; those of the others are not told (dated-changes.md 3).
    "WEBHOOK_EVENTS",
    # Issuers are judged by the level they were saved under; where one redirects to was never followed (decisions/0044).
    "OIDC_STRICT_ISSUER",
}
"""Changes of which a part is as it is on both sides, and why; the rest has its test."""


WORDS_ONLY = {
    # dated-changes.md 2.8: a window of supported releases, by which nobody is refused.
    "SDK_SUPPORT_WINDOW",
    # Deprecated, and still granted (Authentication, 5): only the advice changed.
    "OIDC_REFRESH_DEPRECATED",
    # Written down that day; what bans did before is not told.
    "BAN_UNMERGE",
    # Also written down that day: the SDK made lobbies by a secret from its first release on.
    "LOBBY_ROUTES",
}
"""Changes of the documents, on both sides of which the platform behaves the same."""


def asked() -> dict[str, str]:
    """Which changes the sources ask for, and one of the files that do."""
    found: dict[str, str] = {}
    for path in files(SOURCE):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "changes" and node.attr.isupper():
                found[node.attr] = name_of(path)
    return {name: file for name, file in found.items() if name.lower() in changes.ALL}


def marked() -> set[str]:
    """Which changes a test says it sees both sides of."""
    return {
        ast.unparse(argument).removeprefix("changes.")
        for path in files(TESTS)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.dated"
        for argument in node.args
    }


def test_every_change_has_an_effect_and_a_test_on_both_sides() -> None:
    known = {name.upper() for name in changes.ALL}

    assert known - asked().keys() - WORDS_ONLY == set(), "declared, but nothing behaves differently"
    assert known - marked() - WORDS_ONLY == set(), "without a test marked @pytest.mark.dated(changes.X)"


def test_what_is_only_words_is_not_asked_for() -> None:
    assert {name: file for name, file in asked().items() if name in WORDS_ONLY} == {}, "built by now: mark its test"
    assert marked() & asked().keys() >= HALF_BUILT
