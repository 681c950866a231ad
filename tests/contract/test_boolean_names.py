"""Names of booleans: fields of classes and parameters of functions read as predicates."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.contract.language import ROOT

SOURCE = ROOT / "src" / "hubbub"

PREFIXES = frozenset(
    re.findall(
        r"\w+",
        """
        accepts allow allows always are assigns can checks closes contains did does excludes for had has ignores includes
        is keep keeps launches loads may mentions must needs obfuscates only posts reconnects removes reports requires
        reuses should shows starts stores supports survives to uses waits was were with without
        """,
    )
)
"""First words of names that read as predicates. Settings use the imperative `allow` and `keep`."""

WIRE_PATHS = (
    "protocol/control/",
    "protocol/resources/",
    "protocol/voice.py",
    "server/control/",
    "server/transfer/",
    "server/worlds/tables.py",
)
"""Models that clients or files encode: the public protocol, the control API, archives and world files."""

PUBLIC_PATHS = ("sdk/", "testing/")
"""Packages whose public classes and functions keep their names."""

ALLOWED = {
    "auto_register": "setting that is named by the feature",
    "autoping": "parameter of aiohttp",
    "control": "setting that is named by the feature",
    "deaf": "name of the public protocol",
    "enabled": "setting that is named by the feature",
    "include_nsfw": "name of the public protocol",
    "invitable": "name of the public protocol",
    "locked": "name of the public protocol",
    "long": "keyword of `handles` and `Database.read`",
    "mute": "name of the public protocol",
    "newest_first": "order of a list",
    "obfuscates": "verb in the present tense",
    "optional_body": "keyword of `Operation`",
    "quick": "keyword of `handles` and `Database.write`",
    "requests": "setting that is named by the feature",
    "running": "keyword of `ControlledClock`",
    "search_waits_for_index": "setting with a subject",
    "self_deaf": "name of the public protocol",
    "self_mute": "name of the public protocol",
    "self_video": "name of the public protocol",
    "strict": "established keyword argument",
    "tls": "setting that is named by the feature",
    "trust_email": "setting in the imperative",
    "unavailable": "name of the public protocol",
    "wait_for_answer": "name of the control API",
    "writable": "established term for sockets",
    "writes": "verb in the present tense",
}
"""Names that are not predicates, with the reason."""

ALLOWED_PLACES = {
    ("server/talk/search/store.py", "archived"),
    ("server/talk/threads/actions.py", "archived"),
}
"""Single uses: (path, name)."""


def is_boolean(annotation: ast.expr | None) -> bool:
    """Return whether an annotation is `bool` or `bool | None`."""
    return annotation is not None and ast.unparse(annotation) in ("bool", "bool | None")


def is_predicate(name: str) -> bool:
    """Return whether a name reads as a predicate, such as `is_open`, `allows_bots` or `oauth2_only`."""
    words = name.strip("_").split("_")
    return (len(words) > 1 and words[0] in PREFIXES) or words[-1] == "only"


def is_stored(node: ast.ClassDef) -> bool:
    """Return whether a class is stored as JSON, so that its fields cannot be renamed."""
    docstring = ast.get_docstring(node) or ""
    return "Stored as JSON" in docstring


def boolean_names(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the boolean fields and parameters of a module that may be renamed, with their line numbers."""
    relative = path.relative_to(SOURCE).as_posix()
    is_public = relative.startswith(PUBLIC_PATHS)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and not is_public and not is_stored(node):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and is_boolean(field.annotation):
                    yield ast.unparse(field.target), field.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (not is_public or is_private(node.name)):
            arguments = node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if is_boolean(argument.annotation):
                    yield argument.arg, argument.lineno


def is_private(name: str) -> bool:
    """Return whether a name is private to its module or class; `__init__` is public."""
    return name.startswith("_") and not name.startswith("__")


def test_booleans_are_named_as_predicates() -> None:
    problems = []
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE).as_posix()
        if relative.startswith(WIRE_PATHS):
            continue
        problems += [
            f"{relative}:{line}: {name}"
            for name, line in boolean_names(path)
            if not is_predicate(name) and name not in ALLOWED and (relative, name) not in ALLOWED_PLACES
        ]

    assert not problems, "Name booleans as predicates, such as is_open or allows_bots:\n" + "\n".join(problems)


def test_the_exceptions_are_used() -> None:
    used_places = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name, _ in boolean_names(path)
        if not path.relative_to(SOURCE).as_posix().startswith(WIRE_PATHS)
    }
    names = {name for _, name in used_places}

    assert not ALLOWED.keys() - names
    assert not ALLOWED_PLACES - used_places


def test_predicates_are_recognized() -> None:
    for name in ("is_open", "_has_files", "allows_bots", "only_active", "oauth2_only", "with_scopes"):
        assert is_predicate(name), name
    for name in ("webhook", "form", "is", "mailbox", "open", "any_issuer"):
        assert not is_predicate(name), name
