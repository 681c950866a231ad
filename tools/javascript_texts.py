"""Extract the texts of JavaScript modules for translation.

The tokens are those of Babel's lexer. Babel's own extractor skips calls inside the arguments of other calls.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from babel.messages.jslexer import Token, tokenize, unquote_string


class Call(NamedTuple):
    """A call of a function that takes texts."""

    function: str
    arguments: tuple[str | None, ...]
    """The text arguments; None for one that is not a literal, after which the others are left out."""
    line: int
    value_names: frozenset[str] | None
    """Names of the values for placeholders, from the object literal in the last argument.

    None if they are unknown, because the last argument is another expression or contains a spread."""


def find_calls(code: str, functions: Mapping[str, int]) -> Iterator[Call]:
    """Yield all calls of the functions, which are given with the number of their text arguments. Definitions are left out."""
    tokens = [token for token in tokenize(code, dotted=False) if token.type not in ("linecomment", "multilinecomment")]
    for index, token in enumerate(tokens):
        if token.type == "template_string":
            for expression, line in _find_expressions(token):
                for call in find_calls(expression, functions):
                    yield call._replace(line=call.line + line - 1)
        if token.type != "name" or token.value not in functions or index + 1 == len(tokens):
            continue
        # Babel's lexer reads the spread operator as three dots.
        preceding_text = "".join(preceding_token.value for preceding_token in tokens[max(index - 3, 0) : index])
        is_method = preceding_text.endswith((".", "?.")) and not preceding_text.endswith("...")
        if tokens[index + 1].value != "(" or is_method or preceding_text.endswith("function"):
            continue
        arguments: list[str | None] = []
        position = index + 2
        for _ in range(functions[token.value]):
            text, position = _read_text(tokens, position)
            arguments.append(text)
            if text is None:
                break
        yield Call(token.value, tuple(arguments), token.lineno, _read_value_names(tokens, position))


def _find_expressions(token: Token) -> Iterator[tuple[str, int]]:
    """Yield the expressions of a template literal, with their lines."""
    depth, start = 0, 0
    text = token.value
    for position, character in enumerate(text):
        if depth == 0 and text.startswith("${", position - 1) and character == "{":
            depth, start = 1, position + 1
        elif depth and character in "{}":
            depth += 1 if character == "{" else -1
            if depth == 0:
                yield text[start:position], token.lineno + text.count("\n", 0, start)


def _read_text(tokens: list[Token], position: int) -> tuple[str | None, int]:
    """Return the text of an argument, which may be joined from literals, and the position of the next argument."""
    text = ""
    while tokens[position].type == "string":
        text += unquote_string(tokens[position].value)
        next_symbol = tokens[position + 1].value
        if next_symbol in (",", ")"):
            return text, position + 2
        if next_symbol != "+":
            break
        position += 2
    return None, position


def _read_value_names(tokens: list[Token], position: int) -> frozenset[str] | None:
    """Return the property names of the object literal that is the last argument of a call, as `Call.value_names`.

    `position` is that of the argument after the texts, or of the token after the call; the result is empty without a further
    argument."""
    if tokens[position - 1].value == ")":
        return frozenset()
    depth, start = 0, position
    for end in range(position, len(tokens)):
        symbol = tokens[end].value if tokens[end].type == "operator" else ""
        if depth == 0 and symbol == ",":
            start = end + 1
        elif symbol in ("(", "[", "{"):
            depth += 1
        elif symbol in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                return _read_property_names(tokens[start:end])
    return None


def _read_property_names(tokens: list[Token]) -> frozenset[str] | None:
    if not tokens or tokens[0].value != "{":
        return None
    names = set()
    depth = 0
    for index, token in enumerate(tokens):
        symbol = token.value if token.type == "operator" else ""
        if depth == 1 and tokens[index - 1].value in ("{", ","):
            if token.type == "name":
                names.add(token.value)
            elif symbol == ".":
                return None
        if symbol in ("(", "[", "{"):
            depth += 1
        elif symbol in (")", "]", "}"):
            depth -= 1
    return frozenset(names)
