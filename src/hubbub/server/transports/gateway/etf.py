"""Erlang external term format of gateway messages (spec/gateway.md#1.1, decisions/0134).

Terms are the values of JSON: maps with binary keys, lists, binaries, integers, floats, and the atoms true, false and nil.
"""

import math
import struct
from collections.abc import Callable
from typing import Any, Final

VERSION: Final = 131
"""First byte of a term."""
DEPTH_MAX: Final = 64
"""Maximum nesting of lists, tuples and maps."""
BIG_BYTES_MAX: Final = 8
"""Maximum size in bytes of an integer that is decoded."""

# Tags: the first byte of each term, which decides its type.
NEW_FLOAT: Final = 70
SMALL_INTEGER: Final = 97
INTEGER: Final = 98
FLOAT: Final = 99
ATOM: Final = 100
SMALL_TUPLE: Final = 104
LARGE_TUPLE: Final = 105
NIL: Final = 106
STRING: Final = 107
LIST: Final = 108
BINARY: Final = 109
SMALL_BIG: Final = 110
SMALL_ATOM: Final = 115
MAP: Final = 116
UTF8_ATOM: Final = 118
SMALL_UTF8_ATOM: Final = 119

_ATOMS: Final = {
    None: bytes((SMALL_ATOM, 3)) + b"nil",
    True: bytes((SMALL_ATOM, 4)) + b"true",
    False: bytes((SMALL_ATOM, 5)) + b"false",
}
_ATOM_VALUES: Final[dict[str, Any]] = {"nil": None, "null": None, "true": True, "false": False}
"""Values of atoms; other atoms are strings."""
_pack_header: Final = struct.Struct(">BI").pack
_pack_integer: Final = struct.Struct(">Bi").pack
_pack_float: Final = struct.Struct(">Bd").pack


class EtfError(ValueError):
    """Data that is not a supported term."""


def encode(value: Any) -> bytes:
    """Return a term, with its version byte, of a value of JSON."""
    return bytes((VERSION,)) + encode_part(value)


def encode_part(value: Any) -> bytes:
    """Return a term without its version byte, as a part of another term."""
    term_parts: list[bytes] = []
    _append_term(value, term_parts.append)
    return b"".join(term_parts)


def encode_sequence(number: int) -> bytes:
    """Return a sequence number as a part of fixed size: 5 bytes."""
    return _pack_integer(INTEGER, number)


def map_header(count: int) -> bytes:
    """Return the start of a map with this number of pairs."""
    return _pack_header(MAP, count)


def _append_term(value: Any, append: Callable[[bytes], None]) -> None:
    if isinstance(value, str):
        encoded_text = value.encode()
        append(_pack_header(BINARY, len(encoded_text)))
        append(encoded_text)
    elif value is None or value is True or value is False:
        append(_ATOMS[value])
    elif isinstance(value, int):
        append(_encode_integer(value))
    elif isinstance(value, dict):
        append(_pack_header(MAP, len(value)))
        for key, element in value.items():
            _append_term(key, append)
            _append_term(element, append)
    elif isinstance(value, list):
        if value:
            append(_pack_header(LIST, len(value)))
            for element in value:
                _append_term(element, append)
        append(bytes((NIL,)))
    else:
        append(_pack_float(NEW_FLOAT, value))


def _encode_integer(value: int) -> bytes:
    if 0 <= value < 256:
        return bytes((SMALL_INTEGER, value))
    if -(1 << 31) <= value < 1 << 31:
        return _pack_integer(INTEGER, value)
    byte_count = (abs(value).bit_length() + 7) // 8
    return bytes((SMALL_BIG, byte_count, value < 0)) + abs(value).to_bytes(byte_count, "little")


def decode(data: bytes) -> Any:
    """Return the value of a term as a value of JSON; raise EtfError if the term is invalid or has no value in JSON."""
    if not data or data[0] != VERSION:
        raise EtfError("not a term of version 131")
    reader = _Reader(data)
    value = reader.read_term(0)
    if reader.position != len(data):
        raise EtfError("bytes after the term")
    return value


