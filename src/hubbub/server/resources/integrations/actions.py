"""Applications that come to guilds, change and go: publish, and what deleting one means."""

from collections.abc import Sequence

from hubbub.protocol.enums import ApplicationIntegrationType, AuditLogAction
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import applications, guilds, members, oauth2, users
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.integrations import views
from hubbub.server.resources.members import MemberAdded, MemberRemoved
from hubbub.server.resources.users import UserChanged, UserRow


def delete(call: Call, guild_id: GuildId, row: ApplicationRow) -> None:
    """Send an application away: its bot goes, and the bot's role with it; without one, its commands."""
    traits = [AuditLogChange(key="name", old_value=row.name), AuditLogChange(key="type", old_value="discord")]
    audit.record(call, guild_id, AuditLogAction.INTEGRATION_DELETE, target_id=row.id, changes=traits)
    if row.bot_id is None or not guilds.is_member(call.tx, guild_id, row.bot_id):
        oauth2.delete_installation(call.tx, row.id, ApplicationIntegrationType.GUILD_INSTALL, guild_id)
        went(call, guild_id, row)
        return
    audit.record(
        call, guild_id, AuditLogAction.MEMBER_KICK, target_id=row.bot_id, options={"integration_type": "discord"}
    )
    members.remove(call, guild_id, row.bot_id)


def came(call: Call, guild_id: int, row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str]) -> None:
    """An application is an integration now."""
    shown = views.guild_integration(guild_id, row, bot, scopes)
    call.tx.emit(wire.INTEGRATION_CREATE, shown, Audience.guild(guild_id))
    _changed(call, guild_id)


def went(call: Call, guild_id: int, row: ApplicationRow) -> None:
    """An application is none any more; its own bot, if it had one, is told that it left."""
    gone = wire.IntegrationDeleted(
        id=IntegrationId(row.id), guild_id=GuildId(guild_id), application_id=ApplicationId(row.id)
    )
    bot_id = None if row.bot_id is None else int(row.bot_id)
    call.tx.emit(wire.INTEGRATION_DELETE, gone, Audience.guild(guild_id, excluded=bot_id))
    _changed(call, guild_id)


def member_added(call: Call, fact: MemberAdded) -> None:
    """A bot came: its application is an integration now."""
    row = applications.find_by_bot(call.tx, fact.user_id)
    bot = None if row is None else users.find(call.tx, fact.user_id)
    if row is not None and bot is not None:
        came(call, fact.guild_id, row, bot, views.BY_BOT)


def member_removed(call: Call, fact: MemberRemoved) -> None:
    """A bot went, and with it the integration."""
    row = applications.find_by_bot(call.tx, fact.user_id)
    if row is not None:
        went(call, fact.guild_id, row)


def user_changed(call: Call, fact: UserChanged) -> None:
    """A bot has a new look, which integrations show."""
    row = applications.find_by_bot(call.tx, fact.row.id) if fact.row.bot else None
    if row is None:
        return
    for guild_id in guilds.ids_of_user(call.tx, fact.row.id):
        shown = views.guild_integration(guild_id, row, fact.row)
        call.tx.emit(wire.INTEGRATION_UPDATE, shown, Audience.guild(guild_id))
        _changed(call, guild_id)


def _changed(call: Call, guild_id: int) -> None:
    told = wire.GuildIntegrations(guild_id=GuildId(guild_id))
    call.tx.emit(wire.GUILD_INTEGRATIONS_UPDATE, told, Audience.guild(guild_id))
