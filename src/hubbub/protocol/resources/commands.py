"""Application commands: global and guild commands of applications, and the permissions to use them."""

from types import NoneType
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    ApplicationIntegrationType,
    AuditLogAction,
    ChannelType,
    CommandHandlerType,
    CommandOptionType,
    CommandPermissionType,
    CommandType,
    InteractionContextType,
)
from hubbub.protocol.ids import ApplicationId, CommandId, GuildId, Snowflake
from hubbub.protocol.operation import Auth, BodyT, Event, Operation, RateLimit, ResultT
from hubbub.protocol.permissions import Permissions

COMMANDS_MAX_BY_TYPE: Final = {
    CommandType.CHAT_INPUT: 100,
    CommandType.USER: 15,
    CommandType.MESSAGE: 15,
    CommandType.PRIMARY_ENTRY_POINT: 1,
}
"""Maximum number of commands by type, among an application's global commands or its commands in one guild."""
OLD_CONTEXT_MENU_COMMANDS_MAX: Final = 5
"""Maximum number of commands of each context menu type before changes.CONTEXT_MENU_LIMIT_15."""
COMMAND_CREATES_LIMIT: Final = RateLimit(200, 86_400.0, bucket="command_creates", code=errors.MAX_DAILY_COMMAND_CREATES)
"""Limit on an application's commands created per day, counted separately for global commands and each guild.

Updates do not count.
"""

COMMAND_NAME_MAX: Final = 32
COMMAND_DESCRIPTION_MAX: Final = 100
COMMAND_OPTIONS_MAX: Final = 25
"""Maximum number of options of a command, subcommand or subcommand group, each."""
COMMAND_SIZE_MAX: Final = 8000
"""Maximum number of characters in names, descriptions and choice values; only the longest translation counts."""
CHOICES_MAX: Final = 25
"""Maximum number of choices of an option."""
CHOICE_NAME_MAX: Final = 100
CHOICE_VALUE_MAX: Final = 100
STRING_OPTION_MAX: Final = 6000
"""Maximum length of the value of a string option in characters."""
NUMBER_MAX: Final = (1 << 53) - 1
"""Largest absolute value of integer and number options."""
OPTION_FILE_TYPES_MAX: Final = 10
"""Maximum number of file types that an attachment option accepts."""
COMMAND_PERMISSIONS_MAX: Final = 100
"""Maximum number of permissions of one command in a guild."""

CommandName = Annotated[str, Meta(min_length=1, max_length=COMMAND_NAME_MAX)]
CommandDescription = Annotated[str, Meta(max_length=COMMAND_DESCRIPTION_MAX)]
OptionDescription = Annotated[str, Meta(min_length=1, max_length=COMMAND_DESCRIPTION_MAX)]
ChoiceName = Annotated[str, Meta(min_length=1, max_length=CHOICE_NAME_MAX)]
NameLocalizations = dict[str, CommandName]
DescriptionLocalizations = dict[str, OptionDescription]
ChoiceValue = str | int | float


COMMAND_GUILDS_MAX: Final = 200
"""Maximum number of guilds in a list of registered commands."""


def all_channels_id(guild_id: int) -> Snowflake:
    """Return the ID that stands for all channels of a guild in command permissions (spec/http.md#1.2)."""
    return Snowflake(guild_id - 1)


class CommandChoice(Struct, kw_only=True, omit_defaults=True):
    """A predefined value of an option."""

    name: str
    """Name of the choice, 1 to 100 characters."""
    value: ChoiceValue
    """Value of the choice, of the option's type; strings have at most 100 characters."""
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the name by locale; null if none, absent in lists without `with_localizations`."""
    name_localized: str | UnsetType = UNSET
    """Name in the caller's locale; absent without a translation, outside lists, and with `with_localizations`."""


