"""Portal page that lists the commands of an application, global and per guild."""

from typing import Any, Final

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol.enums import (
    ApplicationIntegrationType,
    CommandOptionType,
    CommandPermissionType,
    CommandType,
    InteractionContextType,
)
from hubbub.protocol.permissions import PERMISSIONS_BY_NAME, Permissions
from hubbub.protocol.resources import commands
from hubbub.protocol.resources.commands import ApplicationCommand, CommandOption, CommandPermission, CommandPermissions
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import APPLICATION_PATH, load_application, render

PATH: Final = APPLICATION_PATH + "/commands"

TYPE_LABELS: Final[dict[int, str]] = {
    CommandType.CHAT_INPUT: "Slash command",
    CommandType.USER: "User menu",
    CommandType.MESSAGE: "Message menu",
    CommandType.PRIMARY_ENTRY_POINT: "Entry point of the activity",
}
OPTION_LABELS: Final[dict[int, str]] = {
    CommandOptionType.SUB_COMMAND: "subcommand",
    CommandOptionType.SUB_COMMAND_GROUP: "group of subcommands",
    CommandOptionType.STRING: "text",
    CommandOptionType.INTEGER: "integer",
    CommandOptionType.BOOLEAN: "true or false",
    CommandOptionType.USER: "user",
    CommandOptionType.CHANNEL: "channel",
    CommandOptionType.ROLE: "role",
    CommandOptionType.MENTIONABLE: "user or role",
    CommandOptionType.NUMBER: "number",
    CommandOptionType.ATTACHMENT: "file",
}
CONTEXT_LABELS: Final[dict[int, str]] = {
    InteractionContextType.GUILD: "guilds",
    InteractionContextType.BOT_DM: "direct messages with the bot",
    InteractionContextType.PRIVATE_CHANNEL: "other direct messages",
}
INSTALLATION_LABELS: Final[dict[int, str]] = {
    ApplicationIntegrationType.GUILD_INSTALL: "guilds",
    ApplicationIntegrationType.USER_INSTALL: "users",
}
TARGET_LABELS: Final[dict[int, str]] = {
    CommandPermissionType.ROLE: "role",
    CommandPermissionType.USER: "user",
    CommandPermissionType.CHANNEL: "channel",
}


@page("GET", PATH)
async def show_commands(request: PageRequest) -> web.Response:
    """List the global commands, or the commands of the guild in the query."""
    application = await load_application(request)
    guild_id = request.query_parameter("guild_id")
    registered_commands = await request.call(
        commands.LIST_REGISTERED_COMMANDS,
        application.id,
        query={"guild_id": [guild_id]} if guild_id.isascii() and guild_id.isdigit() and len(guild_id) < 20 else {},
    )
    chosen_guild = next((guild for guild in registered_commands.guilds if f"{guild.id:d}" == guild_id), None)
    permissions_by_id = {
        int(command_permissions.id): command_permissions for command_permissions in registered_commands.permissions
    }
    return render(
        request,
        "commands.html",
        application,
        commands=[
            _command_context(command, permissions_by_id.get(int(command.id)))
            for command in registered_commands.commands
        ],
        application_permissions=_permission_texts(permissions_by_id.get(int(application.id))),
        guilds=registered_commands.guilds,
        guild=chosen_guild,
        is_guild_list=bool(guild_id),
    )


def _command_context(command: ApplicationCommand, permissions: CommandPermissions | None) -> dict[str, Any]:
    return {
        "id": f"{command.id:d}",
        "name": f"/{command.name}" if command.type == CommandType.CHAT_INPUT else command.name,
        "type": TYPE_LABELS.get(command.type, f"Type {command.type}"),
        "description": command.description,
        "options": _option_lines(command.options or []),
        "member_permissions": _member_permissions_text(command.default_member_permissions),
        "contexts": _contexts_text(command),
        "installations": ", ".join(
            INSTALLATION_LABELS.get(kind, str(kind)) for kind in command.integration_types or []
        ),
        "is_age_restricted": command.nsfw,
        "permissions": _permission_texts(permissions),
    }


def _option_lines(options: list[CommandOption], path: str = "") -> list[dict[str, str]]:
    """Return the options in order; the options of a subcommand follow the subcommand and are named by path."""
    lines: list[dict[str, str]] = []
    for option in options:
        name = f"{path} {option.name}".strip()
        is_subcommand = option.type in (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
        facts = [OPTION_LABELS.get(option.type, f"type {option.type}")]
        if not is_subcommand:
            facts.append("required" if option.required is True else "optional")
        if option.choices is not UNSET and option.choices:
            facts.append(f"choices: {', '.join(choice.name for choice in option.choices)}")
        if option.autocomplete is True:
            facts.append("autocomplete")
        lines.append({"name": name, "facts": ", ".join(facts), "description": option.description})
        lines += _option_lines(option.options or [], name)
    return lines


def _member_permissions_text(permissions: Permissions | None) -> str:
    if permissions is None:
        return "All members"
    if not permissions:
        return "Administrators only"
    names = [name for name, bit in PERMISSIONS_BY_NAME.items() if permissions & bit]
    return f"Members with {', '.join(names)}"


def _contexts_text(command: ApplicationCommand) -> str:
    if command.guild_id is not UNSET:
        return "this guild"
    if not command.contexts:
        return "default contexts of its installations"
    return ", ".join(CONTEXT_LABELS.get(context, str(context)) for context in command.contexts)


def _permission_texts(permissions: CommandPermissions | None) -> list[str]:
    """Describe the permissions that a guild set for a command or for the application."""

    def describe(permission: CommandPermission) -> str:
        return f"{'Allowed' if permission.permission else 'Denied'} for {TARGET_LABELS.get(permission.type, '')} {permission.id:d}"

    return [] if permissions is None else [describe(permission) for permission in permissions.permissions]
