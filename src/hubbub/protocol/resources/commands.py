"""Application commands: what an app offers to be called by, globally or in one guild, and who may call it."""

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

COMMANDS_MAX: Final = {
    CommandType.CHAT_INPUT: 100,
    CommandType.USER: 15,
    CommandType.MESSAGE: 15,
    CommandType.PRIMARY_ENTRY_POINT: 1,
}
"""In one scope: an application's global commands, or its commands in one guild."""
CONTEXT_MENU_MAX_BEFORE: Final = 5
"""Of each context menu type, before context_menu_limit_15 (dated-changes.md)."""
CREATES_LIMIT: Final = RateLimit(200, 86_400.0, bucket="command_creates", code=errors.MAX_DAILY_COMMAND_CREATES)
"""New commands in one scope; changes do not count."""

COMMAND_NAME_MAX: Final = 32
COMMAND_DESCRIPTION_MAX: Final = 100
COMMAND_OPTIONS_MAX: Final = 25
COMMAND_SIZE_MAX: Final = 8000
"""Characters of names, descriptions and choice values together; of translations the longest counts."""
CHOICES_MAX: Final = 25
CHOICE_NAME_MAX: Final = 100
CHOICE_VALUE_MAX: Final = 100
STRING_OPTION_MAX: Final = 6000
NUMBER_MAX: Final = (1 << 53) - 1
"""Integers and numbers go from the negative of this to it."""
FILE_TYPES_MAX: Final = 10
COMMAND_PERMISSIONS_MAX: Final = 100

Name = Annotated[str, Meta(min_length=1, max_length=COMMAND_NAME_MAX)]
Description = Annotated[str, Meta(max_length=COMMAND_DESCRIPTION_MAX)]
OptionDescription = Annotated[str, Meta(min_length=1, max_length=COMMAND_DESCRIPTION_MAX)]
ChoiceName = Annotated[str, Meta(min_length=1, max_length=CHOICE_NAME_MAX)]
Names = dict[str, Name]
Descriptions = dict[str, OptionDescription]
ChoiceValue = str | int | float


def all_channels(guild_id: int) -> Snowflake:
    """The id that means every channel of a guild in command permissions (http.md 1.2)."""
    return Snowflake(guild_id - 1)


class CommandChoice(Struct, kw_only=True, omit_defaults=True):
    """One of a few values that an option takes."""

    name: str
    value: ChoiceValue
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    name_localized: str | UnsetType = UNSET


class CommandOption(Struct, kw_only=True, omit_defaults=True):
    """A parameter of a command, or a command inside it. Stored as JSON: add fields with a default, never rename."""

    type: int
    name: str
    description: str
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    name_localized: str | UnsetType = UNSET
    description_localizations: dict[str, str] | None | UnsetType = UNSET
    description_localized: str | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    choices: list[CommandChoice] | UnsetType = UNSET
    options: "list[CommandOption] | UnsetType" = UNSET
    channel_types: list[int] | UnsetType = UNSET
    min_value: int | float | UnsetType = UNSET
    max_value: int | float | UnsetType = UNSET
    min_length: int | UnsetType = UNSET
    max_length: int | UnsetType = UNSET
    autocomplete: bool | UnsetType = UNSET
    file_types: list[str] | UnsetType = UNSET


class ApplicationCommand(Struct, kw_only=True):
    """A command as its application reads it."""

    id: CommandId
    application_id: ApplicationId
    version: Snowflake
    """New with every change."""
    default_member_permissions: Permissions | None
    """What a member must hold; null: nothing, 0: ADMINISTRATOR."""
    type: int
    name: str
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    name_localized: str | UnsetType = UNSET
    """In lists that do not carry all languages: the name in the caller's."""
    description: str
    description_localizations: dict[str, str] | None | UnsetType = UNSET
    description_localized: str | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    dm_permission: bool | UnsetType = UNSET
    """Deprecated; what `contexts` says of the bot's DMs."""
    contexts: list[int] | None | UnsetType = UNSET
    integration_types: list[int] | UnsetType = UNSET
    options: list[CommandOption] | UnsetType = UNSET
    nsfw: bool = False
    handler: int | UnsetType = UNSET
    """Of an entry point command: who answers it."""


class CommandPermission(Struct, kw_only=True, frozen=True):
    """Whether a role, a user or a channel may use a command."""

    id: Snowflake
    """The guild's id means everyone, the guild's id minus one all channels."""
    type: CommandPermissionType
    permission: bool


