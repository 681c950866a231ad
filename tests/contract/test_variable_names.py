"""Names of variables: nouns or predicates, not phrases such as `with_role` and not participles such as `renamed`."""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.contract.language import ROOT, THIRD_PARTY_FOLDERS
from tests.contract.tables import parse_file, python_files

FOLDERS = ("src", "tests", "tools", "bench", "examples", "packages")

PREPOSITIONS = frozenset({"by", "for", "from", "in", "of", "on", "to", "under", "with", "without"})
"""First words of phrases. A bound of a range may be named by `before`, `after`, `since` or `until`."""

PARTICIPLE_PATTERN = re.compile(
    r"[a-z]+(?:ed|ing)|bought|broken|built|given|heard|held|kept|made|seen|sent|shown|taken"
)
ESTABLISHED_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        cached captured completed decoded elapsed encoded existing expected incoming outgoing pending received remaining
        binding docstring embed encoding feed finding greeting heading listing mapping meaning oembed onboarding opening
        padding ping recording seed setting shed sibling sing spacing speaking speed standing string typing warning
        """,
    )
)
"""Established participles of values and their counterparts, and nouns."""

OWN_NAMES = (
    "src/hubbub/server/core/bus_nats.py",
    "src/hubbub/server/core/postgres",
    "src/hubbub/server/transports/voice/",
    "tests/server/voice/",
)
"""Beginnings of paths whose participles are terms, such as a prepared statement or a protected packet."""


EVENT_CONSTRUCTORS = ("asyncio.Event", "threading.Event")


def find_local_variables(tree: ast.AST) -> Iterator[ast.Name]:
    """Yield the names that functions of a module assign, which are neither fields nor variables of the module."""
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
            yield node


def is_phrase(name: str) -> bool:
    """Return whether a name begins with a preposition."""
    preposition, _, complement = name.lstrip("_").partition("_")
    return bool(complement) and preposition in PREPOSITIONS


def is_participle(name: str) -> bool:
    """Return whether a name is a participle that does not say what the variable holds."""
    return PARTICIPLE_PATTERN.fullmatch(name) is not None and name not in ESTABLISHED_WORDS


def find_misnamed_events(tree: ast.AST) -> Iterator[str]:
    """Yield the predicates that name an event of asyncio or threading, which is always true as a condition."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.value).strip("()").startswith(EVENT_CONSTRUCTORS):
            names = (name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name))
            yield from (name for name in names if name.startswith(("can_", "has_", "is_", "may_")))


def test_events_are_not_named_as_predicates() -> None:
    problems = [
        f"{path.relative_to(ROOT)}: {name}"
        for folder in FOLDERS
        for path in python_files(ROOT / folder)
        if THIRD_PARTY_FOLDERS.isdisjoint(path.parts)
        for name in find_misnamed_events(parse_file(path))
    ]

    assert not problems, "Name the event, such as `arrival_event`:\n" + "\n".join(problems)


def test_variables_say_what_they_hold() -> None:
    problems = []
    for folder in FOLDERS:
        for path in python_files(ROOT / folder):
            relative_path = path.relative_to(ROOT).as_posix()
            if THIRD_PARTY_FOLDERS.isdisjoint(path.parts):
                allows_participles = relative_path.startswith(OWN_NAMES)
                problems += [
                    f"{relative_path}:{variable.lineno}: {variable.id}"
                    for variable in find_local_variables(parse_file(path))
                    if is_phrase(variable.id) or (is_participle(variable.id) and not allows_participles)
                ]

    assert not problems, "Name what the variable holds, such as `renamed_channel`:\n" + "\n".join(sorted(problems))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("of_guilds = 1\nclass C:\n    with_role: bool\ndef f():\n    with_role = 1", ["with_role"]),
        ("def f():\n    for by_name in ():\n        pass", ["by_name"]),
        ("def f():\n    renamed, ending = 1, 2", ["renamed", "ending"]),
        ("def f(with_counts):\n    invite_with_role = before_id = until = expected = setting = 1", []),
    ],
)
def test_vague_names_are_found(source: str, names: list[str]) -> None:
    variables = [variable.id for variable in find_local_variables(ast.parse(source))]
    assert [name for name in variables if is_phrase(name) or is_participle(name)] == names


def test_events_with_the_name_of_a_predicate_are_found() -> None:
    source = "is_open, arrival_event = asyncio.Event(), asyncio.Event()\nhas_ended = threading.Event()\nis_late = True"
    assert list(find_misnamed_events(ast.parse(source))) == ["is_open", "has_ended"]
