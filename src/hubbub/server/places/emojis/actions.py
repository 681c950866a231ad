"""Create, change and delete guild emojis: store, audit and publish."""

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import EmojiId, GuildId
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.places.audit_log import audit
from hubbub.server.places.emojis import store, views
from hubbub.server.places.emojis.signals import EmojiDeleted
from hubbub.server.places.emojis.store import EmojiRow
from hubbub.server.places.roles import RoleDeleted

_AUDITED = ("name", "roles")


def create(call: Call, guild_id: GuildId, row: EmojiRow) -> None:
    """Add an emoji to a guild."""
    store.insert(call.tx, row)
    changes = audit.differences(None, views.emoji(row), _AUDITED[:1])
    audit.record(call, guild_id, AuditLogAction.EMOJI_CREATE, target_id=row.id, changes=changes)
    _publish(call, guild_id)


def change(call: Call, guild_id: GuildId, before: EmojiRow, after: EmojiRow) -> None:
    """Store a changed guild emoji. Does nothing if nothing changed."""
    if after == before:
        return
    store.update(call.tx, after)
    changes = audit.differences(views.emoji(before), views.emoji(after), _AUDITED)
    audit.record(call, guild_id, AuditLogAction.EMOJI_UPDATE, target_id=after.id, changes=changes)
    _publish(call, guild_id)


def delete(call: Call, guild_id: GuildId, row: EmojiRow) -> None:
    """Delete an emoji from a guild. Reactions that use it stay."""
    store.delete(call.tx, row.id)
    changes = audit.differences(views.emoji(row), None, _AUDITED[:1])
    audit.record(call, guild_id, AuditLogAction.EMOJI_DELETE, target_id=row.id, changes=changes)
    _publish(call, guild_id)
    call.notify(EmojiDeleted(guild_id, EmojiId(row.id)))


def role_deleted(call: Call, signal: RoleDeleted) -> None:
    """Remove a deleted role from emojis.

    An emoji that was limited to this role alone becomes available to all members."""
    changed = False
    for row in store.list_of_guild(call.tx, signal.guild_id):
        ids = row.role_ids
        if signal.role_id in ids:
            remaining = codec.encode([role for role in ids if role != signal.role_id]).decode()
            store.update(call.tx, row._replace(roles=remaining))
            changed = True
    if changed:
        _publish(call, signal.guild_id)


def _publish(call: Call, guild_id: GuildId) -> None:
    payload = wire.GuildEmojis(guild_id=guild_id, emojis=views.of_guild(call.tx, guild_id))
    call.tx.emit(wire.GUILD_EMOJIS_UPDATE, payload, Audience.guild(guild_id))


def application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the emojis of an application that is being deleted."""
    store.delete_of_application(call.tx, signal.row.id)
