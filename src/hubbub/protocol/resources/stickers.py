"""Stickers of guilds and of the standard packs."""

from collections.abc import Set
from typing import Annotated, ClassVar, Final, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, Snowflake, StickerId
from hubbub.protocol.images import ImageData, TooLargeError
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation, Uploads
from hubbub.protocol.resources.users import User

STICKERS_PER_MESSAGE_MAX: Final = 3
STICKER_BYTES_MAX: Final = 524_288
STICKER_SIDE: Final = 320
STICKER_SECONDS_MAX: Final = 5
STICKERS_MAX_BY_TIER: Final = (5, 15, 30, 60)
STICKERS_MAX_MORE: Final = 60
"""With the feature MORE_STICKERS."""
STICKER_NAME_MIN: Final = 2
STICKER_NAME_MAX: Final = 30
STICKER_DESCRIPTION_MIN: Final = 2
"""Where there is one at all."""
STICKER_DESCRIPTION_MAX: Final = 100
STICKER_TAGS_MAX: Final = 200

LOTTIE_FRAMES_MAX: Final = 1000
LOTTIE_FRAME_RATE_MAX: Final = 60
LOTTIE: Final = "application/json"

StickerName = Annotated[str, Meta(min_length=STICKER_NAME_MIN, max_length=STICKER_NAME_MAX)]
StickerDescription = Annotated[str, Meta(max_length=STICKER_DESCRIPTION_MAX)]
StickerTags = Annotated[str, Meta(min_length=1, max_length=STICKER_TAGS_MAX)]


class StickerData(ImageData):
    """The file of a sticker: a picture, or a drawing in Lottie's JSON."""

    __slots__ = ()

    bytes_max: ClassVar[int] = STICKER_BYTES_MAX
    side_max: ClassVar[int] = STICKER_SIDE
    moving: ClassVar[Set[str]] = frozenset({"image/png", "image/gif"})

    @classmethod
    def read(cls, data: bytes) -> Self:
        """A file that is a picture, or looks like JSON; TooLargeError for a large one, ValueError for anything else."""
        if len(data) > cls.bytes_max:
            raise TooLargeError(cls.bytes_max)
        if data.lstrip()[:1] == b"{":
            return cls(data, LOTTIE)
        return super().read(data)


class StickerItem(Struct, kw_only=True):
    """What a message needs to show a sticker."""

    id: StickerId
    name: str
    format_type: int


class Sticker(Struct, kw_only=True):
    """A sticker; a guild's has `guild_id` and `available`, a standard one `pack_id` and `sort_value`."""

    id: StickerId
    name: str
    tags: str
    type: int
    """1 standard, 2 guild."""
    format_type: int
    """1 png, 2 apng, 3 lottie, 4 gif."""
    description: str | None
    available: bool | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    user: User | UnsetType = UNSET
    pack_id: Snowflake | UnsetType = UNSET
    sort_value: int | UnsetType = UNSET


class StickerPack(Struct, kw_only=True):
    """Standard stickers that belong together."""

    id: Snowflake
    sku_id: Snowflake
    name: str
    description: str | None
    stickers: list[Sticker]
    cover_sticker_id: StickerId | UnsetType = UNSET
    banner_asset_id: Snowflake | UnsetType = UNSET


class StickerPacks(Struct, kw_only=True):
    """All standard packs."""

    sticker_packs: list[StickerPack]


class CreateGuildSticker(Struct, kw_only=True):
    """A new sticker of a guild; its file comes beside, as the part `file`."""

    name: StickerName
    tags: StickerTags
    """Names of emoji, or words, that suggest it."""
    description: StickerDescription | None | UnsetType = UNSET


class UpdateGuildSticker(Struct, kw_only=True):
    """What of a guild's sticker may change."""

    name: StickerName | UnsetType = UNSET
    tags: StickerTags | UnsetType = UNSET
    description: StickerDescription | None | UnsetType = UNSET


class GuildStickers(Struct, kw_only=True):
    """All stickers of a guild, after one of them was made, changed or deleted."""

    guild_id: GuildId
    stickers: list[Sticker]


GUILD_STICKERS_UPDATE = Event("GUILD_STICKERS_UPDATE", GuildStickers, intents=Intents.GUILD_EXPRESSIONS)

_IN_GUILD: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_CHANGING: Final = (*_IN_GUILD, errors.UNKNOWN_STICKER, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)

LIST_GUILD_STICKERS = Operation("GET", "/guilds/{guild_id}/stickers", result=list[Sticker], raises=_IN_GUILD)

GET_GUILD_STICKER = Operation(
    "GET", "/guilds/{guild_id}/stickers/{sticker_id}", result=Sticker, raises=(*_IN_GUILD, errors.UNKNOWN_STICKER)
)

# CREATE_GUILD_EXPRESSIONS; before permission_splits MANAGE_GUILD_EXPRESSIONS suffices too.
CREATE_GUILD_STICKER = Operation(
    "POST",
    "/guilds/{guild_id}/stickers",
    body=CreateGuildSticker,
    result=Sticker,
    status=201,
    raises=(
        *_IN_GUILD,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.MAX_STICKERS,
        errors.FILE_TYPE_INVALID,
        errors.FILE_TOO_LARGE,
        errors.CANNOT_RESIZE_ASSET,
        errors.LOTTIE_INVALID_JSON,
        errors.LOTTIE_RASTER_IMAGES,
        errors.LOTTIE_FRAME_RATE,
        errors.LOTTIE_FRAME_COUNT,
        errors.LOTTIE_DIMENSIONS,
        errors.LOTTIE_FRAME_RATE_RANGE,
        errors.LOTTIE_DURATION,
    ),
    emits=(GUILD_STICKERS_UPDATE,),
    uploads=Uploads(field="file", most=1, keep=False, required=True, image=StickerData),
    audits=(AuditLogAction.STICKER_CREATE,),
)

# One's own with CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS, others' with the latter.
UPDATE_GUILD_STICKER = Operation(
    "PATCH",
    "/guilds/{guild_id}/stickers/{sticker_id}",
    body=UpdateGuildSticker,
    result=Sticker,
    raises=_CHANGING,
    emits=(GUILD_STICKERS_UPDATE,),
    audits=(AuditLogAction.STICKER_UPDATE,),
)

DELETE_GUILD_STICKER = Operation(
    "DELETE",
    "/guilds/{guild_id}/stickers/{sticker_id}",
    raises=_CHANGING,
    emits=(GUILD_STICKERS_UPDATE,),
    audits=(AuditLogAction.STICKER_DELETE,),
)

GET_STICKER = Operation("GET", "/stickers/{sticker_id}", result=Sticker, raises=(errors.UNKNOWN_STICKER,))

LIST_STICKER_PACKS = Operation("GET", "/sticker-packs", result=StickerPacks, auth=Auth.BOT | Auth.USER | Auth.ANYONE)

GET_STICKER_PACK = Operation(
    "GET", "/sticker-packs/{pack_id}", result=StickerPack, raises=(errors.UNKNOWN_STICKER_PACK,)
)
