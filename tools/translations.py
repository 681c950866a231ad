"""Extract the messages of pages, mail and chat client, and update the translations (docs/translating.md).

Run `python -m tools.translations` to write the template and the PO files of all languages. The files have no dates and no line
numbers, so that they change only with the messages.
"""

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from babel import Locale
from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po

from hubbub.protocol.permissions import permission_names
from hubbub.protocol.resources.developers import PRIVILEGED_INTENTS
from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.translation import DOMAIN, FOLDER, TEMPLATE, list_translations
from hubbub.server.transports.web import error_texts
from hubbub.server.transports.web.consent import permission_label
from tools import javascript_texts

PACKAGE: Final = Path(__file__).resolve().parent.parent / "src" / "hubbub"
SERVER: Final = PACKAGE / "server"
STATIC: Final = SERVER / "transports" / "web" / "static"
TEMPLATES: Final = (SERVER / "transports" / "web" / "templates", SERVER / "identity" / "account_emails" / "templates")
ENGLISH_TEMPLATES: Final = ("docs",)
"""Folders of templates that are in English: the API reference (decisions/0136)."""
ERROR_SLICES: Final = (
    "identity/accounts",
    "identity/account_emails",
    "identity/administration",
    "identity/announcements",
    "identity/application_administration",
    "identity/applications",
    "identity/developers",
    "identity/identity_providers",
    "identity/imports",
    "identity/legal_documents",
    "identity/login_providers",
    "identity/moderation_decisions",
    "identity/oauth2",
    "identity/passkeys",
    "identity/registration",
    "identity/teams",
    "identity/users",
    "places/activity_proxies",
    "places/guild_administration",
    "play/skus",
    "play/subscriptions",
    "talk/reports",
)
"""Slices whose error messages the forms of pages show."""