class CommandOption(Struct, kw_only=True, omit_defaults=True):
    """A parameter or subcommand of a command; fields without a value are absent."""

    # The option is stored as JSON: add fields with a default only, and never rename a field.

    type: int
    """Type of the option; a `CommandOptionType`."""
    name: str
    """Name of the option, 1 to 32 characters."""
    description: str
    """Description of the option, 1 to 100 characters."""
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the name by locale; null if none, absent in lists without `with_localizations`."""
    name_localized: str | UnsetType = UNSET
    """Name in the caller's locale; absent without a translation, outside lists, and with `with_localizations`."""
    description_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the description by locale; null if none, absent in lists without `with_localizations`."""
    description_localized: str | UnsetType = UNSET
    """Description in the caller's locale; absent without a translation, outside lists, and with `with_localizations`."""
    required: bool | UnsetType = UNSET
    """Whether the user must fill in the option."""
    choices: list[CommandChoice] | UnsetType = UNSET
    """Values that the user can choose from, at most 25; string, integer and number options."""
    options: "list[CommandOption] | UnsetType" = UNSET
    """Nested options of a subcommand or subcommand group."""
    channel_types: list[int] | UnsetType = UNSET
    """Types of channels that can be selected; channel options."""
    min_value: int | float | UnsetType = UNSET
    """Minimum value; integer and number options."""
    max_value: int | float | UnsetType = UNSET
    """Maximum value; integer and number options."""
    min_length: int | UnsetType = UNSET
    """Minimum length in characters, 0 to 6000; string options."""
    max_length: int | UnsetType = UNSET
    """Maximum length in characters, 1 to 6000; string options."""
    autocomplete: bool | UnsetType = UNSET
    """Whether the application suggests values while the user types; string, integer and number options."""
    file_types: list[str] | UnsetType = UNSET
    """File types that can be uploaded: `image`, `video`, `audio` or extensions; attachment options."""


class ApplicationCommand(Struct, kw_only=True):
    """A slash, user or message command of an application."""

    id: CommandId
    """ID of the command."""
    application_id: ApplicationId
    """ID of the application."""
    version: Snowflake
    """ID of the command's version; it changes with every update."""
    default_member_permissions: Permissions | None
    """Permissions that a member needs to use the command; null requires none, "0" requires ADMINISTRATOR."""
    type: int
    """Type of the command; a `CommandType`."""
    name: str
    """Name of the command, 1 to 32 characters."""
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the name by locale; null if none, absent in lists without `with_localizations`."""
    name_localized: str | UnsetType = UNSET
    """Name in the caller's locale; absent without a translation, outside lists, and with `with_localizations`."""
    description: str
    """Description of a chat input command, 1 to 100 characters; empty for other types."""
    description_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the description by locale; null if none, absent in lists without `with_localizations`."""
    description_localized: str | UnsetType = UNSET
    """Description in the caller's locale; absent without a translation, outside lists, and with `with_localizations`."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild of a guild command; absent for global commands."""
    dm_permission: bool | UnsetType = UNSET
    """Deprecated: whether `contexts` includes direct messages with the bot. Global commands only."""
    contexts: list[int] | None | UnsetType = UNSET
    """Contexts in which the command can be used, `InteractionContextType` values.
    Null for GUILD and BOT_DM, and for PRIVATE_CHANNEL if users can install the command."""
    integration_types: list[int] | UnsetType = UNSET
    """Installation contexts in which the command is available; absent before changes.USER_INSTALLS."""
    options: list[CommandOption] | UnsetType = UNSET
    """Parameters of a chat input command, at most 25; absent if there are none."""
    nsfw: bool = False
    """Whether the command is age-restricted."""
    handler: int | UnsetType = UNSET
    """Handler of an entry point command: 1 the application, 2 the platform launches the activity. Absent for other types."""


class CommandPermission(Struct, kw_only=True, frozen=True):
    """Permission for a role or user, or in a channel, to use a command."""

    id: Snowflake
    """ID of the role, user or channel; the guild ID means @everyone, the guild ID minus one all channels."""
    type: CommandPermissionType
    """Type of the object that `id` refers to."""
    permission: bool
    """Whether the role or user may use the command, or whether it may be used in the channel."""


class CommandPermissions(Struct, kw_only=True):
    """Permissions to use a command in a guild."""

    id: Snowflake
    """ID of the command, or of the application for permissions that apply to all its commands."""
    application_id: ApplicationId
    """ID of the application."""
    guild_id: GuildId
    """ID of the guild."""
    permissions: list[CommandPermission]
    """Permissions of roles, users and channels, at most 100."""


class IntegrationCommands(Struct, kw_only=True):
    """The commands of an application in a guild, and the permissions to use them."""

    application_commands: list[ApplicationCommand]
    """Global commands that can be used in guilds, and commands of the guild."""
    permissions: list[CommandPermissions]
    """Permissions of the application and of its commands; commands without permissions are left out."""


