"""Random JSON values, of protocol types and hostile ones, and a pool of IDs, codes and tokens of existing objects."""

import random
import types
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum, Flag
from functools import cache
from typing import Annotated, Any, Literal, NewType, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import Snowflake, Timestamp, WideInt
from hubbub.protocol.images import ImageData
from hubbub.protocol.sounds import SoundData
from tests.identifiers import snake_case
from tests.media import data_uri, mp3, png
from tests.world import NOW_MS

DEPTH_MAX = 6
"""Nesting from which objects have only required fields, and arrays are empty if they may be."""

_UNIONS = (Union, types.UnionType)
_ARRAYS = (list, tuple, set, frozenset, Sequence)
_MAPPINGS = (dict, Mapping)

TEXTS = (
    "a",
    "",
    " ",
    "hello",
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud83d",
    "🔥",
    "é" * 33,
    "👨‍👩‍👧‍👦" * 8,
    "\u202e\u200b\ufeff",
    "<@1> <@&2> <#3> @everyone <:a:1> <t:1:R>",
    "<script>alert(1)</script>",
    "'; DROP TABLE users; --",
    "%s%n%x{0}{}{{",
    "../../etc/passwd",
    "null",
    "NaN",
    "-0",
    "1e999",
    "9" * 400,
    "https://example.invalid/a",
    "http://127.0.0.1:1/",
    "http://[::1]:1/",
    "data:image/png;base64,AAAA",
    "attachment://a.png",
    "@me",
    "x" * 2001,
    "\n" * 50,
    "١٢٣",
    "²",
    "0x10",
    "+1",
    "1_000",
    " 1 ",
    "2026-13-45T99:99:99Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
)
"""Strings that have broken parsers, and ordinary ones."""

NUMBERS = (0, 1, -1, 2, 3, 7, 100, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30)
"""Small integers, and integers at the bounds of machine types."""

EXTREME_FLOATS = (0.5, -0.0, 1e308, 1e-320, 1.0, 2.0**63, -1e18)

IDS = ("0", "1", "-1", str(2**63 - 1), str(2**63), str(2**64), "01", "1.0", "")

_IMAGES = (
    data_uri(png()),
    data_uri(png(1, 1)),
    data_uri(png(320, 320)),
    data_uri(mp3(), "audio/mpeg"),
    "data:,",
    "data:image/png;base64,",
    "data:image/gif;base64," + b64encode(b"GIF89a" + bytes(40)).decode(),
    "data:image/png;base64," + b64encode(png()[:40]).decode(),
    "data:image/webp;base64," + b64encode(b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(20)).decode(),
)


def random_hostile(rng: random.Random) -> Any:
    """Return a value of a random type that a field rarely expects."""
    choice = rng.randrange(9)
    if choice <= 2:
        return rng.choice(TEXTS)
    if choice == 3:
        return rng.choice(NUMBERS)
    if choice == 4:
        return rng.choice(EXTREME_FLOATS)
    if choice == 5:
        return rng.choice((None, True, False))
    if choice == 6:
        return rng.choice(([], [[]], [None], {}, {"": None}, {"a": {"a": {}}}, [1, "1", {}], [[[[[[]]]]]]))
    if choice == 7:
        return rng.choice(IDS)
    return [rng.choice(TEXTS)[:50]] * rng.choice((1, 2, 11, 101, 101, 1001))


