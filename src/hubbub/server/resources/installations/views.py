"""An application in a guild on the wire, where it came without a bot."""

from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.resources import integrations as wire
from hubbub.server.resources.applications import ApplicationRow


def guild_integration(guild_id: int, row: ApplicationRow, scopes: tuple[str, ...]) -> wire.GuildIntegration:
    """The application as an integration; it is known by its own id (decisions/0021)."""
    return wire.GuildIntegration(
        guild_id=GuildId(guild_id),
        id=IntegrationId(row.id),
        name=row.name,
        account=wire.IntegrationAccount(id=str(int(row.id)), name=row.name),
        application=wire.IntegrationApplication(
            id=ApplicationId(row.id), name=row.name, icon=row.icon, description=row.description
        ),
        scopes=[scope for scope in scopes if scope in ("bot", "applications.commands")],
    )
