"""Stickers of guilds, standard stickers and their packs."""

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
"""Maximum number of stickers of a message."""
STICKER_BYTES_MAX: Final = 524_288
STICKER_SIDE_PIXELS_MAX: Final = 320
"""Maximum width and height of a sticker in pixels."""
STICKER_SECONDS_MAX: Final = 5
"""Maximum duration of an animated sticker in seconds."""
STICKERS_MAX_BY_TIER: Final = (5, 15, 30, 60)
"""Maximum number of stickers by the guild's premium tier."""
STICKERS_MAX_WITH_MORE_STICKERS: Final = 60
"""Maximum number of stickers with the feature MORE_STICKERS."""
STICKER_NAME_MIN: Final = 2
STICKER_NAME_MAX: Final = 30
STICKER_DESCRIPTION_MIN: Final = 2
"""Minimum length of a description that is not empty."""
STICKER_DESCRIPTION_MAX: Final = 100
STICKER_TAGS_MAX: Final = 200
"""Maximum length of the comma-separated tags of a sticker, in characters."""

LOTTIE_FRAMES_MAX: Final = 1000
"""Maximum number of frames of a Lottie animation."""
LOTTIE_FRAME_RATE_MAX: Final = 60
"""Maximum frame rate of a Lottie animation in frames per second."""
LOTTIE_CONTENT_TYPE: Final = "application/json"
"""Content type of Lottie stickers."""

StickerName = Annotated[str, Meta(min_length=STICKER_NAME_MIN, max_length=STICKER_NAME_MAX)]
StickerDescription = Annotated[str, Meta(max_length=STICKER_DESCRIPTION_MAX)]
StickerTags = Annotated[str, Meta(min_length=1, max_length=STICKER_TAGS_MAX)]


class StickerData(ImageData):
    """The file of a sticker: an image, or an animation in Lottie's JSON."""

    __slots__ = ()

    bytes_max: ClassVar[int] = STICKER_BYTES_MAX
    side_pixels_max: ClassVar[int] = STICKER_SIDE_PIXELS_MAX
    animated_types: ClassVar[Set[str]] = frozenset({"image/png", "image/gif"})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the sticker with the content of an image or Lottie file.

        A file that starts with a brace is treated as Lottie without further checks. Raise TooLargeError above the maximum
        size, and ValueError for any other file that is not an image.
        """
        if len(data) > cls.bytes_max:
            raise TooLargeError(cls.bytes_max)
        if data.lstrip()[:1] == b"{":
            return cls(data, LOTTIE_CONTENT_TYPE)
        return super().from_bytes(data)


class StickerItem(Struct, kw_only=True):
    """The fields of a sticker needed to render it."""

    id: StickerId
    """ID of the sticker."""
    name: str
    """Name of the sticker."""
    format_type: int
    """Format of the file: 1 PNG, 2 APNG, 3 Lottie, 4 GIF."""


class Sticker(Struct, kw_only=True):
    """A sticker.

    Stickers of a guild have `guild_id` and `available`; standard stickers have `pack_id` and `sort_value`.
    """

    id: StickerId
    """ID of the sticker."""
    name: str
    """Name of the sticker."""
    tags: str
    """Emoji names or keywords for autocomplete and suggestions, separated by commas."""
    type: int
    """Type of the sticker: 1 standard, 2 guild."""
    format_type: int
    """Format of the file: 1 PNG, 2 APNG, 3 Lottie, 4 GIF."""
    description: str | None
    """Description of the sticker; null if there is none."""
    available: bool | UnsetType = UNSET
    """Whether the sticker can be used; always true, absent for standard stickers."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for standard stickers."""
    user: User | UnsetType = UNSET
    """User who uploaded the sticker. Sent to holders of CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS."""
    pack_id: Snowflake | UnsetType = UNSET
    """ID of the pack of a standard sticker; absent for guild stickers."""
    sort_value: int | UnsetType = UNSET
    """Position of a standard sticker in its pack; absent for guild stickers."""


class StickerPack(Struct, kw_only=True):
    """A pack of standard stickers."""

    id: Snowflake
    """ID of the pack."""
    sku_id: Snowflake
    """ID of the SKU of the pack."""
    name: str
    """Name of the pack."""
    description: str | None
    """Description of the pack; null if there is none."""
    stickers: list[Sticker]
    """Stickers of the pack."""
    cover_sticker_id: StickerId | UnsetType = UNSET
    """ID of the sticker shown as the pack's icon; absent if there is none."""
    banner_asset_id: Snowflake
    """ID of the banner image; always that of the pack, which has no banner, because libraries read the key."""


