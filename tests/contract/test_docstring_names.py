"""Every name in single backticks in a docstring exists.

A name must be a parameter, a local name or a string of the documented function, a name of its module, a module of the
same folder, or a definition elsewhere in the package. A common word, such as "limit", must exist in the module itself,
because some other module probably defines it, too. In the docstring of a field, names in lower case are not checked:
most are values of the field."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.contract.language import ROOT

SOURCE = ROOT / "src" / "hubbub"
_NAME_PATTERN = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.\w+)*)(?:\(\))?`(?!`)")
_DEFINITION_PATTERN = re.compile(
    r"^ *(?:async )?(?:def|class) (\w+)|^ *(?:self\.)?(\w+)(?:: [^=\n]+)? = |^ +(\w+): [\w\"]|^ *self\.(\w+)[:,]",
    re.MULTILINE,
)
_WORD_PATTERN = re.compile(r"[A-Za-z_]\w*")

ALLOWED: dict[str, tuple[str, str]] = {
    "src/hubbub/protocol/operation.py": ("payload_json", "multipart field"),
    "src/hubbub/protocol/resources/attachments.py": ("image video audio", "wire values"),
    "src/hubbub/protocol/resources/oauth2.py": ("EC", "wire value"),
    "src/hubbub/protocol/resources/search.py": ("reactions", "field of the base class"),
    "src/hubbub/protocol/resources/stickers.py": ("file", "multipart field"),
    "src/hubbub/protocol/resources/webhooks.py": ("channel icon_emoji mrkdwn", "fields of Slack that are ignored"),
    "src/hubbub/protocol/rpc_scopes.py": ("Origin", "HTTP header"),
    "src/hubbub/protocol/scopes.py": ("bot", "OAuth2 scope"),
    "src/hubbub/sdk/__init__.py": ("call", "method of `Api`"),
    "src/hubbub/sdk/audio.py": ("outShouldMute", "name in the specification"),
    "src/hubbub/sdk/compat.py": ("Client.GetToken AuthorizationArgs.SetScopes nullobj x_y XY", "generated names"),
    "src/hubbub/sdk/drivers.py": ("await", "Python keyword"),
    "src/hubbub/sdk/handles/users.py": ("id", "method that a decorator adds"),
    "src/hubbub/people/messages.py": ("expect", "method of `ActorClient`"),
    "src/hubbub/people/users.py": ("endpoint token", "fields of results"),
    "src/hubbub/people/voice.py": ("voice", "extra of the package"),
    "src/hubbub/sdk/media/__init__.py": ("voice", "extra of the package"),
    "src/hubbub/protocol/spec_names.py": ("GetCurrentUserV2", "name in the specification"),
    "src/hubbub/sdk/tokens.py": ("connect authorize", "methods of `Client`"),
    "src/hubbub/sdk/voice.py": ("samples", "argument of the game's callbacks"),
    "src/hubbub/server/commands/__init__.py": ("hubbub", "command line program"),
    "src/hubbub/server/control/people.py": ("voice", "extra of the package"),
    "src/hubbub/protocol/control/people.py": ("Lounge Sword aBcDeFgH", "example values"),
    "src/hubbub/server/core/config.py": ("HUBBUB_GATEWAY_HEARTBEAT_INTERVAL_MS", "environment variable"),
    "src/hubbub/server/core/config_sections.py": ("word", "keyword of a search"),
    "src/hubbub/server/core/jobs.py": ("done retried failed dropped", "values of a metric"),
    "src/hubbub/server/core/metrics.py": ("done retried failed dropped", "values of a metric"),
    "src/hubbub/server/core/postgres_statements.py": ("t", "value of PostgreSQL"),
    "src/hubbub/server/core/postgres_tx.py": ("pg_current_snapshot", "function of PostgreSQL"),
    "src/hubbub/server/identity/connections/actions.py": ("new legacy", "values of a constant"),
    "src/hubbub/server/identity/oauth2/routes.py": ("webhook.incoming", "OAuth2 scope"),
    "src/hubbub/server/identity/teams/routes.py": ("admin", "wire value"),
    "src/hubbub/server/places/members/routes.py": ("mute deaf", "fields of the body"),
    "src/hubbub/server/play/lobbies/routes.py": ("members", "field of the body"),
    "src/hubbub/server/play/user_messages/routes.py": ("dm_channels.messages.write", "OAuth2 scope"),
    "src/hubbub/server/talk/installations/actions.py": ("bot", "OAuth2 scope"),
    "src/hubbub/server/talk/messages/related_data.py": ("me", "wire field"),
    "src/hubbub/server/talk/messages/routes.py": ("embeds components poll", "fields of the body"),
    "src/hubbub/server/talk/threads/channel_edits/edits.py": ("name archived", "fields of the body"),
    "src/hubbub/server/transports/gateway/compression.py": ("s", "wire field"),
    "src/hubbub/server/transports/voice/dave/__init__.py": ("d now", "wire field; argument in the example"),
    "src/hubbub/server/transports/web/portal/common.py": ("name.1", "path of a form error"),
    "src/hubbub/testing/__init__.py": ("pytest.raises", "function of pytest"),
    "src/hubbub/testing/platform.py": ("running events refused", "fields of the control API"),
    "src/hubbub/testing/plugin.py": ("users bots applications guilds clock faults", "attributes of `Platform`"),
    "src/hubbub/testing/users.py": ("endpoint token url state entitlement frames", "fields of results"),
    "tests/contract/tables.py": ("src", "folder of the repository"),
    "tests/contract/test_documentation_blocks.py": ("hubbub", "command line program"),
    "tests/contract/test_permission_matrix.py": ("response_monitor", "pytest fixture"),
    "tests/contract/test_schemathesis.py": ("response_monitor", "pytest fixture"),
    "tests/contract/public_api/corrections.py": ("oneOf", "keyword of OpenAPI"),
    "tests/issuer.py": ("iss", "claim of a token"),
    "tests/sdk/names.py": ("X SetX", "placeholders of names"),
    "tests/web/polling.py": ("Page.wait_for_function eval", "functions of Playwright and JavaScript"),
}
"""Names that are not defined in the package by file, with the reason."""


@cache
def definitions() -> frozenset[str]:
    """Return the names of all modules, classes, functions, attributes and variables of the package, and Python's built-in names."""
    names = set(dir(builtins))
    for path in SOURCE.rglob("*.py"):
        names.update((path.stem, path.parent.name))
        for match in _DEFINITION_PATTERN.finditer(path.read_text()):
            names.update(name for name in match.groups() if name)
    return frozenset(names)


