"""Every dated change has a test of the behavior before and after its date.

A test marked with `@pytest.mark.dated` fails unless the server checked the change on both sides of its date
(tests/fixtures/dated.py). The tests below only check that every change has such a test."""

import ast
from pathlib import Path

from hubbub.protocol import changes
from tests.contract.tables import SOURCE, display_path, parse_file, python_files

TESTS = Path(__file__).parents[1]

PARTLY_DATED = {
    # Every type of webhook event is sent from this date on, except APPLICATION_DEAUTHORIZED, which has a separate date
    # (decisions/0044).
    "WEBHOOK_EVENTS",
    # Issuers saved before the date keep the weaker check; redirects are rejected before and after it (decisions/0044).
    "OIDC_STRICT_ISSUER",
}
"""Changes of which one part behaves the same before and after the date; the comment names that part. The other part has
a test."""


DOCUMENTATION_ONLY = {
    # spec/dated-changes.md#2.8: a window of supported releases; no request is rejected because of it.
    "SDK_SUPPORT_WINDOW",
    # spec/sdk.md#8.1: the refresh grant is deprecated but still accepted.
    "OIDC_REFRESH_DEPRECATED",
    # Documented on that day; the behavior of bans before it is unknown.
    "BAN_UNMERGE",
    # Documented on that day: the SDK created lobbies by secret since its first release.
    "LOBBY_ROUTES",
}
"""Changes of the documentation only: the server behaves the same before and after the date."""


def changes_checked_in_source() -> dict[str, str]:
    """Return the changes that the source code checks, each with one of the files that check it."""
    files_by_change: dict[str, str] = {}
    for path in python_files(SOURCE):
        # change_uses.py names the uses of changes and decides nothing.
        if "changes." not in path.read_text() or path.name == "change_uses.py":
            continue
        for node in ast.walk(parse_file(path)):
            if not isinstance(node, ast.Attribute) or not node.attr.isupper():
                continue
            if isinstance(node.value, ast.Name) and node.value.id == "changes":
                files_by_change[node.attr] = display_path(path)
    return {name: file for name, file in files_by_change.items() if name.lower() in changes.ALL}


def changes_marked_in_tests() -> set[str]:
    """Return the changes that tests are marked with."""
    return {
        ast.unparse(argument).removeprefix("changes.")
        for path in python_files(TESTS)
        if "mark.dated(" in path.read_text()
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "dated"
        for argument in node.args
    }


def test_every_change_is_checked_and_has_a_test() -> None:
    names = {name.upper() for name in changes.ALL}

    assert names - changes_checked_in_source().keys() - DOCUMENTATION_ONLY == set(), (
        "declared, but the source code never checks it"
    )
    assert names - changes_marked_in_tests() - DOCUMENTATION_ONLY == set(), (
        "without a test marked @pytest.mark.dated(changes.X)"
    )


def test_documentation_only_changes_are_never_checked() -> None:
    assert {name: file for name, file in changes_checked_in_source().items() if name in DOCUMENTATION_ONLY} == {}, (
        "implemented now: mark its test"
    )
    assert changes_marked_in_tests() & changes_checked_in_source().keys() >= PARTLY_DATED
