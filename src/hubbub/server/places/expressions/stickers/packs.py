"""The standard sticker pack, which is part of the program.

Its IDs are small numbers, which are never generated as snowflakes. The files are in `default/` beside this module."""

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from hubbub.protocol.enums import StickerFormatType, StickerType
from hubbub.protocol.ids import Snowflake, StickerId
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions.kinds import STICKERS

PACK_ID: Final = Snowflake(100)
_FOLDER: Final = Path(__file__).with_name("default")


class _Standard(NamedTuple):
    id: int
    file: str
    format_type: StickerFormatType
    name: str
    description: str
    tags: str


_STANDARD: Final = (
    _Standard(101, "happy.png", StickerFormatType.PNG, "Happy", "A face with a smile", "smile, happy, yes"),
    _Standard(102, "sad.png", StickerFormatType.PNG, "Sad", "A face with a frown", "sad, no, sorry"),
    _Standard(103, "surprised.png", StickerFormatType.PNG, "Surprised", "A face with an open mouth", "wow, oh, what"),
    _Standard(104, "heartbeat.png", StickerFormatType.APNG, "Heartbeat", "A heart that beats", "heart, love, thanks"),
    _Standard(105, "blink.gif", StickerFormatType.GIF, "Blink", "A face that blinks", "hello, wink, hi"),
)
_BY_ID: Final = {each.id: each for each in _STANDARD}


def pack() -> wire.StickerPack:
    """Return the standard pack."""
    return wire.StickerPack(
        id=PACK_ID,
        sku_id=PACK_ID,
        name="Faces",
        description="Included with every Hubbub server",
        stickers=[_sticker(each) for each in _STANDARD],
        cover_sticker_id=StickerId(_STANDARD[0].id),
    )


def find_standard(sticker_id: int) -> wire.Sticker | None:
    """Return a standard sticker, or None."""
    found = _BY_ID.get(sticker_id)
    return None if found is None else _sticker(found)


def find_file(tx: Tx, sticker_id: int) -> str | bytes | None:
    """Return the file of a sticker: the storage key of a guild's sticker, the bytes of a standard sticker, or None."""
    standard = _BY_ID.get(sticker_id)
    if standard is not None:
        return _read(standard.file)
    row = STICKERS.table.find(tx, sticker_id)
    return None if row is None else cdn_urls.image_key(row.image)


def _sticker(standard: _Standard) -> wire.Sticker:
    return wire.Sticker(
        id=StickerId(standard.id),
        name=standard.name,
        tags=standard.tags,
        type=StickerType.STANDARD,
        format_type=standard.format_type,
        description=standard.description,
        pack_id=PACK_ID,
        sort_value=standard.id - _STANDARD[0].id,
    )


@cache
def _read(name: str) -> bytes:
    return (_FOLDER / name).read_bytes()
