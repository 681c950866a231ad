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


class _StandardSticker(NamedTuple):
    id: int
    file: str
    """Name of the file in `_FOLDER`."""
    format_type: StickerFormatType
    name: str
    description: str
    tags: str


_STANDARD_STICKERS: Final = (
    _StandardSticker(101, "happy.png", StickerFormatType.PNG, "Happy", "A face with a smile", "smile, happy, yes"),
    _StandardSticker(102, "sad.png", StickerFormatType.PNG, "Sad", "A face with a frown", "sad, no, sorry"),
    _StandardSticker(
        103, "surprised.png", StickerFormatType.PNG, "Surprised", "A face with an open mouth", "wow, oh, what"
    ),
    _StandardSticker(
        104, "heartbeat.png", StickerFormatType.APNG, "Heartbeat", "A heart that beats", "heart, love, thanks"
    ),
    _StandardSticker(105, "blink.gif", StickerFormatType.GIF, "Blink", "A face that blinks", "hello, wink, hi"),
)
_STANDARD_BY_ID: Final = {sticker.id: sticker for sticker in _STANDARD_STICKERS}


def standard_pack() -> wire.StickerPack:
    """Return the sticker pack that is part of the program, with all its stickers."""
    return wire.StickerPack(
        id=PACK_ID,
        sku_id=PACK_ID,
        name="Faces",
        description="Included with every Hubbub server",
        stickers=[_sticker_view(standard) for standard in _STANDARD_STICKERS],
        cover_sticker_id=StickerId(_STANDARD_STICKERS[0].id),
    )


def find_standard(sticker_id: int) -> wire.Sticker | None:
    standard = _STANDARD_BY_ID.get(sticker_id)
    return None if standard is None else _sticker_view(standard)


def find_file(tx: Tx, sticker_id: int) -> str | bytes | None:
    """Return the file of a sticker: the storage key of a guild's sticker, the bytes of a standard sticker, or None."""
    standard = _STANDARD_BY_ID.get(sticker_id)
    if standard is not None:
        return _read_file(standard.file)
    row = STICKERS.table.find(tx, sticker_id)
    return None if row is None else cdn_urls.image_key(row.image)


def _sticker_view(standard: _StandardSticker) -> wire.Sticker:
    return wire.Sticker(
        id=StickerId(standard.id),
        name=standard.name,
        tags=standard.tags,
        type=StickerType.STANDARD,
        format_type=standard.format_type,
        description=standard.description,
        pack_id=PACK_ID,
        sort_value=standard.id - _STANDARD_STICKERS[0].id,
    )


@cache
def _read_file(file_name: str) -> bytes:
    return (_FOLDER / file_name).read_bytes()
