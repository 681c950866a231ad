"""An integration on the wire."""

from collections.abc import Sequence

from hubbub.protocol.enums import Scope
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.server.resources import users
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.users import UserRow

BY_BOT = (Scope.APPLICATIONS_COMMANDS, Scope.BOT)
"""What an application holds that is known by its bot."""


def integration(row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str] = BY_BOT) -> wire.Integration:
    """An application in a guild, with its bot if that is there. It is known there by its own id (decisions/0021)."""
    shown = wire.IntegrationApplication(
        id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description
    )
    if bot is not None:
        shown.bot = users.user(bot)
    return wire.Integration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application=shown,
        scopes=[str(scope) for scope in BY_BOT if scope in scopes],
    )


def partial_integration(row: ApplicationRow) -> wire.PartialIntegration:
    """The little of it that the audit log tells."""
    return wire.PartialIntegration(
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application_id=ApplicationId(row.id),
    )


def guild_integration(
    guild_id: int, row: ApplicationRow, bot: UserRow | None, scopes: Sequence[str] = BY_BOT
) -> wire.GuildIntegration:
    """The same with its guild, for events."""
    shown = integration(row, bot, scopes)
    return wire.GuildIntegration(
        guild_id=GuildId(guild_id),
        id=shown.id,
        name=shown.name,
        account=shown.account,
        application=shown.application,
        scopes=shown.scopes,
    )
