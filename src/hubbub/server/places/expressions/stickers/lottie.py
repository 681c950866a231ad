"""Validation of Lottie animations, as far as the rules for stickers go."""

from typing import Any

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import stickers as wire

_NUMBERS = ("fr", "ip", "op", "w", "h")


def require_animation(data: bytes) -> None:
    """Raise an error unless the data is a vector animation allowed as a sticker (spec/http.md#1.9: 170001 to 170007)."""
    try:
        drawing = codec.decode_any(data)
    except msgspec.DecodeError:
        raise errors.LOTTIE_INVALID_JSON() from None
    if not isinstance(drawing, dict) or not isinstance(drawing.get("layers"), list):
        raise errors.LOTTIE_INVALID_JSON()
    if not all(_is_number(drawing.get(name)) for name in _NUMBERS):
        raise errors.LOTTIE_INVALID_JSON()
    assets = drawing.get("assets")
    if assets is not None and not isinstance(assets, list):
        raise errors.LOTTIE_INVALID_JSON()
    if any(_is_raster(asset) for asset in assets or ()):
        raise errors.LOTTIE_RASTER_IMAGES()
    rate, frames = drawing["fr"], drawing["op"] - drawing["ip"]
    if rate > wire.LOTTIE_FRAME_RATE_MAX:
        raise errors.LOTTIE_FRAME_RATE()
    if rate < 1 or frames <= 0:
        raise errors.LOTTIE_FRAME_RATE_RANGE()
    if frames > wire.LOTTIE_FRAMES_MAX:
        raise errors.LOTTIE_FRAME_COUNT()
    if not (0 < drawing["w"] <= wire.STICKER_SIDE_PIXELS_MAX and 0 < drawing["h"] <= wire.STICKER_SIDE_PIXELS_MAX):
        raise errors.LOTTIE_DIMENSIONS()
    if frames / rate > wire.STICKER_SECONDS_MAX:
        raise errors.LOTTIE_DURATION()


def _is_number(value: Any) -> bool:
    # Below 2**53 integers and floats are exact, so comparisons and differences are reliable.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53


def _is_raster(asset: Any) -> bool:
    """Return whether an asset is a raster image, embedded in the file or referenced by URL."""
    return isinstance(asset, dict) and bool(asset.get("p"))