class CommandChoiceRequest(Struct, kw_only=True):
    """A predefined value of an option, in a request."""

    name: ChoiceName
    """Name of the choice, 1 to 100 characters."""
    value: ChoiceValue
    """Value of the choice, of the option's type; strings have at most 100 characters."""
    name_localizations: dict[str, ChoiceName] | None | UnsetType = UNSET
    """Translations of the name by locale; absent or null for none."""


class CommandOptionRequest(Struct, kw_only=True):
    """A parameter or subcommand of a command, in a request; null is equivalent to an absent field.

    Fields that the type of the option does not have are ignored."""

    type: CommandOptionType
    """Type of the option."""
    name: CommandName
    """Name of the option, 1 to 32 characters, unique among its siblings."""
    description: OptionDescription
    """Description of the option, 1 to 100 characters."""
    name_localizations: NameLocalizations | None | UnsetType = UNSET
    """Translations of the name by locale; absent or null for none."""
    description_localizations: DescriptionLocalizations | None | UnsetType = UNSET
    """Translations of the description by locale; absent or null for none."""
    required: bool | None | UnsetType = UNSET
    """Whether the user must fill in the option, false if absent or null; required options come before optional ones."""
    choices: Annotated[list[CommandChoiceRequest], Meta(max_length=CHOICES_MAX)] | None | UnsetType = UNSET
    """Values to choose from, at most 25; cannot be combined with `autocomplete`."""
    options: "Annotated[list[CommandOptionRequest], Meta(max_length=COMMAND_OPTIONS_MAX)] | None | UnsetType" = UNSET
    """Nested options of a subcommand or subcommand group, at most 25."""
    channel_types: list[ChannelType] | None | UnsetType = UNSET
    """Types of channels that can be selected; all types if absent or null."""
    min_value: int | float | None | UnsetType = UNSET
    """Minimum value; integer and number options."""
    max_value: int | float | None | UnsetType = UNSET
    """Maximum value; integer and number options."""
    min_length: Annotated[int, Meta(ge=0, le=STRING_OPTION_MAX)] | None | UnsetType = UNSET
    """Minimum length in characters, 0 to 6000; string options."""
    max_length: Annotated[int, Meta(ge=1, le=STRING_OPTION_MAX)] | None | UnsetType = UNSET
    """Maximum length in characters, 1 to 6000; string options."""
    autocomplete: bool | None | UnsetType = UNSET
    """Whether the application suggests values while the user types; cannot be combined with `choices`."""
    file_types: Annotated[list[str], Meta(max_length=OPTION_FILE_TYPES_MAX)] | None | UnsetType = UNSET
    """File types that can be uploaded, at most 10: `image`, `video`, `audio` or extensions. All if absent or null."""


class UpdateCommand(Struct, kw_only=True):
    """Request body for updating a command; absent fields keep their value."""

    name: CommandName | UnsetType = UNSET
    """Name of the command, 1 to 32 characters."""
    name_localizations: NameLocalizations | None | UnsetType = UNSET
    """Translations of the name by locale; null removes them."""
    description: CommandDescription | None | UnsetType = UNSET
    """Description, 1 to 100 characters; required for chat input commands, not allowed for context menu commands."""
    description_localizations: DescriptionLocalizations | None | UnsetType = UNSET
    """Translations of the description by locale; null removes them."""
    options: Annotated[list[CommandOptionRequest], Meta(max_length=COMMAND_OPTIONS_MAX)] | None | UnsetType = UNSET
    """Parameters of a chat input command, at most 25, which replace all previous ones; null removes all."""
    default_member_permissions: Permissions | None | UnsetType = UNSET
    """Permissions that a member needs to use the command; null requires none, "0" requires ADMINISTRATOR."""
    default_permission: bool | None | UnsetType = UNSET
    """Deprecated: false is equivalent to `default_member_permissions` "0"; true and null have no effect."""
    dm_permission: bool | None | UnsetType = UNSET
    """Deprecated: false removes direct messages with the bot from `contexts`, true adds them, null has no effect."""
    contexts: Annotated[list[InteractionContextType], Meta(min_length=1)] | None | UnsetType = UNSET
    """Contexts in which the command can be used; ignored for guild commands.
    Null for GUILD and BOT_DM, and for PRIVATE_CHANNEL if users can install the command."""
    integration_types: Annotated[list[ApplicationIntegrationType], Meta(min_length=1)] | None | UnsetType = UNSET
    """Installation contexts in which the command is available; null for all of the application. Ignored for guild commands."""
    nsfw: bool | None | UnsetType = UNSET
    """Whether the command is age-restricted; null means false."""
    handler: CommandHandlerType | None | UnsetType = UNSET
    """Handler of an entry point command: 1 the application, 2 the platform launches the activity. Null keeps it."""


