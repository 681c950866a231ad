"""Batches of long lists, for example of the values that fit into one SQL statement."""

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

BATCH_SIZE: Final = 500
"""Default number of values in one IN list or one multi-row INSERT."""


def batches(values: Iterable[T], size: int = BATCH_SIZE) -> Iterator[list[T]]:
    """Yield the values in order, in lists of at most `size`."""
    value_list = values if isinstance(values, list) else list(values)
    for start in range(0, len(value_list), size):
        yield value_list[start : start + size]


def distinct_batches(values: Iterable[T], size: int = BATCH_SIZE) -> Iterator[list[T]]:
    """Yield the distinct values in order of first occurrence, in lists of at most `size`."""
    return batches(list(dict.fromkeys(values)), size)
