"""Conversion of permissions for API versions 6 and 7 (spec/http.md#1.1).

Permissions are numbers of the lower 31 bits there, and additional fields contain all bits as strings.
"""

from typing import Any, Final

from hubbub.protocol import codec

STRING_PERMISSIONS_VERSION: Final = 8
"""First API version in which permissions are strings."""

NUMBER_MASK: Final = (1 << 31) - 1
"""Permission bits that fit into the number."""

_PERMISSION_FIELDS: Final = ("permissions", "allow", "deny")
_FIELD_MARKERS: Final = tuple(f'"{name}":"'.encode() for name in _PERMISSION_FIELDS)
"""Byte strings of which a body with permissions contains at least one; the codec encodes no spaces."""
_FREE_FORM_FIELDS: Final = frozenset({"metadata", "moderation_metadata", "records"})
"""Fields that contain data of applications or users, in which no permissions are converted."""


def convert_permissions(body: bytes) -> bytes:
    """Return a JSON body in which permissions are numbers; the strings move to additional fields that end with _new."""
    if not any(marker in body for marker in _FIELD_MARKERS):
        return body
    return codec.encode(_convert_value(codec.decode_any(body)))


def _convert_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    converted_fields: dict[str, Any] = {}
    for name, field_value in value.items():
        if name in _PERMISSION_FIELDS and isinstance(field_value, str) and field_value.isdecimal():
            converted_fields[name] = int(field_value) & NUMBER_MASK
            converted_fields[f"{name}_new"] = field_value
        elif name in _FREE_FORM_FIELDS:
            converted_fields[name] = field_value
        else:
            # A field such as permissions_new that was set above keeps its value.
            converted_fields.setdefault(name, _convert_value(field_value))
    return converted_fields
