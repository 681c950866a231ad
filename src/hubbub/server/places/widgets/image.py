"""The widget as a PNG image: the guild's name and its number of online members, drawn with a built-in font."""

import struct
import zlib
from typing import Final, NamedTuple

from hubbub.protocol.enums import WidgetStyle

# Letters of 5 by 7 dots; each row is a digit of base 32.
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
_UNKNOWN: Final = "vhhhhhv"
_LETTER_WIDTH, _LETTER_HEIGHT, _LETTER_SPACING = 5, 7, 6


class Layout(NamedTuple):
    """The appearance of a widget style."""

    width: int
    height: int
    background: int
    name_scale: int
    """Size of a dot of the name's letters in pixels; 0 shows no name."""
    count_scale: int


_STYLES: Final = {
    WidgetStyle.SHIELD: Layout(154, 20, 0x5865F2, 0, 1),
    WidgetStyle.BANNER1: Layout(320, 76, 0x23272A, 2, 2),
    WidgetStyle.BANNER2: Layout(320, 76, 0xFFFFFF, 2, 1),
    WidgetStyle.BANNER3: Layout(320, 110, 0x5865F2, 3, 2),
    WidgetStyle.BANNER4: Layout(320, 137, 0x2C2F33, 3, 3),
}
_GREEN: Final = 0x43B581


def draw(name: str, online: int, style: WidgetStyle) -> bytes:
    """Return the image of a guild's widget."""
    layout = _STYLES[style]
    canvas = [bytearray(layout.width) for _ in range(layout.height)]
    margin = 6
    if layout.name_scale:
        _draw_text(canvas, name, margin, layout.height // 4 - layout.name_scale * 2, layout.name_scale)
    baseline = (
        (layout.height - _LETTER_HEIGHT * layout.count_scale) // 2 if not layout.name_scale else layout.height * 5 // 8
    )
    dot = 3 * layout.count_scale
    for y in range(baseline + 2 * layout.count_scale, baseline + 2 * layout.count_scale + dot):
        canvas[y][margin : margin + dot] = bytes([2]) * dot
    _draw_text(canvas, f"{online} online", margin + dot + 4, baseline, layout.count_scale)
    ink = 0x000000 if layout.background == 0xFFFFFF else 0xFFFFFF
    return _png(canvas, (layout.background, ink, _GREEN))


def _draw_text(canvas: list[bytearray], text: str, left: int, top: int, scale: int) -> None:
    """Draw a text on the canvas, as far as it fits."""
    for letter in text.upper():
        if left + _LETTER_WIDTH * scale > len(canvas[0]):
            return
        for row, bits in enumerate(_FONT.get(letter, _UNKNOWN)):
            for column in range(_LETTER_WIDTH):
                if int(bits, 32) >> (_LETTER_WIDTH - 1 - column) & 1:
                    for y in range(top + row * scale, top + (row + 1) * scale):
                        x = left + column * scale
                        canvas[y][x : x + scale] = b"\x01" * scale
        left += _LETTER_SPACING * scale


def _png(canvas: list[bytearray], palette: tuple[int, ...]) -> bytes:
    """Encode a canvas of palette indexes as PNG."""
    header = struct.pack(">IIBBBBB", len(canvas[0]), len(canvas), 8, 3, 0, 0, 0)
    colors = b"".join(color.to_bytes(3, "big") for color in palette)
    rows = b"".join(b"\x00" + bytes(row) for row in canvas)
    parts = ((b"IHDR", header), (b"PLTE", colors), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
