"""The widget as a picture: a guild's name and how many are online, drawn with a font of our own and packed as PNG."""

import struct
import zlib
from typing import Final, NamedTuple

from hubbub.protocol.enums import WidgetStyle

# Letters of 5 by 7 dots: a digit of base 32 for each row.
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
_WIDE, _HIGH, _STEP = 5, 7, 6


class Look(NamedTuple):
    """How a style looks."""

    width: int
    height: int
    background: int
    name_scale: int
    """Dots of the name's letters; 0 shows no name."""
    count_scale: int


_LOOKS: Final = {
    WidgetStyle.SHIELD: Look(154, 20, 0x5865F2, 0, 1),
    WidgetStyle.BANNER1: Look(320, 76, 0x23272A, 2, 2),
    WidgetStyle.BANNER2: Look(320, 76, 0xFFFFFF, 2, 1),
    WidgetStyle.BANNER3: Look(320, 110, 0x5865F2, 3, 2),
    WidgetStyle.BANNER4: Look(320, 137, 0x2C2F33, 3, 3),
}
_GREEN: Final = 0x43B581


def draw(name: str, online: int, style: WidgetStyle) -> bytes:
    """The picture of a guild's widget."""
    look = _LOOKS[style]
    canvas = [bytearray(look.width) for _ in range(look.height)]
    margin = 6
    if look.name_scale:
        _write(canvas, name, margin, look.height // 4 - look.name_scale * 2, look.name_scale)
    baseline = (look.height - _HIGH * look.count_scale) // 2 if not look.name_scale else look.height * 5 // 8
    dot = 3 * look.count_scale
    for y in range(baseline + 2 * look.count_scale, baseline + 2 * look.count_scale + dot):
        canvas[y][margin : margin + dot] = bytes([2]) * dot
    _write(canvas, f"{online} online", margin + dot + 4, baseline, look.count_scale)
    ink = 0x000000 if look.background == 0xFFFFFF else 0xFFFFFF
    return _png(canvas, (look.background, ink, _GREEN))


def _write(canvas: list[bytearray], text: str, left: int, top: int, scale: int) -> None:
    """Put letters on the canvas, as many as fit."""
    for letter in text.upper():
        if left + _WIDE * scale > len(canvas[0]):
            return
        for row, bits in enumerate(_FONT.get(letter, _UNKNOWN)):
            for column in range(_WIDE):
                if int(bits, 32) >> (_WIDE - 1 - column) & 1:
                    for y in range(top + row * scale, top + (row + 1) * scale):
                        x = left + column * scale
                        canvas[y][x : x + scale] = b"\x01" * scale
        left += _STEP * scale


def _png(canvas: list[bytearray], palette: tuple[int, ...]) -> bytes:
    """Dots of few colours as a PNG with a palette."""
    header = struct.pack(">IIBBBBB", len(canvas[0]), len(canvas), 8, 3, 0, 0, 0)
    colours = b"".join(colour.to_bytes(3, "big") for colour in palette)
    lines = b"".join(b"\x00" + bytes(line) for line in canvas)
    parts = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
