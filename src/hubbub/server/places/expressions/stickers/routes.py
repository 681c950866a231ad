"""HTTP handlers for guild stickers and sticker packs."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, Snowflake, StickerId
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.expressions import actions, rules, views
from hubbub.server.places.expressions.kinds import STICKERS
from hubbub.server.places.expressions.stickers import packs
from hubbub.server.places.expressions.stickers import rules as sticker_rules
from hubbub.server.places.expressions.store import StickerRow
from hubbub.server.places.standing import access


@handles(wire.LIST_GUILD_STICKERS)
def list_guild_stickers(call: Call, guild_id: GuildId) -> list[wire.Sticker]:
    """List guild stickers."""
    return views.list_for_member(call, STICKERS, access.get_guild_standing(call, guild_id))


@handles(wire.GET_GUILD_STICKER)
def get_guild_sticker(call: Call, guild_id: GuildId, sticker_id: StickerId) -> wire.Sticker:
    """Get a guild sticker."""
    row = rules.require_expression(call, STICKERS, guild_id, sticker_id)
    return views.for_member(call, STICKERS, access.get_guild_standing(call, guild_id), row)


@handles(wire.CREATE_GUILD_STICKER)
def create_guild_sticker(call: Call, guild_id: GuildId, body: wire.CreateGuildSticker) -> wire.Sticker:
    """Create a guild sticker from the uploaded file.

    The caller needs CREATE_GUILD_EXPRESSIONS. Before 23 February 2026, MANAGE_GUILD_EXPRESSIONS is sufficient, too.
    """
    standing = rules.require_can_create(call, guild_id)
    form = errors.FormErrors()
    description = sticker_rules.clean_description(body.description, form)
    if not call.files:
        form.add("file", *errors.required())
    form.raise_if_any()
    image = call.files[0].image
    if image is None:
        raise errors.FILE_TYPE_INVALID()
    format_type = sticker_rules.detect_format(call.tx, guild_id, image)
    rules.require_free_slot(call.tx, STICKERS, guild_id, errors.MAX_STICKERS)
    row = StickerRow(
        id=call.new_id(StickerId),
        guild_id=guild_id,
        user_id=call.user_id,
        name=body.name,
        description=description,
        tags=body.tags,
        format_type=int(format_type),
        image=image.hash,
    )
    actions.create(call, STICKERS, guild_id, row)
    return views.for_member(call, STICKERS, standing, row)


@handles(wire.UPDATE_GUILD_STICKER)
def update_guild_sticker(
    call: Call, guild_id: GuildId, sticker_id: StickerId, body: wire.UpdateGuildSticker
) -> wire.Sticker:
    """Update a guild sticker.

    Name, description and tags can be changed.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for a sticker that the caller
    created.
    """
    before = after = rules.require_changeable(call, STICKERS, guild_id, sticker_id)
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.tags is not UNSET:
        after = after._replace(tags=body.tags)
    if body.description is not UNSET:
        form = errors.FormErrors()
        after = after._replace(description=sticker_rules.clean_description(body.description, form))
        form.raise_if_any()
    actions.update(call, STICKERS, guild_id, before, after)
    return views.for_member(call, STICKERS, access.get_guild_standing(call, guild_id), after)


@handles(wire.DELETE_GUILD_STICKER)
def delete_guild_sticker(call: Call, guild_id: GuildId, sticker_id: StickerId) -> None:
    """Delete a guild sticker.

    The caller needs MANAGE_GUILD_EXPRESSIONS. CREATE_GUILD_EXPRESSIONS is sufficient for a sticker that the caller
    created.
    """
    actions.delete(call, STICKERS, guild_id, rules.require_changeable(call, STICKERS, guild_id, sticker_id))


@handles(wire.GET_STICKER)
def get_sticker(call: Call, sticker_id: StickerId) -> wire.Sticker:
    """Get a sticker.

    Any user may read any sticker, since stickers appear in messages."""
    standard_sticker = packs.find_standard(sticker_id)
    if standard_sticker is not None:
        return standard_sticker
    row = STICKERS.table.find(call.tx, sticker_id)
    if row is None:
        raise errors.UNKNOWN_STICKER()
    standing = access.find_guild_standing(call.tx, call.now_ms, row.guild_id, call.user_id)
    return STICKERS.view(row) if standing is None else views.for_member(call, STICKERS, standing, row)


@handles(wire.LIST_STICKER_PACKS)
def list_sticker_packs(call: Call) -> wire.StickerPacks:
    """List sticker packs."""
    return wire.StickerPacks(sticker_packs=[packs.standard_pack()])


@handles(wire.GET_STICKER_PACK)
def get_sticker_pack(call: Call, pack_id: Snowflake) -> wire.StickerPack:
    """Get a sticker pack."""
    if pack_id != packs.PACK_ID:
        raise errors.UNKNOWN_STICKER_PACK()
    return packs.standard_pack()
