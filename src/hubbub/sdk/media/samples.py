"""Arithmetic on 16-bit samples in pure Python, which is fast enough for frames of 1920 samples and a few speakers."""

import math
from array import array
from operator import add
from typing import Final

from hubbub.sdk.audio import FRAME_BYTES, FRAME_SAMPLES

LEVEL_MIN_DBFS: Final = -100.0
"""Level of silence."""
_FULL_SCALE: Final = 32768.0
"""Amplitude of 0 dBFS."""
_FRACTION_BITS: Final = 12
"""Fraction bits of a fixed-point factor; integer multiplication takes a third of the time of float multiplication."""
_LEVEL_STEP: Final = 16
"""Step between the samples that a level is computed from: every eighth sample of the left channel."""


def to_frame(sample_bytes: bytes) -> "array[int]":
    """Convert bytes to the samples of one frame, padded with silence or truncated."""
    samples = array("h", sample_bytes[: min(len(sample_bytes), FRAME_BYTES) & ~1])
    if len(samples) < FRAME_SAMPLES:
        samples.extend(array("h", bytes(2 * (FRAME_SAMPLES - len(samples)))))
    return samples


def silence() -> "array[int]":
    """Return a frame of silence."""
    return array("h", bytes(FRAME_BYTES))


def level(samples: "array[int]") -> float:
    """Return the level of a frame in dBFS, at least -100."""
    subset = samples[::_LEVEL_STEP]
    power = sum(sample * sample for sample in subset) / max(len(subset), 1)
    return max(LEVEL_MIN_DBFS, 10 * math.log10(power / (_FULL_SCALE * _FULL_SCALE))) if power else LEVEL_MIN_DBFS


def scale(samples: "array[int]", factor: float) -> "array[int]":
    """Return the samples multiplied by a factor, clipped to 16 bits."""
    if factor == 1.0:
        return samples
    multiplier = round(factor * (1 << _FRACTION_BITS))
    return _clip([sample * multiplier >> _FRACTION_BITS for sample in samples])


def pan(samples: "array[int]", left_factor: float, right_factor: float) -> "array[int]":
    """Return the samples with the channels multiplied by their factors, clipped to 16 bits."""
    result = array("h", samples)
    result[::2] = scale(samples[::2], left_factor)
    result[1::2] = scale(samples[1::2], right_factor)
    return result


def mix(first: "array[int]", second: "array[int]") -> "array[int]":
    """Return the sum of two frames, clipped to 16 bits."""
    return _clip(list(map(add, first, second)))


def _clip(values: list[int]) -> "array[int]":
    """Convert values to 16-bit samples; values outside the range become the nearest sample."""
    # The array checks the range of each value anyway, so clip only after an overflow, which is rare.
    try:
        return array("h", values)
    except OverflowError:
        return array("h", [max(-32768, min(32767, value)) for value in values])
