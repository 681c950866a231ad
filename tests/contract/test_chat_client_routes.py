"""Every request of the chat client is an operation of the protocol, with its method and path (decisions/0159)."""

import re
from collections.abc import Iterator

from tests.contract.chat_client_modules import FOLDER
from tests.contract.tables import operations

CLIENT = FOLDER.parent
PAGE_PATH_PATTERN = re.compile(
    r"/(app|cdn|login|logout|developers|activities|invite|settings|application-directory|api|service_worker\.js)([/?]|$)"
)
"""Paths of pages and files, which are not operations of the API."""
UNRESOLVED = {
    "account/passkeys.js: `${path}/delete`": "a name inside of a list",
    "messages/reaction_users.js: this.#path": "a field with the result of reactionPath",
    "messages/reactions.js: `${reactionPath(message, emoji)}/@me`": "a function of another module",
    "settings/events/dates.js: `${path}/exceptions`": "an argument",
    "settings/events/dates.js: `${path}/exceptions/${exception.event_exception_id}`": "an argument",
    "settings/expressions/expressions.js: kind.path(view)": "emoji, stickers or sounds",
    "settings/expressions/expressions.js: `${kind.path(view)}/${kind.idOf(item)}`": "emoji, stickers or sounds",
}
"""Requests whose path is not in their module, and the reason; the second test checks the start of these paths."""

RESOLVED_NAMES_MAX = 3
"""Largest number of names in a row that lead to a literal."""

_REQUEST_PATTERN = re.compile(r"(?:[aA]pi|^ +)\.request\(\s*", re.MULTILINE)
_NAME_PATTERN = re.compile(r"(\w+)(?:\([^()]*\))?")


def modules() -> Iterator[tuple[str, str]]:
    """Yield the path and the code of every module without comments; the rehearsal's pages use the control API."""
    for path in sorted(CLIENT.rglob("*.js")):
        name = path.relative_to(CLIENT).as_posix()
        if not name.startswith(("generated/", "rehearsal/")):
            code = re.sub(
                r"/\*.*?\*/|^\s*//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
            )
            yield name, code


def read_argument(code: str, start: int) -> tuple[str, int]:
    """Return the JavaScript expression at `start`, up to the next comma or closing parenthesis, and its end."""
    depth, index, quote = 0, start, ""
    while index < len(code):
        character = code[index]
        if quote:
            if character == "\\":
                index += 1
            elif character == quote:
                quote = ""
            elif quote == "`" and code.startswith("${", index):
                _, index = read_argument(code, index + 2)
        elif character in "\"'`":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                break
            depth -= 1
        elif character in ",;" and depth == 0:
            break
        index += 1
    return code[start:index].strip(), index


def read_literal(code: str, start: int) -> tuple[str, int]:
    """Return the string or template at `start` and its end; a value in a template becomes `{expression}`."""
    quote, index, text = code[start], start + 1, ""
    while code[index] != quote:
        if quote == "`" and code.startswith("${", index):
            expression, index = read_argument(code, index + 2)
            text += f"{{{expression}}}"
        else:
            text += code[index]
        index += 1
    return text, index + 1


def literals(expression: str) -> list[str]:
    """Return the strings and templates of an expression, without those inside of a template."""
    texts, index = [], 0
    while (match := re.compile('["`]').search(expression, index)) is not None:
        text, index = read_literal(expression, match.start())
        texts.append(text)
    return texts


def read_expression(code: str, name: str, position: int) -> str:
    """Return the value of a constant, or the result of a function with one expression; empty if there is none.

    Of several constants with the same name, the last one before `position` counts."""
    function = re.search(rf"\b(?:const {name} = \([^)]*\) =>\s*|function {name}\([^)]*\) \{{\s*return )", code)
    if function is not None:
        return read_argument(code, function.end())[0]
    assignments = list(re.finditer(rf"(?<![\w.]){name} =\s+(?!=)", code))
    earlier = [match for match in assignments if match.start() < position] or assignments
    return read_argument(code, earlier[-1].end())[0] if earlier else ""


def resolve(code: str, expression: str, position: int, depth: int = 0) -> list[str]:
    """Return the paths that an expression can have: its literals, or those of the names of the module that it uses."""
    if depth > RESOLVED_NAMES_MAX:
        return []
    if (name := _NAME_PATTERN.fullmatch(expression)) is not None:
        name_expression = read_expression(code, name[1], position)
        return resolve(code, name_expression, position, depth + 1) if name_expression else []
    paths = []
    for text in literals(expression):
        prefix = re.match(r"\{(\w+(?:\([^)]*\))?)\}", text)
        if prefix is None:
            paths.append(text)
        else:
            paths += [start + text[prefix.end() :] for start in resolve(code, prefix[1], position, depth + 1)]
    return [path for path in paths if path.startswith("/")]


def segments(path: str) -> list[str]:
    """Return the segments of a path without its query; the empty string stands for a value."""
    path_without_values = re.sub(r"\{[^/]*?(?:\{.*?\})?[^/{}]*\}", "{}", path)
    return ["" if "{}" in part else part for part in path_without_values.partition("?")[0].split("/")[1:]]


def matches(path: str, route: str) -> bool:
    """Return whether a path of the client can be a request to the route of an operation; an enum's value is a number."""
    path_segments, route_segments = segments(path), segments(route)
    return len(path_segments) == len(route_segments) and all(
        not expected or part == expected or (not part and expected.isdecimal())
        for part, expected in zip(path_segments, route_segments, strict=True)
    )


def requests() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the place of every request of the client, its methods and its paths."""
    for name, code in modules():
        for match in _REQUEST_PATTERN.finditer(code):
            method, end = read_argument(code, match.end())
            path, _ = read_argument(code, end + 1)
            yield (
                f"{name}: {path}",
                [text for text in literals(method) if text.isupper()],
                resolve(code, path, match.start()),
            )


def test_every_request_is_an_operation() -> None:
    routes = [(operation.method, operation.path) for operation in operations().values()]
    checked_count = 0
    unknown_requests, open_places = [], set()
    for place, methods, paths in requests():
        if not methods or not paths:
            open_places.add(place)
        for method in methods:
            for path in paths:
                checked_count += 1
                if not any(method == route_method and matches(path, route) for route_method, route in routes):
                    unknown_requests.append(f"{method} {path} ({place})")

    assert unknown_requests == []
    assert open_places == UNRESOLVED.keys()
    assert checked_count > 200


def test_every_path_begins_a_route() -> None:
    routes = [segments(operation.path) for operation in operations().values()]
    unknown_paths = [
        f"{name}: {path}"
        for name, code in modules()
        for match in re.finditer(r'["`](?=/[a-z])', code)
        # A quote in a regular expression, such as /["`]/gi, starts no path; paths have one line.
        if "\n" not in (path := read_literal(code, match.start())[0]) and not PAGE_PATH_PATTERN.match(path)
        if not any(
            len(path_segments := segments(path)) <= len(route)
            and all(not expected or part == expected for part, expected in zip(path_segments, route, strict=False))
            for route in routes
        )
    ]

    assert unknown_paths == []
