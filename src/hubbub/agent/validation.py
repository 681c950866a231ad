"""Validation of command arguments, with error messages like `child "activity" fails because [...]` (spec/rpc.md#8).

A check takes a value and its name and returns the converted value, or raises `InvalidValue`. A null counts as a missing value.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from hubbub.protocol.rpc import RpcError, RpcErrorCode

SNOWFLAKE_DIGITS_MAX: Final = 20
"""Number of digits of the largest 64-bit ID."""

Check = Callable[[Any, str], Any]
"""Function that takes a value and its name, and returns the converted value or raises `InvalidValue`."""


class InvalidValue(Exception):
    """Raised by a check; the message names the value and the problem."""


def child_error(name: str, problem: object) -> InvalidValue:
    """Build the error of a field inside an object."""
    return InvalidValue(f'child "{name}" fails because [{problem}]')


def text(minimum: int, maximum: int) -> Check:
    """Return a check for a string with a length from `minimum` to `maximum`."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise InvalidValue(f'"{name}" must be a string')
        if not value:
            raise InvalidValue(f'"{name}" is not allowed to be empty')
        if len(value) < minimum:
            raise InvalidValue(f'"{name}" length must be at least {minimum} characters long')
        if len(value) > maximum:
            raise InvalidValue(f'"{name}" length must be less than or equal to {maximum} characters long')
        return value

    return check


def web_url(maximum: int) -> Check:
    """Return a check for an http or https URL of at most `maximum` characters."""
    check_text = text(1, maximum)

    def check(value: Any, name: str) -> str:
        url: str = check_text(value, name)
        try:
            split_url = urlsplit(url)
            is_valid = split_url.scheme in ("http", "https") and bool(split_url.hostname)
        except ValueError:
            is_valid = False
        if not is_valid:
            raise InvalidValue(f'"{name}" must be a valid uri')
        return url

    return check


def number(minimum: float | None = None, maximum: float | None = None, *, is_whole: bool = True) -> Check:
    """Return a check for a number from `minimum` to `maximum`; `is_whole` requires an integer."""

    def check(value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidValue(f'"{name}" must be a number')
        if is_whole and value != int(value):
            raise InvalidValue(f'"{name}" must be an integer')
        if minimum is not None and value < minimum:
            raise InvalidValue(f'"{name}" must be larger than or equal to {minimum}')
        if maximum is not None and value > maximum:
            raise InvalidValue(f'"{name}" must be less than or equal to {maximum}')
        return int(value) if is_whole else value

    return check


def boolean(value: Any, name: str) -> bool:
    """Return the value if it is a boolean; raise `InvalidValue` otherwise."""
    if not isinstance(value, bool):
        raise InvalidValue(f'"{name}" must be a boolean')
    return value


def one_of(*choices: Any) -> Check:
    """Return a check for one of several values."""

    def check(value: Any, name: str) -> Any:
        if isinstance(value, bool) or value not in choices:
            raise InvalidValue(f'"{name}" must be one of [{", ".join(map(str, choices))}]')
        return value

    return check


def snowflake(value: Any, name: str) -> str:
    """Return an ID as a string of digits; raise `InvalidValue` if the value is neither such a string nor a 64-bit number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return str(value)
    if not isinstance(value, str):
        raise InvalidValue(f'"{name}" must be a string')
    if not value.isascii() or not value.isdecimal() or len(value) > SNOWFLAKE_DIGITS_MAX:
        raise InvalidValue(f'"{name}" must be a snowflake')
    return value


def items(check_item: Check, minimum: int, maximum: int) -> Check:
    """Return a check for a list of `minimum` to `maximum` items that pass `check_item`."""

    def check(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidValue(f'"{name}" must be an array')
        if len(value) < minimum:
            raise InvalidValue(f'"{name}" must contain at least {minimum} items')
        if len(value) > maximum:
            raise InvalidValue(f'"{name}" must contain less than or equal to {maximum} items')
        result = []
        for position, item in enumerate(value):
            try:
                result.append(check_item(item, str(position)))
            except InvalidValue as error:
                raise InvalidValue(f'"{name}" at position {position} fails because [{error}]') from None
        return result

    return check


def fields(checks: Mapping[str, Check], required: Collection[str] = ()) -> Check:
    """Return a check for an object whose values pass `checks`; unknown keys are dropped.

    `required` are the keys that must be present."""

    def check(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidValue(f'"{name}" must be an object')
        result: dict[str, Any] = {}
        for key, check_field in checks.items():
            if value.get(key) is None:
                if key in required:
                    raise child_error(key, f'"{key}" is required')
                continue
            try:
                result[key] = check_field(value[key], key)
            except InvalidValue as error:
                raise child_error(key, error) from None
        return result

    return check


ARGUMENTS_NAME: Final = "args"
"""Name of the arguments in error messages."""


def parse_arguments(args: Mapping[str, Any] | None, checks: Mapping[str, Check], *required: str) -> dict[str, Any]:
    """Validate the arguments of a command and return them; raise RpcError INVALID_PAYLOAD if they are invalid.

    `required` are the names of the arguments that must be present."""
    try:
        arguments: dict[str, Any] = fields(checks, required)(dict(args or {}), ARGUMENTS_NAME)
    except InvalidValue as error:
        raise RpcError(RpcErrorCode.INVALID_PAYLOAD, str(error)) from None
    return arguments
