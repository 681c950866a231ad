"""Extract the texts of JavaScript modules for translation.

Babel's own extractor skips calls inside the arguments of other calls, so this one has its own tokens.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_PART: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>[#@]?[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d[\w.]*)
    |(?P<template>`)
    |(?P<slash>/)
    |(?P<sign>=>|\?\.|\.\.\.|\+\+|--|.)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_TEMPLATE_TEXT: Final = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_WORDS_BEFORE_REGEX: Final = frozenset({"return", "typeof", "case", "in", "of", "do", "else", "await", "yield", "void"})


class Token(NamedTuple):
    """A token of JavaScript: a string literal, a name, a number, a regular expression or a sign."""

    kind: str
    text: str
    line: int


class Call(NamedTuple):
    """A call of a function that takes texts."""

    function: str
    arguments: tuple[str | None, ...]
    """The text arguments; None for an argument that is not a literal."""
    line: int


def tokenize(code: str) -> Iterator[Token]:
    """Yield the tokens of a module. Code inside of template literals is yielded like other code."""
    previous = Token("sign", "", 0)
    depth, position, line = [0], 0, 1
    """Open braces by level of template literals."""
    while position < len(code):
        match = _PART.match(code, position)
        assert match is not None
        kind, text = str(match.lastgroup), match[0]
        if kind == "slash" and (regex := _REGEX.match(code, position)) and _can_precede_regex(previous):
            kind, text = "regex", regex[0]
        elif kind == "template" or (kind == "sign" and text == "}" and len(depth) > 1 and depth[-1] == 0):
            # The text of a template literal, from its start or from the end of an expression inside.
            if kind == "sign":
                depth.pop()
            content = _TEMPLATE_TEXT.match(code, position + 1)
            assert content is not None
            is_end = code[content.end()] == "`"
            text = code[position : content.end() + (1 if is_end else 2)]
            kind = "string" if is_end and kind == "template" else "template"
            if not is_end:
                depth.append(0)
        elif text in ("{", "}"):
            depth[-1] += 1 if text == "{" else -1
        position += len(text)
        if kind != "space":
            # After an opened template literal an expression starts.
            previous = Token(kind, text, line)
            yield previous
            if kind == "template" and text.endswith("${"):
                previous = Token("sign", "(", line)
        line += text.count("\n")


def _can_precede_regex(token: Token) -> bool:
    if token.kind == "name":
        return token.text in _WORDS_BEFORE_REGEX
    return token.kind == "sign" and token.text not in (")", "]", "}", "++", "--")


def find_calls(code: str, functions: Mapping[str, int]) -> Iterator[Call]:
    """Yield all calls of functions, given with the number of their text arguments. Definitions are no calls."""
    tokens = list(tokenize(code))
    for index, token in enumerate(tokens):
        if token.kind != "name" or token.text not in functions or tokens[index + 1 : index + 2] == []:
            continue
        before = tokens[index - 1].text if index else ""
        if tokens[index + 1].text != "(" or before in (".", "?.", "function"):
            continue
        arguments: list[str | None] = []
        position = index + 2
        for _ in range(functions[token.text]):
            text, position = _read_text(tokens, position)
            arguments.append(text)
            if text is None:
                break
        yield Call(token.text, tuple(arguments), token.line)


def _read_text(tokens: list[Token], position: int) -> tuple[str | None, int]:
    """Return the text of an argument, which may be joined from literals, and the position of the next argument."""
    text = ""
    while True:
        if tokens[position].kind != "string":
            return None, position
        text += _decode(tokens[position].text)
        after = tokens[position + 1].text
        if after == "+":
            position += 2
        elif after in (",", ")"):
            return text, position + 2
        else:
            return None, position


def _decode(literal: str) -> str:
    """Return the value of a string literal."""
    body = literal[1:-1]
    if "\\" not in body:
        return body
    body = re.sub(r"\\x([0-9a-fA-F]{2})", r"\\u00\1", body)
    body = re.sub(r"\\u\{([0-9a-fA-F]+)\}", lambda match: chr(int(match[1], 16)), body)
    body = re.sub(r"\\([^\"\\/bfnrtu])", r"\1", body)
    value: str = json.loads('"' + re.sub(r'(?<!\\)"', '\\"', body).replace("\n", "\\n") + '"')
    return value
