"""Making, changing and deleting stickers: write, audit, publish."""

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.stickers import store, views
from hubbub.server.resources.stickers.store import StickerRow

_AUDITED = ("name", "description", "tags", "type", "format_type", "available", "guild_id", "id")


def create(call: Call, row: StickerRow) -> None:
    """Add a sticker to a guild."""
    store.insert(call.tx, row)
    _told(call, AuditLogAction.STICKER_CREATE, None, row)


def change(call: Call, before: StickerRow, after: StickerRow) -> None:
    """Keep what changed of a sticker; nothing is said when nothing did."""
    if after != before:
        store.update(call.tx, after)
        _told(call, AuditLogAction.STICKER_UPDATE, before, after)


def delete(call: Call, row: StickerRow) -> None:
    """Take a sticker from a guild; messages that show it stay."""
    store.delete(call.tx, row.id)
    _told(call, AuditLogAction.STICKER_DELETE, row, None)


def _told(call: Call, action: AuditLogAction, before: StickerRow | None, after: StickerRow | None) -> None:
    row = after or before
    assert row is not None
    changes = audit.differences(
        None if before is None else views.sticker(before), None if after is None else views.sticker(after), _AUDITED
    )
    audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    guild_id = GuildId(row.guild_id)
    payload = wire.GuildStickers(guild_id=guild_id, stickers=views.of_guild(call.tx, guild_id))
    call.tx.emit(wire.GUILD_STICKERS_UPDATE, payload, Audience.guild(guild_id))
