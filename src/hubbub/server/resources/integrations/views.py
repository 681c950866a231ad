"""An integration on the wire."""

from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.server.resources import users
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.users import UserRow

SCOPES = ["applications.commands", "bot"]


def integration(row: ApplicationRow, bot: UserRow) -> wire.Integration:
    """An application in a guild. It is known there by its own id (decisions/0021)."""
    return wire.Integration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application=_application(row, bot),
        scopes=SCOPES,
    )


def partial_integration(row: ApplicationRow) -> wire.PartialIntegration:
    """The little of it that the audit log tells."""
    return wire.PartialIntegration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application_id=ApplicationId(row.id),
    )


def guild_integration(guild_id: int, row: ApplicationRow, bot: UserRow) -> wire.GuildIntegration:
    """The same with its guild, for events."""
    shown = integration(row, bot)
    return wire.GuildIntegration(
        guild_id=GuildId(guild_id),
        id=shown.id,
        name=shown.name,
        account=shown.account,
        application=shown.application,
        scopes=shown.scopes,
    )


def _application(row: ApplicationRow, bot: UserRow) -> wire.IntegrationApplication:
    return wire.IntegrationApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description, bot=users.user(bot)
    )
