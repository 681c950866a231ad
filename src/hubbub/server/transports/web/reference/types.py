"""Types of the protocol in words: `array of snowflake (at most 10)`, with links to the objects and enums among them."""

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
from hubbub.server.transports.web.reference.words import Piece, Pieces, notes

_PLAIN: Final[dict[Any, str]] = {
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
_UNIONS: Final = (Union, types.UnionType)
_ARRAYS: Final = (list, tuple, set, frozenset)
_WIDEST: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object, or one parameter."""

    name: str
    type: Pieces
    required: bool
    note: Pieces = ()
    default: str = ""


def describe(kind: Any, links: Mapping[Any, Piece]) -> Pieces:
    """A type in words; `links` says how classes are called and where they are shown."""
    return tuple(_words(kind, links))


def fields(kind: type[Struct], links: Mapping[Any, Piece], *, asked: bool = True) -> list[Field]:
    """The fields of a model as they stand on the wire. In what is asked one with a default may be left out; in an answer it is
    there, unless it may be absent."""
    declared = hints(kind)
    said = notes(kind)
    return [
        Field(
            each.encode_name,
            describe(declared[each.name], links),
            not _may_be_absent(declared[each.name]) and (each.required or not asked),
            said.get(each.name, ()),
            _default(each.default) if asked else "",
        )
        for each in msgspec.structs.fields(kind)
    ]


def hints(kind: type[Struct]) -> dict[str, Any]:
    """The types of a model's fields, as they are declared."""
    declared = get_type_hints(kind, include_extras=True)
    return {name: declared[name] for name in kind.__struct_fields__}


def tag_of(kind: type[Struct]) -> tuple[str, str] | None:
    """The field by which a model is told from its siblings, and its value."""
    config = kind.__struct_config__
    return (str(config.tag_field), repr(config.tag)) if config.tag is not None else None


def classes(kind: Any) -> Iterator[type]:
    """Every class that a type names, at any depth but not inside other classes."""
    if isinstance(kind, type) and not get_args(kind):
        yield kind
    for part in get_args(kind):
        if get_origin(kind) is not Literal and not isinstance(part, Meta):
            yield from classes(part)


def _words(kind: Any, links: Mapping[Any, Piece], meta: Meta | None = None) -> Iterator[Piece]:
    origin = get_origin(kind)
    if origin is Annotated:
        base, *extras = get_args(kind)
        meta = next((each for each in extras if isinstance(each, Meta)), meta)
        yield from _words(base, links, meta)
        return
    if origin in _UNIONS:
        yield from _union(get_args(kind), links, meta)
        return
    yield from _single(kind, origin, links)
    limits = "" if meta is None else _limits(kind if origin is None else origin, meta)
    if limits:
        yield Piece(f" ({limits})")


def _single(kind: Any, origin: Any, links: Mapping[Any, Piece]) -> Iterator[Piece]:
    arguments = get_args(kind)
    if kind in _PLAIN:
        yield Piece(_PLAIN[kind])
    elif isinstance(kind, NewType):
        yield Piece("ISO 8601 timestamp" if kind.__name__ == "Timestamp" else kind.__name__)
    elif origin is Literal:
        for place, value in enumerate(arguments):
            yield Piece(" or " if place else "")
            yield Piece(repr(value).replace("'", '"'), code=True)
    elif origin in _ARRAYS:
        yield Piece("array of ")
        yield from _words(arguments[0], links)
    elif kind == dict[str, Any]:
        yield Piece("object")
    elif origin is dict:
        yield Piece("object of ")
        yield from _words(arguments[1], links)
        yield Piece(" by ")
        yield from _words(arguments[0], links)
    elif isinstance(kind, type):
        yield links[kind] if kind in links else Piece(_named(kind))
    else:
        yield Piece(str(kind))


def _named(kind: type) -> str:
    if issubclass(kind, Snowflake):
        return "snowflake"
    if issubclass(kind, WideInt):
        return "integer as string"
    if issubclass(kind, ImageData):
        return "image (data URI)"
    if issubclass(kind, SoundData):
        return "sound (data URI)"
    return kind.__name__


def _union(parts: tuple[Any, ...], links: Mapping[Any, Piece], meta: Meta | None) -> Iterator[Piece]:
    shown = [part for part in parts if part not in (UnsetType, type(None))]
    if type(None) in parts:
        shown.append(type(None))
    for place, part in enumerate(shown):
        if place:
            yield Piece(" or ")
        yield from _words(part, links, None if part is type(None) else meta)


def _limits(kind: Any, meta: Meta) -> str:
    told = []
    unit = "items" if kind in _ARRAYS else "keys" if kind is dict else "characters"
    if meta.min_length is not None or meta.max_length is not None:
        told.append(f"{_span(meta.min_length, meta.max_length)} {unit}")
    least = meta.ge if meta.gt is None else meta.gt
    most = meta.le if meta.lt is None else meta.lt
    if (least, most) == (INT32_MIN, INT32_MAX):
        told.append("32 bits")
    elif (least, most) == (0, _WIDEST):
        told.append("bits")
    elif least is not None or most is not None:
        told.append(_span(least, most))
    if meta.multiple_of is not None:
        told.append(f"a multiple of {meta.multiple_of}")
    if meta.pattern is not None:
        told.append(f"matching {meta.pattern}")
    if (meta.extra or {}).get("comma"):
        told.append("separated by commas")
    return ", ".join(told)


def _span(least: float | None, most: float | None) -> str:
    if least == most:
        return f"exactly {least:,}"
    if least is None or (least == 0 and most is not None):
        return f"at most {most:,}"
    return f"at least {least:,}" if most is None else f"{least:,} to {most:,}"


def _may_be_absent(kind: Any) -> bool:
    return UnsetType in get_args(kind)


def _default(value: Any) -> str:
    if value is msgspec.NODEFAULT or value is msgspec.UNSET or value is None or isinstance(value, Struct):
        return ""
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)
