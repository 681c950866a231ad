"""Checks of the values that a game passes to the SDK, at the place where it sets them (spec/sdk.md#0).

A value of another type raises TypeError, and a value out of range ValueError; the message names the argument. The
expected type is the annotation of the parameter or record field. Checks are built when they are first needed.
"""

import math
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, update_wrapper
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin

from hubbub.sdk import enums
from hubbub.sdk.enums import ActivityGamePlatforms, Enumeration
from hubbub.sdk.objects import Object

P = ParamSpec("P")
R = TypeVar("R")

UINT64_MAX: Final = 2**64 - 1


class Range(NamedTuple):
    """Inclusive range of an integer."""

    minimum: int
    maximum: int


UINT64: Final = Range(0, UINT64_MAX)
"""Range of integers without another range, such as IDs."""
Int32 = Annotated[int, Range(-(2**31), 2**31 - 1)]
"""A 32-bit integer, which may be negative."""
UInt8 = Annotated[int, Range(0, 255)]
"""An integer from 0 to 255."""

Check = Callable[[str, Any], Any]
"""Function that receives the name and the value of an argument, and returns the value to use."""


def check_argument(name: str, value: Any, annotation: Any) -> Any:
    """Return the value of an argument; raise TypeError or ValueError if it does not match the annotation.

    The number of an enumerator is converted to the enumerator."""
    return _check_for(annotation)(name, value)


def checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function or method so that it checks its arguments against their annotations."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*check_call(function, args, kwargs), **kwargs)

    update_wrapper(call, function)
    return call


def check_call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Check the arguments of a call, convert those in `kwargs` in place, and return the positional arguments.

    Missing and unknown arguments are not reported here; the call itself raises TypeError for them."""
    positional_checks, checks_by_name = _parameter_checks(function)
    for name, value in kwargs.items():
        if name in checks_by_name:
            kwargs[name] = checks_by_name[name](name, value)
    checked_args = [check(name, value) for (name, check), value in zip(positional_checks, args, strict=False)]
    return checked_args + list(args[len(checked_args) :])


@cache
def _parameter_checks(function: Callable[..., Any]) -> tuple[list[tuple[str, Check]], dict[str, Check]]:
    """Return the checks of the positional parameters in order, and those of all parameters by name."""
    positional_checks: list[tuple[str, Check]] = []
    checks_by_name: dict[str, Check] = {}
    for parameter in signature(function).parameters.values():
        check = _accept if parameter.annotation is Parameter.empty else _check_for(parameter.annotation)
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            positional_checks.append((parameter.name, check))
        if parameter.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
            checks_by_name[parameter.name] = check
    return positional_checks, checks_by_name


@cache
def _check_for(annotation: Any) -> Check:
    """Build the check of an annotation; an annotation without a rule accepts every value."""
    origin, type_arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _union_check(type_arguments)
    if origin is Annotated:
        return next(
            (_integer_check(item) for item in type_arguments if isinstance(item, Range)), _check_for(type_arguments[0])
        )
    if origin is list:
        return _list_check(_check_for(type_arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_check(_check_for(type_arguments[0]), _check_for(type_arguments[1]))
    if origin is Callable or annotation is Callable:
        return _check_callable
    return _class_check(annotation) if isinstance(annotation, type) else _accept


def _class_check(class_: type[Any]) -> Check:
    """Build the check of an annotation that is a class; a class without a rule accepts every value."""
    if class_ is int:
        return _integer_check(UINT64)
    if issubclass(class_, Enumeration):
        return _enumeration_check(class_)
    if issubclass(class_, ActivityGamePlatforms):
        return _check_platforms
    if issubclass(class_, Object):
        return _instance_check(class_, class_.__name__)
    return {float: _check_number, str: _check_text, bool: _check_boolean}.get(class_, _accept)


def _type_error(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name} must be {expected}, not {type(value).__name__}")


def _accept(_: str, value: Any) -> Any:
    return value


def _instance_check(class_: type[Any], expected: str) -> Check:
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, class_):
            raise _type_error(name, expected, value)
        return value

    return check


_check_boolean: Final = _instance_check(bool, "True or False")


def _integer_check(limits: Range) -> Check:
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _type_error(name, "an integer", value)
        if not limits.minimum <= value <= limits.maximum:
            raise ValueError(f"{name} must be from {limits.minimum} to {limits.maximum}, not {value}")
        return value

    return check


def _check_number(name: str, value: Any) -> Any:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _type_error(name, "a number", value)
    if not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, not {value}")
    return value


def _check_text(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise _type_error(name, "a string", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            # The value may be a secret, so it is not part of the message.
            raise ValueError(f"{name} must be valid Unicode text") from None
    return value


def _check_callable(name: str, value: Any) -> Any:
    if not callable(value):
        raise _type_error(name, "a function", value)
    return value


def _enumeration_check(class_: type[Enumeration]) -> Check:
    # The SDK has its own names for some enums of the protocol; the last one that it defines is public.
    kind_name = [class_.__name__, *(name for name, value in vars(enums).items() if value is class_)][-1]

    def check(name: str, value: Any) -> Any:
        if isinstance(value, class_):
            return value
        if not isinstance(value, int) or isinstance(value, (bool, Enum)):
            raise _type_error(name, f"a member of {kind_name}", value)
        try:
            return class_(value)
        except ValueError:
            raise ValueError(f"{name} must be a member of {kind_name}, not {value}") from None

    return check


def _check_platforms(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or isinstance(value, Enumeration):
        raise _type_error(name, "a combination of ActivityGamePlatforms", value)
    known_bits = sum(member.value for member in ActivityGamePlatforms)
    if value & ~known_bits:
        raise ValueError(f"{name} must be a combination of ActivityGamePlatforms, not {int(value)}")
    return ActivityGamePlatforms(value)


def _union_check(annotations: tuple[Any, ...]) -> Check:
    """Build the check of a union; it raises the TypeError of the last type, with "or None" if None is allowed."""
    checks = [_check_for(annotation) for annotation in annotations if annotation is not NoneType]
    is_optional = NoneType in annotations

    def check(name: str, value: Any) -> Any:
        if value is None and is_optional:
            return None
        for alternative in checks[:-1]:
            try:
                return alternative(name, value)
            except TypeError:
                continue
        try:
            return checks[-1](name, value)
        except TypeError as error:
            text = str(error)
            raise TypeError(text.replace(", not ", " or None, not ", 1) if is_optional else text) from None

    return check


def _list_check(item_check: Check) -> Check:
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, list):
            raise _type_error(name, "a list", value)
        return [item_check(f"{name}[{index}]", item) for index, item in enumerate(value)]

    return check


def _mapping_check(key_check: Check, value_check: Check) -> Check:
    def check(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _type_error(name, "a mapping", value)
        return {
            key_check(f"a key of {name}", key): value_check(f"{name}[{key!r}]", item) for key, item in value.items()
        }

    return check
