"""Verbs of functions: find, get, is, has and can mean the same in every module (see CONTRIBUTING.md)."""

import ast
from collections.abc import Iterator

import pytest

from tests.contract.language import ROOT, THIRD_PARTY_FOLDERS
from tests.contract.tables import parse_file, python_files

FOLDERS = ("src", "tests", "tools", "bench", "examples", "packages")

WRAPPERS = frozenset({"Awaitable", "Completion", "Coroutine"})
"""Types whose last argument is the result."""

COLLECTIONS = frozenset(
    {"AsyncIterator", "Collection", "Iterable", "Iterator", "Mapping", "Sequence"}
    | {"dict", "frozenset", "list", "set", "tuple"}
)

PROGRAMMING_ERRORS = frozenset({"AssertionError", "NotImplementedError", "RuntimeError", "TypeError"})
"""Exceptions that a search may raise, since they do not report absence."""

PROTOCOL_NAMES = ("src/hubbub/sdk/", "src/hubbub/agent/commands/")
"""Folders whose public functions have the names of the public SDK or of RPC commands, which may return null."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def _functions() -> Iterator[tuple[str, FunctionNode]]:
    for folder in FOLDERS:
        for path in python_files(ROOT / folder):
            if THIRD_PARTY_FOLDERS.isdisjoint(path.parts):
                for node in ast.walk(parse_file(path)):
                    if isinstance(node, FunctionNode):
                        yield path.relative_to(ROOT).as_posix(), node


def _result_types(annotation: ast.expr) -> set[str]:
    """Return the names of the alternatives of a return annotation without arguments and modules, such as {"list", "None"}."""
    match annotation:
        case ast.BinOp(left=left, right=right):
            return _result_types(left) | _result_types(right)
        case ast.Constant(value=str(text)):
            return _result_types(ast.parse(text, mode="eval").body)
        case ast.Subscript(value=value, slice=argument):
            name = ast.unparse(value).rpartition(".")[2]
            result = argument.elts[-1] if isinstance(argument, ast.Tuple) else argument
            return _result_types(result) if name in WRAPPERS else {name}
    return {ast.unparse(annotation).rpartition(".")[2]}


def _raised_names(function: FunctionNode) -> set[str]:
    """Return the names of the exceptions that a function raises; an empty name if it raises a caught exception again."""
    raised_expressions = (node.exc for node in ast.walk(function) if isinstance(node, ast.Raise))
    return {
        "" if exc is None else ast.unparse(exc.func if isinstance(exc, ast.Call) else exc) for exc in raised_expressions
    }


def _writes_attribute(function: FunctionNode) -> bool:
    """Return whether a method assigns, changes or deletes an attribute of its object, or an element of one."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                pass
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                targets = [target]
            case _:
                continue
        for target in targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Attribute | ast.Subscript) and ast.unparse(part).startswith("self."):
                    return True
    return False


def find_problem(path: str, function: FunctionNode) -> str | None:
    """Return how a function contradicts its verb, or None."""
    name = function.name.lstrip("_")
    verb = name.partition("_")[0]
    types = _result_types(function.returns) if function.returns is not None else None
    if verb == "find" and not name.startswith("find_or_"):
        if types is not None and types.isdisjoint({"None", "UnsetType", *COLLECTIONS}):
            return "returns a value that always exists; use read_, resolve_, choose_, build_ or get_"
        if _raised_names(function) - PROGRAMMING_ERRORS:
            return "raises an exception; use require_ or resolve_"
    elif types is None or verb == name:
        return None
    elif verb == "get" and "None" in types:
        if function.name.startswith("_") or not path.startswith(PROTOCOL_NAMES):
            return "may return None; use find_"
    elif verb in ("is", "has", "can") and not types <= {"bool", "TypeGuard", "TypeIs"}:
        return "does not return bool"
    elif verb in ("is", "has", "can") and _writes_attribute(function):
        return "writes an attribute; use consume_, claim_ or check_"
    return None


def test_functions_do_what_their_verbs_say() -> None:
    problems = [
        f"{path}:{function.lineno}: {function.name} {problem}"
        for path, function in _functions()
        if (problem := find_problem(path, function)) is not None
    ]

    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    "source",
    [
        "def find_user() -> User: ...",
        "def find() -> User: ...",
        "async def _find_user() -> Any: ...",
        "def find_user() -> Awaitable[User]: ...",
        "def find_user() -> User | None: raise errors.UNKNOWN_USER()",
        "def find_user() -> User | None: raise",
        "def get_user() -> 'User | None': ...",
        "def is_open() -> int: ...",
        "def has_files() -> bool | None: ...",
        "def is_first(self) -> bool: self._count += 1",
        "def has_entry(self, key: int) -> bool: self._entries[key] = None",
        "async def _can_run(self) -> bool: self.report.counts[0], result = 1, True",
        "def has_lock(self) -> bool: del self._lock",
    ],
)
def test_contradictions_are_found(source: str) -> None:
    function = ast.parse(source).body[0]
    assert isinstance(function, FunctionNode)
    assert find_problem("src/hubbub/server/users.py", function) is not None


@pytest.mark.parametrize(
    "source",
    [
        "def find_user() -> User | None: ...",
        "def find_user() -> Coroutine[Any, Any, User | None]: ...",
        "def find_name() -> str | UnsetType: ...",
        "def find_many() -> dict[int, User]: ...",
        "def find_user() -> User | None: raise TypeError",
        "def find_or_create_user() -> User: raise errors.UNKNOWN_USER()",
        "def get_user() -> User: raise errors.UNKNOWN_USER()",
        "def is_text(value: object) -> TypeGuard[str]: ...",
        "def can_read() -> typing.Awaitable[bool]: ...",
        "def finding() -> Finding: ...",
        "def is_open(self) -> bool: is_open = self._state == 1",
    ],
)
def test_usual_functions_are_accepted(source: str) -> None:
    function = ast.parse(source).body[0]
    assert isinstance(function, FunctionNode)
    assert find_problem("src/hubbub/server/users.py", function) is None
