"""Validation of the Lottie animations that are uploaded as stickers."""

from typing import Any

import msgspec

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import stickers as wire

_NUMBER_FIELDS = ("fr", "ip", "op", "w", "h")
"""Required numbers of an animation: frame rate, first frame, end frame, width and height."""


def require_valid_animation(encoded_animation: bytes) -> None:
    """Raise an error unless the data is a Lottie animation that is allowed as a sticker.

    The errors have the codes 170001 to 170007 (spec/http.md#1.9)."""
    try:
        animation = codec.decode_any(encoded_animation)
    except msgspec.DecodeError:
        raise errors.LOTTIE_INVALID_JSON() from None
    if not isinstance(animation, dict) or not isinstance(animation.get("layers"), list):
        raise errors.LOTTIE_INVALID_JSON()
    if not all(_is_number(animation.get(name)) for name in _NUMBER_FIELDS):
        raise errors.LOTTIE_INVALID_JSON()
    assets = animation.get("assets")
    if assets is not None and not isinstance(assets, list):
        raise errors.LOTTIE_INVALID_JSON()
    if any(_is_raster_image(asset) for asset in assets or ()):
        raise errors.LOTTIE_RASTER_IMAGES()
    frame_rate, frame_count = animation["fr"], animation["op"] - animation["ip"]
    if frame_rate > wire.LOTTIE_FRAME_RATE_MAX:
        raise errors.LOTTIE_FRAME_RATE()
    if frame_rate < 1 or frame_count <= 0:
        raise errors.LOTTIE_FRAME_RATE_RANGE()
    if frame_count > wire.LOTTIE_FRAMES_MAX:
        raise errors.LOTTIE_FRAME_COUNT()
    if not (0 < animation["w"] <= wire.STICKER_SIDE_PIXELS_MAX and 0 < animation["h"] <= wire.STICKER_SIDE_PIXELS_MAX):
        raise errors.LOTTIE_DIMENSIONS()
    if frame_count / frame_rate > wire.STICKER_SECONDS_MAX:
        raise errors.LOTTIE_DURATION()


def is_animation(data: bytes) -> bool:
    """Return whether the data is a Lottie animation that is allowed as a sticker."""
    try:
        require_valid_animation(data)
    except errors.ApiError:
        return False
    return True


def _is_number(value: Any) -> bool:
    # Below 2**53 integers and floats are exact, so comparisons and differences are reliable.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53


def _is_raster_image(asset: Any) -> bool:
    """Return whether an asset is a raster image, embedded in the file or referenced by URL."""
    return isinstance(asset, dict) and bool(asset.get("p"))
