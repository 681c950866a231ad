"""Docstrings of the protocol, split into spans that a template can render.

Docstrings of fields and enum members are not available at run time, so they are read once from the source.
"""

import ast
import functools
import re
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple


class TextSpan(NamedTuple):
    """A span of text, optionally code, optionally a link to `href`."""

    text: str
    href: str = ""
    is_code: bool = False


Spans = tuple[TextSpan, ...]

CHANGES_PATH: Final = "/docs/changes"
"""The path of the page about dated changes."""

# Citations for maintainers, not shown to readers: "(spec/http.md#3.1)", "(decisions/0054)".
_CITATION_PATTERN: Final = re.compile(r"\s*\((?:spec/[a-z-]+\.md|decisions/)[^()]*\)")
_MARKUP_PATTERN: Final = re.compile(
    r"`(?P<code>[^`]+)`|changes\.(?P<change>[A-Z][A-Z0-9_]+)|\b(?P<constant>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)


def parse_docstring(docstring: str | None, constants: Mapping[str, Any] | None = None) -> Spans:
    """Split a docstring into spans.

    Replace the names of numeric constants in `constants` by their values, link dated changes and drop citations.
    """
    docstring_text = " ".join(_CITATION_PATTERN.sub("", docstring or "").split())
    spans: list[TextSpan] = []
    position = 0
    for match in _MARKUP_PATTERN.finditer(docstring_text):
        if match.start() > position:
            spans.append(TextSpan(docstring_text[position : match.start()]))
        position = match.end()
        if match["code"]:
            spans.append(TextSpan(match["code"], is_code=True))
        elif match["change"]:
            spans.append(TextSpan(match["change"].lower(), f"{CHANGES_PATH}#{match['change'].lower()}", is_code=True))
        else:
            constant_text = _format_value((constants or {}).get(match["constant"]))
            spans.append(TextSpan(constant_text) if constant_text else TextSpan(match["constant"], is_code=True))
    if position < len(docstring_text):
        spans.append(TextSpan(docstring_text[position:]))
    return tuple(spans)


def _format_value(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds() / 60:g} minutes"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else ""


def summary(subject: Any) -> Spans:
    """Return the first paragraph of the docstring of a class, function or module; empty for code of libraries."""
    module = subject if isinstance(subject, ModuleType) else sys.modules[subject.__module__]
    docstring = vars(subject).get("__doc__") if isinstance(subject, type) else subject.__doc__
    if not docstring or not module.__name__.startswith("hubbub."):
        return ()
    return parse_docstring(docstring.strip().partition("\n\n")[0], vars(module))


def details(subject: Any) -> list[Spans]:
    """Return the paragraphs after the first one of the docstring of a class or function."""
    docstring = (vars(subject).get("__doc__") if isinstance(subject, type) else subject.__doc__) or ""
    constants = vars(sys.modules[subject.__module__])
    return [parse_docstring(paragraph, constants) for paragraph in docstring.strip().split("\n\n")[1:]]


def plain_text(spans: Spans) -> str:
    """Return the text without formatting."""
    return "".join(span.text for span in spans)


def markdown(spans: Spans) -> str:
    """Return the text with code and links as Markdown."""
    return "".join(_span_markdown(span) for span in spans)


def _span_markdown(span: TextSpan) -> str:
    text = f"`{span.text}`" if span.is_code else span.text
    return f"[{text}]({span.href})" if span.href else text


def attribute_docstrings(class_: type) -> dict[str, Spans]:
    """Return the docstrings of a class's attributes, including inherited ones."""
    docstrings_by_name: dict[str, Spans] = {}
    for base in reversed(class_.__mro__):
        module = sys.modules.get(base.__module__)
        if base.__module__.startswith("hubbub.") and module is not None and module.__file__:
            docstrings = _parse_attribute_docstrings(module.__file__).get(base.__name__, {})
            docstrings_by_name |= {name: parse_docstring(text, vars(module)) for name, text in docstrings.items()}
    return docstrings_by_name


@functools.cache
def _parse_attribute_docstrings(path: str) -> dict[str, dict[str, str]]:
    """Return the docstrings that follow assignments in the classes of a source file, by class and name."""
    return {
        node.name: {
            target: docstring_node.value.value
            for assignment, docstring_node in zip(node.body, node.body[1:], strict=False)
            if isinstance(docstring_node, ast.Expr)
            and isinstance(docstring_node.value, ast.Constant)
            and isinstance(docstring_node.value.value, str)
            for target in _assigned_names(assignment)
        }
        for node in ast.parse(Path(path).read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def _assigned_names(node: ast.stmt) -> list[str]:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