PYTHON_FUNCTIONS: Final = {"gettext": None, "gettext_noop": None, "ngettext": (1, 2)}
TEMPLATE_FUNCTIONS: Final = {"_": None, "gettext": None, "ngettext": (1, 2)}
JAVASCRIPT_FUNCTIONS: Final = {"t": 1, "tn": 2, "tNodes": 1}
"""Functions of `ui/translation.js` with the number of their text arguments."""
TEMPLATE_OPTIONS: Final = {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true", "silent": "false"}

_ERROR_CODE_PATTERN: Final = re.compile("[A-Z][A-Z0-9_]+")
_PROBLEM_FUNCTION_PATTERN: Final = re.compile(r"_?find_\w+_problem")

Message = tuple[str | tuple[str, ...], list[str]]
"""ID of a message, with the plural if it has one, and comments for translators."""


def javascript_modules() -> list[Path]:
    """Return the scripts of the web pages and the chat client, without third-party files and the API reference."""
    paths = [path for path in STATIC.rglob("*.js") if "third_party" not in path.parts]
    return sorted(path for path in paths if not path.name.startswith("docs"))


def extract_messages() -> Catalog:
    """Return the catalogue of all messages in English."""
    catalog = Catalog(charset="utf-8")
    for path, message, comments in find_messages():
        catalog.add(message, None, [(path.relative_to(PACKAGE).as_posix(), 0)], auto_comments=comments)
    return catalog


def find_messages() -> Iterator[tuple[Path, str | tuple[str, ...], list[str]]]:
    """Yield each message of the code with its file and the comments for translators."""
    for folder in TEMPLATES:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            if path.relative_to(folder).parts[0] not in ENGLISH_TEMPLATES:
                yield from _extract("jinja2.ext:babel_extract", path, TEMPLATE_FUNCTIONS, TEMPLATE_OPTIONS)
    for path in sorted(SERVER.rglob("*.py")):
        if b"gettext" in path.read_bytes():
            yield from _extract("python", path, PYTHON_FUNCTIONS, {})
    for name in ERROR_SLICES:
        for path in sorted((SERVER / name).rglob("*.py")):
            for text in _find_error_messages(path):
                yield path, text, []
    for kind in error_texts.SHOWN_ERRORS:
        yield PACKAGE / "protocol" / "errors.py", kind.message, []
    for rule in SCOPES.values():
        yield PACKAGE / "protocol" / "scopes.py", rule.description, []
    for intent in PRIVILEGED_INTENTS.values():
        yield PACKAGE / "protocol" / "resources" / "developers.py", intent.description, []
    for name in permission_names((1 << 64) - 1):
        yield PACKAGE / "protocol" / "permissions.py", permission_label(name), []
    for path in javascript_modules():
        for call in javascript_texts.find_calls(path.read_text(encoding="utf-8"), JAVASCRIPT_FUNCTIONS):
            if None not in call.arguments:
                texts = [str(text) for text in call.arguments]
                yield path, texts[0] if len(texts) == 1 else tuple(texts), []


def _find_error_messages(path: Path) -> Iterator[str]:
    """Yield the literal messages of API errors.

    They are arguments of `errors.invalid`, `form.add` and `errors.X(message=...)`, values of variables `message`, pairs of a
    code and a message, and results of functions `find_..._problem`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        nodes: list[ast.expr | None] = []
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="errors" | "form"))):
                nodes = [*node.args[2:3], *(keyword.value for keyword in node.keywords if keyword.arg == "message")]
            case ast.Assign(targets=[ast.Name(id="message")]):
                nodes = [node.value]
            case ast.Tuple(elts=[ast.Constant(value=str() as code), message]) if _ERROR_CODE_PATTERN.fullmatch(code):
                nodes = [message]
            case ast.FunctionDef() if _PROBLEM_FUNCTION_PATTERN.fullmatch(node.name):
                nodes = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return)]
        for found in nodes:
            if isinstance(found, ast.Constant) and isinstance(found.value, str):
                yield found.value


def _extract(
    method: str, path: Path, functions: dict[str, tuple[int, ...] | None], options: dict[str, str]
) -> Iterator[tuple[Path, str | tuple[str, ...], list[str]]]:
    with path.open("rb") as file:
        for _, message, comments, _ in extract(
            method, file, functions, ["Translators:"], {"encoding": "utf-8", **options}
        ):
            yield path, message, comments


# Files


def render_template(catalog: Catalog) -> bytes:
    """Return the content of the template."""
    return _render(catalog, _header({"Content-Type": "text/plain; charset=utf-8"}))


def update_translation(name: str, template: Catalog) -> bytes:
    """Return the content of a PO file with all messages of the template and the translations that it has."""
    path = FOLDER / name / f"{DOMAIN}.po"
    locale = Locale.parse(name, sep="-")
    catalog = read_po(io.BytesIO(path.read_bytes()), locale=locale) if path.exists() else Catalog(locale=locale)
    catalog.update(template, no_fuzzy_matching=True)
    header = {
        "Language": name,
        "Content-Type": "text/plain; charset=utf-8",
        "Plural-Forms": f"nplurals={catalog.num_plurals}; plural={catalog.plural_expr};",
    }
    return _render(catalog, _header(header))


def _header(header_fields: dict[str, str]) -> bytes:
    lines = "".join(f'"{name}: {value}\\n"\n' for name, value in header_fields.items())
    return f'msgid ""\nmsgstr ""\n{lines}\n'.encode()


def _render(catalog: Catalog, header: bytes) -> bytes:
    buffer = io.BytesIO()
    write_po(buffer, catalog, width=0, sort_output=True, omit_header=True, include_lineno=False)
    return header + buffer.getvalue().rstrip(b"\n") + b"\n"


def main() -> None:
    """Write the template and update all translations; `--add TAG` adds a language."""
    added_tags = sys.argv[2:] if sys.argv[1:2] == ["--add"] else []
    template = extract_messages()
    TEMPLATE.write_bytes(render_template(template))
    for name in sorted({*list_translations(), *added_tags}):
        (FOLDER / name).mkdir(exist_ok=True)
        encoded_catalog = update_translation(name, template)
        (FOLDER / name / f"{DOMAIN}.po").write_bytes(encoded_catalog)
        catalog = read_po(io.BytesIO(encoded_catalog), locale=Locale.parse(name, sep="-"))
        untranslated_count = sum(
            1 for message in catalog if message.id and (message.fuzzy or not all(_texts(message.string)))
        )
        print(f"{name}: {len(catalog)} messages, {untranslated_count} without translation")


def _texts(value: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [value or ""] if value is None or isinstance(value, str) else list(value)


if __name__ == "__main__":
    main()
