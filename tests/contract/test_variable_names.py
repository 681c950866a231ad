"""Names of variables: they are nouns or predicates, not phrases such as `with_role` or `by_name`."""

import ast
from collections.abc import Iterator

import pytest

from tests.contract.language import ROOT, THIRD_PARTY_FOLDERS
from tests.contract.tables import parse_file, python_files

FOLDERS = ("src", "tests", "tools", "bench", "examples", "packages")

PREPOSITIONS = frozenset({"by", "for", "from", "in", "of", "on", "to", "under", "with", "without"})
"""First words of phrases. A bound of a range may be named by `before`, `after`, `since` or `until`."""


def find_phrases(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield the variables, except fields and variables of the module, whose names begin with a preposition."""
    excluded_targets = {
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in excluded_targets:
            preposition, _, complement = node.id.lstrip("_").partition("_")
            if complement and preposition in PREPOSITIONS:
                yield node


def test_variables_are_not_named_by_a_preposition() -> None:
    problems = {
        f"{path.relative_to(ROOT)}:{name.lineno}: {name.id}"
        for folder in FOLDERS
        for path in python_files(ROOT / folder)
        if THIRD_PARTY_FOLDERS.isdisjoint(path.parts)
        for name in find_phrases(parse_file(path))
    }

    assert not problems, "Name what the variable holds, such as `invite_with_role`:\n" + "\n".join(sorted(problems))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("of_guilds = 1\nclass C:\n    with_role: bool\ndef f():\n    with_role = 1", ["with_role"]),
        ("def f():\n    for by_name in ():\n        pass", ["by_name"]),
        ("def f(with_counts):\n    invite_with_role = before_id = until = 1", []),
    ],
)
def test_phrases_are_found(source: str, names: list[str]) -> None:
    assert [name.id for name in find_phrases(ast.parse(source))] == names
