"""Permissions in API versions 6 and 7: numbers of 31 bits, and all bits as strings in additional fields (spec/http.md#1.1)."""

from typing import Any, Final

from hubbub.protocol import codec

STRING_PERMISSIONS_VERSION: Final = 8
"""First API version in which permissions are strings."""

NUMBER_MASK: Final = (1 << 31) - 1
"""Permission bits that fit into the number."""

_FIELDS: Final = ("permissions", "allow", "deny")
_FIELD_MARKERS: Final = tuple(f'"{name}":"'.encode() for name in _FIELDS)
_FREE_FORM_FIELDS: Final = frozenset({"metadata", "moderation_metadata", "records"})
"""Fields that contain data of applications or users, in which no permissions are converted."""


def add_numbers(body: bytes) -> bytes:
    """Return a JSON body whose permissions are numbers, with the strings in additional fields that end with _new."""
    if not any(marker in body for marker in _FIELD_MARKERS):
        return body
    return codec.encode(_convert(codec.decode_any(body)))


def _convert(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    converted: dict[str, Any] = {}
    for name, entry in value.items():
        if name in _FIELDS and isinstance(entry, str) and entry.isdecimal():
            converted[name] = int(entry) & NUMBER_MASK
            converted[f"{name}_new"] = entry
        elif name in _FREE_FORM_FIELDS:
            converted[name] = entry
        else:
            converted.setdefault(name, _convert(entry))
    return converted
