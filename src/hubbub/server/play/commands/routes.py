"""HTTP handlers for global and guild application commands, and their permissions."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, CommandId, GuildId, IntegrationId
from hubbub.protocol.resources import commands as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import applications
from hubbub.server.places import guilds
from hubbub.server.play.commands import actions, rules, store, views
from hubbub.server.play.commands.actions import SavedCommand
from hubbub.server.play.commands.store import GLOBAL_GUILD_ID


@handles(wire.LIST_APPLICATION_COMMANDS)
def list_application_commands(
    call: Call, application_id: ApplicationId, query: wire.ListCommands
) -> list[wire.ApplicationCommand]:
    """List global application commands."""
    applications.access.require_own_token_or_owner(call, application_id)
    rows = store.list_scope_commands(call.tx, application_id, GLOBAL_GUILD_ID)
    return views.commands(call, rows, with_all_localizations=query.with_localizations)


@handles(wire.CREATE_APPLICATION_COMMAND)
def create_application_command(call: Call, application_id: ApplicationId, body: wire.CreateCommand) -> Response:
    """Create a global application command.

    A command with the same type and name is replaced."""
    application = applications.access.require_own_token_or_owner(call, application_id)
    return _saved_response(call, actions.create(call, application, GLOBAL_GUILD_ID, body))


@handles(wire.BULK_SET_APPLICATION_COMMANDS)
def bulk_set_application_commands(
    call: Call, application_id: ApplicationId, body: list[wire.SetCommand]
) -> list[wire.ApplicationCommand]:
    """Replace all global application commands."""
    application = applications.access.require_own_token_or_owner(call, application_id)
    return [views.command(row, call.now_ms) for row in actions.bulk_set(call, application, GLOBAL_GUILD_ID, body)]


@handles(wire.GET_APPLICATION_COMMAND)
def get_application_command(
    call: Call, application_id: ApplicationId, command_id: CommandId
) -> wire.ApplicationCommand:
    """Get a global application command."""
    applications.access.require_own_token_or_owner(call, application_id)
    return views.command(rules.require_command(call, application_id, GLOBAL_GUILD_ID, command_id), call.now_ms)


@handles(wire.UPDATE_APPLICATION_COMMAND)
def update_application_command(
    call: Call, application_id: ApplicationId, command_id: CommandId, body: wire.UpdateCommand
) -> wire.ApplicationCommand:
    """Update a global application command."""
    application = applications.access.require_own_token_or_owner(call, application_id)
    row = rules.require_command(call, application_id, GLOBAL_GUILD_ID, command_id)
    return views.command(actions.edit(call, application, row, body), call.now_ms)


@handles(wire.DELETE_APPLICATION_COMMAND)
def delete_application_command(call: Call, application_id: ApplicationId, command_id: CommandId) -> None:
    """Delete a global application command."""
    applications.access.require_own_token_or_owner(call, application_id)
    actions.delete(call, rules.require_command(call, application_id, GLOBAL_GUILD_ID, command_id))


@handles(wire.LIST_REGISTERED_COMMANDS)
def list_registered_commands(
    call: Call, application_id: ApplicationId, query: wire.ListRegisteredCommands
) -> wire.RegisteredCommands:
    """List the commands that an application registered.

    For the application's developers; a guild is listed even if the application has left it."""
    applications.access.require_viewer(call, application_id)
    guild_id = GLOBAL_GUILD_ID if query.guild_id is UNSET else query.guild_id
    rows = store.list_scope_commands(call.tx, application_id, guild_id)
    entries_by_target = store.list_application_permissions(call.tx, guild_id, application_id) if guild_id else {}
    command_counts = store.count_guild_commands(call.tx, application_id, wire.COMMAND_GUILDS_MAX)
    guild_rows = guilds.find_many(call.tx, command_counts)
    return wire.RegisteredCommands(
        commands=[views.command(row, call.now_ms) for row in rows],
        permissions=[
            views.permissions(guild_id, application_id, target_id, entries)
            for target_id, entries in entries_by_target.items()
        ],
        guilds=[
            wire.CommandGuild(id=GuildId(counted_guild_id), name=guild_rows[counted_guild_id].name, command_count=count)
            for counted_guild_id, count in command_counts.items()
            if counted_guild_id in guild_rows
        ],
    )


# Guild commands


@handles(wire.LIST_GUILD_APPLICATION_COMMANDS)
def list_guild_application_commands(
    call: Call, application_id: ApplicationId, guild_id: GuildId, query: wire.ListCommands
) -> list[wire.ApplicationCommand]:
    """List guild application commands."""
    rules.require_own_installed(call, application_id, guild_id)
    rows = store.list_scope_commands(call.tx, application_id, guild_id)
    return views.commands(call, rows, with_all_localizations=query.with_localizations)


