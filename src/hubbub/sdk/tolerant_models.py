"""Decoding of payloads into tolerant subclasses of the protocol's models, which are derived on first use (decisions/0041).

A game must work with older and newer platforms than its SDK. A tolerant model therefore accepts missing and null fields,
unknown fields, unknown values of enumerations, strings in place of integers, and integers in place of strings. A value
of any other unexpected type counts as missing. Only a missing `id` is an error, because the object cannot be identified.

`decode` and `convert` return an instance of the model, but any of its fields except `id` may be UNSET or None, whatever
the model declares. Both are false, so read a field with `or`, with `value_or` if a false value has a meaning, or with
`sent_or` if null and missing differ.
"""

import threading
from collections.abc import Sequence
from enum import Enum
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeGuard, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

T = TypeVar("T")
OtherT = TypeVar("OtherT")

_lock: Final = threading.RLock()
"""Guards the derivation of models: clients with network threads of their own share the derived classes."""
_models: Final[dict[type[Struct], Any]] = {}
"""Tolerant models by the model of the protocol; `Any` while a model is being derived."""
_decoders: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}
"""Decoders by the type that they decode, before it was made tolerant."""


def decode(data: bytes | str | msgspec.Raw, class_: type[T]) -> T:
    """Decode JSON into a tolerant model, or into a list of them.

    Raise msgspec.MsgspecError if the data is not JSON or does not contain such an object."""
    # The variable is typed as Any, because type checkers do not regard every type as hashable.
    hashable: Any = class_
    try:
        decoder = _decoders.get(hashable)
        if decoder is None:
            decoder = _decoders[hashable] = msgspec.json.Decoder(tolerant_type(class_), strict=False)
        try:
            result: T = decoder.decode(data)
            return result
        except msgspec.ValidationError:
            return convert(msgspec.json.decode(data), class_)
    except (RecursionError, UnicodeError) as error:
        # Input that is nested too deeply or is not valid Unicode does not raise one of msgspec's own errors.
        raise msgspec.DecodeError(str(error)) from None


def convert(value: Any, class_: type[T]) -> T:
    """Convert decoded JSON into a tolerant model, or into a list of them; raise msgspec.ValidationError if it is neither."""
    result: T | UnsetType = _convert_valid_parts(value, tolerant_type(class_))
    if isinstance(result, UnsetType):
        raise msgspec.ValidationError(f"Expected {class_!r} with its ID")
    return result


def has_value(value: T | None | UnsetType) -> TypeGuard[T]:
    """Return whether a field is neither missing nor null."""
    return value is not None and not isinstance(value, UnsetType)


def value_or(value: T | None | UnsetType, otherwise: T) -> T:
    """Return the value of a field, or `otherwise` if it is missing or null."""
    return otherwise if value is None or isinstance(value, UnsetType) else value


def sent_or(value: T | UnsetType, otherwise: OtherT) -> T | OtherT:
    """Return the value of a field, which may be null, or `otherwise` if it is missing."""
    return otherwise if isinstance(value, UnsetType) else value


def tolerant_type(hint: Any) -> Any:
    """Return the type that a tolerant model has for a type of the protocol."""
    if isinstance(hint, NewType):
        return tolerant_type(hint.__supertype__)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        # Limits are checked by the platform, which may raise them.
        return tolerant_type(arguments[0])
    if origin is Literal:
        return int | str
    if origin in (Union, UnionType):
        return _tolerant_union(arguments)
    if origin in (list, Sequence):
        return list[tolerant_type(arguments[0])]  # type: ignore[misc]
    if origin is dict:
        return dict[str, tolerant_type(arguments[1])]  # type: ignore[misc]
    if not isinstance(hint, type):
        return Any
    if issubclass(hint, Struct):
        return _tolerant_model(hint)
    if issubclass(hint, Enum):
        return int if issubclass(hint, int) else int | str
    return next((base for base in (NoneType, UnsetType, bool, int, float, str) if issubclass(hint, base)), Any)


def _tolerant_union(members: tuple[Any, ...]) -> Any:
    member_types = [tolerant_type(member) for member in members]
    models = [type_ for type_ in member_types if isinstance(type_, type) and issubclass(type_, Struct)]
    # A payload does not tell which of several models it is.
    return Any if Any in member_types or len(models) > 1 else reduce(or_, member_types)


def _tolerant_model(model: type[Struct]) -> Any:
    """Return the tolerant subclass of a model; `Any` inside of the same model, such as a message in a message."""
    with _lock:
        if model not in _models:
            _models[model] = Any
            _models[model] = msgspec.defstruct(
                model.__name__,
                [_tolerant_field(field) for field in msgspec.structs.fields(model)],
                bases=(model,),
                module=__name__,
                kw_only=True,
            )
        return _models[model]


def _tolerant_field(field: msgspec.structs.FieldInfo) -> tuple[str, Any, Any]:
    field_type = tolerant_type(field.type)
    if field.name == "id" and field.required:
        return field.name, field_type, msgspec.field(name=field.encode_name)
    return field.name, field_type | None | UnsetType, msgspec.field(name=field.encode_name, default=UNSET)


def _convert_valid_parts(value: Any, type_: Any) -> Any:
    """Convert decoded JSON to a tolerant type without the parts that do not fit; return UNSET if nothing fits."""
    try:
        return msgspec.convert(value, type_, strict=False)
    except msgspec.ValidationError:
        pass
    for option in get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,):
        origin, arguments = get_origin(option), get_args(option)
        if option is str and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if origin is list and isinstance(value, list):
            converted_items = (_convert_valid_parts(item, arguments[0]) for item in value)
            return [item for item in converted_items if item is not UNSET]
        if origin is dict and isinstance(value, dict):
            entries = ((key, _convert_valid_parts(item, arguments[1])) for key, item in value.items())
            return {key: item for key, item in entries if item is not UNSET}
        if origin is None and issubclass(option, Struct) and isinstance(value, dict):
            fields = msgspec.structs.fields(option)
            values_by_name = {
                field.name: _convert_valid_parts(value[field.encode_name], field.type)
                for field in fields
                if field.encode_name in value
            }
            is_identified = all(
                values_by_name.get(field.name, UNSET) is not UNSET for field in fields if field.required
            )
            return option(**values_by_name) if is_identified else UNSET
    return UNSET