class CreateCommand(UpdateCommand, kw_only=True):
    """Request body for creating a command; it replaces a command of the same type and name."""

    name: CommandName
    """Name of the command, 1 to 32 characters."""
    type: CommandType | None | UnsetType = UNSET
    """Type of the command; CHAT_INPUT if absent or null."""
    handler: CommandHandlerType | None | UnsetType = UNSET
    """Handler of an entry point command: 1 the application, 2 the platform launches the activity. 1 if absent or null."""


class SetCommand(CreateCommand, kw_only=True):
    """A command in a request body that replaces all global commands, or all commands of one guild."""

    id: CommandId | None | UnsetType = UNSET
    """ID of the command to update, whose name may change; if absent or null, the command is matched by type and name."""


class SetCommandPermissions(Struct, kw_only=True):
    """Request body for replacing the permissions of a command."""

    permissions: Annotated[list[CommandPermission], Meta(max_length=COMMAND_PERMISSIONS_MAX)] | None | UnsetType = UNSET
    """New permissions, at most 100, which replace all previous ones; absent or null removes all."""


class ListCommands(Struct, kw_only=True):
    """Query parameters for listing commands."""

    with_localizations: bool = False
    """Whether to return all translations instead of the text in the caller's locale."""


APPLICATION_COMMAND_PERMISSIONS_UPDATE = Event(
    "APPLICATION_COMMAND_PERMISSIONS_UPDATE",
    CommandPermissions,
    "Sent to an application when the permissions of its commands change in a guild.",
)

LOCALE_HEADERS: Final = ("X-Discord-Locale", "Accept-Language")
_AUTH: Final = Auth.BOT | Auth.BEARER
_SCOPES: Final = ("applications.commands.update",)
_APPLICATION_ERRORS: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)
_GUILD_ERRORS: Final = (*_APPLICATION_ERRORS, errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_CREATE_ERRORS: Final = (errors.MAX_APPLICATION_COMMANDS, errors.MAX_DAILY_COMMAND_CREATES, errors.INVALID_FORM_BODY)
_UPDATE_ERRORS: Final = (errors.UNKNOWN_APPLICATION_COMMAND, errors.COMMAND_NAME_EXISTS, errors.INVALID_FORM_BODY)
_WRITE_LIMIT: Final = RateLimit(5, 20.0)
_COMMAND_PATH: Final = "/{command_id}"
_PERMISSION_SCOPES: Final = ("applications.commands.permissions.update",)


def _global_and_guild_operations(
    method: str,
    path_suffix: str = "",
    *,
    body: type[BodyT] = NoneType,  # type: ignore[assignment]
    result: type[ResultT] = NoneType,  # type: ignore[assignment]
    raises: tuple[errors.ErrorCode, ...] = (),
    **options: Any,
) -> tuple[Operation[BodyT, ResultT], Operation[BodyT, ResultT]]:
    """Declare an operation on global commands and the same operation on guild commands."""

    def operation(scope_path: str, scope_errors: tuple[errors.ErrorCode, ...]) -> Operation[BodyT, ResultT]:
        path = f"/applications/{{application_id}}{scope_path}/commands{path_suffix}"
        return Operation(
            method,
            path,
            body=body,
            result=result,
            auth=_AUTH,
            scopes=_SCOPES,
            raises=(*scope_errors, *raises),
            **options,
        )

    return operation("", _APPLICATION_ERRORS), operation("/guilds/{guild_id}", _GUILD_ERRORS)


LIST_APPLICATION_COMMANDS, LIST_GUILD_APPLICATION_COMMANDS = _global_and_guild_operations(
    "GET", query=ListCommands, result=list[ApplicationCommand], headers=LOCALE_HEADERS
)
# The status is 201 for a new command and 200 for a replaced one.
CREATE_APPLICATION_COMMAND, CREATE_GUILD_APPLICATION_COMMAND = _global_and_guild_operations(
    "POST",
    body=CreateCommand,
    result=ApplicationCommand,
    other_statuses=(201,),
    raises=_CREATE_ERRORS,
    limit=_WRITE_LIMIT,
)
BULK_SET_APPLICATION_COMMANDS, BULK_SET_GUILD_APPLICATION_COMMANDS = _global_and_guild_operations(
    "PUT", body=list[SetCommand], result=list[ApplicationCommand], raises=_CREATE_ERRORS, limit=_WRITE_LIMIT
)
GET_APPLICATION_COMMAND, GET_GUILD_APPLICATION_COMMAND = _global_and_guild_operations(
    "GET", _COMMAND_PATH, result=ApplicationCommand, raises=(errors.UNKNOWN_APPLICATION_COMMAND,)
)
UPDATE_APPLICATION_COMMAND, UPDATE_GUILD_APPLICATION_COMMAND = _global_and_guild_operations(
    "PATCH", _COMMAND_PATH, body=UpdateCommand, result=ApplicationCommand, raises=_UPDATE_ERRORS, limit=_WRITE_LIMIT
)
DELETE_APPLICATION_COMMAND, DELETE_GUILD_APPLICATION_COMMAND = _global_and_guild_operations(
    "DELETE", _COMMAND_PATH, raises=(errors.UNKNOWN_APPLICATION_COMMAND,), limit=_WRITE_LIMIT
)

LIST_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "GET",
    "/applications/{application_id}/guilds/{guild_id}/commands/permissions",
    result=list[CommandPermissions],
    auth=_AUTH,
    scopes=_PERMISSION_SCOPES,
    raises=_GUILD_ERRORS,
)

