"""Collect the prose of the repository, and find words and phrases that plain technical English does not need."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import re2

ROOT = Path(__file__).parents[2]
THIRD_PARTY_FOLDERS = frozenset({"node_modules", "third_party"})

STOP_LIST: dict[str, str] = {
    r"anew|thrice|betimes|whence|hither|thither|lest|albeit|amongst|whilst|naught|alas": "plain word",
    r"deeds?": "action",
    r"who(?:m|ever|mever|soever)": "name the user, member or client",
    r"(?:some|no|every|any)body(?:'s)?": "user, caller, client, member",
    r"(?:is|are|was|were|be|been) (?:told|said|heard)": "receives; is sent; is notified",
    r"who (?:is|was|are|were) (?:told|heard|asked)": "recipient",
    r"what (?:is|was|were) (?:said|told|kept|asked)": "name the object",
    r"of (?:ours|theirs|yours|hers)": "our own; name the owner",
    r"so (?:many|much)": "state the number or its name",
    r"(?:let|lets|letting) (?:in|go)": "admit; release; revoke",
    r"shall": "must; is; will",
    r"(?:wear|wears|wore|worn|bear|bears|bore) (?:a|an|the|its|their)": "has; displays",
    r"dear(?:er|est)": "more expensive",
    r"(?:take|takes|took|taking) leave": "announces shutdown",
    r"(?:fall|falls|fell) silent": "stops responding",
    r"at (?:its|their|his|her) word": "trust",
    r"oneself|one's": "the user's",
    r"(?:upper|lower) floors?": "tier",
    r"for good": "permanently",
    r"(?:before|until) 0\.1(?:\.0)?": "0.1.0 is the first release, so nothing is compatible with earlier code",
}
"""Regular expressions of words and phrases that plain technical English does not need, with a replacement."""

_STOP_PATTERN = re.compile(r"\b(?:" + "|".join(STOP_LIST) + r")\b", re.IGNORECASE)
_STOP_RE2_PATTERN = re2.compile(r"(?i)\b(?:" + "|".join(STOP_LIST) + r")\b|\b(?:is|are|was|were) no \w")
_IS_NO_PATTERN = re.compile(r"\b(\w+) (?:is|are|was|were) no (\w+)", re.IGNORECASE)
_IS_NO_ALLOWED = frozenset(
    ["longer", "more", "less", "later", "earlier", "such", "need", "way", "other", "matter", "one"]
)


class Prose(NamedTuple):
    """One text with its location."""

    path: str
    line: int
    text: str


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def statements(node: ast.AST, *, is_global: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the statements in a node, each with whether it is outside functions and classes."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(node, field, ()):
            yield statement, is_global
            is_scope = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from statements(statement, is_global=is_global and not is_scope)


def python_prose(path: Path) -> Iterator[Prose]:
    """Yield the prose of a Python file.

    It is the strings of at least two words, docstrings included, the comments, and the names of test functions as sentences."""
    source, name = path.read_text(), _relative(path)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(name, token.start[0], token.string.lstrip("# "))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield Prose(name, node.lineno, node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield Prose(name, node.lineno, node.name.replace("_", " "))


_JS_TOKEN_PATTERN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)""",
    re.DOTALL,
)


def script_prose(path: Path) -> Iterator[Prose]:
    """Yield comments and strings of at least two words of a JavaScript or TypeScript file."""
    source = path.read_text()
    for match in _JS_TOKEN_PATTERN.finditer(source):
        if match["comment"] or " " in match[0]:
            yield Prose(_relative(path), source.count("\n", 0, match.start()) + 1, match[0])


def document_prose(path: Path) -> Iterator[Prose]:
    """Yield the lines of a document or template outside of code blocks and inline code."""
    is_in_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_in_code = not is_in_code
        elif not is_in_code:
            yield Prose(_relative(path), number, re.sub(r"`[^`]*`", "``", line))


_FOLDERS = ("src", "tests", "bench", "examples", "tools", "packages", "deploy", "docs", "changes", ".github", ".ci")
_SCRIPT_SUFFIXES = frozenset({".js", ".mjs", ".cjs", ".ts"})
_DOCUMENT_SUFFIXES = frozenset(
    {".html", ".sql", ".css", ".md", ".toml", ".yaml", ".yml", ".conf", ".service", ".sh", ".env"}
)
_PROSE_SUFFIXES = _SCRIPT_SUFFIXES | _DOCUMENT_SUFFIXES | {".py"}


def prose_files() -> list[Path]:
    """Return the files of the repository that contain prose, without packages of other projects."""
    paths = [path for path in ROOT.iterdir() if path.is_file() and not path.name.startswith(".git")]
    paths += [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return sorted(
        path
        for path in paths
        if not THIRD_PARTY_FOLDERS.intersection(path.parts)
        and (path.suffix in _PROSE_SUFFIXES or path.name in ("Makefile", "Dockerfile", "Caddyfile", "run"))
    )


def may_violate(source: str) -> bool:
    """Return whether a file can contain a phrase that violates a rule; reading all files in detail takes long."""
    # A phrase can be the name of a test, or be distributed over two lines of a string or comment.
    text = re.sub(r"""["'`]?\s*\n[\s#*/]*[frb]{0,2}["'`]?""", " ", source.replace("_", " "))
    return _STOP_RE2_PATTERN.search(re.sub(r"\s+", " ", text)) is not None


def file_prose(path: Path) -> Iterator[Prose]:
    """Yield the prose of a file."""
    if path.suffix == ".py":
        yield from python_prose(path)
    elif path.suffix in _SCRIPT_SUFFIXES:
        yield from script_prose(path)
    else:
        yield from document_prose(path)


def violations(text: str) -> Iterator[tuple[str, str]]:
    """Yield each phrase in a text that matches the stop list or denies with “no” after a verb, with its replacement."""
    for match in _STOP_PATTERN.finditer(text):
        yield (
            match[0],
            next(
                (instead for pattern, instead in STOP_LIST.items() if re.fullmatch(pattern, match[0], re.IGNORECASE)),
                "",
            ),
        )
    for match in _IS_NO_PATTERN.finditer(text):
        if match[1].lower() not in ("there", "where") and match[2].lower() not in _IS_NO_ALLOWED:
            yield match[0], "is not a; there is no"


class FoundPhrase(NamedTuple):
    """A phrase that violates a rule, with its location and a replacement."""

    path: str
    line: int
    phrase: str
    instead: str


class ProseReport(NamedTuple):
    """The files with prose, and the phrases in them that violate a rule."""

    paths: set[str]
    phrases: list[FoundPhrase]


@cache
def check_prose() -> ProseReport:
    """Check the prose of the whole repository: code, templates, style sheets, settings, workflows and Markdown pages."""
    report = ProseReport(set(), [])
    for path in prose_files():
        report.paths.add(_relative(path))
        if may_violate(path.read_text()):
            for name, line, text in file_prose(path):
                report.phrases.extend(FoundPhrase(name, line, phrase, instead) for phrase, instead in violations(text))
    return report
