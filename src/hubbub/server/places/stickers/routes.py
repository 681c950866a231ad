"""HTTP handlers for stickers."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, Snowflake, StickerId
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import expressions
from hubbub.server.places.standing import GuildAccess, access
from hubbub.server.places.stickers import actions, packs, rules, store, views
from hubbub.server.places.stickers.store import StickerRow


@handles(wire.LIST_GUILD_STICKERS)
def list_guild_stickers(call: Call, guild_id: GuildId) -> list[wire.Sticker]:
    """List guild stickers."""
    standing = access.guild(call, guild_id)
    rows = store.list_of_guild(call.tx, guild_id)
    return views.stickers(call.tx, rows, with_creators=expressions.can_see_creators(call, standing))


@handles(wire.GET_GUILD_STICKER)
def get_guild_sticker(call: Call, guild_id: GuildId, sticker_id: StickerId) -> wire.Sticker:
    """Get a guild sticker."""
    standing = access.guild(call, guild_id)
    return _view(call, standing, _get(call, guild_id, sticker_id))


@handles(wire.CREATE_GUILD_STICKER)
def create_guild_sticker(call: Call, guild_id: GuildId, body: wire.CreateGuildSticker) -> wire.Sticker:
    """Create a guild sticker from the uploaded file."""
    standing = expressions.require_create(call, guild_id)
    form = errors.FormErrors()
    description = rules.clean_description(body.description, form)
    if not call.files:
        form.add("file", *errors.required())
    form.raise_if_any()
    image = call.files[0].image
    if image is None:
        raise errors.FILE_TYPE_INVALID()
    format_type = rules.detect_format(call.tx, guild_id, image)
    rules.require_slot(call.tx, guild_id)
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
    actions.create(call, row)
    return _view(call, standing, row)


@handles(wire.UPDATE_GUILD_STICKER)
def update_guild_sticker(
    call: Call, guild_id: GuildId, sticker_id: StickerId, body: wire.UpdateGuildSticker
) -> wire.Sticker:
    """Update a guild sticker.

    Name, description and tags can be changed."""
    standing = access.guild(call, guild_id)
    before = _get(call, guild_id, sticker_id)
    expressions.require_change(call, guild_id, before.user_id)
    after = before
    if body.name is not UNSET:
        after = after._replace(name=body.name)
    if body.tags is not UNSET:
        after = after._replace(tags=body.tags)
    if body.description is not UNSET:
        form = errors.FormErrors()
        after = after._replace(description=rules.clean_description(body.description, form))
        form.raise_if_any()
    actions.change(call, before, after)
    return _view(call, standing, after)


@handles(wire.DELETE_GUILD_STICKER)
def delete_guild_sticker(call: Call, guild_id: GuildId, sticker_id: StickerId) -> None:
    """Delete a guild sticker."""
    access.guild(call, guild_id)
    row = _get(call, guild_id, sticker_id)
    expressions.require_change(call, guild_id, row.user_id)
    actions.delete(call, row)


@handles(wire.GET_STICKER)
def get_sticker(call: Call, sticker_id: StickerId) -> wire.Sticker:
    """Get a sticker.

    Any user may read any sticker, since stickers appear in messages."""
    standard = packs.find_standard(sticker_id)
    if standard is not None:
        return standard
    row = store.find(call.tx, sticker_id)
    if row is None:
        raise errors.UNKNOWN_STICKER()
    standing = access.find_member(call.tx, call.now, row.guild_id, call.user_id)
    return views.stickers(
        call.tx, [row], with_creators=standing is not None and expressions.can_see_creators(call, standing)
    )[0]


@handles(wire.LIST_STICKER_PACKS)
def list_sticker_packs(call: Call) -> wire.StickerPacks:
    """List sticker packs."""
    return wire.StickerPacks(sticker_packs=[packs.pack()])


@handles(wire.GET_STICKER_PACK)
def get_sticker_pack(call: Call, pack_id: Snowflake) -> wire.StickerPack:
    """Get a sticker pack."""
    if pack_id != packs.PACK_ID:
        raise errors.UNKNOWN_STICKER_PACK()
    return packs.pack()


def _get(call: Call, guild_id: GuildId, sticker_id: StickerId) -> StickerRow:
    row = store.find(call.tx, sticker_id)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_STICKER()
    return row


def _view(call: Call, standing: GuildAccess, row: StickerRow) -> wire.Sticker:
    return views.stickers(call.tx, [row], with_creators=expressions.can_see_creators(call, standing))[0]
