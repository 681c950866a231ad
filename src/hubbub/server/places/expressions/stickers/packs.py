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
_STICKER_FOLDER: Final = Path(__file__).with_name("default")


class _StandardSticker(NamedTuple):
    id: int
    file: str
    """Name of the file in `_STICKER_FOLDER`."""
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
_STANDARD_STICKERS_BY_ID: Final = {sticker.id: sticker for sticker in _STANDARD_STICKERS}


def standard_pack() -> wire.StickerPack:
    """Return the sticker pack that is part of the program, with all its stickers."""
    return wire.StickerPack(
        id=PACK_ID,
        sku_id=PACK_ID,
        name="Faces",
        description="Included with every Hubbub server",
        stickers=[_sticker_view(standard_sticker) for standard_sticker in _STANDARD_STICKERS],
        cover_sticker_id=StickerId(_STANDARD_STICKERS[0].id),
        banner_asset_id=PACK_ID,
    )


def find_standard(sticker_id: int) -> wire.Sticker | None:
    standard_sticker = _STANDARD_STICKERS_BY_ID.get(sticker_id)
    return None if standard_sticker is None else _sticker_view(standard_sticker)


def find_file(tx: Tx, sticker_id: int) -> str | bytes | None:
    """Return the file of a sticker: the storage key of a guild's sticker, the bytes of a standard sticker, or None."""
    standard_sticker = _STANDARD_STICKERS_BY_ID.get(sticker_id)
    if standard_sticker is not None:
        return _read_file(standard_sticker.file)
    row = STICKERS.table.find(tx, sticker_id)
    return None if row is None else cdn_urls.image_key(row.image)


def _sticker_view(standard_sticker: _StandardSticker) -> wire.Sticker:
    return wire.Sticker(
        id=StickerId(standard_sticker.id),
        name=standard_sticker.name,
        tags=standard_sticker.tags,
        type=StickerType.STANDARD,
        format_type=standard_sticker.format_type,
        description=standard_sticker.description,
        pack_id=PACK_ID,
        sort_value=standard_sticker.id - _STANDARD_STICKERS[0].id,
    )


@cache
def _read_file(file_name: str) -> bytes:
    return (_STICKER_FOLDER / file_name).read_bytes()
