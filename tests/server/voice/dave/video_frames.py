"""Video frames for tests, and the changes that RTP makes to a frame on its way to a receiver."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

START_CODE = b"\0\0\0\1"
SLICE_START = b"\x88\x84"
"""The first bytes of the header of an H264 slice: first macroblock, type of the slice and picture parameters."""
_HAS_EXTENSION, _HAS_SIZE = 0b100, 0b010
_DROPPED_TYPES = (2, 8, 15)
"""Types of AV1 units that are not sent: temporal delimiters, tile lists and padding."""


@dataclass(frozen=True)
class Av1Unit:
    """A unit of an AV1 frame (OBU)."""

    type: int
    payload: bytes
    has_extension: bool = False

    @property
    def is_sent(self) -> bool:
        return self.type not in _DROPPED_TYPES

    def write(self, *, has_size: bool = True) -> bytes:
        """Return the bytes of the unit, with its size field unless `has_size` is false."""
        header = self.type << 3 | (_HAS_EXTENSION if self.has_extension else 0) | (_HAS_SIZE if has_size else 0)
        extension = b"\x28" if self.has_extension else b""
        return bytes((header,)) + extension + (_write_leb128(len(self.payload)) if has_size else b"") + self.payload


def write_av1(units: Iterable[Av1Unit]) -> bytes:
    """Return a frame as an encoder writes it: every unit has a size field."""
    return b"".join(unit.write() for unit in units)


def write_sent_av1(units: Iterable[Av1Unit]) -> bytes:
    """Return the units that are sent; the last one has no size field, so that data can follow it."""
    *first, last = [unit for unit in units if unit.is_sent]
    return b"".join(unit.write() for unit in first) + last.write(has_size=False)


def add_last_size(frame: bytes) -> bytes:
    """Return an AV1 frame as a browser assembles it from RTP packets: the last unit has a size field too."""
    start = 0
    while frame[start] & _HAS_SIZE:
        size_start = start + (2 if frame[start] & _HAS_EXTENSION else 1)
        size, payload_start = _read_leb128(frame, size_start)
        start = payload_start + size
    payload_start = start + (2 if frame[start] & _HAS_EXTENSION else 1)
    header = bytes((frame[start] | _HAS_SIZE,)) + frame[start + 1 : payload_start]
    return frame[:start] + header + _write_leb128(len(frame) - payload_start) + frame[payload_start:]


def assemble_h264(frame: bytes) -> bytes:
    """Return an H264 frame as receivers assemble it from RTP packets: every start code has four bytes."""
    units = re.split(b"\0{2,3}\x01", frame)
    assert units[0] == b""
    return b"".join(START_CODE + unit for unit in units[1:])


def _write_leb128(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


def _read_leb128(data: bytes, start: int) -> tuple[int, int]:
    """Return the number and the index of the byte after it."""
    value = 0
    for index in range(start, len(data)):
        value |= (data[index] & 0x7F) << 7 * (index - start)
        if data[index] < 0x80:
            return value, index + 1
    raise AssertionError("a size field does not end")


av1_units = st.builds(
    Av1Unit,
    st.sampled_from([1, 2, 3, 4, 5, 6, 15]),
    st.binary(min_size=1, max_size=300),
    st.booleans(),
)
sent_av1_units = av1_units.filter(lambda unit: unit.is_sent)
av1_frames = st.tuples(st.lists(av1_units, max_size=4), sent_av1_units).map(lambda parts: [*parts[0], parts[1]])
"""Units of AV1 frames; encoders write dropped units before the last one."""

# A unit contains no start code, because encoders insert a byte after two zeros.
_h264_payloads = st.lists(st.integers(1, 255), min_size=8, max_size=300).map(bytes)
h264_slices = st.tuples(st.sampled_from([b"\x41", b"\x65"]), _h264_payloads).map(
    lambda parts: parts[0] + SLICE_START + parts[1]
)
h264_parameters = st.tuples(st.sampled_from([b"\x67", b"\x68", b"\x06"]), _h264_payloads).map(b"".join)
"""H264 units with picture data, and those with parameters."""
