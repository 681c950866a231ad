"""Texts of pages in templates and in Python code are marked for translation, and errors of forms have translations."""

import ast
import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, nodes

from hubbub.protocol import errors
from hubbub.server.core import endpoint_problems, pseudo_locales, translation
from hubbub.server.core.outbound_http import (
    ConnectionRefusedByTargetError,
    ForbiddenTargetError,
    OutboundResponse,
    TimedOutError,
    TlsError,
    UnreachableError,
    UnresolvedHostError,
)
from hubbub.server.transports.web import error_texts, forms
from tests.accented_pages import find_plain_texts, read_texts
from tools.translations import ENGLISH_TEMPLATES, TEMPLATES

WEB = Path(forms.__file__).parent
ENGLISH_MODULES = ("reference",)
"""Folders of the API reference, which is in English."""
REHEARSAL_TEMPLATES = "rehearsal_"
"""Prefix of the pages that control a rehearsal, which are in English."""
TRANSLATION_FUNCTIONS = ("_", "gettext", "ngettext", "gettext_noop")
UNTRANSLATED_TEXTS: Mapping[str, Collection[str]] = {
    "console/audit_texts.py": (r"The grace period ended\.",),
    "error_texts.py": error_texts.REPLACEMENTS,
    # The manifest is in English, and declares it.
    "installation.py": ("Chat for communities and games.",),
    "parts.html": ('aria-invalid="true" aria-describedby="hint- error-"',),
    "portal/commands.html": ('{"name": "hello", "description": "Say hello"}',),
    "portal/identity.py": ("OpenID Connect", "Epic Online Services", "PlayStation Network"),
}
"""Patterns, code, messages of the API and proper names by file."""

_CLASS_BLOCK_PATTERN = re.compile(r"\{% block kind %\}\w*\{% endblock %\}")
"""The block with the CSS class of a page."""
_TEXT_PATTERN = re.compile(r"[A-Z][a-z]+(?: [a-z]+)* [a-z]+|[A-Z][a-z]+ [A-Z]?[a-z]+")
"""A text of several words. Single words and lowercase words are names of classes, attributes or keys more often."""


def _read_templates() -> dict[str, str]:
    """Return the templates by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for folder in TEMPLATES
        for path in folder.rglob("*.html")
        if path.relative_to(folder).parts[0] not in ENGLISH_TEMPLATES and not path.name.startswith(REHEARSAL_TEMPLATES)
    }


def _read_markup(environment: Environment, source: str) -> str:
    """Return the markup of a template without expressions, comments and texts that are marked for translation."""
    parts: list[str] = []
    is_marked, is_block_start = False, False
    for _, kind, value in environment.lex(_CLASS_BLOCK_PATTERN.sub("", source)):
        if kind == "data" and not is_marked:
            parts.append(value)
        elif kind == "block_begin":
            is_block_start = True
        elif kind == "name" and is_block_start:
            is_marked = value == "trans" or (is_marked and value != "endtrans")
            is_block_start = False
    return "".join(parts)


def _find_constants(node: nodes.Node) -> Iterator[str]:
    """Yield the texts in expressions of a template that are not marked for translation."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in TRANSLATION_FUNCTIONS:
        return
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node.value
    for child in node.iter_child_nodes():
        yield from _find_constants(child)


def _find_python_texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts of a module that are not marked for translation."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in TRANSLATION_FUNCTIONS:
            return
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Raise() | ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return
        case ast.Constant(value=str() as text):
            yield text
    for child in ast.iter_child_nodes(node):
        yield from _find_python_texts(child)


def _remove_known_texts(found: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the texts by file, without files that have only `UNTRANSLATED_TEXTS`."""
    remaining = {name: {*texts} - {*UNTRANSLATED_TEXTS.get(name, ())} for name, texts in found.items()}
    return {name: texts for name, texts in remaining.items() if texts}


def test_the_markup_of_templates_contains_no_text() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n"])
    found = {
        name: find_plain_texts(read_texts(_read_markup(environment, source)))
        for name, source in _read_templates().items()
    }

    assert _remove_known_texts(found) == {}


def test_expressions_of_templates_contain_no_text() -> None:
    environment = Environment(extensions=["jinja2.ext.i18n"])
    found = {
        name: filter(_TEXT_PATTERN.search, _find_constants(environment.parse(source)))
        for name, source in _read_templates().items()
    }

    assert _remove_known_texts(found) == {}


def test_modules_of_pages_contain_no_unmarked_text() -> None:
    found = {
        path.relative_to(WEB).as_posix(): filter(_TEXT_PATTERN.match, _find_python_texts(ast.parse(path.read_text())))
        for path in WEB.rglob("*.py")
        if path.relative_to(WEB).parts[0] not in ENGLISH_MODULES
    }

    assert _remove_known_texts(found) == {}


def test_every_field_of_a_form_has_a_label_for_the_list_of_errors() -> None:
    pattern = re.compile(r"(?:parts\.(?:field|textarea|select)|macros\.file)\(\"([a-z_]+)\"")
    names = {name for source in _read_templates().values() for name in pattern.findall(source)}

    assert len(names) > 30
    assert sorted(names - forms.FIELD_LABELS.keys()) == []


def test_errors_of_form_fields_have_a_translation() -> None:
    arguments: dict[str, Any] = {
        "minimum": 2,
        "maximum": 32,
        "value": "x",
        "values": ("a", "b"),
        "scheme": "ftp",
        "size": "10 MiB",
    }
    constructors = (
        *(errors.required, errors.choices, errors.bad_length, errors.max_length, errors.min_length, errors.regex),
        *(errors.not_number, errors.not_snowflake, errors.number_max, errors.number_min, errors.bad_enum),
        *(errors.bad_timestamp, errors.bad_url, errors.bad_scheme, errors.max_size, errors.bad_image),
    )
    language = pseudo_locales.find_language(pseudo_locales.ACCENTED)
    assert language is not None
    with translation.use_language(language):
        texts = [
            error_texts.translate_error(
                constructor(
                    *(
                        arguments[name]
                        for name, parameter in inspect.signature(constructor).parameters.items()
                        if parameter.default is parameter.empty
                    )
                )[1]
            )
            for constructor in constructors
        ]

    assert find_plain_texts(texts, ["x", "ftp", "10 MiB"]) == []


def test_problems_of_endpoints_have_a_translation() -> None:
    url = "https://game.example/events"
    failures = (
        *(UnresolvedHostError("x"), ForbiddenTargetError("localhost is not a public address"), TlsError("expired")),
        ForbiddenTargetError("localhost is neither a host name nor an IP address"),
        *(ConnectionRefusedByTargetError("x"), TimedOutError("x"), UnreachableError("expired")),
    )
    responses = [OutboundResponse(status, {"Location": url}, b"expired") for status in (200, 302, 400, 401, 404, 500)]
    problems = [
        *(endpoint_problems.describe_unreachable(failure, url) for failure in failures),
        *(endpoint_problems.describe_status(response, expected=204) for response in responses),
        *(
            endpoint_problems.describe_wrong_body(OutboundResponse(200, {}, body), expected='{"type": 1}')
            for body in (b"", b"expired")
        ),
        endpoint_problems.describe_forgery_response(responses[0]),
    ]
    language = pseudo_locales.find_language(pseudo_locales.ACCENTED)
    assert language is not None
    with translation.use_language(language):
        texts = [
            error_texts.translate_error(f"The specified events url could not be verified. {problem}")
            for problem in problems
        ]

    assert len(texts) == 16
    assert find_plain_texts(texts, ("expired", "localhost", "type", "PONG", "PING", "JSON")) == []