class ValueSource:
    """Generates JSON values of protocol types, a few of them invalid."""

    def __init__(self, rng: random.Random, pool: "ObjectPool") -> None:
        self._random = rng
        self._pool = pool

    def build(self, kind: Any, name: str = "", meta: Meta | None = None, depth: int = 0) -> Any:
        """Return a JSON value of a type, rarely a hostile one; `name` is the field that contains it."""
        if self._random.random() < 0.015:
            return random_hostile(self._random)
        origin = get_origin(kind)
        if origin is Annotated:
            base, *extras = get_args(kind)
            return self.build(base, name, next((extra for extra in extras if isinstance(extra, Meta)), meta), depth)
        if isinstance(kind, NewType):
            return self._build_timestamp() if kind is Timestamp else self.build(kind.__supertype__, name, meta, depth)
        if origin in _UNIONS:
            return self._build_union(get_args(kind), name, meta, depth)
        if origin is Literal:
            return self._random.choice(get_args(kind))
        if kind in _ARRAYS or origin in _ARRAYS:
            return self._build_array(get_args(kind), name, meta, depth)
        if kind in _MAPPINGS or origin in _MAPPINGS:
            return self._build_mapping(get_args(kind), meta, depth)
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self._build_struct(kind, depth)
        return self._build_scalar(kind, name, meta)

    def _build_struct(self, kind: type[Struct], depth: int) -> dict[str, Any]:
        config = kind.__struct_config__
        values: dict[str, Any] = {} if config.tag is None else {str(config.tag_field): config.tag}
        field_share = self._random.choice((0.0, 0.15, 0.4, 0.9)) if depth < DEPTH_MAX else 0.0
        for field in _fields(kind):
            is_omitted = self._random.random() < 0.03 if field.required else self._random.random() >= field_share
            if not is_omitted:
                values[field.encode_name] = self.build(field.type, field.encode_name, None, depth + 1)
        if self._random.random() < 0.03:
            values[self._random.choice(TEXTS)] = random_hostile(self._random)
        return values

    def _build_union(self, union_members: tuple[Any, ...], name: str, meta: Meta | None, depth: int) -> Any:
        members = [part for part in union_members if part is not UnsetType]
        if type(None) in members and (depth >= DEPTH_MAX or self._random.random() < 0.15):
            return None
        return self.build(self._random.choice(members), name, meta, depth)

    def _build_array(self, arguments: tuple[Any, ...], name: str, meta: Meta | None, depth: int) -> list[Any]:
        shortest, longest = (meta.min_length or 0, meta.max_length) if meta else (0, None)
        lengths = [shortest, shortest + 1, shortest + 2]
        if depth <= 2 and self._random.random() < 0.04:
            lengths = [(longest or 30) + self._random.choice((0, 1)), max(0, shortest - 1)]
        length = 0 if depth >= DEPTH_MAX and not shortest else min(self._random.choice(lengths), 300)
        item_type = arguments[0] if arguments else Any
        items = [self.build(item_type, name.removesuffix("s"), None, depth + 1) for _ in range(length)]
        return items * 2 if items and self._random.random() < 0.02 else items

    def _build_mapping(self, arguments: tuple[Any, ...], meta: Meta | None, depth: int) -> dict[str, Any]:
        key_type, value_type = arguments or (str, Any)
        length = self._random.choice((0, 1, 2, 3 if depth < DEPTH_MAX else 0))
        if meta is not None and meta.max_length and self._random.random() < 0.05:
            length = min(meta.max_length + 1, 60)
        pairs = (
            (self.build(key_type, "", None, DEPTH_MAX), self.build(value_type, "", None, depth + 1))
            for _ in range(length)
        )
        return {str(name): value for name, value in pairs}

    def _build_scalar(self, kind: Any, name: str, meta: Meta | None) -> Any:
        if kind in (Any, object):
            return random_hostile(self._random)
        if kind is type(None):
            return None
        if kind is bool:
            return self._random.random() < 0.5
        if not isinstance(kind, type):
            return random_hostile(self._random)
        if issubclass(kind, ImageData | SoundData):
            return self._random.choice(_IMAGES)
        if issubclass(kind, Snowflake):
            return self._pool.pick(name, kind.__name__)
        if issubclass(kind, WideInt):
            return str(self._random.choice((0, 1, 8, 1 << 40, self._random.getrandbits(52), 2**63 - 1)))
        if issubclass(kind, Enum):
            values = [member.value for member in kind]
            if issubclass(kind, Flag) or isinstance(values[0], int):
                values += [sum(value for value in values if isinstance(value, int)) % 2**31, 0]
            return self._random.choice(values)
        if issubclass(kind, datetime):
            return self._build_timestamp()
        if issubclass(kind, int | float):
            return self._build_number(kind, meta)
        if issubclass(kind, str):
            return self._build_text(name, meta)
        return random_hostile(self._random)

    def _build_number(self, kind: type, meta: Meta | None) -> float:
        bounds: list[float] = [0, 1, 2, 5]
        if meta is not None:
            if meta.ge is not None:
                bounds = [meta.ge, meta.ge + 1]
            if meta.le is not None:
                bounds += [meta.le, (meta.le + (meta.ge or 0)) // 2]
            if self._random.random() < 0.1:
                bounds = [(meta.ge or 0) - 1, (meta.le or 0) + 1]
        return self._random.choice(bounds)

    def _build_text(self, name: str, meta: Meta | None) -> str:
        known_id = self._pool.find(name)
        if known_id is not None and self._random.random() < 0.7:
            return known_id
        shortest, longest = (meta.min_length or 0, meta.max_length or 40) if meta else (0, 40)
        if self._random.random() < 0.3:
            return self._random.choice(TEXTS)[: max(longest, 1)]
        length = self._random.choice((shortest, min(longest, shortest + 8), min(longest, 5000)))
        if self._random.random() < 0.05:
            length = longest + 1
        return "".join(self._random.choices("abcdefgz0189_-", k=min(length, 12_000)))

    def _build_timestamp(self) -> str:
        days = self._random.choice((-4000, -1, 0, 1, 10, 400, 30_000))
        return (datetime.fromtimestamp(NOW_MS / 1000, UTC) + timedelta(days=days)).isoformat()


class ObjectPool:
    """IDs, codes and tokens of objects that exist, by the name of the parameter or field that takes them."""

    SIZE_MAX = 40

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._by_name: dict[str, list[str]] = {}
        self._all_values: list[str] = ["1"]

    def add(self, name: str, value: str) -> None:
        """Add a value. If the list is full, the value replaces a random one."""
        values = self._by_name.setdefault(name, [])
        if value not in values:
            if len(values) < self.SIZE_MAX:
                values.append(value)
            else:
                values[self._random.randrange(self.SIZE_MAX)] = value
        if value.isdecimal():
            if len(self._all_values) < 400:
                self._all_values.append(value)
            else:
                self._all_values[self._random.randrange(400)] = value

    def find(self, name: str) -> str | None:
        """Return a value for this name, or None."""
        values = self._by_name.get(name)
        return self._random.choice(values) if values else None

    def pick(self, name: str, type_name: str = "") -> str:
        """Return an ID for this name or type, rarely one of another kind."""
        if self._random.random() < 0.9:
            for candidate in (name, name + "_id", snake_case(type_name)):
                if candidate in self._by_name:
                    return self._random.choice(self._by_name[candidate])
        return self._random.choice(self._all_values) if self._random.random() < 0.8 else self._random.choice(IDS)

    def collect_ids(self, value: Any, depth: int = 0) -> None:
        """Add the IDs of nested objects and of fields that end in _id, for up to five items of each list."""
        if isinstance(value, list):
            for item in value[:5]:
                self.collect_ids(item, depth + 1)
        elif isinstance(value, dict) and depth < 4:
            for name, item in value.items():
                if isinstance(item, str):
                    if name.endswith("_id") and item.isdecimal():
                        self.add(name, item)
                elif isinstance(item, dict) and isinstance(item.get("id"), str) and item["id"].isdecimal():
                    self.add(f"{name}_id", item["id"])
                if isinstance(item, list | dict):
                    self.collect_ids(item, depth + 1)


@cache
def _fields(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return tuple(field for field in msgspec.structs.fields(kind) if field.type is not UNSET)
