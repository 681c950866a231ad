"""Permission and validity checks for stickers."""

from collections.abc import Sequence

from msgspec import UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import GuildFeature, StickerFormatType
from hubbub.protocol.ids import GuildId, StickerId
from hubbub.protocol.images import ImageData
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions import store
from hubbub.server.places.expressions.kinds import STICKERS
from hubbub.server.places.expressions.stickers import lottie, packs
from hubbub.server.places.expressions.store import StickerRow
from hubbub.server.places.standing import ChannelAccess


def require_sendable(
    call: Call, channel_access: ChannelAccess, sticker_ids: Sequence[StickerId]
) -> list[wire.StickerItem]:
    """Return the distinct stickers of a message, or raise an error.

    Raise INVALID_STICKER for an unknown sticker or a sticker of another guild that the caller is not a member of, and
    STICKER_NOT_ALLOWED for a sticker of another guild if the caller lacks USE_EXTERNAL_STICKERS in the channel."""
    distinct_ids = list(dict.fromkeys(sticker_ids))
    rows_by_id = STICKERS.table.find_many(
        call.tx, [sticker_id for sticker_id in distinct_ids if packs.find_standard(sticker_id) is None]
    )
    sticker_items = []
    for sticker_id in distinct_ids:
        sticker = packs.find_standard(sticker_id) or rows_by_id.get(sticker_id)
        if sticker is None:
            raise errors.INVALID_STICKER()
        if isinstance(sticker, StickerRow):
            _require_usable(call, channel_access, sticker)
        sticker_items.append(
            wire.StickerItem(id=StickerId(sticker.id), name=sticker.name, format_type=int(sticker.format_type))
        )
    return sticker_items


def _require_usable(call: Call, channel_access: ChannelAccess, row: StickerRow) -> None:
    """Raise an error if the caller may not send a guild sticker in the channel.

    Nothing is required in channels of the sticker's guild. Elsewhere, raise INVALID_STICKER if the caller is not a member
    of the sticker's guild, and STICKER_NOT_ALLOWED if the caller lacks USE_EXTERNAL_STICKERS."""
    if channel_access.guild is not None and channel_access.guild.guild_id == row.guild_id:
        return
    if not store.is_member(call.tx, row.guild_id, call.user_id):
        raise errors.INVALID_STICKER()
    if not channel_access.can(Permissions.USE_EXTERNAL_STICKERS):
        raise errors.STICKER_NOT_ALLOWED()


def detect_format(tx: Tx, guild_id: GuildId, image: ImageData) -> StickerFormatType:
    """Return the format type of a sticker file, or raise an error if the file is not allowed."""
    if image.content_type == wire.LOTTIE_CONTENT_TYPE:
        if not store.read_guild_limit_factors(tx, guild_id).features & {GuildFeature.VERIFIED, GuildFeature.PARTNERED}:
            raise errors.FILE_TYPE_INVALID()
        lottie.require_valid_animation(image.data)
        return StickerFormatType.LOTTIE
    if image.duration_ms > wire.STICKER_SECONDS_MAX * 1000:
        raise errors.LOTTIE_DURATION()
    if image.content_type == "image/gif":
        return StickerFormatType.GIF
    if image.content_type == "image/png":
        return StickerFormatType.APNG if image.is_animated else StickerFormatType.PNG
    raise errors.FILE_TYPE_INVALID()


def clean_description(description: str | None | UnsetType, form: errors.FormErrors) -> str | None:
    """Return the description to store, or None; add a form error if it is too short."""
    if not description:
        return None
    if len(description) < wire.STICKER_DESCRIPTION_MIN:
        form.add("description", *errors.bad_length(wire.STICKER_DESCRIPTION_MIN, wire.STICKER_DESCRIPTION_MAX))
    return description
