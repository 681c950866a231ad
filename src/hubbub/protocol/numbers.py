"""Whole numbers as wide as the public description has them, so that every store can hold what was let in."""

from typing import Annotated, Final

from msgspec import Meta

INT32_MAX: Final = (1 << 31) - 1
INT32_MIN: Final = -(1 << 31)

Int32 = Annotated[int, Meta(ge=INT32_MIN, le=INT32_MAX)]

Bits = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""Flags as somebody sets them."""
