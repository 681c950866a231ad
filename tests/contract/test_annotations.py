"""Annotations mean the same on every version of Python: since 3.14 they are evaluated after their class is complete."""

import ast
from collections.abc import Iterator

from tests.contract.tables import SOURCE, display_path, parse_file, python_files


def names_in(annotation: ast.expr | None) -> Iterator[str]:
    """Yield the names that the evaluation of an annotation looks up."""
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Name):
            yield node.id


def shadowed_names(class_: ast.ClassDef) -> Iterator[str]:
    """Yield the names in annotations of a class that its own attributes hide."""
    attributes: set[str] = set()
    annotation_names: set[str] = set()
    for node in class_.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            attributes.add(node.target.id)
            annotation_names |= set(names_in(node.annotation))
        elif isinstance(node, ast.Assign):
            attributes |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            attributes.add(node.name)
            arguments = node.args
            parameters = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            for argument in parameters:
                annotation_names |= set(names_in(argument.annotation if argument is not None else None))
            annotation_names |= set(names_in(node.returns))
        elif isinstance(node, ast.ClassDef):
            continue
    yield from sorted(attributes & annotation_names)


def test_no_attribute_hides_a_name_in_an_annotation_of_its_class() -> None:
    hidden_names = {
        f"{display_path(path)}:{node.lineno} {node.name}.{name}"
        for path in python_files(SOURCE)
        for node in ast.walk(parse_file(path))
        if isinstance(node, ast.ClassDef)
        for name in shadowed_names(node)
    }

    assert hidden_names == set()
