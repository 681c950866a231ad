"""JSON encoding and decoding of the models, and the timestamp format of the protocol."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import methodcaller
from typing import Any, Final, TypeVar

import msgspec

from hubbub.protocol.ids import Timestamp, WideInt, parse_wide
from hubbub.protocol.images import ImageData
from hubbub.protocol.sounds import SoundData

T = TypeVar("T")

DEPTH_MAX: Final = 500
"""Maximum nesting depth of JSON. Without a limit, the depth at which msgspec fails depends on the version of Python."""
_STRING_OR_BRACKET_PATTERN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)
"""A string, an opening bracket (group 1) or a closing bracket (group 2)."""

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode_hook(class_: type, value: Any) -> Any:
    """Decode wide integers, images and sounds for msgspec."""
    if issubclass(class_, WideInt):
        return parse_wide(class_, value)
    if issubclass(class_, ImageData | SoundData):
        return class_.from_data_uri(value)
    raise NotImplementedError(f"no decoding for {class_!r}")


encode_hook: Callable[[Any], Any] = methodcaller("to_wire")
"""Encode wide integers as decimal strings, and images and sounds as data URIs, for msgspec.

msgspec calls it for nearly every ID, so it is a `methodcaller`, which is implemented in C.
"""


_encoder = msgspec.json.Encoder(enc_hook=encode_hook)
encode = _encoder.encode
"""Encode a model, list or dict as JSON bytes."""


@lru_cache(maxsize=4096)
def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    """Return the cached strict decoder of a type."""
    return msgspec.json.Decoder(type_, dec_hook=decode_hook)


def decode(data: bytes | str, class_: type[T]) -> T:
    """Decode JSON into a model.

    Raise msgspec.ValidationError or msgspec.DecodeError for any invalid input, however malformed.
    """
    # The variable is typed as Any, because type checkers do not regard every type as hashable.
    hashable: Any = class_
    if exceeds_depth(data, DEPTH_MAX):
        raise msgspec.DecodeError(f"JSON is nested more than {DEPTH_MAX} levels deep")
    try:
        result: T = decoder(hashable).decode(data)
    except (RecursionError, UnicodeError) as error:
        # Input that is not valid Unicode does not raise one of msgspec's own errors. RecursionError is a second safeguard
        # against deep nesting.
        raise msgspec.DecodeError(str(error)) from None
    return result


def exceeds_depth(data: bytes | str, depth_max: int) -> bool:
    """Return whether the arrays and objects of a JSON text are nested more than `depth_max` levels deep."""
    if isinstance(data, str):
        data = data.encode(errors="surrogatepass")
    if data.count(b"[") + data.count(b"{") <= depth_max:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET_PATTERN.finditer(data):
        group = match.lastindex
        if group == 1:
            depth += 1
            if depth > depth_max:
                return True
        elif group == 2:
            depth -= 1
    return False


def decode_any(data: bytes | str) -> Any:
    """Decode JSON of any shape; raise msgspec.DecodeError if it is invalid."""
    any_type: Any = Any
    return decode(data, any_type)


def convert(value: Any, class_: type[T], *, strict: bool = True) -> T:
    """Convert built-in values (dicts, lists, strings) into a model.

    If `strict` is False, strings are also accepted as numbers and booleans, as in query parameters.
    """
    return msgspec.convert(value, class_, strict=strict, dec_hook=decode_hook)


def timestamp(ms: int) -> Timestamp:
    """Format Unix milliseconds as an ISO 8601 timestamp, for example 2026-01-02T03:04:05.678000+00:00."""
    return Timestamp(f"{_format_second(ms // 1000)}.{ms % 1000:03d}000+00:00")


@lru_cache(maxsize=4096)
def _format_second(seconds: int) -> str:
    # Timestamps are formatted for every message and member, and many within a response share a second.
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def milliseconds(time: datetime) -> int:
    """Return the Unix milliseconds of a datetime; a datetime without an offset counts as UTC."""
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    # Use integer arithmetic, because a float of seconds can be off by a millisecond.
    return (time - _UNIX_EPOCH) // timedelta(milliseconds=1)
