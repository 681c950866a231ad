"""Language rules: plain technical English in prose, imperative operation summaries, and consistent names."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from tests.contract.language import ROOT, STOP_LIST, THIRD_PARTY_FOLDERS, check_prose, statements, violations

# The tests share the result of `check_prose`.
pytestmark = pytest.mark.xdist_group("language")

ALLOWED: set[tuple[str, str]] = {
    ("tests/contract/language.py", "for good"),
    ("tests/contract/test_language.py", "for good"),
    ("tests/contract/test_language.py", "anew"),
    ("tests/contract/test_language.py", "somebody"),
    ("tests/contract/test_language.py", "it is no error"),
    ("tests/contract/test_language.py", "who is told"),
    ("tests/contract/test_language.py", "of ours"),
    ("tests/web/test_chat_channels.py", "nobody"),  # The test searches for this text.
}
"""Legitimate uses: (path, phrase in lower case). A path that ends with `/` covers a folder."""

VERBS = frozenset(
    re.findall(
        r"\w+",
        """
        Accept Acknowledge Add Answer Approve Assign Authorize Ban Batch Begin Bulk Buy Cancel Change Clear Close
        Claim Complete Confirm Connect Consume Count Create Crosspost Decline Delete Deny Disable Disconnect Dismiss Edit
        Enable End
        Exchange Execute Export Find Follow Get Grant Import Invite Issue Join Kick Launch Leave Link List Log Look
        Mark Merge Modify Move Open Pin Prepare Preview Prune Publish Purchase Read Refresh Refund Register Reject Remove
        Rename Reorder Replace Report Request Resend Reset Restore Resolve Respond Resume Retry Return Revoke Ring Run Search Send
        Set Show Start Stop Store Submit Subscribe Suspend Switch Sync Transfer Trigger Unban Unlink Unmerge Unpin Update Upload
        Verify Vote Withdraw
        """,
    )
)
"""Imperative verbs that operation summaries begin with."""

ING_MODULES = {
    "typing",
    "onboarding",
    "templating",
    "call_signaling",
    "decoding",
    "content_encoding",
    "forwarding",
}
"""Domain words that end with -ing."""

SCRIPT_LINE_MAX = 132
"""Maximum length of a line of JavaScript. Biome wraps code at 120 columns, but not strings, comments and patterns."""

_LIMIT_PATTERN = re.compile(r"(^_?MAX_)|(^|_)(MOST|LEAST|LARGEST|BIGGEST|LONGEST)(_|$)|(^|_)AT_ONCE$")


def _is_allowed(path: str, phrase: str) -> bool:
    return any(
        phrase.lower() == allowed_phrase and (path == place or (place.endswith("/") and path.startswith(place)))
        for place, allowed_phrase in ALLOWED
    )


def test_prose_is_plain_technical_english() -> None:
    phrases = [
        f"{path}:{line}: {phrase!r}; write: {instead}"
        for path, line, phrase, instead in check_prose().phrases
        if not _is_allowed(path, phrase)
    ]

    assert not phrases, f"{len(phrases)} phrases of the stop list:\n" + "\n".join(phrases[:200])


def test_every_exception_is_used() -> None:
    used_phrases = {(found.path, found.phrase.lower()) for found in check_prose().phrases}
    unused_exceptions = {
        (place, phrase)
        for place, phrase in ALLOWED
        if not any(phrase == other and (path == place or path.startswith(place)) for path, other in used_phrases)
    }
    assert unused_exceptions == set()
    assert set(_module_names().values()) >= ING_MODULES


def test_the_stop_list_covers_all_kinds_of_files() -> None:
    paths = check_prose().paths
    for folder in ("src", "tests", "packages", "examples", "deploy", "docs", "changes", ".github"):
        assert any(path.startswith(f"{folder}/") for path in paths), folder
    assert {"action.yml", "Makefile", "Dockerfile", "examples/README.md"} <= paths
    assert {".py", ".js", ".mjs", ".ts", ".html", ".yml"} <= {Path(path).suffix for path in paths}


GLOSSARY_TERMS_MAX = 40


def test_the_glossary_is_short_and_defines_each_term_once() -> None:
    terms = re.findall(r"^\| ([\w ]+?)(?: \(.*\))? \| ", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
    assert len(terms) > 20
    assert len(terms) <= GLOSSARY_TERMS_MAX
    assert terms == sorted(set(terms), key=str.lower)


def test_the_stop_list_finds_its_own_phrases() -> None:
    for sentence in ("Begin anew.", "Somebody left.", "It is no error.", "who is told", "an error of ours"):
        assert list(violations(sentence)), sentence
    for sentence in ("There is no channel.", "It is no longer valid.", "Return the message.", "no body"):
        assert not list(violations(sentence)), sentence
    assert len(STOP_LIST) > 15


def test_operation_summaries_are_imperative_sentences() -> None:
    wrong_summaries = []
    for endpoint in EndpointTable(SLICES):
        summary = (endpoint.function.__doc__ or "").strip().partition("\n")[0]
        verb, _, sentence_rest = summary.partition(" ")
        if (
            verb not in VERBS
            or not sentence_rest
            or not summary.endswith(".")
            or len(summary) > 100
            or ".md" in summary
        ):
            wrong_summaries.append(f"{endpoint.name}: {summary!r}")

    assert not wrong_summaries, "\n".join(wrong_summaries)


def test_operation_summaries_differ_from_each_other() -> None:
    names = defaultdict(list)
    for endpoint in EndpointTable(SLICES):
        names[(endpoint.function.__doc__ or "").strip().partition("\n")[0]].append(endpoint.name)

    assert {summary: endpoint_names for summary, endpoint_names in names.items() if len(endpoint_names) > 1} == {}


def _modules(package: str) -> list[Path]:
    return sorted((ROOT / "src" / "hubbub" / package).rglob("*.py"))


def test_public_class_names_are_unique_in_each_package() -> None:
    repeated_classes = {}
    for package in ("server", "sdk", "agent"):
        places = defaultdict(list)
        for path in _modules(package):
            if path.name != "compat.py":
                for node in ast.parse(path.read_text()).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        places[node.name].append(path.relative_to(ROOT).as_posix())
        repeated_classes |= {f"{package}: {name}": paths for name, paths in places.items() if len(paths) > 1}

    assert not repeated_classes, "\n".join(
        f"{name}: {', '.join(paths)}" for name, paths in sorted(repeated_classes.items())
    )


def _module_names() -> dict[str, str]:
    """Return the names of the modules in `src` by their paths."""
    paths = [path for suffix in ("*.py", "*.js") for path in (ROOT / "src").rglob(suffix)]
    return {path.relative_to(ROOT).as_posix(): path.stem for path in paths}


def test_modules_are_nouns() -> None:
    assert (
        sorted(path for path, name in _module_names().items() if name.endswith("ing") and name not in ING_MODULES) == []
    )


def test_lines_of_scripts_are_not_too_long() -> None:
    scripts = [
        path
        for folder in ("src", "tests", "packages")
        for suffix in ("*.js", "*.mjs")
        for path in (ROOT / folder).rglob(suffix)
        if not THIRD_PARTY_FOLDERS.intersection(path.parts)
    ]
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in scripts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > SCRIPT_LINE_MAX
    ]

    assert scripts
    assert sorted(too_long) == []


def test_limits_end_with_max() -> None:
    problems = []
    for path in (ROOT / "src").rglob("*.py"):
        source = path.read_text()
        if not any(map(_LIMIT_PATTERN.search, re.findall(r"\b[A-Z][A-Z0-9_]+\b", source))):
            continue
        for node in ast.walk(ast.parse(source)):
            if (
                isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Store)
                and node.id.isupper()
                and path.name != "errors.py"  # The file contains the names of the platform's error codes.
                and _LIMIT_PATTERN.search(node.id)
            ):
                problems.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.id}")

    assert not problems, "\n".join(sorted(problems))


def test_constants_with_compiled_expressions_end_with_pattern() -> None:
    problems = []
    for folder in ("src", "examples", "bench", "tools", "tests"):
        for path in (ROOT / folder).rglob("*.py"):
            if THIRD_PARTY_FOLDERS.intersection(path.parts):
                continue
            source = path.read_text()
            for node in ast.parse(source).body if "re.compile(" in source else ():
                value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
                if not isinstance(value, ast.Call) or ast.unparse(value.func) != "re.compile":
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                problems += [f"{path.relative_to(ROOT)}: {name}" for name in names if not name.endswith("_PATTERN")]

    assert not problems, "\n".join(sorted(problems))


_SCRIPT_EXPRESSION_PATTERN = re.compile(
    r"^(?:export )?const ([A-Z][A-Z_]*) = (?:/(?![/*])[^\n]*/[a-z]*;|new RegExp\()", re.M
)


def test_constants_with_expressions_of_scripts_end_with_pattern() -> None:
    names = [
        (path.relative_to(ROOT), name)
        for folder in ("src", "tests", "packages")
        for suffix in ("*.js", "*.mjs")
        for path in (ROOT / folder).rglob(suffix)
        if not THIRD_PARTY_FOLDERS.intersection(path.parts)
        for name in _SCRIPT_EXPRESSION_PATTERN.findall(path.read_text())
    ]

    assert len(names) > 10
    assert [f"{path}: {name}" for path, name in names if not name.endswith("_PATTERN")] == []


ENUM_MODULES = {"enums.py", "flags.py", "shared_enums.py"}
"""Modules of the protocol whose classes need a description in the API reference; their values explain more."""

_EMPTY_WORDS = frozenset(
    re.findall(r"\w+", "a an the of or and none its is are all return returns get gets if in to for this that")
)


def test_docstrings_say_more_than_the_name() -> None:
    problems = []
    paths = [
        path for folder in ("src", "examples", "bench", "tools", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    for path in paths:
        if THIRD_PARTY_FOLDERS.intersection(path.parts):
            continue
        if path.parent.name == "protocol" and path.name in ENUM_MODULES:
            continue
        for node, _ in statements(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            text = ast.get_docstring(node)
            if text is None:
                continue
            words = set(re.findall(r"[a-z]+", text.lower())) - _EMPTY_WORDS
            name = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name).lower()))
            stems = {word.rstrip("s") for word in name}
            is_handler = any("handles" in ast.unparse(decorator) for decorator in node.decorator_list)
            if not is_handler and all(word.rstrip("s") in stems for word in words):
                problems.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}: {text!r}")

    assert not problems, "\n".join(sorted(problems))
