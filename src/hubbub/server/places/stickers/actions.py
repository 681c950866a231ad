"""Create, update and delete stickers: store, record in the audit log, publish."""

from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources import stickers as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.places.audit_log import audit
from hubbub.server.places.stickers import store, views
from hubbub.server.places.stickers.store import StickerRow

_AUDITED = ("name", "description", "tags", "type", "format_type", "available", "guild_id", "id")


def create(call: Call, row: StickerRow) -> None:
    """Create a sticker in a guild."""
    store.insert(call.tx, row)
    _record_and_publish(call, AuditLogAction.STICKER_CREATE, None, row)


def change(call: Call, before: StickerRow, after: StickerRow) -> None:
    """Update a sticker. Does nothing if nothing changed."""
    if after != before:
        store.update(call.tx, after)
        _record_and_publish(call, AuditLogAction.STICKER_UPDATE, before, after)


def delete(call: Call, row: StickerRow) -> None:
    """Delete a sticker. Messages that contain it stay unchanged."""
    store.delete(call.tx, row.id)
    _record_and_publish(call, AuditLogAction.STICKER_DELETE, row, None)


def _record_and_publish(
    call: Call, action: AuditLogAction, before: StickerRow | None, after: StickerRow | None
) -> None:
    row = after or before
    assert row is not None
    changes = audit.differences(
        None if before is None else views.sticker(before), None if after is None else views.sticker(after), _AUDITED
    )
    audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    guild_id = GuildId(row.guild_id)
    payload = wire.GuildStickers(guild_id=guild_id, stickers=views.list_of_guild(call.tx, guild_id))
    call.tx.emit(wire.GUILD_STICKERS_UPDATE, payload, Audience.guild(guild_id))
