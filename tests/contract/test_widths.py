"""Whole numbers are no wider than the public description has them: whatever is let in, every store can hold."""

import json
import re
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from hubbub.protocol import wire
from hubbub.protocol.numbers import INT32_MAX, INT32_MIN
from hubbub.server.app import SLICES
from hubbub.server.core.dispatch import Table
from tests.fixtures import validator

_PARAMETER = re.compile(r"\{[^}]*\}")
DEEPEST = 12
"""Some forms hold themselves."""


def alternatives(kind: Any) -> Iterator[Any]:
    """What a union lets in, its limits left out."""
    if get_origin(kind) is Annotated:
        yield from alternatives(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        for each in get_args(kind):
            yield from alternatives(each)
    else:
        yield kind


def takes(kind: Any, value: int) -> bool:
    """Whether a type lets a number in."""
    try:
        wire.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


class Description:
    """The public description, walked beside our own types."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.checked = 0

    def resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        """What a reference stands for."""
        while "$ref" in schema:
            found: Any = self.document
            for step in schema["$ref"].split("/")[1:]:
                found = found[step]
            schema = found
        return schema

    def too_wide(self, schema: dict[str, Any], kinds: Iterable[Any], path: tuple[str, ...]) -> Iterator[str]:
        """Where our types take a number that the description has no room for."""
        schema, kinds = self.resolve(schema), list(kinds)
        if len(path) > DEEPEST or not kinds:
            return
        for part in ("oneOf", "anyOf", "allOf"):
            for each in schema.get(part, ()):
                yield from self.too_wide(each, kinds, path)
        if schema.get("format") == "int32" and "enum" not in schema:
            self.checked += 1
            if any(takes(kind, value) for kind in kinds for value in (INT32_MAX + 1, INT32_MIN - 1)):
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
        """Every method and path, what is said of it, and its parameters."""
        for path, item in self.document["paths"].items():
            for method in {"get", "put", "post", "patch", "delete"} & set(item):
                found = item[method]
                named = [*item.get("parameters", ()), *found.get("parameters", ())]
                yield method.upper(), _PARAMETER.sub("{}", path), found, [self.resolve(each) for each in named]


def test_numbers_are_no_wider_than_the_public_description_has_them() -> None:
    file = validator.description_file()
    if file is None:
        pytest.skip(validator.absence())
    described = Description(json.loads(file.read_text()))
    table = {(each.operation.method, _PARAMETER.sub("{}", each.operation.path)): each for each in Table(SLICES)}
    wide: set[str] = set()
    for method, path, operation, parameters in described.operations():
        endpoint = table[method, path]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            wide.update(described.too_wide(content["schema"], [endpoint.operation.body], (endpoint.name,)))
        query = endpoint.operation.query
        fields = {} if query is NoneType else {each.encode_name: each.type for each in msgspec.structs.fields(query)}
        for each in parameters:
            if each["in"] == "query" and each["name"] in fields:
                at = (endpoint.name, each["name"])
                wide.update(described.too_wide(each["schema"], [fields[each["name"]]], at))

    assert not wide, "\n".join(sorted(wide))
    assert described.checked > 50


def test_flags_are_no_negative_numbers() -> None:
    for endpoint in Table(SLICES):
        for form in alternatives(endpoint.operation.body):
            if isinstance(form, type) and issubclass(form, msgspec.Struct):
                flags = [each for each in msgspec.structs.fields(form) if each.name.endswith("flags")]
                assert not any(takes(each.type, -1) or takes(each.type, 1 << 63) for each in flags), endpoint.name
