"""Sentences of the reference: docstrings as they stand in the protocol, cut into pieces that a template can show.

What stands beside a field or a constant is no attribute of anything at run time, so it is read from the source once.
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


class Piece(NamedTuple):
    """Some words, perhaps as code, perhaps leading somewhere."""

    text: str
    href: str = ""
    code: bool = False


Pieces = tuple[Piece, ...]

CHANGES: Final = "/docs/changes"

# Where a sentence comes from is the maintainers' business: "(http.md 3.1)", "(decisions/0054)".
_SOURCES: Final = re.compile(r"\s*\((?:[a-z-]+\.md|decisions/)[^()]*\)")
_MARKED: Final = re.compile(
    r"`(?P<code>[^`]+)`|changes\.(?P<change>[A-Z][A-Z0-9_]+)|\b(?P<constant>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)


def prose(text: str | None, around: Mapping[str, Any] | None = None) -> Pieces:
    """A docstring for readers. Numbers that it calls by a name `around` it are told, and dated changes are linked."""
    joined = " ".join(_SOURCES.sub("", text or "").split())
    pieces: list[Piece] = []
    place = 0
    for found in _MARKED.finditer(joined):
        if found.start() > place:
            pieces.append(Piece(joined[place : found.start()]))
        place = found.end()
        if found["code"]:
            pieces.append(Piece(found["code"], code=True))
        elif found["change"]:
            pieces.append(Piece(found["change"].lower(), f"{CHANGES}#{found['change'].lower()}", code=True))
        else:
            told = _told((around or {}).get(found["constant"]))
            pieces.append(Piece(told) if told else Piece(found["constant"], code=True))
    if place < len(joined):
        pieces.append(Piece(joined[place:]))
    return tuple(pieces)


def _told(value: Any) -> str:
    if isinstance(value, timedelta):
        return f"{value.total_seconds() / 60:g} minutes"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else ""


def summary(subject: Any) -> Pieces:
    """The first paragraph of what a class, a function or a module says of itself."""
    module = subject if isinstance(subject, ModuleType) else sys.modules[subject.__module__]
    own = vars(subject).get("__doc__") if isinstance(subject, type) else subject.__doc__
    if not own or not module.__name__.startswith("hubbub."):
        return ()
    return prose(own.strip().partition("\n\n")[0], vars(module))


def plain(pieces: Pieces) -> str:
    """The same without any marks."""
    return "".join(piece.text for piece in pieces)


def notes(kind: type) -> dict[str, Pieces]:
    """What is said beside the attributes of a class, those it inherits included."""
    found: dict[str, Pieces] = {}
    for each in reversed(kind.__mro__):
        module = sys.modules.get(each.__module__)
        if each.__module__.startswith("hubbub.") and module is not None and module.__file__:
            said = _said_in(module.__file__).get(each.__name__, {})
            found |= {name: prose(text, vars(module)) for name, text in said.items()}
    return found


@functools.cache
def _said_in(path: str) -> dict[str, dict[str, str]]:
    """The docstrings that follow assignments, by class and name."""
    return {
        node.name: {
            target: said.value.value
            for before, said in zip(node.body, node.body[1:], strict=False)
            if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str)
            for target in _targets(before)
        }
        for node in ast.parse(Path(path).read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }


def _targets(node: ast.stmt) -> list[str]:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]
