"""The widget as a PNG image: the guild's name and its number of online members, drawn with a built-in font."""

import struct
import zlib
from typing import Final, NamedTuple

from hubbub.protocol.enums import WidgetStyle

# Letters of 5 by 7 dots. Each of the 7 characters is a row of dots from top to bottom, as a digit of base 32.
# fmt: off
_FONT: Final = {
    "A": "ehhvhhh", "B": "uhhuhhu", "C": "ehggghe", "D": "uhhhhhu", "E": "vgguggv", "F": "vgguggg",
    "G": "ehgnhhe", "H": "hhhvhhh", "I": "e44444e", "J": "72222ic", "K": "hikokih", "L": "ggggggv",
    "M": "hrllhhh", "N": "hpljhhh", "O": "ehhhhhe", "P": "uhhuggg", "Q": "ehhhlid", "R": "uhhukih",
    "S": "fgge11u", "T": "v444444", "U": "hhhhhhe", "V": "hhhhha4", "W": "hhhllrh", "X": "hha4ahh",
    "Y": "hha4444", "Z": "v1248gv", "0": "ehjlphe", "1": "4c4444e", "2": "eh168gv", "3": "u11e11u",
    "4": "26aiv22", "5": "vgu11he", "6": "eguhhhe", "7": "v124888", "8": "ehhehhe", "9": "ehhf11e",
    " ": "0000000", "-": "000v000", ".": "00000cc", "'": "4400000", "!": "4444404", "&": "cik8lid",
    "?": "eh16404",
}
# fmt: on
_UNKNOWN_LETTER: Final = "vhhhhhv"
"""An empty box, for letters that the font does not have."""
_LETTER_WIDTH, _LETTER_HEIGHT, _LETTER_SPACING = 5, 7, 6
"""Sizes in dots; the spacing is the distance between the left edges of two letters."""


class Layout(NamedTuple):
    """The appearance of a widget style. Sizes are in pixels."""

    width: int
    height: int
    background: int
    """Background color as an RGB number."""
    name_scale: int
    """Size of a dot of the name's letters; 0 shows no name."""
    count_scale: int
    """Size of a dot of the letters of the number of online members."""


_LAYOUTS_BY_STYLE: Final = {
    WidgetStyle.SHIELD: Layout(154, 20, 0x5865F2, 0, 1),
    WidgetStyle.BANNER1: Layout(320, 76, 0x23272A, 2, 2),
    WidgetStyle.BANNER2: Layout(320, 76, 0xFFFFFF, 2, 1),
    WidgetStyle.BANNER3: Layout(320, 110, 0x5865F2, 3, 2),
    WidgetStyle.BANNER4: Layout(320, 137, 0x2C2F33, 3, 3),
}
_INDICATOR_COLOR: Final = 0x43B581
_TEXT_INDEX, _INDICATOR_INDEX = 1, 2
"""Palette indexes of texts and of the indicator before the number of online members; index 0 is the background."""


def draw_widget(name: str, online_count: int, style: WidgetStyle) -> bytes:
    """Return a guild's widget as a PNG image, with the number of online members `online_count`."""
    layout = _LAYOUTS_BY_STYLE[style]
    canvas = [bytearray(layout.width) for _ in range(layout.height)]
    margin_pixels = 6
    if layout.name_scale:
        _draw_text(canvas, name, margin_pixels, layout.height // 4 - layout.name_scale * 2, layout.name_scale)
    count_top = (
        (layout.height - _LETTER_HEIGHT * layout.count_scale) // 2 if not layout.name_scale else layout.height * 5 // 8
    )
    indicator_size = 3 * layout.count_scale
    indicator_top = count_top + 2 * layout.count_scale
    for y in range(indicator_top, indicator_top + indicator_size):
        canvas[y][margin_pixels : margin_pixels + indicator_size] = bytes([_INDICATOR_INDEX]) * indicator_size
    _draw_text(canvas, f"{online_count} online", margin_pixels + indicator_size + 4, count_top, layout.count_scale)
    text_color = 0x000000 if layout.background == 0xFFFFFF else 0xFFFFFF
    return _encode_png(canvas, (layout.background, text_color, _INDICATOR_COLOR))


def _draw_text(canvas: list[bytearray], text: str, left_pixels: int, top_pixels: int, scale: int) -> None:
    """Draw a text on the canvas, as far as it fits."""
    for letter in text.upper():
        if left_pixels + _LETTER_WIDTH * scale > len(canvas[0]):
            return
        for row_index, row_digit in enumerate(_FONT.get(letter, _UNKNOWN_LETTER)):
            for column in range(_LETTER_WIDTH):
                if int(row_digit, 32) >> (_LETTER_WIDTH - 1 - column) & 1:
                    for y in range(top_pixels + row_index * scale, top_pixels + (row_index + 1) * scale):
                        x = left_pixels + column * scale
                        canvas[y][x : x + scale] = bytes([_TEXT_INDEX]) * scale
        left_pixels += _LETTER_SPACING * scale


def _encode_png(canvas: list[bytearray], palette: tuple[int, ...]) -> bytes:
    """Encode a canvas of palette indexes as PNG; the palette consists of RGB numbers."""
    header = struct.pack(">IIBBBBB", len(canvas[0]), len(canvas), 8, 3, 0, 0, 0)
    palette_bytes = b"".join(color.to_bytes(3, "big") for color in palette)
    image_rows = b"".join(b"\x00" + bytes(row) for row in canvas)
    chunks = ((b"IHDR", header), (b"PLTE", palette_bytes), (b"IDAT", zlib.compress(image_rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk_data))
        + chunk_type
        + chunk_data
        + struct.pack(">I", zlib.crc32(chunk_type + chunk_data))
        for chunk_type, chunk_data in chunks
    )
