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

_PARAMETER_PATTERN = re.compile(r"\{[^}]*\}")
DEPTH_MAX = 12
"""Recursion limit: some models are recursive."""


def alternatives(kind: Any) -> Iterator[Any]:
    """Yield the members of a union, without their constraints."""
    if get_origin(kind) is Annotated:
        yield from alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for member in get_args(kind):
            yield from alternatives(member)
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
    """The description of the public API, compared with our types."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.checked_count = 0

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the schema that a `$ref` leads to, or a schema without `$ref` unchanged."""
        while "$ref" in schema:
            node: Any = self.document
            for step in schema["$ref"].split("/")[1:]:
                node = node[step]
            schema = node
        return schema

    def find_too_wide(self, schema: dict[str, Any], kinds: Iterable[Any], path: tuple[str, ...]) -> Iterator[str]:
        """Yield the paths at which our types accept a number outside of the described range."""
        schema, kinds = self.resolve(schema), list(kinds)
        if len(path) > DEPTH_MAX or not kinds:
            return
        for combination in ("oneOf", "anyOf", "allOf"):
            for part_schema in schema.get(combination, ()):
                yield from self.find_too_wide(part_schema, kinds, path)
        if schema.get("format") == "int32":
            self.checked_count += 1
            if any(accepts(kind, value) for kind in kinds for value in (INT32_MAX + 1, INT32_MIN - 1)):
                yield ".".join(path)
        members = [member for kind in kinds for member in alternatives(kind)]
        structs = [member for member in members if isinstance(member, type) and issubclass(member, msgspec.Struct)]
        for name, field_schema in schema.get("properties", {}).items():
            types = [
                field.type
                for struct in structs
                for field in msgspec.structs.fields(struct)
                if field.encode_name == name
            ]
            yield from self.find_too_wide(field_schema, types, (*path, name))
        if isinstance(schema.get("items"), dict):
            item_types = [get_args(member)[0] for member in members if get_origin(member) is list]
            yield from self.find_too_wide(schema["items"], item_types, (*path, "0"))

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
        """Yield the method, path, definition and parameters of every operation."""
        for path, path_item in self.document["paths"].items():
            for method in {"get", "put", "post", "patch", "delete"} & set(path_item):
                operation = path_item[method]
                parameters = [*path_item.get("parameters", ()), *operation.get("parameters", ())]
                yield method.upper(), _PARAMETER_PATTERN.sub("{}", path), operation, [*map(self.resolve, parameters)]


def test_integers_are_limited_as_in_the_public_api() -> None:
    description = PublicDescription(public_api.document())
    table = {
        (endpoint.operation.method, _PARAMETER_PATTERN.sub("{}", endpoint.operation.path)): endpoint
        for endpoint in EndpointTable(SLICES)
    }
    too_wide_paths: set[str] = set()
    for method, path, operation, parameters in description.operations():
        endpoint = table[method, path]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            too_wide_paths.update(
                description.find_too_wide(content["schema"], [endpoint.operation.body], (endpoint.name,))
            )
        query = endpoint.operation.query
        fields = () if query is NoneType else msgspec.structs.fields(query)
        types = {field.encode_name: field.type for field in fields}
        for parameter in parameters:
            name = parameter["name"]
            if parameter["in"] == "query" and name in types:
                too_wide_paths.update(
                    description.find_too_wide(parameter["schema"], [types[name]], (endpoint.name, name))
                )

    assert not too_wide_paths, "\n".join(sorted(too_wide_paths))
    assert description.checked_count > 50


def test_flags_are_limited_to_nonnegative_63_bit_numbers() -> None:
    for endpoint in EndpointTable(SLICES):
        for form in alternatives(endpoint.operation.body):
            if isinstance(form, type) and issubclass(form, msgspec.Struct):
                types = [field.type for field in msgspec.structs.fields(form) if field.name.endswith("flags")]
                assert not any(accepts(kind, -1) or accepts(kind, 1 << 63) for kind in types), endpoint.name
