"""Integer fields accept no more than the public API allows, so that every store can hold the values."""

import re
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.numbers import INT32_MAX, INT32_MIN
from hubbub.server.composition import SLICES
from hubbub.server.core.endpoints import EndpointTable
from tests.contract import public_api

_PARAMETER = re.compile(r"\{[^}]*\}")
DEPTH_MAX = 12
"""Recursion limit: some models are recursive."""


def alternatives(kind: Any) -> Iterator[Any]:
    """Yield the members of a union, without their constraints."""
    if get_origin(kind) is Annotated:
        yield from alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from alternatives(each)
    else:
        yield kind


def accepts(kind: Any, value: int) -> bool:
    """Return whether a type accepts a number."""
    try:
        codec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


class PublicDescription:
    """The facts about the public API, compared with our own types."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.checked = 0

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Follow the `$ref`s of a schema."""
        while "$ref" in schema:
            found: Any = self.document
            for step in schema["$ref"].split("/")[1:]:
                found = found[step]
            schema = found
        return schema

    def too_wide(self, schema: dict[str, Any], kinds: Iterable[Any], path: tuple[str, ...]) -> Iterator[str]:
        """Yield the paths at which our types accept a number outside of the described range."""
        schema, kinds = self.resolve(schema), list(kinds)
        if len(path) > DEPTH_MAX or not kinds:
            return
        for part in ("oneOf", "anyOf", "allOf"):
            for each in schema.get(part, ()):
                yield from self.too_wide(each, kinds, path)
        if schema.get("format") == "int32":
            self.checked += 1
            if any(accepts(kind, value) for kind in kinds for value in (INT32_MAX + 1, INT32_MIN - 1)):
                yield ".".join(path)
        inner = [each for kind in kinds for each in alternatives(kind)]
        structs = [each for each in inner if isinstance(each, type) and issubclass(each, msgspec.Struct)]
        for name, below in schema.get("properties", {}).items():
            fields = [each for struct in structs for each in msgspec.structs.fields(struct) if each.encode_name == name]
            yield from self.too_wide(below, [each.type for each in fields], (*path, name))
        if isinstance(schema.get("items"), dict):
            lists = [get_args(each)[0] for each in inner if get_origin(each) is list]
            yield from self.too_wide(schema["items"], lists, (*path, "0"))

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
        """Yield the method, path, definition and parameters of every operation."""
        for path, item in self.document["paths"].items():
            for method in {"get", "put", "post", "patch", "delete"} & set(item):
                found = item[method]
                named = [*item.get("parameters", ()), *found.get("parameters", ())]
                yield method.upper(), _PARAMETER.sub("{}", path), found, [self.resolve(each) for each in named]


def test_integers_are_limited_as_in_the_public_api() -> None:
    described = PublicDescription(public_api.document())
    table = {(each.operation.method, _PARAMETER.sub("{}", each.operation.path)): each for each in EndpointTable(SLICES)}
    too_wide: set[str] = set()
    for method, path, operation, parameters in described.operations():
        endpoint = table[method, path]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            too_wide.update(described.too_wide(content["schema"], [endpoint.operation.body], (endpoint.name,)))
        query = endpoint.operation.query
        fields = {} if query is NoneType else {each.encode_name: each.type for each in msgspec.structs.fields(query)}
        for each in parameters:
            if each["in"] == "query" and each["name"] in fields:
                where = (endpoint.name, each["name"])
                too_wide.update(described.too_wide(each["schema"], [fields[each["name"]]], where))

    assert not too_wide, "\n".join(sorted(too_wide))
    assert described.checked > 50


def test_flags_are_limited_to_nonnegative_63_bit_numbers() -> None:
    for endpoint in EndpointTable(SLICES):
        for form in alternatives(endpoint.operation.body):
            if isinstance(form, type) and issubclass(form, msgspec.Struct):
                flags = [each for each in msgspec.structs.fields(form) if each.name.endswith("flags")]
                assert not any(accepts(each.type, -1) or accepts(each.type, 1 << 63) for each in flags), endpoint.name
