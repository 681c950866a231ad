"""Permissions in API versions 6 and 7: numbers of 31 bits, and all bits as strings in additional fields (spec/http.md#1.1)."""

from typing import Any, Final

from hubbub.protocol import codec

STRING_PERMISSIONS_VERSION: Final = 8
"""First API version in which permissions are strings."""

NUMBER_MASK: Final = (1 << 31) - 1
"""Permission bits that fit into the number."""

_PERMISSION_FIELDS: Final = ("permissions", "allow", "deny")
_FIELD_MARKERS: Final = tuple(f'"{name}":"'.encode() for name in _PERMISSION_FIELDS)
_FREE_FORM_FIELDS: Final = frozenset({"metadata", "moderation_metadata", "records"})
"""Fields that contain data of applications or users, in which no permissions are converted."""


def add_numbers(body: bytes) -> bytes:
    """Return a JSON body whose permissions are numbers, with the strings in additional fields that end with _new."""
    if not any(marker in body for marker in _FIELD_MARKERS):
        return body
    return codec.encode(_convert_permissions(codec.decode_any(body)))


def _convert_permissions(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_permissions(field_value) for field_value in value]
    if not isinstance(value, dict):
        return value
    converted: dict[str, Any] = {}
    for name, field_value in value.items():
        if name in _PERMISSION_FIELDS and isinstance(field_value, str) and field_value.isdecimal():
            converted[name] = int(field_value) & NUMBER_MASK
            converted[f"{name}_new"] = field_value
        elif name in _FREE_FORM_FIELDS:
            converted[name] = field_value
        else:
            converted.setdefault(name, _convert_permissions(field_value))
    return converted