class CommandPermissions(Struct, kw_only=True):
    """Who may use a command in a guild; under the application's own id, who may use all of them."""

    id: Snowflake
    application_id: ApplicationId
    guild_id: GuildId
    permissions: list[CommandPermission]


class CommandChoiceRequest(Struct, kw_only=True):
    """A value to offer."""

    name: ChoiceName
    value: ChoiceValue
    name_localizations: dict[str, ChoiceName] | None | UnsetType = UNSET


class CommandOptionRequest(Struct, kw_only=True):
    """A parameter, or a command inside a command; keys that its type does not have are not read."""

    type: CommandOptionType
    name: Name
    description: OptionDescription
    name_localizations: Names | None | UnsetType = UNSET
    description_localizations: Descriptions | None | UnsetType = UNSET
    required: bool | None | UnsetType = UNSET
    choices: Annotated[list[CommandChoiceRequest], Meta(max_length=CHOICES_MAX)] | None | UnsetType = UNSET
    options: "Annotated[list[CommandOptionRequest], Meta(max_length=COMMAND_OPTIONS_MAX)] | None | UnsetType" = UNSET
    channel_types: list[ChannelType] | None | UnsetType = UNSET
    min_value: int | float | None | UnsetType = UNSET
    max_value: int | float | None | UnsetType = UNSET
    min_length: Annotated[int, Meta(ge=0, le=STRING_OPTION_MAX)] | None | UnsetType = UNSET
    max_length: Annotated[int, Meta(ge=1, le=STRING_OPTION_MAX)] | None | UnsetType = UNSET
    autocomplete: bool | None | UnsetType = UNSET
    file_types: Annotated[list[str], Meta(max_length=FILE_TYPES_MAX)] | None | UnsetType = UNSET


class UpdateCommand(Struct, kw_only=True):
    """What to change of a command. Absent keeps."""

    name: Name | UnsetType = UNSET
    name_localizations: Names | None | UnsetType = UNSET
    description: Description | None | UnsetType = UNSET
    description_localizations: Descriptions | None | UnsetType = UNSET
    options: Annotated[list[CommandOptionRequest], Meta(max_length=COMMAND_OPTIONS_MAX)] | None | UnsetType = UNSET
    default_member_permissions: Permissions | None | UnsetType = UNSET
    default_permission: bool | None | UnsetType = UNSET
    """Older than `default_member_permissions`; false means 0."""
    dm_permission: bool | None | UnsetType = UNSET
    """Deprecated; false takes the bot's DMs out of `contexts`."""
    contexts: Annotated[list[InteractionContextType], Meta(min_length=1)] | None | UnsetType = UNSET
    integration_types: Annotated[list[ApplicationIntegrationType], Meta(min_length=1)] | None | UnsetType = UNSET
    nsfw: bool | None | UnsetType = UNSET
    handler: CommandHandlerType | None | UnsetType = UNSET


class CreateCommand(UpdateCommand, kw_only=True):
    """A command; one of the same type and name is replaced."""

    name: Name
    type: CommandType | None | UnsetType = UNSET
    """Absent: CHAT_INPUT."""


class SetCommand(CreateCommand, kw_only=True):
    """One of all commands; with an id it may have another name than before."""

    id: CommandId | None | UnsetType = UNSET


class SetCommandPermissions(Struct, kw_only=True):
    """Everybody who may or may not; replaces what was said before."""

    permissions: Annotated[list[CommandPermission], Meta(max_length=COMMAND_PERMISSIONS_MAX)] | None | UnsetType = UNSET


class ListCommands(Struct, kw_only=True):
    """How to list commands."""

    with_localizations: bool = False


APPLICATION_COMMAND_PERMISSIONS_UPDATE = Event("APPLICATION_COMMAND_PERMISSIONS_UPDATE", CommandPermissions)