@handles(wire.CREATE_GUILD_APPLICATION_COMMAND)
def create_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, body: wire.CreateCommand
) -> Response:
    """Create a guild application command.

    A command with the same type and name is replaced."""
    application = rules.require_own_installed(call, application_id, guild_id)
    return _saved_response(call, actions.create(call, application, guild_id, body))


@handles(wire.BULK_SET_GUILD_APPLICATION_COMMANDS)
def bulk_set_guild_application_commands(
    call: Call, application_id: ApplicationId, guild_id: GuildId, body: list[wire.SetCommand]
) -> list[wire.ApplicationCommand]:
    """Replace all guild application commands."""
    application = rules.require_own_installed(call, application_id, guild_id)
    return [views.command(row, call.now_ms) for row in actions.bulk_set(call, application, guild_id, body)]


@handles(wire.GET_GUILD_APPLICATION_COMMAND)
def get_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> wire.ApplicationCommand:
    """Get a guild application command."""
    rules.require_own_installed(call, application_id, guild_id)
    return views.command(rules.require_command(call, application_id, guild_id, command_id), call.now_ms)


@handles(wire.UPDATE_GUILD_APPLICATION_COMMAND)
def update_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId, body: wire.UpdateCommand
) -> wire.ApplicationCommand:
    """Update a guild application command."""
    application = rules.require_own_installed(call, application_id, guild_id)
    row = rules.require_command(call, application_id, guild_id, command_id)
    return views.command(actions.edit(call, application, row, body), call.now_ms)


@handles(wire.DELETE_GUILD_APPLICATION_COMMAND)
def delete_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> None:
    """Delete a guild application command."""
    rules.require_own_installed(call, application_id, guild_id)
    actions.delete(call, rules.require_command(call, application_id, guild_id, command_id))


def _saved_response(call: Call, saved_command: SavedCommand) -> Response:
    return Response(201 if saved_command.is_new else 200, views.command(saved_command.row, call.now_ms))


# Permissions


@handles(wire.LIST_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def list_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId
) -> list[wire.CommandPermissions]:
    """List application command permissions in a guild."""
    rules.require_own_installed(call, application_id, guild_id)
    entries_by_target = store.list_application_permissions(call.tx, guild_id, application_id)
    return [
        views.permissions(guild_id, application_id, target_id, entries)
        for target_id, entries in entries_by_target.items()
    ]


@handles(wire.GET_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def get_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> wire.CommandPermissions:
    """Get application command permissions in a guild."""
    rules.require_own_installed(call, application_id, guild_id)
    entries = store.list_application_permissions(call.tx, guild_id, application_id).get(command_id)
    if entries is None:
        raise errors.UNKNOWN_APPLICATION_COMMAND_PERMISSIONS()
    return views.permissions(guild_id, application_id, command_id, entries)


@handles(wire.SET_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def set_guild_application_command_permissions(
    call: Call,
    application_id: ApplicationId,
    guild_id: GuildId,
    command_id: CommandId,
    body: wire.SetCommandPermissions,
) -> wire.CommandPermissions:
    """Set application command permissions in a guild.

    Use the application's ID as the command ID to set the permissions of all its commands."""
    application = applications.find(call.tx, application_id)
    if application is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.kind == "bearer" and call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    rules.require_installed_in_guild(call, application, guild_id)
    row = rules.resolve_permissions_target(call, application_id, guild_id, command_id)
    entries_by_target = store.list_application_permissions(call.tx, guild_id, application_id)
    rules.require_usable(call, guild_id, row, entries_by_target)
    entries = list(body.permissions or ())
    rules.require_entry_targets(call, guild_id, entries)
    return actions.set_permissions(
        call, application, guild_id, command_id, entries_by_target.get(command_id, ()), entries
    )


@handles(wire.LIST_GUILD_INTEGRATION_COMMANDS)
def list_guild_integration_commands(
    call: Call, guild_id: GuildId, integration_id: IntegrationId
) -> wire.IntegrationCommands:
    """List the commands of a guild integration.

    The response contains the permissions of the commands, and those of the application for all its commands."""
    application = applications.find(call.tx, integration_id)
    if application is None or not rules.is_installed_in_guild(call, application, guild_id):
        raise errors.UNKNOWN_INTEGRATION()
    rows = [
        row
        for row in store.list_available(call.tx, [application.id], guild_id)
        if rules.is_for_guilds(row, call.now_ms)
    ]
    entries_by_target = store.list_application_permissions(call.tx, guild_id, application.id)
    return wire.IntegrationCommands(
        application_commands=views.commands(call, rows, with_all_localizations=False),
        permissions=[
            views.permissions(guild_id, application.id, target_id, entries)
            for target_id, entries in entries_by_target.items()
        ],
    )


@handles(wire.BATCH_SET_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def batch_set_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId
) -> None:
    """Batch set application command permissions.

    This endpoint is disabled and always returns an error."""
    raise errors.BOTS_CANNOT_USE_ENDPOINT()