GET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "GET",
    "/applications/{application_id}/guilds/{guild_id}/commands/{command_id}/permissions",
    result=CommandPermissions,
    auth=_AUTH,
    scopes=_PERMISSION_SCOPES,
    raises=(*_GUILD_ERRORS, errors.UNKNOWN_APPLICATION_COMMAND_PERMISSIONS),
)

# Only users can call this operation, with a user token or an OAuth2 access token (spec/http.md#4.1).
# Bots are rejected with BOTS_CANNOT_USE_ENDPOINT.
SET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "PUT",
    "/applications/{application_id}/guilds/{guild_id}/commands/{command_id}/permissions",
    body=SetCommandPermissions,
    result=CommandPermissions,
    auth=Auth.USER | Auth.BEARER,
    scopes=_PERMISSION_SCOPES,
    needs=Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES,
    raises=(
        *_GUILD_ERRORS,
        errors.MISSING_PERMISSIONS,
        errors.UNKNOWN_APPLICATION_COMMAND,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(APPLICATION_COMMAND_PERMISSIONS_UPDATE,),
    audits=(AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE,),
)

# First-party: lists commands and permissions for the settings screen of a guild (decisions/0098).
LIST_GUILD_INTEGRATION_COMMANDS = Operation(
    "GET",
    "/guilds/{guild_id}/integrations/{integration_id}/commands",
    result=IntegrationCommands,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_INTEGRATION,
    ),
    headers=LOCALE_HEADERS,
)

# This operation, which set the permissions of all commands at once, is disabled for every caller (spec/http.md#5).
BATCH_SET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "PUT",
    "/applications/{application_id}/guilds/{guild_id}/commands/permissions",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    raises=(errors.BOTS_CANNOT_USE_ENDPOINT,),
    replaced_by="`set_guild_application_command_permissions`",
)


# First-party: the public API lists commands to tokens of the application only (decisions/0149).


class CommandGuild(Struct, kw_only=True):
    """A guild in which an application registered commands."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    command_count: int
    """Number of the application's commands of this guild."""


class RegisteredCommands(Struct, kw_only=True):
    """The global commands of an application or its commands of one guild, and the guilds that have commands."""

    commands: list[ApplicationCommand]
    """Commands of the requested guild, or global commands."""
    permissions: list[CommandPermissions]
    """Permissions that the requested guild set for the application and its commands; empty for global commands."""
    guilds: list[CommandGuild]
    """Guilds with commands of the application, at most 200, by ID."""


class ListRegisteredCommands(Struct, kw_only=True):
    """Query parameters for listing the registered commands."""

    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild whose commands are listed; absent for global commands."""


LIST_REGISTERED_COMMANDS = Operation(
    "GET",
    "/applications/{application_id}/registered-commands",
    query=ListRegisteredCommands,
    result=RegisteredCommands,
    auth=Auth.USER,
    raises=_APPLICATION_ERRORS,
)
