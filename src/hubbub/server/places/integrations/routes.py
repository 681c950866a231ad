"""HTTP handlers for integrations."""

from hubbub.protocol import errors
from hubbub.protocol.enums import ApplicationIntegrationType, Scope
from hubbub.protocol.ids import GuildId, IntegrationId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import integrations as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.places import guilds, members
from hubbub.server.places.integrations import actions, views
from hubbub.server.places.standing import access


@handles(wire.LIST_GUILD_INTEGRATIONS)
def list_guild_integrations(call: Call, guild_id: GuildId) -> list[wire.Integration]:
    """List guild integrations.

    Applications with a bot in the guild come first, then applications that have only commands there."""
    bot_application_ids = members.shared_guilds.list_application_ids(call.tx, guild_id, wire.INTEGRATIONS_MAX)
    scopes_by_id = {
        row.application_id: row.scopes.split() for row in oauth2.installations.list_by_target(call.tx, guild_id)
    }
    rows_by_id = applications.find_many(call.tx, [*bot_application_ids, *scopes_by_id])
    bots_by_id = users.find_many(
        call.tx, [rows_by_id[application_id].bot_id or 0 for application_id in bot_application_ids]
    )
    integrations = [
        views.integration(rows_by_id[application_id], bots_by_id[rows_by_id[application_id].bot_id or 0])
        for application_id in bot_application_ids
    ]
    integrations += [
        views.integration(rows_by_id[application_id], None, scopes_by_id[application_id])
        for application_id in scopes_by_id
        if application_id in rows_by_id and application_id not in bot_application_ids
    ]
    return integrations[: wire.INTEGRATIONS_MAX]


@handles(wire.LIST_MY_INTEGRATIONS)
def list_my_integrations(call: Call) -> list[wire.AddedIntegration]:
    """List the applications that the current user added to guilds.

    The list has at most 50 applications, newest first. Guilds that the user left are not included.
    """
    installations = oauth2.installations.list_by_installer(call.tx, call.user_id, wire.INTEGRATIONS_MAX)
    rows_by_id = applications.find_many(call.tx, [installation.application_id for installation in installations])
    bots_by_id = users.find_many(call.tx, [row.bot_id for row in rows_by_id.values() if row.bot_id is not None])
    guilds_by_id = guilds.find_many(call.tx, [installation.target_id for installation in installations])
    added_integrations = []
    for installation in installations:
        row, guild = rows_by_id.get(installation.application_id), guilds_by_id.get(installation.target_id)
        if row is None or guild is None:
            continue
        # The standing is None for a user who left the guild, and in a suspended guild.
        standing = access.find_guild_standing(call.tx, call.now_ms, guild.id, call.user_id)
        if standing is None:
            continue
        scopes = installation.scopes.split()
        bot = bots_by_id.get(row.bot_id or 0) if Scope.BOT in scopes else None
        added_integrations.append(
            wire.AddedIntegration(
                guild=wire.IntegrationGuild(id=GuildId(guild.id), name=guild.name, icon=guild.icon),
                integration=views.integration(row, bot, scopes),
                can_delete=bool(standing.permissions & Permissions.MANAGE_GUILD),
            )
        )
    return added_integrations


@handles(wire.DELETE_GUILD_INTEGRATION)
def delete_guild_integration(call: Call, guild_id: GuildId, integration_id: IntegrationId) -> None:
    """Delete a guild integration.

    The application is removed from the guild, and its bot is kicked."""
    row = applications.find(call.tx, integration_id)
    if row is None or not _is_installed(call, guild_id, row):
        raise errors.UNKNOWN_INTEGRATION()
    actions.delete(call, guild_id, row)


@handles(wire.CREATE_GUILD_INTEGRATION)
def create_guild_integration(call: Call, guild_id: GuildId, body: wire.CreateIntegration) -> None:
    """Create a guild integration.

    The request always fails with UNKNOWN_INTEGRATION: subscription integrations with external accounts are not supported."""
    raise errors.UNKNOWN_INTEGRATION()


@handles(wire.UPDATE_GUILD_INTEGRATION)
def update_guild_integration(
    call: Call, guild_id: GuildId, integration_id: IntegrationId, body: wire.UpdateIntegration
) -> None:
    """Update a guild integration.

    The request always fails: integrations are applications, which have no subscribers to configure."""
    _raise_unsupported(call, guild_id, integration_id)


@handles(wire.SYNC_GUILD_INTEGRATION)
def sync_guild_integration(call: Call, guild_id: GuildId, integration_id: IntegrationId) -> None:
    """Sync a guild integration.

    The request always fails: integrations are applications, which have no subscribers to sync."""
    _raise_unsupported(call, guild_id, integration_id)


def _raise_unsupported(call: Call, guild_id: int, integration_id: int) -> None:
    """Raise UNKNOWN_INTEGRATION, or a form error if the integration exists, because it has no subscribers."""
    row = applications.find(call.tx, integration_id)
    if row is not None and _is_installed(call, guild_id, row):
        raise errors.invalid("integration_id", "INTEGRATION_TYPE_INVALID", "An application has no subscribers.")
    raise errors.UNKNOWN_INTEGRATION()


def _is_installed(call: Call, guild_id: int, row: ApplicationRow) -> bool:
    """Return whether an application is installed in a guild, with or without its bot."""
    if row.bot_id is not None and guilds.membership.is_member(call.tx, guild_id, row.bot_id):
        return True
    return (
        oauth2.installations.find_installation(call.tx, row.id, ApplicationIntegrationType.GUILD_INSTALL, guild_id)
        is not None
    )