class _Reader:
    """Reads one term. The size of the result is bounded by the size of the data, because terms are not compressed."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 1

    def _read(self, byte_count: int) -> bytes:
        end = self.position + byte_count
        if end > len(self._data):
            raise EtfError("incomplete term")
        chunk = self._data[self.position : end]
        self.position = end
        return chunk

    def _read_number(self, byte_count: int) -> int:
        return int.from_bytes(self._read(byte_count), "big")

    def _read_text(self, byte_count: int) -> str:
        try:
            return self._read(byte_count).decode()
        except UnicodeDecodeError:
            raise EtfError("text that is not UTF-8") from None

    def _read_count(self) -> int:
        """Read a number of elements, each of which needs at least one byte."""
        count = self._read_number(4)
        if count > len(self._data) - self.position:
            raise EtfError("incomplete term")
        return count

    def read_term(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise EtfError("nested too deeply")
        tag = self._read_number(1)
        if tag == BINARY:
            return self._read_text(self._read_number(4))
        if tag == SMALL_INTEGER:
            return self._read_number(1)
        if tag == INTEGER:
            return int.from_bytes(self._read(4), "big", signed=True)
        if tag == MAP:
            return self._read_map(depth)
        if tag in (SMALL_ATOM, SMALL_UTF8_ATOM):
            return self._read_atom(1, tag)
        if tag in (ATOM, UTF8_ATOM):
            return self._read_atom(2, tag)
        if tag == NIL:
            return []
        if tag == LIST:
            return self._read_list(depth)
        if tag == STRING:
            # Erlang encodes a list of small integers, such as a shard, in this way.
            return list(self._read(self._read_number(2)))
        if tag in (SMALL_TUPLE, LARGE_TUPLE):
            count = self._read_number(1) if tag == SMALL_TUPLE else self._read_count()
            return [self.read_term(depth + 1) for _ in range(count)]
        if tag == SMALL_BIG:
            return self._read_big()
        if tag in (NEW_FLOAT, FLOAT):
            return self._read_float(tag)
        raise EtfError(f"unsupported tag {tag}")

    def _read_atom(self, length_bytes: int, tag: int) -> Any:
        encoded_name = self._read(self._read_number(length_bytes))
        try:
            name = encoded_name.decode("utf-8" if tag in (UTF8_ATOM, SMALL_UTF8_ATOM) else "latin-1")
        except UnicodeDecodeError:
            raise EtfError("text that is not UTF-8") from None
        return _ATOM_VALUES.get(name, name)

    def _read_list(self, depth: int) -> list[Any]:
        elements = [self.read_term(depth + 1) for _ in range(self._read_count())]
        if self._read_number(1) != NIL:
            raise EtfError("improper list")
        return elements

    def _read_map(self, depth: int) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        for _ in range(self._read_count()):
            key = self.read_term(depth + 1)
            if not isinstance(key, str):
                raise EtfError("a key is not a string")
            pairs[key] = self.read_term(depth + 1)
        return pairs

    def _read_big(self) -> int:
        byte_count, sign = self._read_number(1), self._read_number(1)
        if byte_count > BIG_BYTES_MAX or sign > 1:
            raise EtfError("integer out of range")
        value = int.from_bytes(self._read(byte_count), "little")
        if sign and value > 1 << 63:
            raise EtfError("integer out of range")
        return -value if sign else value

    def _read_float(self, tag: int) -> float:
        if tag == NEW_FLOAT:
            [value] = struct.unpack(">d", self._read(8))
        else:
            try:
                value = float(self._read(31).rstrip(b"\0"))
            except ValueError:
                raise EtfError("invalid float") from None
        if not math.isfinite(value):
            raise EtfError("invalid float")
        number: float = value
        return number
