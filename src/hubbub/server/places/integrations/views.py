"""Build the wire models of integrations."""

from collections.abc import Sequence

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.server.identity import users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.users import UserRow

BOT_SCOPES = (Scope.APPLICATIONS_COMMANDS, Scope.BOT)
"""Scopes of an application whose bot is in the guild."""


def integration(row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str] = BOT_SCOPES) -> wire.Integration:
    """Build the integration of an application. `bot` is None if the application has no bot in the guild.

    The integration ID equals the application ID (decisions/0021)."""
    application = wire.IntegrationApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description
    )
    if bot is not None:
        application.bot = users.user_view(bot)
    return wire.Integration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application=application,
        scopes=[str(scope) for scope in BOT_SCOPES if scope in scopes],
    )


def partial_integration(row: ApplicationRow) -> wire.PartialIntegration:
    """Build the partial integration that the audit log includes."""
    return wire.PartialIntegration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application_id=ApplicationId(row.id),
    )


def guild_integration(
    guild_id: int, row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str] = BOT_SCOPES
) -> wire.GuildIntegration:
    """Build the integration with its guild ID, as used in events."""
    base_integration = integration(row, bot, scopes)
    return wire.GuildIntegration(
        guild_id=GuildId(guild_id),
        id=base_integration.id,
        name=base_integration.name,
        account=base_integration.account,
        application=base_integration.application,
        scopes=base_integration.scopes,
    )
