"""Paths and query strings of the requests that clients send for an operation."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from hubbub.protocol import codec

if TYPE_CHECKING:
    # Games should not wait for the declarations of operations at startup.
    from hubbub.protocol.operation import Operation


def build_path(
    operation: "Operation[Any, Any]", parameters: Mapping[str, int | str], query: msgspec.Struct | None = None
) -> str:
    """Return the path of an operation with its parameters and the query, quoted.

    Raise TypeError if the parameters are not those of the path."""
    if set(parameters) != set(operation.parameters):
        raise TypeError(f"{operation.path} requires the parameters {operation.parameters}, not {tuple(parameters)}")
    # An emoji or an invite code may contain any character, so it is quoted; IDs are formatted as numbers.
    path = operation.url(
        **{
            name: quote(f"{value:d}" if isinstance(value, int) else value, safe="")
            for name, value in parameters.items()
        }
    )
    pairs = name_value_pairs(query)
    if not pairs:
        return path
    return f"{path}?" + "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in pairs)


def name_value_pairs(model: msgspec.Struct | None) -> list[tuple[str, str]]:
    """Convert a flat model to name-value pairs, without absent and null fields (spec/http.md#1.6)."""
    if model is None:
        return []
    fields: dict[str, Any] = msgspec.to_builtins(model, enc_hook=codec.encode_hook)
    comma_separated = _comma_separated_fields(type(model))
    pairs: list[tuple[str, str]] = []
    for name, value in fields.items():
        if value is None:
            continue
        texts = [_to_text(item) for item in (value if isinstance(value, list) else [value])]
        pairs += [(name, ",".join(texts))] if name in comma_separated else [(name, text) for text in texts]
    return pairs


def _to_text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _comma_separated_fields(model_type: type[msgspec.Struct]) -> set[str]:
    """Return the names of the list fields that are sent as one comma-separated value (spec/http.md#1.6)."""
    info = msgspec.inspect.type_info(model_type)
    if not isinstance(info, msgspec.inspect.StructType):
        return set()
    return {
        field.encode_name
        for field in info.fields
        if isinstance(field.type, msgspec.inspect.Metadata) and (field.type.extra or {}).get("comma")
    }
