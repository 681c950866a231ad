"""Application commands over HTTP: the same for global ones and for those of a guild."""

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, CommandId, GuildId
from hubbub.protocol.resources import commands as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Answer, handles
from hubbub.server.resources import applications
from hubbub.server.resources.commands import actions, rules, store, views
from hubbub.server.resources.commands.actions import Kept
from hubbub.server.resources.commands.store import EVERYWHERE


@handles(wire.LIST_APPLICATION_COMMANDS)
def list_application_commands(
    call: Call, application_id: ApplicationId, query: wire.ListCommands
) -> list[wire.ApplicationCommand]:
    """The global commands of one's application."""
    rules.require_own(call, application_id)
    rows = store.list_of(call.tx, application_id, EVERYWHERE)
    return views.commands(call, rows, localized=query.with_localizations)


@handles(wire.CREATE_APPLICATION_COMMAND)
def create_application_command(call: Call, application_id: ApplicationId, body: wire.CreateCommand) -> Answer:
    """Offer a command everywhere, or replace the one of its name."""
    application = rules.require_own(call, application_id)
    return _shown(call, actions.create(call, application, EVERYWHERE, body))


@handles(wire.BULK_SET_APPLICATION_COMMANDS)
def bulk_set_application_commands(
    call: Call, application_id: ApplicationId, body: list[wire.SetCommand]
) -> list[wire.ApplicationCommand]:
    """Let exactly these be the global commands."""
    application = rules.require_own(call, application_id)
    return [views.command(row, call.now) for row in actions.bulk_set(call, application, EVERYWHERE, body)]


@handles(wire.GET_APPLICATION_COMMAND)
def get_application_command(
    call: Call, application_id: ApplicationId, command_id: CommandId
) -> wire.ApplicationCommand:
    """One global command."""
    rules.require_own(call, application_id)
    return views.command(rules.get(call, application_id, EVERYWHERE, command_id), call.now)


@handles(wire.UPDATE_APPLICATION_COMMAND)
def update_application_command(
    call: Call, application_id: ApplicationId, command_id: CommandId, body: wire.UpdateCommand
) -> wire.ApplicationCommand:
    """Change a global command."""
    application = rules.require_own(call, application_id)
    row = rules.get(call, application_id, EVERYWHERE, command_id)
    return views.command(actions.edit(call, application, row, body), call.now)


@handles(wire.DELETE_APPLICATION_COMMAND)
def delete_application_command(call: Call, application_id: ApplicationId, command_id: CommandId) -> None:
    """End a global command."""
    rules.require_own(call, application_id)
    actions.delete(call, rules.get(call, application_id, EVERYWHERE, command_id))


# Of one guild


@handles(wire.LIST_GUILD_APPLICATION_COMMANDS)
def list_guild_application_commands(
    call: Call, application_id: ApplicationId, guild_id: GuildId, query: wire.ListCommands
) -> list[wire.ApplicationCommand]:
    """The commands of one's application for a guild."""
    rules.require_installed(call, application_id, guild_id)
    rows = store.list_of(call.tx, application_id, guild_id)
    return views.commands(call, rows, localized=query.with_localizations)


@handles(wire.CREATE_GUILD_APPLICATION_COMMAND)
def create_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, body: wire.CreateCommand
) -> Answer:
    """Offer a command in a guild, or replace the one of its name."""
    application = rules.require_installed(call, application_id, guild_id)
    return _shown(call, actions.create(call, application, guild_id, body))


@handles(wire.BULK_SET_GUILD_APPLICATION_COMMANDS)
def bulk_set_guild_application_commands(
    call: Call, application_id: ApplicationId, guild_id: GuildId, body: list[wire.SetCommand]
) -> list[wire.ApplicationCommand]:
    """Let exactly these be the commands for a guild."""
    application = rules.require_installed(call, application_id, guild_id)
    return [views.command(row, call.now) for row in actions.bulk_set(call, application, guild_id, body)]


@handles(wire.GET_GUILD_APPLICATION_COMMAND)
def get_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> wire.ApplicationCommand:
    """One command for a guild."""
    rules.require_installed(call, application_id, guild_id)
    return views.command(rules.get(call, application_id, guild_id, command_id), call.now)


@handles(wire.UPDATE_GUILD_APPLICATION_COMMAND)
def update_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId, body: wire.UpdateCommand
) -> wire.ApplicationCommand:
    """Change a command for a guild."""
    application = rules.require_installed(call, application_id, guild_id)
    row = rules.get(call, application_id, guild_id, command_id)
    return views.command(actions.edit(call, application, row, body), call.now)


@handles(wire.DELETE_GUILD_APPLICATION_COMMAND)
def delete_guild_application_command(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> None:
    """End a command for a guild."""
    rules.require_installed(call, application_id, guild_id)
    actions.delete(call, rules.get(call, application_id, guild_id, command_id))


def _shown(call: Call, kept: Kept) -> Answer:
    return Answer(201 if kept.new else 200, views.command(kept.row, call.now))


# Who may use them


@handles(wire.LIST_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def list_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId
) -> list[wire.CommandPermissions]:
    """All that is said in a guild of who may use one's commands."""
    rules.require_installed(call, application_id, guild_id)
    said = store.permissions_of(call.tx, guild_id, application_id)
    return [views.permissions(guild_id, application_id, target, entries) for target, entries in said.items()]


@handles(wire.GET_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def get_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId, command_id: CommandId
) -> wire.CommandPermissions:
    """Who may use one command in a guild."""
    rules.require_installed(call, application_id, guild_id)
    entries = store.permissions_of(call.tx, guild_id, application_id).get(command_id)
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
    """Say who may use a command in a guild, or all commands of an application under its own id."""
    application = applications.find(call.tx, application_id)
    if application is None:
        raise errors.UNKNOWN_APPLICATION()
    if call.actor.kind == "bearer" and call.actor.application_id != application_id:
        raise errors.NOT_AUTHORIZED_ON_APPLICATION()
    rules.require_in_guild(call, application, guild_id)
    row = rules.require_target(call, application_id, guild_id, command_id)
    said = store.permissions_of(call.tx, guild_id, application_id)
    rules.require_usable(call, guild_id, row, said)
    entries = list(body.permissions or ())
    rules.require_targets(call, guild_id, entries)
    return actions.set_permissions(call, application, guild_id, command_id, said.get(command_id, ()), entries)


@handles(wire.BATCH_SET_GUILD_APPLICATION_COMMAND_PERMISSIONS)
def batch_set_guild_application_command_permissions(
    call: Call, application_id: ApplicationId, guild_id: GuildId
) -> None:
    """Nobody may any more."""
    raise errors.BOTS_CANNOT_USE_ENDPOINT()
