"""The notation of `facts.txt`: one line per field, with its name, type and limits.

    GET /channels/{channel_id}/messages list_messages: {
      query: {
        limit?: integer 1..100
      }
      200: [MessageResponse] | null
    }
    ForumTagResponse: {
      id: snowflake
      name: string
      emoji_id: snowflake | null
    }

`name?` is an optional field, `*` stands for all other fields. `A | B` matches one of the types, `A & B` all of them.
`[A]` is an array, `{A}` a map. `1..100` limits a number, the length of a string, or the number of elements.
`of` lists the possible values. Every operation also returns `RatelimitedResponse` with 429 and `ErrorResponse` with 4XX.
"""

import json
import re
import textwrap
from typing import Any, Final

METHODS: Final = ("get", "post", "put", "patch", "delete")

_ATOM_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "string": {"type": "string"},
    "timestamp": {"type": "string", "format": "date-time"},
    "uri": {"type": "string", "format": "uri"},
    "nonce": {"type": "string", "format": "nonce"},
    "snowflake": {"$ref": "#/components/schemas/SnowflakeType"},
    "base64": {"type": "string", "contentEncoding": "base64"},
    "binary": {"type": "string", "contentEncoding": "binary"},
    "integer": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "double": {"type": "number", "format": "double"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "any": {},
}
_LIMITS: Final = {
    "string": ("minLength", "maxLength"),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
_SNOWFLAKE: Final = {"type": "string", "pattern": "^(0|[1-9][0-9]*)$", "format": "snowflake"}
_PROSE_KEYS: Final = frozenset({"description", "title", "x-discord-union"})
_REFERENCE: Final = "#/components/schemas/"
_LINE_WIDTH: Final = 120

_TOKEN_PATTERN: Final = re.compile(
    r"""(?P<operation>(?:GET|POST|PUT|PATCH|DELETE)\s+\S+\s+\w+:)
    |(?P<key>[\w.@$*\[\]-]+\??:)
    |(?P<range>-?[\d.]*?\.\.(?:-?\d[\d.]*)?)
    |(?P<value>"(?:\\.|[^"\\])*"|-?\d+)
    |(?P<word>[A-Za-z]\w*)
    |(?P<mark>[\[\]{}|&])
    |(?P<space>\s+|\#[^\n]*)""",
    re.VERBOSE,
)


# Rendering: from an OpenAPI document to text.


def render(document: dict[str, Any]) -> str:
    """Return the facts of an OpenAPI document as text: operations by path, then models by name."""
    paragraphs = []
    for path, path_item in sorted(document["paths"].items()):
        for method in METHODS:
            if method in path_item:
                operation = path_item[method]
                body = _render_operation(
                    operation, [*path_item.get("parameters", ()), *operation.get("parameters", ())]
                )
                paragraphs.append(_wrap(f"{method.upper()} {path} {operation['operationId']}: {body}"))
    paragraphs += [
        _wrap(f"{name}: {_render_schema(schema)}")
        for name, schema in sorted(document["components"]["schemas"].items())
        if name != "SnowflakeType"
    ]
    return "\n".join(paragraphs) + "\n"


def _render_operation(operation: dict[str, Any], parameters: list[dict[str, Any]]) -> str:
    fields = []
    query = {parameter["name"]: parameter for parameter in parameters if parameter["in"] == "query"}
    if query:
        required_names = [name for name, parameter in query.items() if parameter.get("required")]
        schema = {
            "properties": {name: parameter["schema"] for name, parameter in query.items()},
            "required": required_names,
        }
        fields.append(f"query: {_render_schema({'type': 'object', **schema})}")
    contents = operation.get("requestBody", {}).get("content", {})
    if contents:
        # The other content types have the same fields, and files.
        content = contents.get("application/json") or next(iter(contents.values()))
        fields.append(f"body: {_render_schema(content['schema'])}")
    for status, response in sorted(operation["responses"].items()):
        if status not in ("429", "4XX"):
            fields.append(f"{status}: {_render_response(response)}")
    return _block(fields)


def _render_response(response: dict[str, Any]) -> str:
    content = response.get("content")
    if not content:
        return "empty"
    ((media_type, body),) = content.items()
    return _render_schema(body["schema"]) if media_type == "application/json" else f"media {json.dumps(media_type)}"


def _render_schema(schema: dict[str, Any] | bool) -> str:
    if schema is False:
        return "nothing"
    assert isinstance(schema, dict)
    schema = {key: value for key, value in schema.items() if key not in _PROSE_KEYS}
    kinds = schema.pop("type", None)
    kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
    is_nullable = "null" in kinds and len(kinds) > 1
    if is_nullable:
        kinds.remove("null")
    values = schema.pop("enum", None)
    if "oneOf" in schema and all("const" in arm for arm in schema["oneOf"]):
        values = [arm["const"] for arm in schema.pop("oneOf")]
    if values is not None:
        values = [value for value in values if value is not None]
        # A reference to the full enumeration is redundant beside a list of values.
        schema.pop("allOf", None)
    arms = [*schema.pop("oneOf", ()), *schema.pop("anyOf", ())]
    is_nullable = is_nullable or {"type": "null"} in arms
    arms = [arm for arm in arms if arm != {"type": "null"}]
    if arms:
        assert not schema, schema
        text = " | ".join(map(_render_schema, arms))
    elif "allOf" in schema:
        text = " & ".join(map(_render_schema, schema.pop("allOf")))
        assert not schema, schema
    elif "$ref" in schema:
        name = schema.pop("$ref").removeprefix(_REFERENCE)
        text = "snowflake" if name == "SnowflakeType" else name
        assert not schema, schema
    else:
        text = _render_plain(kinds[0] if kinds else "", schema)
        if values is not None:
            text += " of " + " ".join(map(json.dumps, sorted(values, key=lambda value: (str(type(value)), value))))
    return f"{text} | null" if is_nullable else text


def _render_plain(kind: str, schema: dict[str, Any]) -> str:
    lowest, highest = (schema.pop(key, "") for key in _LIMITS.get(kind, ("", "")))
    limits = f" {lowest}..{highest}" if (lowest, highest) != ("", "") else ""
    if kind == "array":
        unique = " unique" if schema.pop("uniqueItems", False) else ""
        text = f"[{_render_schema(schema.pop('items'))}]{unique}"
    elif kind == "object":
        required_names = schema.pop("required", ())
        fields = [
            f"{name}{'' if name in required_names else '?'}: {_render_schema(field)}"
            for name, field in schema.pop("properties", {}).items()
        ]
        additional_properties = schema.pop("additionalProperties", None)
        if additional_properties is not None and not fields:
            text = f"{{{_render_schema(additional_properties)}}}"
        else:
            text = _block(
                fields if additional_properties is None else [*fields, f"*: {_render_schema(additional_properties)}"]
            )
    else:
        pattern = schema.pop("pattern", None)
        atom_schema = {"type": kind} if kind else {}
        atom_schema |= {key: schema.pop(key) for key in ("format", "contentEncoding") if key in schema}
        (text,) = (name for name, atom in _ATOM_SCHEMAS.items() if atom == atom_schema)
        if pattern is not None:
            limits += f" matching {json.dumps(pattern)}"
    assert not schema, schema
    return text + limits


def _block(fields: list[str]) -> str:
    return "{\n" + "".join(textwrap.indent(field, "  ") + "\n" for field in fields) + "}"


def _wrap(text: str) -> str:
    """Wrap long lines; continuation lines are indented by four more spaces."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line, _LINE_WIDTH, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


# Parsing: from text to an OpenAPI document.


def parse(text: str) -> dict[str, Any]:
    """Return the OpenAPI document with the facts of a text that `render` returned."""
    return _Parser(text).document()


class _Parser:
    """A recursive descent parser over the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        end = 0
        for match in _TOKEN_PATTERN.finditer(text):
            assert match.start() == end, f"unexpected text: {text[end : match.start()]!r}"
            end = match.end()
            if match.lastgroup not in (None, "space"):
                self._tokens.append((str(match.lastgroup), match[0]))
        assert end == len(text), f"unexpected text: {text[end : end + 40]!r}"
        self._tokens.append(("end", ""))
        self._position = 0

    def document(self) -> dict[str, Any]:
        paths: dict[str, Any] = {}
        schemas: dict[str, Any] = {"SnowflakeType": _SNOWFLAKE}
        while self._kind != "end":
            kind, token = self._next()
            if kind == "operation":
                method, path, name = token.removesuffix(":").split()
                paths.setdefault(path, {})[method.lower()] = {"operationId": name, **self._parse_operation()}
            else:
                assert kind == "key", token
                schemas[token.removesuffix(":")] = self._parse_union()
        return {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}

    def _parse_operation(self) -> dict[str, Any]:
        operation: dict[str, Any] = {"parameters": [], "responses": {}}
        self._expect("{")
        while not self._accept("}"):
            key = self._next()[1].removesuffix(":")
            if key == "query":
                schema = self._parse_union()
                for name, field in schema["properties"].items():
                    is_required = name in schema.get("required", ())
                    operation["parameters"].append(
                        {"in": "query", "name": name, "required": is_required, "schema": field}
                    )
            elif key == "body":
                operation["requestBody"] = {"content": {"application/json": {"schema": self._parse_union()}}}
            elif self._accept("empty"):
                operation["responses"][key] = {}
            elif self._accept("media"):
                operation["responses"][key] = {"content": {json.loads(self._next()[1]): {"schema": {}}}}
            else:
                operation["responses"][key] = _json_content(self._parse_union())
        operation["responses"]["429"] = _json_content({"$ref": f"{_REFERENCE}RatelimitedResponse"})
        operation["responses"]["4XX"] = _json_content({"$ref": f"{_REFERENCE}ErrorResponse"})
        return operation

    def _parse_union(self) -> dict[str, Any]:
        arms = [self._parse_intersection()]
        while self._accept("|"):
            arms.append(self._parse_intersection())
        if len(arms) == 2 and arms[1] == {"type": "null"} and isinstance(arms[0].get("type"), str):
            kind, values = arms[0]["type"], arms[0].get("enum")
            return arms[0] | {"type": [kind, "null"]} | ({} if values is None else {"enum": [*values, None]})
        return arms[0] if len(arms) == 1 else {"oneOf": arms}

    def _parse_intersection(self) -> dict[str, Any]:
        schemas = [self._parse_suffixed()]
        while self._accept("&"):
            schemas.append(self._parse_suffixed())
        return schemas[0] if len(schemas) == 1 else {"allOf": schemas}

    def _parse_suffixed(self) -> dict[str, Any]:
        schema = dict(self._parse_primary())
        if self._accept("unique"):
            schema["uniqueItems"] = True
        if self._kind == "range":
            for key, bound in zip(_LIMITS[schema["type"]], self._next()[1].split(".."), strict=True):
                if bound:
                    schema[key] = json.loads(bound)
        if self._accept("matching"):
            schema["pattern"] = json.loads(self._next()[1])
        if self._accept("of"):
            schema["enum"] = []
            while self._kind == "value":
                schema["enum"].append(json.loads(self._next()[1]))
        return schema

    def _parse_primary(self) -> dict[str, Any]:
        if self._accept("["):
            item_schema = self._parse_union()
            self._expect("]")
            return {"type": "array", "items": item_schema}
        if self._accept("{"):
            return self._parse_object()
        kind, token = self._next()
        assert kind == "word", token
        return _ATOM_SCHEMAS.get(token, {"$ref": f"{_REFERENCE}{token}"})

    def _parse_object(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object"}
        if self._kind not in ("key", "mark"):
            schema["additionalProperties"] = self._parse_union()
            self._expect("}")
            return schema
        properties: dict[str, Any] = {}
        required_names = []
        while not self._accept("}"):
            kind, token = self._next()
            assert kind == "key", token
            name = token.removesuffix(":").removesuffix("?")
            if name == "*":
                schema["additionalProperties"] = False if self._accept("nothing") else self._parse_union()
                continue
            properties[name] = self._parse_union()
            if not token.endswith("?:"):
                required_names.append(name)
        schema["properties"] = properties
        if required_names:
            schema["required"] = required_names
        return schema

    @property
    def _kind(self) -> str:
        return self._tokens[self._position][0]

    def _next(self) -> tuple[str, str]:
        self._position += 1
        return self._tokens[self._position - 1]

    def _accept(self, token: str) -> bool:
        if self._tokens[self._position][1] == token:
            self._position += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        next_token = self._next()[1]
        assert next_token == token, f"{token} expected, not {next_token}"


def _json_content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
