"""Making, changing and deleting emoji: write, audit, publish."""

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import EmojiId, GuildId
from hubbub.protocol.resources import emojis as wire
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.emojis import store, views
from hubbub.server.resources.emojis.facts import EmojiDeleted
from hubbub.server.resources.emojis.store import EmojiRow
from hubbub.server.resources.roles import RoleDeleted

_AUDITED = ("name", "roles")


def create(call: Call, guild_id: GuildId, row: EmojiRow) -> None:
    """Add an emoji to a guild."""
    store.insert(call.tx, row)
    changes = audit.differences(None, views.emoji(row), _AUDITED[:1])
    audit.record(call, guild_id, AuditLogAction.EMOJI_CREATE, target_id=row.id, changes=changes)
    _tell(call, guild_id)


def change(call: Call, guild_id: GuildId, before: EmojiRow, after: EmojiRow) -> None:
    """Keep what changed of a guild's emoji; nothing is said when nothing did."""
    if after == before:
        return
    store.update(call.tx, after)
    changes = audit.differences(views.emoji(before), views.emoji(after), _AUDITED)
    audit.record(call, guild_id, AuditLogAction.EMOJI_UPDATE, target_id=after.id, changes=changes)
    _tell(call, guild_id)


def delete(call: Call, guild_id: GuildId, row: EmojiRow) -> None:
    """Take an emoji from a guild; reactions that show it stay."""
    store.delete(call.tx, row.id)
    changes = audit.differences(views.emoji(row), None, _AUDITED[:1])
    audit.record(call, guild_id, AuditLogAction.EMOJI_DELETE, target_id=row.id, changes=changes)
    _tell(call, guild_id)
    call.tell(EmojiDeleted(guild_id, EmojiId(row.id)))


def role_deleted(call: Call, fact: RoleDeleted) -> None:
    """A role that is gone keeps no emoji for itself: what was for it alone is for everybody."""
    changed = False
    for row in store.list_of_guild(call.tx, fact.guild_id):
        ids = row.role_ids
        if fact.role_id in ids:
            left = json.encode([role for role in ids if role != fact.role_id]).decode()
            store.update(call.tx, row._replace(roles=left))
            changed = True
    if changed:
        _tell(call, fact.guild_id)


def _tell(call: Call, guild_id: GuildId) -> None:
    payload = wire.GuildEmojis(guild_id=guild_id, emojis=views.of_guild(call.tx, guild_id))
    call.tx.emit(wire.GUILD_EMOJIS_UPDATE, payload, Audience.guild(guild_id))


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes with its emoji."""
    store.delete_of_application(call.tx, fact.row.id)
