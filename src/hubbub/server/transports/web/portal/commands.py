"""Portal page that lists the commands of an application, global and per guild."""

import re
from collections.abc import Mapping, Sequence
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
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import APPLICATION_PATH, load_application, render

PATH: Final = APPLICATION_PATH + "/commands"

TYPE_LABELS: Final[dict[int, str]] = {
    CommandType.CHAT_INPUT: gettext_noop("Slash command"),
    CommandType.USER: gettext_noop("User menu"),
    CommandType.MESSAGE: gettext_noop("Message menu"),
    CommandType.PRIMARY_ENTRY_POINT: gettext_noop("Entry point of the activity"),
}
OPTION_LABELS: Final[dict[int, str]] = {
    CommandOptionType.SUB_COMMAND: gettext_noop("subcommand"),
    CommandOptionType.SUB_COMMAND_GROUP: gettext_noop("group of subcommands"),
    CommandOptionType.STRING: gettext_noop("text"),
    CommandOptionType.INTEGER: gettext_noop("integer"),
    CommandOptionType.BOOLEAN: gettext_noop("true or false"),
    CommandOptionType.USER: gettext_noop("user"),
    CommandOptionType.CHANNEL: gettext_noop("channel"),
    CommandOptionType.ROLE: gettext_noop("role"),
    CommandOptionType.MENTIONABLE: gettext_noop("user or role"),
    CommandOptionType.NUMBER: gettext_noop("number"),
    CommandOptionType.ATTACHMENT: gettext_noop("file"),
}
CONTEXT_LABELS: Final[dict[int, str]] = {
    InteractionContextType.GUILD: gettext_noop("guilds"),
    InteractionContextType.BOT_DM: gettext_noop("direct messages with the bot"),
    InteractionContextType.PRIVATE_CHANNEL: gettext_noop("other direct messages"),
}
INSTALLATION_LABELS: Final[dict[int, str]] = {
    ApplicationIntegrationType.GUILD_INSTALL: gettext_noop("guilds"),
    ApplicationIntegrationType.USER_INSTALL: gettext_noop("users"),
}
ALLOWED_TEXTS: Final[dict[int, str]] = {
    CommandPermissionType.ROLE: gettext_noop("Allowed for role {id}"),
    CommandPermissionType.USER: gettext_noop("Allowed for user {id}"),
    CommandPermissionType.CHANNEL: gettext_noop("Allowed for channel {id}"),
}
DENIED_TEXTS: Final[dict[int, str]] = {
    CommandPermissionType.ROLE: gettext_noop("Denied for role {id}"),
    CommandPermissionType.USER: gettext_noop("Denied for user {id}"),
    CommandPermissionType.CHANNEL: gettext_noop("Denied for channel {id}"),
}

_FIRST_LETTER_PATTERN: Final = re.compile(r"[^\W\d_]")


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
        "type": gettext(TYPE_LABELS.get(command.type, "")) or gettext("Type {number}", number=command.type),
        "description": command.description,
        "options": _option_lines(command.options or []),
        "member_permissions": _member_permissions_text(command.default_member_permissions),
        "contexts": _contexts_text(command),
        "installations": _join_labels(INSTALLATION_LABELS, command.integration_types or []),
        "is_age_restricted": command.nsfw,
        "permissions": _permission_texts(permissions),
    }


def _option_lines(options: list[CommandOption], path: str = "") -> list[dict[str, str]]:
    """Return the options in order; the options of a subcommand follow the subcommand and are named by path."""
    lines: list[dict[str, str]] = []
    for option in options:
        name = f"{path} {option.name}".strip()
        is_subcommand = option.type in (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
        facts = [gettext(OPTION_LABELS.get(option.type, "")) or gettext("type {number}", number=option.type)]
        if not is_subcommand:
            facts.append(gettext("required") if option.required is True else gettext("optional"))
        if option.choices is not UNSET and option.choices:
            facts.append(gettext("choices: {names}", names=", ".join(choice.name for choice in option.choices)))
        if option.autocomplete is True:
            facts.append(gettext("autocomplete"))
        lines.append({"name": name, "facts": ", ".join(facts), "description": option.description})
        lines += _option_lines(option.options or [], name)
    return lines


def _member_permissions_text(permissions: Permissions | None) -> str:
    if permissions is None:
        return gettext("All members")
    if not permissions:
        return gettext("Administrators only")
    names = [name for name, bit in PERMISSIONS_BY_NAME.items() if permissions & bit]
    return gettext("Members with {permissions}", permissions=", ".join(names))


def _contexts_text(command: ApplicationCommand) -> str:
    if command.guild_id is not UNSET:
        return gettext("This guild")
    if not command.contexts:
        return gettext("Default contexts of its installations")
    return _join_labels(CONTEXT_LABELS, command.contexts)


def _join_labels(labels: Mapping[int, str], values: Sequence[int]) -> str:
    """Return the labels of the values as a list that begins with an uppercase letter."""
    text = ", ".join(gettext(labels[value]) if value in labels else str(value) for value in values)
    return _FIRST_LETTER_PATTERN.sub(lambda match: match[0].upper(), text, count=1)


def _permission_texts(permissions: CommandPermissions | None) -> list[str]:
    """Describe the permissions that a guild set for a command or for the application."""

    def describe(permission: CommandPermission) -> str:
        texts = ALLOWED_TEXTS if permission.permission else DENIED_TEXTS
        return gettext(texts[permission.type], id=f"{permission.id:d}")

    return [] if permissions is None else [describe(permission) for permission in permissions.permissions]
