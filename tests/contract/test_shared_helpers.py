"""Functions that several test modules need are defined once, in a module that the others import or in a conftest."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.contract.tables import parse_file, python_files

TESTS = Path(__file__).parents[1]
BOTS = TESTS / "clients" / "bots"
"""Folder of programs with the same functions for different client libraries, each in its own virtual environment."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

MODULES_PER_NAME_MAX = 2
"""Maximum number of modules that define helpers with the same name; with three, a reader cannot tell them apart."""

REPEATED_NAMES: dict[str, str] = {}
"""Names that more modules may define, with the reason."""


def test_no_two_modules_define_the_same_function() -> None:
    locations_by_body = defaultdict[str, dict[str, str]](dict)
    for path, function in _functions():
        if (body := _normalized_body(function)) is not None:
            locations_by_body[body][_display_path(path)] = function.name
    repeated_locations = [locations for locations in locations_by_body.values() if len(locations) > 1]
    assert not repeated_locations, "\n".join(
        f"move to a shared module: {locations}" for locations in repeated_locations
    )


def test_few_modules_define_helpers_with_the_same_name() -> None:
    paths_by_name = defaultdict[str, set[str]](set)
    for path, function in _functions():
        if not _is_fixture(function) and not function.name.startswith(("test_", "pytest_")):
            paths_by_name[function.name].add(_display_path(path))
    repeated_names = {name: sorted(paths) for name, paths in paths_by_name.items() if len(paths) > MODULES_PER_NAME_MAX}
    assert set(repeated_names) == set(REPEATED_NAMES), "\n".join(
        f"{name}: {paths}" for name, paths in repeated_names.items()
    )


def test_renamed_variables_and_annotations_do_not_hide_a_repeated_function() -> None:
    function = 'def a(user: int) -> int:\n    """Add."""\n    total: int = user + 1\n    return total'
    renamed_source = "def b(x):\n    y = x + 1\n    return y"
    changed_source = "def c(x):\n    y = x + 2\n    return y"
    first_body, second_body, other_body = (
        _normalized_body(_parse_function(text)) for text in (function, renamed_source, changed_source)
    )
    assert first_body == second_body
    assert first_body != other_body
    assert _normalized_body(_parse_function("def d(x): ...")) is None


class _VariableRenamer(ast.NodeTransformer):
    """Numbers the parameters and variables of a function in order of appearance and drops annotations."""

    def __init__(self, variables: set[str]) -> None:
        self._variables = variables
        self._new_names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        name = self._rename(node.id) if node.id in self._variables else node.id
        return ast.Name(name, node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._rename(node.arg))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return ast.Assign([self.visit(node.target)], self.visit(node.value))

    def _rename(self, name: str) -> str:
        return self._new_names.setdefault(name, f"variable{len(self._new_names)}")


def _normalized_body(function: FunctionNode) -> str | None:
    """Return the body without docstring, annotations and names of variables, or None if it does nothing."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if all(isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) for statement in statements):
        return None
    variables = {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    variables |= {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    # The tree is shared with other tests, so the transformer works on a copy.
    copy = ast.parse(ast.unparse(ast.Module(statements, [])))
    return ast.dump(_VariableRenamer(variables).visit(copy))


def _functions() -> Iterator[tuple[Path, FunctionNode]]:
    """Yield every function that a module of the tests, except the bots, defines at its top level."""
    for path in python_files(TESTS):
        if path.is_relative_to(BOTS):
            continue
        for statement in parse_file(path).body:
            if isinstance(statement, FunctionNode):
                yield path, statement


def _is_fixture(function: FunctionNode) -> bool:
    """Return whether a function is a fixture: pytest finds the nearest one, so modules may override its name."""
    return any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)


def _parse_function(text: str) -> FunctionNode:
    function = ast.parse(text).body[0]
    assert isinstance(function, FunctionNode)
    return function


def _display_path(path: Path) -> str:
    return path.relative_to(TESTS).as_posix()
