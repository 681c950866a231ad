"""Examples of protocol types as JSON values, for the OpenAPI document and the API reference.

An example is built from the type and the names of its fields, so it is the same in every process and follows a change of
a model. A test decodes every example with its type.
"""

import re
import types
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, Literal, NamedTuple, NewType, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from hubbub.protocol.ids import EPOCH_MS, Snowflake, Timestamp, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.sounds import SoundData
from hubbub.server.transports.docstrings import attribute_docstrings, markdown
from hubbub.server.transports.http import example_tables as tables

EXAMPLE_DEPTH_MAX: Final = 4
"""Maximum nesting of objects. Lists of deeper objects are empty; nullable objects are null two levels earlier."""

OPTIONAL_FIELDS_MAX: Final = (6, 2)
"""Maximum number of optional fields that an object contains, by depth; deeper objects contain none."""

_LISTED_NUMBER_PATTERN: Final = re.compile(r"(?:: |always )(\d+)\b", re.IGNORECASE)
"""The first of the values that a docstring lists: "Type of the webhook: 1 incoming, 2 channel follower"."""
_LISTED_STRING_PATTERN: Final = re.compile(r"(?:: |always |such as |for example )`([^`]+)`", re.IGNORECASE)

_UNION_ORIGINS: Final = (Union, types.UnionType)
_ARRAY_TYPES: Final = (list, tuple, set, frozenset, Sequence)
_MAPPING_TYPES: Final = (dict, Mapping)


def example(type_: Any, *, is_in_request: bool = False) -> Any:
    """Return an example of a type as built-in JSON values.

    A response contains every field that cannot be absent, and a request every required field. Both also contain a few
    optional fields.
    """
    return _Builder(is_in_request).build(type_, _FieldContext(), Meta(), ())


class _FieldContext(NamedTuple):
    """The field that contains a value, and the value's position if the field is a list."""

    name: str = ""
    """Name of the field on the wire."""
    note: str = ""
    """Docstring of the field as Markdown."""
    model: str = ""
    """Name of the model that has the field."""
    position: int = 0