class StickerPacks(Struct, kw_only=True):
    """All standard packs."""

    sticker_packs: list[StickerPack]
    """Sticker packs that every user can use."""


class CreateGuildSticker(Struct, kw_only=True):
    """A new sticker of a guild; its file is the multipart part `file`."""

    name: StickerName
    """Name of the sticker."""
    tags: StickerTags
    """Emoji names or keywords for autocomplete and suggestions, separated by commas."""
    description: StickerDescription | None | UnsetType = UNSET
    """Description of the sticker; empty, or from 2 to 100 characters."""


class UpdateGuildSticker(Struct, kw_only=True):
    """Changes to a sticker; absent fields keep their value."""

    name: StickerName | UnsetType = UNSET
    """Name of the sticker."""
    tags: StickerTags | UnsetType = UNSET
    """Emoji names or keywords for autocomplete and suggestions, separated by commas."""
    description: StickerDescription | None | UnsetType = UNSET
    """Description of the sticker; empty, or from 2 to 100 characters; null removes it."""


class GuildStickers(Struct, kw_only=True):
    """All stickers of a guild after a change."""

    guild_id: GuildId
    """ID of the guild."""
    stickers: list[Sticker]
    """Stickers of the guild."""


GUILD_STICKERS_UPDATE = Event(
    "GUILD_STICKERS_UPDATE",
    GuildStickers,
    "Sent when a sticker of a guild is created, changed or deleted.",
    intents=Intents.GUILD_EXPRESSIONS,
)

_GUILD_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_CHANGE_ERRORS: Final = (*_GUILD_ERRORS, errors.UNKNOWN_STICKER, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)

LIST_GUILD_STICKERS = Operation("GET", "/guilds/{guild_id}/stickers", result=list[Sticker], raises=_GUILD_ERRORS)

GET_GUILD_STICKER = Operation(
    "GET", "/guilds/{guild_id}/stickers/{sticker_id}", result=Sticker, raises=(*_GUILD_ERRORS, errors.UNKNOWN_STICKER)
)

# The caller needs CREATE_GUILD_EXPRESSIONS; before changes.PERMISSION_SPLITS, MANAGE_GUILD_EXPRESSIONS is also sufficient.
CREATE_GUILD_STICKER = Operation(
    "POST",
    "/guilds/{guild_id}/stickers",
    body=CreateGuildSticker,
    result=Sticker,
    status=201,
    raises=(
        *_GUILD_ERRORS,
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
    uploads=Uploads(field="file", files_max=1, stores_files=False, is_required=True, image=StickerData),
    audits=(AuditLogAction.STICKER_CREATE,),
)

# The caller's own stickers require CREATE_GUILD_EXPRESSIONS or MANAGE_GUILD_EXPRESSIONS; those of other members require
# MANAGE_GUILD_EXPRESSIONS.
UPDATE_GUILD_STICKER = Operation(
    "PATCH",
    "/guilds/{guild_id}/stickers/{sticker_id}",
    body=UpdateGuildSticker,
    result=Sticker,
    raises=_CHANGE_ERRORS,
    emits=(GUILD_STICKERS_UPDATE,),
    audits=(AuditLogAction.STICKER_UPDATE,),
)

DELETE_GUILD_STICKER = Operation(
    "DELETE",
    "/guilds/{guild_id}/stickers/{sticker_id}",
    raises=_CHANGE_ERRORS,
    emits=(GUILD_STICKERS_UPDATE,),
    audits=(AuditLogAction.STICKER_DELETE,),
)

GET_STICKER = Operation("GET", "/stickers/{sticker_id}", result=Sticker, raises=(errors.UNKNOWN_STICKER,))

LIST_STICKER_PACKS = Operation("GET", "/sticker-packs", result=StickerPacks, auth=Auth.BOT | Auth.USER | Auth.ANONYMOUS)

GET_STICKER_PACK = Operation(
    "GET", "/sticker-packs/{pack_id}", result=StickerPack, raises=(errors.UNKNOWN_STICKER_PACK,)
)
