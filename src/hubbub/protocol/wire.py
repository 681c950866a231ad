"""JSON for every model: one encoder, one decoder per type, and the timestamp form of the wire."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import methodcaller
from typing import Any, TypeVar

import msgspec

from hubbub.protocol.ids import Timestamp, WideInt, parse_wide
from hubbub.protocol.images import ImageData
from hubbub.protocol.sounds import SoundData

T = TypeVar("T")

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decode_hook(kind: type, value: Any) -> Any:
    """msgspec's hook for our own types."""
    if issubclass(kind, WideInt):
        return parse_wide(kind, value)
    if issubclass(kind, ImageData | SoundData):
        return kind.parse(value)
    raise NotImplementedError(f"no decoding for {kind!r}")


encode_hook: Callable[[Any], Any] = methodcaller("on_wire")
"""msgspec's hook for our own types, which know what they are there: a wide integer its decimal string, a picture or sound its
data URI. Nearly every id passes here, so it is a function of the interpreter's own."""


_encoder = msgspec.json.Encoder(enc_hook=encode_hook)
encode = _encoder.encode
"""Any model, list or dict to JSON bytes."""


@lru_cache(maxsize=4096)
def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """The (cached) strict decoder of a type."""
    return msgspec.json.Decoder(kind, dec_hook=decode_hook)


def decode(data: bytes | str, kind: type[T]) -> T:
    """JSON to a model; msgspec.ValidationError or DecodeError otherwise, whatever it is that strangers say."""
    hashable: Any = kind
    try:
        result: T = decoder(hashable).decode(data)
    except (RecursionError, UnicodeError) as error:
        # Nested too deep, or not Unicode: both pass by the errors of msgspec itself.
        raise msgspec.DecodeError(str(error)) from None
    return result


def decode_any(data: bytes | str) -> Any:
    """JSON of whatever shape; msgspec.DecodeError otherwise."""
    anything: Any = Any
    return decode(data, anything)


def convert(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Builtin values (dicts, lists, strings) to a model."""
    return msgspec.convert(value, kind, strict=strict, dec_hook=decode_hook)


def timestamp(ms: int) -> Timestamp:
    """Unix milliseconds in the wire's form, e.g. 2026-01-02T03:04:05.678000+00:00."""
    return Timestamp(f"{_second(ms // 1000)}.{ms % 1000:03d}000+00:00")


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    # Every message and member shows a time, and those of one page or channel are near each other.
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def milliseconds(moment: datetime) -> int:
    """Unix milliseconds of a decoded timestamp; one without offset is read as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    # Whole-number arithmetic: a float of seconds loses a millisecond now and then.
    return (moment - _UNIX_EPOCH) // timedelta(milliseconds=1)