class _Builder:
    """Builds the example of one request or response."""

    def __init__(self, is_in_request: bool) -> None:
        self._is_in_request = is_in_request

    def build(self, type_: Any, context: _FieldContext, meta: Meta, parents: tuple[type, ...]) -> Any:
        """Return the example of a type; `parents` are the models around it."""
        origin = get_origin(type_)
        if origin is Annotated:
            base, *extras = get_args(type_)
            meta = next((extra for extra in extras if isinstance(extra, Meta)), meta)
            return self.build(base, context, meta, parents)
        if origin in _UNION_ORIGINS:
            return self._union_example(get_args(type_), context, meta, parents)
        if origin is Literal:
            return get_args(type_)[0]
        if type_ in _ARRAY_TYPES or origin in _ARRAY_TYPES:
            return self._array_example(get_args(type_), context, meta, parents)
        if type_ in _MAPPING_TYPES or origin in _MAPPING_TYPES:
            return self._mapping_example(get_args(type_), context, meta, parents)
        if isinstance(type_, type) and issubclass(type_, Struct):
            return self._model_example(type_, parents)
        return _scalar_example(type_, context, meta)

    def _model_example(self, class_: type[Struct], parents: tuple[type, ...]) -> dict[str, Any]:
        """Return the example of a model: the fields that it must contain and a few optional fields."""
        depth = len(parents)
        field_parents = (*parents, class_)
        config = class_.__struct_config__
        example_fields: dict[str, Any] = {} if config.tag is None else {str(config.tag_field): config.tag}
        optional_max = OPTIONAL_FIELDS_MAX[depth] if depth < len(OPTIONAL_FIELDS_MAX) else 0
        fields, notes = _struct_fields(class_), _field_notes(class_)
        included_names = {field.name for field in fields if self._is_present(field)}
        optional_names = [
            field.name
            for field in fields
            if field.name not in included_names and _is_informative(field, notes.get(field.name, ""))
        ]
        included_names.update(optional_names[:optional_max])
        if not included_names and depth < EXAMPLE_DEPTH_MAX:
            included_names.update(field.name for field in fields[:1] if not _is_recursive(field.type, field_parents))
        for field in fields:
            if field.name in included_names:
                context = _FieldContext(field.encode_name, notes.get(field.name, ""), class_.__name__)
                example_fields[field.encode_name] = self._field_example(field, context, field_parents)
        return example_fields

    def _is_present(self, field: msgspec.structs.FieldInfo) -> bool:
        """Return whether an example must contain the field."""
        may_be_absent = field.default is UNSET or UnsetType in get_args(field.type)
        return field.required or not (self._is_in_request or may_be_absent)

    def _field_example(
        self, field: msgspec.structs.FieldInfo, context: _FieldContext, parents: tuple[type, ...]
    ) -> Any:
        default, note = field.default, context.note.lower()
        if "always null" in note:
            return None
        if isinstance(default, Enum):
            return default.value
        has_constant = isinstance(default, str | int | float) and not isinstance(default, WideInt)
        if has_constant and (default != "" or note.startswith("deprecated")):
            return default
        return self.build(field.type, context, Meta(), parents)

    def _union_example(
        self, member_types: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> Any:
        """Return null, or the example of the preferred member of a union."""
        members = [member_type for member_type in member_types if member_type not in (UnsetType, type(None))]
        is_null = context.name in tables.NULL_FIELDS or not members or self._is_too_deep(members[0], parents, margin=2)
        if type(None) in member_types and is_null:
            return None
        members.sort(key=lambda member_type: (_is_recursive(member_type, parents), _preference(member_type)))
        return self.build(members[0], context, meta, parents)

    def _is_too_deep(self, type_: Any, parents: tuple[type, ...], margin: int = 0) -> bool:
        """Return whether a type is omitted because it is nested too deeply or contains itself."""
        return not _is_simple(type_) and (len(parents) >= EXAMPLE_DEPTH_MAX - margin or _is_recursive(type_, parents))

    def _array_example(
        self, arguments: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> list[Any]:
        if context.name in tables.LISTS:
            return list(tables.LISTS[context.name])
        item_type = arguments[0] if arguments else Any
        is_left_empty = item_type is Any or item_type == dict[str, Any] or "always empty" in context.note.lower()
        min_length = meta.min_length or 0
        if not min_length and (is_left_empty or self._is_too_deep(item_type, parents)):
            return []
        return [
            self.build(item_type, context._replace(position=number), Meta(), parents)
            for number in range(max(1, min_length))
        ]

    def _mapping_example(
        self, arguments: tuple[Any, ...], context: _FieldContext, meta: Meta, parents: tuple[type, ...]
    ) -> dict[str, Any]:
        key_type, value_type = arguments or (str, Any)
        if not meta.min_length and (value_type is Any or self._is_too_deep(value_type, parents)):
            return {}
        key_text = tables.MAP_KEYS.get(context.name) if key_type is str else None
        return {
            key_text or str(self.build(key_type, context, Meta(), parents)): self.build(
                value_type, context, Meta(), parents
            )
        }


@cache
def _struct_fields(class_: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(class_)


@cache
def _field_notes(class_: type[Struct]) -> dict[str, str]:
    return {name: markdown(spans) for name, spans in attribute_docstrings(class_).items()}


def _is_informative(field: msgspec.structs.FieldInfo, note: str) -> bool:
    """Return whether an optional field belongs in an example: it has no default, and a simple type but no image or sound."""
    if field.default is not UNSET or field.name in tables.OMITTED_FIELDS or note.startswith("Deprecated"):
        return False
    member_types = [member_type for member_type in get_args(field.type) if isinstance(member_type, type)]
    return _is_simple(field.type) and not any(
        issubclass(member_type, ImageData | SoundData) for member_type in member_types
    )


@cache
def _is_simple(type_: Any) -> bool:
    """Return whether a type contains neither objects nor values of unknown type."""
    origin = get_origin(type_)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_simple(get_args(type_)[0])
    if origin in _UNION_ORIGINS or origin in _ARRAY_TYPES:
        return all(_is_simple(part) for part in get_args(type_))
    if origin is not None or type_ in (Any, Raw, dict, list):
        return False
    return not (isinstance(type_, type) and issubclass(type_, Struct))


def _is_recursive(type_: Any, parents: tuple[type, ...]) -> bool:
    """Return whether a type mentions one of the models around it."""
    if get_origin(type_) is Literal:
        return False
    return type_ in parents or any(
        _is_recursive(part, parents) for part in get_args(type_) if not isinstance(part, Meta)
    )


def _preference(type_: Any) -> int:
    """Return the rank of a member of a union; the lowest is shown."""
    base = get_args(type_)[0] if get_origin(type_) is Annotated else type_
    ranks = {str: 1, int: 2, float: 3, bool: 4}
    return ranks.get(base, 0) if isinstance(base, type) else 0


def _scalar_example(type_: Any, context: _FieldContext, meta: Meta) -> Any:
    name = context.name
    if type_ is type(None):
        return None
    if type_ is datetime or type_ is Timestamp:
        return _timestamp_example(name)
    if isinstance(type_, NewType):
        type_ = type_.__supertype__
    if not isinstance(type_, type) or type_ in (Raw, object):
        return _any_value(name)
    if issubclass(type_, Enum):
        return next(iter(type_)).value
    if issubclass(type_, WideInt):
        return _wide_integer(type_, context)
    if issubclass(type_, ImageData):
        return tables.PNG
    if issubclass(type_, SoundData):
        return tables.OGG
    if type_ is bool:
        return name in tables.TRUE_FIELDS
    if type_ is int:
        return _clamp(_integer_example(context), meta, 1)
    if type_ is float:
        return _clamp(tables.FLOATS.get(name, 1.0), meta, 0.5)
    if type_ is str:
        return _string_example(context, meta)
    return _any_value(name)


def _timestamp_example(name: str) -> str:
    if any(fragment in name for fragment in ("end", "until", "expir", "lapses")):
        return tables.LATER
    return (
        tables.EARLIER if any(fragment in name for fragment in ("joined", "create", "since", "start")) else tables.NOW
    )


def _any_value(name: str) -> Any:
    """Return the example of a field that accepts any JSON value."""
    return {"nonce": "1456020941733593088", "new_value": "general", "old_value": "lounge"}.get(name, {})


def _wide_integer(class_: type[WideInt], context: _FieldContext) -> str:
    if issubclass(class_, Permissions):
        return "0" if context.name == "deny" else "2048"
    if not issubclass(class_, Snowflake):
        return str(1 + context.position)
    # Every type of ID has its own value, so that `id` of a user and `user_id` elsewhere agree.
    is_other = class_ is Snowflake or context.name.startswith(("parent_", "child_"))
    seed = zlib.crc32((context.name if is_other else class_.__name__).encode()) + context.position
    created_ms = tables.NOW_MS - seed % tables.MONTH_MS
    return str((created_ms - EPOCH_MS) << 22 | seed % 4096)


def _integer_example(context: _FieldContext) -> int:
    """Return the value for the model, for the field's name, or the first number in the docstring; else 0."""
    model_values = [value for value in _model_values(context) if isinstance(value, int)]
    if model_values or context.name in tables.INTEGERS:
        return model_values[0] if model_values else tables.INTEGERS[context.name]
    match = _LISTED_NUMBER_PATTERN.search(context.note)
    return int(match[1]) if match else 0


def _clamp(value: Any, meta: Meta, step: Any) -> Any:
    """Return the number within the limits of `meta` that is nearest; `step` is the distance from an exclusive limit."""
    if meta.gt is not None:
        value = max(value, meta.gt + step)
    if meta.ge is not None:
        value = max(value, meta.ge)
    if meta.lt is not None:
        value = min(value, meta.lt - step)
    if meta.le is not None:
        value = min(value, meta.le)
    if meta.multiple_of is not None:
        value -= value % meta.multiple_of
    return value


def _string_example(context: _FieldContext, meta: Meta) -> str:
    if "id_type" in (meta.extra or {}):
        return _wide_integer((meta.extra or {})["id_type"], context)
    if "always empty" in context.note.lower():
        return ""
    for value in _string_candidates(context):
        text = value[: meta.max_length]
        if len(text) >= (meta.min_length or 0) and (meta.pattern is None or re.search(meta.pattern, text)):
            return text
    # A pattern that no candidate matches; a test finds it if the model is part of this package.
    return "example".ljust(meta.min_length or 0, "x")[: meta.max_length]


def _string_candidates(context: _FieldContext) -> Iterator[str]:
    """Yield possible values of a string field, the most specific first."""
    name = context.name
    yield from (value for value in _model_values(context) if isinstance(value, str))
    if name not in tables.STRINGS and (match := _LISTED_STRING_PATTERN.search(context.note)):
        yield match[1]
    if name in tables.STRINGS:
        yield tables.STRINGS[name]
    if name.endswith(("_at", "timestamp", "_time", "_until", "_since", "since", "expires", "expiry")):
        yield _timestamp_example(name)
    yield from (value for suffix, value in tables.STRING_SUFFIXES if name.endswith(suffix))
    yield from tables.FALLBACK_STRINGS


def _model_values(context: _FieldContext) -> list[Any]:
    """Return the values for a field of a model: first those that match the end of the model's name, longer matches first."""
    matches = [
        (part, value) for part, field, value in tables.MODEL_VALUES if field == context.name and part in context.model
    ]
    matches.sort(key=lambda match: (not context.model.endswith(match[0]), -len(match[0])))
    return [value for _, value in matches]
