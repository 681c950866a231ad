"""Publish the creation, update and deletion of integrations; delete an integration."""

from collections.abc import Sequence

from hubbub.protocol.enums import ApplicationIntegrationType, AuditLogAction
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.identity import applications, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.users import UserRow
from hubbub.server.identity.users.signals import UserChanged
from hubbub.server.places import guilds, members
from hubbub.server.places.audit_log import audit
from hubbub.server.places.integrations import views
from hubbub.server.places.members.signals import MemberAdded, MemberRemoved


def delete(call: Call, guild_id: GuildId, row: ApplicationRow) -> None:
    """Remove an application from a guild: kick its bot, or delete its installation if it has no bot there."""
    changes = [AuditLogChange(key="name", old_value=row.name), AuditLogChange(key="type", old_value="discord")]
    audit.record(call, guild_id, AuditLogAction.INTEGRATION_DELETE, target_id=row.id, changes=changes)
    if row.bot_id is None or not guilds.membership.is_member(call.tx, guild_id, row.bot_id):
        oauth2.installations.delete_installation(call.tx, row.id, ApplicationIntegrationType.GUILD_INSTALL, guild_id)
        publish_deleted(call, guild_id, row)
        return
    audit.record(
        call, guild_id, AuditLogAction.MEMBER_KICK, target_id=row.bot_id, options={"integration_type": "discord"}
    )
    members.membership.remove(call, guild_id, row.bot_id)


def publish_created(call: Call, guild_id: int, row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str]) -> None:
    """Publish that an application became an integration of a guild.

    `bot` is None if the application was installed without its bot. `scopes` are the scopes of the installation."""
    payload = views.guild_integration(guild_id, row, bot, scopes)
    call.tx.emit(wire.INTEGRATION_CREATE, payload, GuildAudience(guild_id))
    _publish_integrations_update(call, guild_id)


def publish_deleted(call: Call, guild_id: int, row: ApplicationRow) -> None:
    """Publish that an application is no longer an integration of a guild.

    The bot of the application is excluded from the audience, because it has left the guild."""
    payload = wire.IntegrationDeleted(
        id=IntegrationId(row.id), guild_id=GuildId(guild_id), application_id=ApplicationId(row.id)
    )
    bot_id = None if row.bot_id is None else int(row.bot_id)
    call.tx.emit(wire.INTEGRATION_DELETE, payload, GuildAudience(guild_id, excluded_user_id=bot_id))
    _publish_integrations_update(call, guild_id)


def on_member_added(call: Call, signal: MemberAdded) -> None:
    """Publish the integration of a bot's application when the bot joins a guild."""
    row = applications.find_by_bot(call.tx, signal.user_id)
    bot = None if row is None else users.find(call.tx, signal.user_id)
    if row is not None and bot is not None:
        publish_created(call, signal.guild_id, row, bot, views.BOT_SCOPES)


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Publish the removal of the integration when its bot leaves the guild or is removed."""
    row = applications.find_by_bot(call.tx, signal.user_id)
    if row is not None:
        publish_deleted(call, signal.guild_id, row)


def on_user_changed(call: Call, signal: UserChanged) -> None:
    """Publish an integration update when its bot's profile changes, since integrations embed the bot user."""
    row = applications.find_by_bot(call.tx, signal.row.id) if signal.row.bot else None
    if row is None:
        return
    for guild_id in guilds.membership.list_user_guild_ids(call.tx, signal.row.id):
        payload = views.guild_integration(guild_id, row, signal.row)
        call.tx.emit(wire.INTEGRATION_UPDATE, payload, GuildAudience(guild_id))
        _publish_integrations_update(call, guild_id)


def _publish_integrations_update(call: Call, guild_id: int) -> None:
    """Publish GUILD_INTEGRATIONS_UPDATE, which accompanies every other integration event."""
    payload = wire.GuildIntegrations(guild_id=GuildId(guild_id))
    call.tx.emit(wire.GUILD_INTEGRATIONS_UPDATE, payload, GuildAudience(guild_id))
