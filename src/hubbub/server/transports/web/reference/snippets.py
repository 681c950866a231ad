"""Example requests as source code in curl, Python and JavaScript.

For operations that bots may call, the examples use discord.py and discord.js; for the others, aiohttp and fetch.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from hubbub.server.transports.web.reference.examples import ExampleFile, ExampleRequest, authorization

LINE_LENGTH_MAX: Final = 88
"""Maximum length of a line in characters; a longer value is written over several lines."""
_IDENTIFIER_PATTERN: Final = re.compile(r"[A-Za-z_$][\w$]*")
_VARIABLE_PATTERN: Final = re.compile(r"\$([A-Z][A-Z0-9_]*)")


class Snippet(NamedTuple):
    """An example request in one language."""

    language: str
    label: str
    code: str


def snippets(request: ExampleRequest, root: str) -> list[Snippet]:
    """Return an example request in all languages. `root` is the URL of the server."""
    return [
        Snippet("curl", "curl", curl_command(request, root)),
        Snippet(
            "python",
            "Python",
            discord_py_program(request, root) if request.is_for_bots else aiohttp_program(request, root),
        ),
        Snippet(
            "javascript",
            "JavaScript",
            discord_js_program(request, root) if request.is_for_bots else fetch_program(request, root),
        ),
    ]


# curl


def curl_command(request: ExampleRequest, root: str) -> str:
    """Return a shell command that sends an example request with curl."""
    operation = request.operation
    arguments = ["curl" if operation.method == "GET" else f"curl -X {operation.method}"]
    authorization_header = authorization(operation)
    if authorization_header:
        arguments.append(f'-H "Authorization: {authorization_header}"')
    arguments += [f"-H '{name}: {value}'" for name, value in request.headers.items()]
    if request.file is not None:
        if request.body is not None:
            arguments.append("-F " + _quote("payload_json=" + _json_text(request.body) + ";type=application/json"))
        arguments.append(f"-F '{request.file.field}=@{request.file.name};type={request.file.media_type}'")
    elif operation.is_form:
        arguments += [f"--data-urlencode {_quote(f'{name}={value}')}" for name, value in form_fields(request.body)]
    elif request.body is not None:
        arguments.append("-H 'Content-Type: application/json'")
        arguments.append("-d " + _quote(_json_text(request.body)))
    query = f"?{urlencode(request.query)}" if request.query else ""
    path = operation.url(**{name: f"${variable}" for name, variable in request.parameters.items()})
    arguments.append(f'"{root}/api/v10{path}{query}"')
    return " \\\n  ".join(arguments)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quote(text: str) -> str:
    """Quote text for a shell. Text with a variable is double-quoted, so that the shell expands it."""
    if _VARIABLE_PATTERN.search(text):
        return '"' + re.sub(r'(["\\`])', r"\\\1", text) + '"'
    return "'" + text.replace("'", "'\\''") + "'"


# Literals


@dataclass(frozen=True, slots=True)
class Dialect:
    """The literals of a language."""

    constants: dict[Any, str]
    """The literals of True, False and None."""
    variable: Callable[[str], str]
    """Function that returns the expression that reads a variable."""
    key: Callable[[str], str]
    """Function that returns a key of an object as it is written."""
    has_spaces: bool
    """Whether there are spaces inside the braces of an object on one line."""
    indent: str


PYTHON: Final = Dialect(
    {True: "True", False: "False", None: "None"}, lambda name: f'os.environ["{name}"]', _json_text, False, "    "
)
JAVASCRIPT: Final = Dialect(
    {True: "true", False: "false", None: "null"},
    lambda name: f"process.env.{name}",
    lambda name: name if _IDENTIFIER_PATTERN.fullmatch(name) else _json_text(name),
    True,
    "  ",
)


def literal(value: Any, dialect: Dialect, indent: str = "", width: int = LINE_LENGTH_MAX) -> str:
    """Return a JSON value as a literal of a language.

    `indent` is the indentation of the last line if there are several. `width` is the number of characters that are left
    in the first line.
    """
    inline_text = _inline_literal(value, dialect)
    if len(inline_text) <= width or not isinstance(value, dict | list) or not value:
        return inline_text
    inner_indent = indent + dialect.indent
    lines = []
    if isinstance(value, dict):
        for name, item in value.items():
            key_text = f"{inner_indent}{dialect.key(name)}: "
            lines.append(key_text + literal(item, dialect, inner_indent, LINE_LENGTH_MAX - len(key_text) - 1) + ",")
        return "{\n" + "\n".join(lines) + f"\n{indent}}}"
    lines = [
        inner_indent + literal(item, dialect, inner_indent, LINE_LENGTH_MAX - len(inner_indent) - 1) + ","
        for item in value
    ]
    return "[\n" + "\n".join(lines) + f"\n{indent}]"


def _inline_literal(value: Any, dialect: Dialect) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{dialect.key(name)}: {_inline_literal(item, dialect)}" for name, item in value.items())
        return f"{{ {pairs} }}" if dialect.has_spaces and pairs else f"{{{pairs}}}"
    if isinstance(value, list):
        return f"[{', '.join(_inline_literal(item, dialect) for item in value)}]"
    if isinstance(value, bool) or value is None:
        return dialect.constants[value]
    if isinstance(value, str) and (match := _VARIABLE_PATTERN.fullmatch(value)):
        return dialect.variable(match[1])
    return _json_text(value)


def form_fields(body: Any) -> list[tuple[str, str]]:
    """Return a body as the fields of a form."""
    fields = body if isinstance(body, dict) else {}
    return [
        (name, value if isinstance(value, str) else _json_text(value))
        for name, value in fields.items()
        if value is not None
    ]


# Python


def discord_py_program(request: ExampleRequest, root: str) -> str:
    """Return a program that uses discord.py."""
    operation = request.operation
    parameter_arguments = [f'{name}=os.environ["{variable}"]' for name, variable in request.parameters.items()]
    route = _format_call(
        "Route", [f'"{operation.method}"', f'"{operation.path}"', *parameter_arguments], "        ", "route = "
    )
    arguments = ["route"]
    if request.query:
        arguments.append(f"params={_inline_literal(request.query, PYTHON)}")
    if request.file is not None:
        arguments.append("form=form")
    elif request.body is not None:
        arguments.append("json=body")
    lines = ["import asyncio"]
    if request.file is not None and request.body is not None:
        lines.append("import json")
    lines += ["import os", ""]
    lines += ["import discord", "from discord.http import Route", "", f'Route.BASE = "{root}/api/v10"', "", ""]
    lines += [
        "async def main() -> None:",
        "    async with discord.Client(intents=discord.Intents.default()) as client:",
        '        await client.login(os.environ["BOT_TOKEN"])',
        f"        {route}",
    ]
    if request.body is not None:
        body_prefix = "        body = "
        lines.append(body_prefix + literal(request.body, PYTHON, "        ", LINE_LENGTH_MAX - len(body_prefix)))
    if request.file is not None:
        lines += _discord_py_form(request.file, request.body is not None)
    call = _format_call("client.http.request", arguments, "        ", "result = await ")
    lines += [f"        {call}", "        print(result)"]
    return _python_program(lines)


def _discord_py_form(file: ExampleFile, has_body: bool) -> list[str]:
    lines = ["        form = ["]
    if has_body:
        lines.append('            {"name": "payload_json", "value": json.dumps(body)},')
    return [
        *lines,
        "            {",
        f'                "name": "{file.field}",',
        f'                "value": open("{file.name}", "rb"),',
        f'                "filename": "{file.name}",',
        f'                "content_type": "{file.media_type}",',
        "            },",
        "        ]",
    ]


def aiohttp_program(request: ExampleRequest, root: str) -> str:
    """Return a program that uses aiohttp."""
    operation = request.operation
    headers: dict[str, str] = dict(request.headers)
    authorization_header = authorization(operation)
    arguments = ["url"]
    if request.query:
        arguments.append(f"params={_inline_literal(request.query, PYTHON)}")
    lines = ["import asyncio"]
    if request.file is not None and request.body is not None:
        lines.append("import json")
    uses_environment = bool(authorization_header or request.parameters or "$" in _json_text(request.body))
    lines += ["import os"] if uses_environment else []
    lines += ["", "import aiohttp", "", "", "async def main() -> None:"]
    path = operation.url(**{name: f"{{os.environ['{variable}']}}" for name, variable in request.parameters.items()})
    lines.append(f'    url = {"f" if request.parameters else ""}"{root}/api/v10{path}"')
    if authorization_header or headers:
        header_items = [f'"{name}": "{value}"' for name, value in headers.items()]
        header_items += (
            [f'"Authorization": {_python_header_expression(authorization_header)}'] if authorization_header else []
        )
        lines.append(f"    headers = {{{', '.join(header_items)}}}")
        arguments.append("headers=headers")
    if request.body is not None:
        body = dict(form_fields(request.body)) if operation.is_form else request.body
        body_prefix = "    body = "
        lines.append(body_prefix + literal(body, PYTHON, "    ", LINE_LENGTH_MAX - len(body_prefix)))
        if request.file is None:
            arguments.append("data=body" if operation.is_form else "json=body")
    if request.file is not None:
        file = request.file
        lines.append("    form = aiohttp.FormData()")
        if request.body is not None:
            lines.append('    form.add_field("payload_json", json.dumps(body), content_type="application/json")')
        lines.append(f'    form.add_field("{file.field}", open("{file.name}", "rb"), filename="{file.name}")')
        arguments.append("data=form")
    call = _format_call(f"session.{operation.method.lower()}", arguments, "        ", "async with ", " as response:")
    lines += [
        "    async with aiohttp.ClientSession() as session:",
        f"        {call}",
        "            response.raise_for_status()",
        f"            print({_python_result_expression(request)})",
    ]
    return _python_program(lines)


def _python_header_expression(header: str) -> str:
    """Return a header with a variable as an expression."""
    prefix, _, variable = header.rpartition("$")
    return f"f\"{prefix}{{os.environ['{variable}']}}\"" if prefix else f'os.environ["{variable}"]'


def _python_result_expression(request: ExampleRequest) -> str:
    operation = request.operation
    if operation.result is NoneType:
        return "response.status"
    return "await response.json()" if operation.media_type == "application/json" else "await response.read()"


def _python_program(lines: list[str]) -> str:
    return "\n".join([*lines, "", "", "asyncio.run(main())"])


def _format_call(function: str, arguments: list[str], indent: str, prefix: str, suffix: str = "") -> str:
    """Return a function call between `prefix` and `suffix`, over several lines if it is long."""
    one_line_call = f"{prefix}{function}({', '.join(arguments)}){suffix}"
    if len(indent) + len(one_line_call) <= LINE_LENGTH_MAX:
        return one_line_call
    argument_lines = "".join(f"{indent}    {argument},\n" for argument in arguments)
    return f"{prefix}{function}(\n{argument_lines}{indent}){suffix}"


# JavaScript


def discord_js_program(request: ExampleRequest, root: str) -> str:
    """Return a module that uses discord.js."""
    operation = request.operation
    imports = ['import { REST } from "discord.js";']
    options: list[str] = []
    if request.query:
        options.append(f"query: new URLSearchParams({_inline_literal(request.query, JAVASCRIPT)})")
    if request.body is not None:
        width = LINE_LENGTH_MAX - len("  body: ,")
        options.append(f"body: {literal(request.body, JAVASCRIPT, '  ', width)}")
    if request.file is not None:
        imports.insert(0, 'import { readFile } from "node:fs/promises";')
        file = request.file
        key_property = "" if file.field == "files[0]" else f'key: "{file.field}", '
        data_property = f'data: await readFile("{file.name}")'
        options.append(
            f'files: [{{ {key_property}name: "{file.name}", contentType: "{file.media_type}", {data_property} }}]'
        )
    lines = [
        *imports,
        "",
        f'const rest = new REST({{ api: "{root}/api" }}).setToken(process.env.BOT_TOKEN);',
        *_javascript_variables(request),
        "",
        f"const result = await rest.{operation.method.lower()}({_javascript_path(request)}{_options_argument(options)});",
        "console.log(result);",
    ]
    return "\n".join(lines)


def fetch_program(request: ExampleRequest, root: str) -> str:
    """Return a module that uses fetch."""
    operation = request.operation
    lines = ['import { openAsBlob } from "node:fs";', ""] if request.file is not None else []
    lines += _javascript_variables(request)
    query = f"?{urlencode(request.query)}" if request.query else ""
    lines.append(f"const url = {_javascript_path(request, f'{root}/api/v10', query)};")
    authorization_header = authorization(operation)
    headers = [f'"{name}": "{value}"' for name, value in request.headers.items()]
    headers += [f"Authorization: {_javascript_header_expression(authorization_header)}"] if authorization_header else []
    options = [] if operation.method == "GET" else [f'method: "{operation.method}"']
    body = request.body
    if request.file is not None:
        lines += ["const form = new FormData();"]
        if body is not None:
            width = LINE_LENGTH_MAX - len('form.set("payload_json", JSON.stringify());')
            body_literal = literal(body, JAVASCRIPT, "", width)
            lines.append(f'form.set("payload_json", JSON.stringify({body_literal}));')
        file = request.file
        lines.append(f'form.set("{file.field}", await openAsBlob("{file.name}"), "{file.name}");')
        options.append("body: form")
    elif body is not None and operation.is_form:
        width = LINE_LENGTH_MAX - len("  body: new URLSearchParams(),")
        body_literal = literal(dict(form_fields(body)), JAVASCRIPT, "  ", width)
        options.append(f"body: new URLSearchParams({body_literal})")
    elif body is not None:
        headers.append('"Content-Type": "application/json"')
        width = LINE_LENGTH_MAX - len("  body: JSON.stringify(),")
        options.append(f"body: JSON.stringify({literal(body, JAVASCRIPT, '  ', width)})")
    if headers:
        options.insert(0 if operation.method == "GET" else 1, f"headers: {{ {', '.join(headers)} }}")
    result_expression = "response.status"
    if operation.result is not NoneType:
        is_json = operation.media_type == "application/json"
        result_expression = "await response.json()" if is_json else "await response.arrayBuffer()"
    lines += [
        "",
        f"const response = await fetch(url{_options_argument(options)});",
        "if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);",
        f"console.log({result_expression});",
    ]
    return "\n".join(lines).lstrip("\n")


def _options_argument(options: list[str]) -> str:
    return ", {\n" + "".join(f"  {option},\n" for option in options) + "}" if options else ""


def _javascript_variables(request: ExampleRequest) -> list[str]:
    names = list(dict.fromkeys(request.parameters.values()))
    return [f"const {{ {', '.join(names)} }} = process.env;"] if names else []


def _javascript_path(request: ExampleRequest, prefix: str = "", suffix: str = "") -> str:
    """Return the path as a string or template. Parameters that are not IDs are encoded."""
    if not request.parameters:
        return f'"{prefix}{request.operation.path}{suffix}"'
    path_expressions = {
        name: f"${{{variable}}}" if name.endswith("_id") else f"${{encodeURIComponent({variable})}}"
        for name, variable in request.parameters.items()
    }
    return f"`{prefix}{request.operation.url(**path_expressions)}{suffix}`"


def _javascript_header_expression(header: str) -> str:
    prefix, _, variable = header.rpartition("$")
    return f"`{prefix}${{process.env.{variable}}}`" if prefix else f"process.env.{variable}"
