"""Icons of the installed chat client, drawn from the shapes of `static/logo.svg`."""

import io
from functools import cache
from typing import Final

from PIL import Image, ImageChops, ImageDraw

LOGO_SIZE: Final = 48
"""Width and height of the coordinates of the logo."""
SAMPLES_PER_PIXEL: Final = 4
"""Number of drawn pixels for each pixel of an icon, in each direction; edges are smoothed from them."""
AMBER: Final = "#e2a541"
TEAL: Final = "#0d6b62"
CORAL: Final = "#d9694b"
DOT: Final = "#fffdf9"
PAPER: Final = "#f6f2ea"

Point = tuple[float, float]

# Two speech bubbles: the center and radius of a circle, and the triangle of its tail.
_BACK_BUBBLE: Final = ((31.0, 17.0), 13.0, ((41.6, 24.5), (42.8, 30.6), (37.2, 28.0)))
_FRONT_BUBBLE: Final = ((17.0, 26.5), 14.5, ((11.4, 39.9), (4.6, 43.0), (6.3, 35.5)))
_DOTS: Final = ((11.6, 27.0), (17.4, 27.0), (23.2, 27.0))
_DOT_RADIUS: Final = 1.9


class _Canvas:
    """A square image with the coordinates of the logo; `scale` is the fraction of its width that the logo occupies."""

    def __init__(self, size: int, scale: float) -> None:
        self.pixels = size * SAMPLES_PER_PIXEL
        self._factor = self.pixels * scale / LOGO_SIZE
        self._offset = self.pixels * (1 - scale) / 2

    def _point(self, point: Point) -> Point:
        return point[0] * self._factor + self._offset, point[1] * self._factor + self._offset

    def circle(self, center: Point, radius: float) -> Image.Image:
        """Return the mask of a circle."""
        mask = Image.new("L", (self.pixels, self.pixels))
        x, y = self._point(center)
        pixel_radius = radius * self._factor
        ImageDraw.Draw(mask).ellipse((x - pixel_radius, y - pixel_radius, x + pixel_radius, y + pixel_radius), fill=255)
        return mask

    def bubble(self, center: Point, radius: float, tail: tuple[Point, Point, Point]) -> Image.Image:
        """Return the mask of a circle with a tail, which starts at the center of the circle so that no gap is left."""
        mask = self.circle(center, radius)
        ImageDraw.Draw(mask).polygon([self._point(point) for point in (*tail, center)], fill=255)
        return mask


@cache
def draw_icon(size: int, *, is_maskable: bool) -> bytes:
    """Return a PNG of the logo; a maskable icon has a background, and a margin that a device may cut off."""
    canvas = _Canvas(size, 0.7 if is_maskable else 1)
    image = Image.new("RGBA", (canvas.pixels, canvas.pixels), PAPER if is_maskable else (0, 0, 0, 0))
    image.paste(AMBER, mask=canvas.bubble(*_BACK_BUBBLE))
    image.paste(TEAL, mask=canvas.bubble(*_FRONT_BUBBLE))
    image.paste(CORAL, mask=ImageChops.multiply(canvas.circle(*_BACK_BUBBLE[:2]), canvas.circle(*_FRONT_BUBBLE[:2])))
    for center in _DOTS:
        image.paste(DOT, mask=canvas.circle(center, _DOT_RADIUS))
    return _encode(_smooth(image, size))


@cache
def draw_badge(size: int) -> bytes:
    """Return a PNG of the outline of the logo, which devices show in one color beside a notification."""
    canvas = _Canvas(size, 1)
    mask = ImageChops.lighter(canvas.bubble(*_BACK_BUBBLE), canvas.bubble(*_FRONT_BUBBLE))
    for center in _DOTS:
        mask = ImageChops.subtract(mask, canvas.circle(center, _DOT_RADIUS))
    image = Image.new("RGBA", (size, size), "white")
    image.putalpha(_smooth(mask, size))
    return _encode(image)


def _smooth(image: Image.Image, size: int) -> Image.Image:
    return image.resize((size, size), Image.Resampling.BOX)


def _encode(image: Image.Image) -> bytes:
    png = io.BytesIO()
    image.save(png, "PNG", optimize=True)
    return png.getvalue()