LOCALE_HEADERS: Final = ("X-Discord-Locale", "Accept-Language")
_AUTH: Final = Auth.BOT | Auth.BEARER
_SCOPES: Final = ("applications.commands.update",)
_OWN: Final = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)
_IN_GUILD: Final = (*_OWN, errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
_MAKING: Final = (errors.MAX_APPLICATION_COMMANDS, errors.MAX_DAILY_COMMAND_CREATES, errors.INVALID_FORM_BODY)
_CHANGING: Final = (errors.UNKNOWN_APPLICATION_COMMAND, errors.COMMAND_NAME_EXISTS, errors.INVALID_FORM_BODY)
_WRITES: Final = RateLimit(5, 20.0)
_ONE: Final = "/{command_id}"
_PERMISSION_SCOPES: Final = ("applications.commands.permissions.update",)


def _everywhere_and_in_guilds(
    method: str,
    tail: str = "",
    *,
    body: type[BodyT] = NoneType,  # type: ignore[assignment]
    result: type[ResultT] = NoneType,  # type: ignore[assignment]
    raises: tuple[errors.ErrorCode, ...] = (),
    **more: Any,
) -> tuple[Operation[BodyT, ResultT], Operation[BodyT, ResultT]]:
    """An operation on global commands, and the same on those of a guild."""

    def operation(place: str, refusals: tuple[errors.ErrorCode, ...]) -> Operation[BodyT, ResultT]:
        path = f"/applications/{{application_id}}{place}/commands{tail}"
        return Operation(
            method, path, body=body, result=result, auth=_AUTH, scopes=_SCOPES, raises=(*refusals, *raises), **more
        )

    return operation("", _OWN), operation("/guilds/{guild_id}", _IN_GUILD)


LIST_APPLICATION_COMMANDS, LIST_GUILD_APPLICATION_COMMANDS = _everywhere_and_in_guilds(
    "GET", query=ListCommands, result=list[ApplicationCommand], headers=LOCALE_HEADERS
)
# 201 new, 200 replaced.
CREATE_APPLICATION_COMMAND, CREATE_GUILD_APPLICATION_COMMAND = _everywhere_and_in_guilds(
    "POST", body=CreateCommand, result=ApplicationCommand, also=(201,), raises=_MAKING, limit=_WRITES
)
BULK_SET_APPLICATION_COMMANDS, BULK_SET_GUILD_APPLICATION_COMMANDS = _everywhere_and_in_guilds(
    "PUT", body=list[SetCommand], result=list[ApplicationCommand], raises=_MAKING, limit=_WRITES
)
GET_APPLICATION_COMMAND, GET_GUILD_APPLICATION_COMMAND = _everywhere_and_in_guilds(
    "GET", _ONE, result=ApplicationCommand, raises=(errors.UNKNOWN_APPLICATION_COMMAND,)
)
UPDATE_APPLICATION_COMMAND, UPDATE_GUILD_APPLICATION_COMMAND = _everywhere_and_in_guilds(
    "PATCH", _ONE, body=UpdateCommand, result=ApplicationCommand, raises=_CHANGING, limit=_WRITES
)
DELETE_APPLICATION_COMMAND, DELETE_GUILD_APPLICATION_COMMAND = _everywhere_and_in_guilds(
    "DELETE", _ONE, raises=(errors.UNKNOWN_APPLICATION_COMMAND,), limit=_WRITES
)

LIST_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "GET",
    "/applications/{application_id}/guilds/{guild_id}/commands/permissions",
    result=list[CommandPermissions],
    auth=_AUTH,
    scopes=_PERMISSION_SCOPES,
    raises=_IN_GUILD,
)

GET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "GET",
    "/applications/{application_id}/guilds/{guild_id}/commands/{command_id}/permissions",
    result=CommandPermissions,
    auth=_AUTH,
    scopes=_PERMISSION_SCOPES,
    raises=(*_IN_GUILD, errors.UNKNOWN_APPLICATION_COMMAND_PERMISSIONS),
)

# http.md 4.1: for people, by an app's token that they gave it or by their own; a bot is refused with 20001.
SET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "PUT",
    "/applications/{application_id}/guilds/{guild_id}/commands/{command_id}/permissions",
    body=SetCommandPermissions,
    result=CommandPermissions,
    auth=Auth.USER | Auth.BEARER,
    scopes=_PERMISSION_SCOPES,
    needs=Permissions.MANAGE_GUILD | Permissions.MANAGE_ROLES,
    raises=(
        *_IN_GUILD,
        errors.MISSING_PERMISSIONS,
        errors.UNKNOWN_APPLICATION_COMMAND,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(APPLICATION_COMMAND_PERMISSIONS_UPDATE,),
    audits=(AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE,),
)

# http.md 5: the older form, for all commands at once, is switched off for everybody.
BATCH_SET_GUILD_APPLICATION_COMMAND_PERMISSIONS = Operation(
    "PUT",
    "/applications/{application_id}/guilds/{guild_id}/commands/permissions",
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    raises=(errors.BOTS_CANNOT_USE_ENDPOINT,),
)
