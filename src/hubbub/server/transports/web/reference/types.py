"""Protocol types as text, such as `array of snowflake (at most 10)`, with links to objects and enums."""

import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Raw, Struct, UnsetType

from hubbub.protocol.ids import Snowflake, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.numbers import INT32_MAX, INT32_MIN
from hubbub.protocol.sounds import SoundData
from hubbub.server.transports.docstrings import Spans, TextSpan, attribute_docstrings

_PLAIN_NAMES: Final[dict[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    bytes: "bytes",
    Any: "any",
    object: "any",
    Raw: "any",
    dict: "object",
    list: "array",
    datetime: "ISO 8601 timestamp",
    type(None): "null",
}
_UNION_ORIGINS: Final = (Union, types.UnionType)
_ARRAY_TYPES: Final = (list, tuple, set, frozenset)
_INT63_MAX: Final = (1 << 63) - 1
"""Upper limit of fields that are bit sets."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object, or one parameter."""

    name: str
    type: Spans
    is_required: bool
    """Whether a request must contain the field, or every response contains it."""
    note: Spans = ()
    """The docstring of the field."""
    default: str = ""
    """The default value as text; empty if there is none."""


def describe(type_: Any, links: Mapping[Any, TextSpan]) -> Spans:
    """Describe a type. `links` maps classes to their displayed names and URLs."""
    return tuple(_yield_spans(type_, links))


def fields(class_: type[Struct], links: Mapping[Any, TextSpan], *, is_in_request: bool = True) -> list[Field]:
    """Return the fields of a model as encoded on the wire.

    In a request, a field with a default is optional. In a response, it is present unless its type allows absence.
    """
    types_by_name = hints(class_)
    docstrings = attribute_docstrings(class_)
    return [
        Field(
            field.encode_name,
            describe(types_by_name[field.name], links),
            not _may_be_absent(types_by_name[field.name]) and (field.required or not is_in_request),
            docstrings.get(field.name, ()),
            _default_text(field.default) if is_in_request else "",
        )
        for field in msgspec.structs.fields(class_)
    ]


def hints(class_: type[Struct]) -> dict[str, Any]:
    """Return the declared types of a model's fields."""
    types_by_name = get_type_hints(class_, include_extras=True)
    return {name: types_by_name[name] for name in class_.__struct_fields__}


def tag_of(class_: type[Struct]) -> tuple[str, str] | None:
    """Return the tag field that distinguishes a model from the other models of its union, and its value, or None."""
    config = class_.__struct_config__
    return (str(config.tag_field), repr(config.tag)) if config.tag is not None else None


def classes(type_: Any) -> Iterator[type]:
    """Yield every class that a type mentions, at any depth but not inside other classes."""
    if isinstance(type_, type) and not get_args(type_):
        yield type_
    for argument in get_args(type_):
        if get_origin(type_) is not Literal and not isinstance(argument, Meta):
            yield from classes(argument)


def _yield_spans(type_: Any, links: Mapping[Any, TextSpan], meta: Meta | None = None) -> Iterator[TextSpan]:
    origin = get_origin(type_)
    if origin is Annotated:
        base, *extras = get_args(type_)
        meta = next((extra for extra in extras if isinstance(extra, Meta)), meta)
        yield from _yield_spans(base, links, meta)
        return
    if origin in _UNION_ORIGINS:
        yield from _describe_union(get_args(type_), links, meta)
        return
    yield from _describe_single(type_, origin, links)
    limits = "" if meta is None else _limits_text(type_ if origin is None else origin, meta)
    if limits:
        yield TextSpan(f" ({limits})")


def _describe_single(type_: Any, origin: Any, links: Mapping[Any, TextSpan]) -> Iterator[TextSpan]:
    arguments = get_args(type_)
    if type_ in _PLAIN_NAMES:
        yield TextSpan(_PLAIN_NAMES[type_])
    elif isinstance(type_, NewType):
        yield TextSpan("ISO 8601 timestamp" if type_.__name__ == "Timestamp" else type_.__name__)
    elif origin is Literal:
        for index, value in enumerate(arguments):
            yield TextSpan(" or " if index else "")
            yield TextSpan(repr(value).replace("'", '"'), is_code=True)
    elif origin in _ARRAY_TYPES:
        yield TextSpan("array of ")
        yield from _yield_spans(arguments[0], links)
    elif type_ == dict[str, Any]:
        yield TextSpan("object")
    elif origin is dict:
        yield TextSpan("object of ")
        yield from _yield_spans(arguments[1], links)
        yield TextSpan(" by ")
        yield from _yield_spans(arguments[0], links)
    elif isinstance(type_, type):
        yield links[type_] if type_ in links else TextSpan(_class_name(type_))
    else:
        yield TextSpan(str(type_))


def _class_name(class_: type) -> str:
    if issubclass(class_, Snowflake):
        return "snowflake"
    if issubclass(class_, WideInt):
        return "integer as string"
    if issubclass(class_, ImageData):
        return "image (data URI)"
    if issubclass(class_, SoundData):
        return "sound (data URI)"
    return class_.__name__


def _describe_union(
    member_types: tuple[Any, ...], links: Mapping[Any, TextSpan], meta: Meta | None
) -> Iterator[TextSpan]:
    ordered_types = [member_type for member_type in member_types if member_type not in (UnsetType, type(None))]
    if type(None) in member_types:
        ordered_types.append(type(None))
    for index, member_type in enumerate(ordered_types):
        if index:
            yield TextSpan(" or ")
        yield from _yield_spans(member_type, links, None if member_type is type(None) else meta)


def _limits_text(type_: Any, meta: Meta) -> str:
    limits = []
    unit = "items" if type_ in _ARRAY_TYPES else "keys" if type_ is dict else "characters"
    if meta.min_length is not None or meta.max_length is not None:
        limits.append(f"{_range_text(meta.min_length, meta.max_length)} {unit}")
    minimum = meta.ge if meta.gt is None else meta.gt
    maximum = meta.le if meta.lt is None else meta.lt
    if (minimum, maximum) == (INT32_MIN, INT32_MAX):
        limits.append("32 bits")
    elif (minimum, maximum) == (0, _INT63_MAX):
        limits.append("bits")
    elif minimum is not None or maximum is not None:
        limits.append(_range_text(minimum, maximum))
    if meta.multiple_of is not None:
        limits.append(f"a multiple of {meta.multiple_of}")
    if meta.pattern is not None:
        limits.append(f"matching {meta.pattern}")
    if (meta.extra or {}).get("comma"):
        limits.append("separated by commas")
    return ", ".join(limits)


def _range_text(minimum: float | None, maximum: float | None) -> str:
    if minimum == maximum:
        return f"exactly {minimum:,}"
    if minimum is None or (minimum == 0 and maximum is not None):
        return f"at most {maximum:,}"
    return f"at least {minimum:,}" if maximum is None else f"{minimum:,} to {maximum:,}"


def _may_be_absent(type_: Any) -> bool:
    return UnsetType in get_args(type_)


def _default_text(value: Any) -> str:
    if value is msgspec.NODEFAULT or value is msgspec.UNSET or value is None or isinstance(value, Struct):
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)