@cache
def file_names() -> frozenset[str]:
    """Return the names of all files of the repository's source folders."""
    return frozenset(path.name for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*.*"))


def names_in(node: ast.AST) -> set[str]:
    """Return the names, attributes, arguments and words of strings in a syntax tree.

    Strings with a backtick and long strings are skipped, because they are docstrings that may refer to names."""
    names: set[str] = set()
    for child in ast.walk(node):
        match child:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                names.update(name.split("."))
                if isinstance(child, ast.alias) and child.asname:
                    names.add(child.asname)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.keyword(arg=str(name)):
                names.add(name)
            case ast.ImportFrom(module=str(module)):
                names.update(module.split("."))
            case ast.Constant(value=str(text)) if "`" not in text and len(text) < 400:
                names.update(_WORD_PATTERN.findall(text))
    return names


def defined_in(tree: ast.Module) -> set[str]:
    """Return the names that a module defines or imports, and the attributes of its classes."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names.update(part for alias in aliases for part in (alias.asname or alias.name).split("."))
            case ast.Assign(targets=targets):
                names.update(_assigned_names(targets))
            case ast.AnnAssign(target=target):
                names.update(_assigned_names([target]))
    return names


def _assigned_names(targets: list[ast.expr]) -> Iterator[str]:
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Attribute):
                yield node.attr
            elif isinstance(node, ast.Name):
                yield node.id


Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Docstring(NamedTuple):
    """A docstring of a module, class, function or field."""

    scope: Scope
    """The documented object, or the object that contains the documented field."""
    node: ast.Constant
    is_field: bool
    """Whether the docstring follows the assignment of a field."""


def docstrings(tree: ast.Module) -> Iterator[Docstring]:
    """Yield all docstrings of a module."""
    scopes: list[Scope] = [tree]
    while scopes:
        scope = scopes.pop()
        for index, statement in enumerate(scope.body):
            match statement:
                case ast.Expr(value=ast.Constant(value=str()) as node):
                    yield Docstring(scope, node, is_field=index > 0)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    scopes.append(statement)


def unknown_names(path: Path) -> Iterator[str]:
    """Yield the location and the text of each name in a docstring that does not exist."""
    source = path.read_text()
    if "`" not in source:
        return
    tree, name = ast.parse(source), path.relative_to(ROOT).as_posix()
    allowed_names = ALLOWED.get(name, ("", ""))[0].split()
    module_names = cache(lambda: defined_in(tree) | {sibling.stem for sibling in path.parent.iterdir()})
    scope_names = cache(names_in)
    for docstring in docstrings(tree):
        text = str(docstring.node.value)
        for match in _NAME_PATTERN.finditer(text):
            if match[1] in allowed_names or (docstring.is_field and match[1].islower()):
                continue
            if not _exists(match[1], scope_names(docstring.scope)) and not _exists(match[1], module_names()):
                yield f"{name}:{docstring.node.lineno + text.count(chr(10), 0, match.start())}: {match[0]}"


def _exists(text: str, local_names: set[str]) -> bool:
    *parents, last_name = text.split(".")
    if last_name in local_names or text in file_names():
        return True
    is_common_word = not parents and last_name.islower() and "_" not in last_name
    return (
        not is_common_word
        and last_name in definitions()
        and all(parent in local_names or parent in definitions() for parent in parents)
    )


def test_allowed_names_are_still_used() -> None:
    unused_names = [
        f"{path}: {name}"
        for path, (names, _) in ALLOWED.items()
        for name in names.split()
        if f"`{name}" not in (ROOT / path).read_text()
    ]

    assert not unused_names, "\n".join(unused_names)


def test_names_in_docstrings_exist() -> None:
    paths = [*sorted(SOURCE.rglob("*.py")), *sorted((ROOT / "tests").rglob("*.py"))]
    problems = [line for path in paths for line in unknown_names(path)]

    assert not problems, "\n".join(problems)
