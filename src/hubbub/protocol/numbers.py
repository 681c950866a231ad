"""Integer types with the ranges of the public API description, so that every database can store accepted values."""

from typing import Annotated, Final

from msgspec import Meta

INT32_MAX: Final = (1 << 31) - 1
INT32_MIN: Final = -(1 << 31)
COLOR_MAX: Final = 0xFFFFFF
"""Highest RGB color."""

Int32 = Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX)]

Bits = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""Flags in a request: a non-negative integer of at most 63 bits."""
