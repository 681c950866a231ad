"""Arithmetic of i16 samples without a library for it: a frame is 1920 of them, and few people speak at once."""

import math
from array import array
from operator import add
from typing import Final

from hubbub.sdk.audio import FRAME_BYTES, FRAME_SAMPLES

QUIETEST: Final = -100.0
_FULL: Final = 32768.0
_BITS: Final = 12
"""Of a factor's fraction: whole numbers are multiplied in a third of the time."""
_STEP: Final = 16
"""A level needs no more than each eighth sample of one channel."""


def frame_of(data: bytes) -> "array[int]":
    """Samples of one frame; what is too short ends in silence, what is too long is cut."""
    samples = array("h", data[: min(len(data), FRAME_BYTES) & ~1])
    if len(samples) < FRAME_SAMPLES:
        samples.extend(array("h", bytes(2 * (FRAME_SAMPLES - len(samples)))))
    return samples


def silence() -> "array[int]":
    """A frame of nothing."""
    return array("h", bytes(FRAME_BYTES))


def level(samples: "array[int]") -> float:
    """How loud a frame is, in dBFS; -100 is nothing."""
    some = samples[::_STEP]
    power = sum(each * each for each in some) / max(len(some), 1)
    return max(QUIETEST, 10 * math.log10(power / (_FULL * _FULL))) if power else QUIETEST


def scaled(samples: "array[int]", factor: float) -> "array[int]":
    """The same, louder or softer."""
    if factor == 1.0:
        return samples
    times = round(factor * (1 << _BITS))
    return _bounded([each * times >> _BITS for each in samples])


def mixed(one: "array[int]", other: "array[int]") -> "array[int]":
    """Both at once."""
    return _bounded(list(map(add, one, other)))


def _bounded(values: list[int]) -> "array[int]":
    # Mostly nothing is too loud, and the array looks at each of them anyhow.
    try:
        return array("h", values)
    except OverflowError:
        return array("h", [max(-32768, min(32767, each)) for each in values])
