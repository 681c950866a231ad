"""Validation of command definitions: names, localizations, contexts, default permissions, options and choices."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from msgspec import UNSET, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    LOCALES,
    ApplicationIntegrationType,
    CommandHandlerType,
    CommandOptionType,
    CommandType,
    InteractionContextType,
)
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import commands as wire
from hubbub.protocol.resources.attachments import is_file_type
from hubbub.server.play.commands.store import Definition

ValueT = TypeVar("ValueT")
FieldPath = tuple[str | int, ...]
"""Location of a value in a request body: field names and list indexes."""

TYPED_NAME_TYPES: Final = frozenset({CommandType.CHAT_INPUT, CommandType.PRIMARY_ENTRY_POINT})
"""Command types whose names users type."""

NESTING_OPTION_TYPES: Final = frozenset({CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP})
"""Option types that contain other options and have no value."""
CHOICE_OPTION_TYPES: Final = frozenset({CommandOptionType.STRING, CommandOptionType.INTEGER, CommandOptionType.NUMBER})
"""Option types that support choices and autocomplete."""
_MARK_SCRIPTS: Final = ("DEVANAGARI", "THAI")
"""Scripts with marks allowed in names: \\p{sc=Deva} and \\p{sc=Thai} of spec/webhooks-and-interactions.md#5.1."""
_BOT_DM: Final = int(InteractionContextType.BOT_DM)
_VALUE_OPTION_TYPES: Final = tuple(kind for kind in CommandOptionType if kind not in NESTING_OPTION_TYPES)


class CommandScope(NamedTuple):
    """The scope that a command is created in, and the features that the application supports in it."""

    is_guild: bool
    """Whether the commands belong to one guild; otherwise they are global."""
    supported_integration_types: Sequence[int]
    """ApplicationIntegrationTypes that the application supports."""
    has_activities: bool
    """Whether the application has activities, which an entry point command can launch."""
    has_install_contexts: bool
    """Whether commands already have contexts and integration types (spec/dated-changes.md#3)."""


class ValidatedCommand(NamedTuple):
    """The type, name and definition of a command after validation, valid only if the form has no errors."""

    type: int
    name: str
    definition: Definition


def validate_new(
    body: wire.CreateCommand, scope: CommandScope, form: errors.FormErrors, path: FieldPath = ()
) -> ValidatedCommand:
    """Validate a new command, or the replacement of one; errors are added to `form`.

    `path` is the location of the command in the request body."""
    command_type = body.type or CommandType.CHAT_INPUT
    if command_type == CommandType.PRIMARY_ENTRY_POINT and (scope.is_guild or not scope.has_activities):
        allowed_types = [
            int(command_type) for command_type in CommandType if command_type != CommandType.PRIMARY_ENTRY_POINT
        ]
        form.add((*path, "type"), *errors.choices(allowed_types))
    initial_definition = Definition(integration_types=_default_integration_types(scope))
    if command_type == CommandType.PRIMARY_ENTRY_POINT:
        initial_definition.handler = int(CommandHandlerType.APP_HANDLER)
    return validate_changes(command_type, body.name, initial_definition, body, scope, form, path)


def validate_changes(
    command_type: int,
    name: str,
    current_definition: Definition,
    body: wire.UpdateCommand,
    scope: CommandScope,
    form: errors.FormErrors,
    path: FieldPath = (),
) -> ValidatedCommand:
    """Validate changes of a command; errors are added to `form`.

    `command_type` is the command's CommandType; `name` and `current_definition` are its current name and definition.
    `path` is the location of the changes in the request body."""
    if body.name is not UNSET:
        name = body.name.strip() if command_type not in TYPED_NAME_TYPES else body.name
        _check_name(name, command_type, form, (*path, "name"))
    name_localizations = (
        current_definition.name_localizations if body.name_localizations is UNSET else body.name_localizations
    )
    name_localizations = _localizations(
        name_localizations,
        name,
        form,
        (*path, "name_localizations"),
        lambda text, field: _check_name(text, command_type, form, field),
    )
    description = current_definition.description if body.description is UNSET else (body.description or "")
    if body.description_localizations is UNSET:
        description_localizations = current_definition.description_localizations
    else:
        description_localizations = body.description_localizations or None
    description_localizations = _localizations(
        description_localizations, description, form, (*path, "description_localizations")
    )
    _check_description(command_type, description, description_localizations, form, path)
    options = current_definition.options
    if body.options is not UNSET:
        options = _OptionValidator(form).validate_options(body.options or [], (*path, "options"), command_type)
    integration_types = _integration_types(current_definition, body, scope, form, path)
    definition = Definition(
        description=description,
        name_localizations=name_localizations,
        description_localizations=description_localizations,
        options=options,
        default_member_permissions=_default_permissions(current_definition, body),
        contexts=_contexts(current_definition, body, scope, integration_types, form, path),
        integration_types=integration_types,
        nsfw=current_definition.nsfw if body.nsfw is UNSET else bool(body.nsfw),
        handler=current_definition.handler,
    )
    if body.handler is not UNSET and body.handler is not None:
        if command_type == CommandType.PRIMARY_ENTRY_POINT:
            definition.handler = int(body.handler)
        else:
            form.add((*path, "handler"), *errors.command_handler())
    if command_size(name, definition) > wire.COMMAND_SIZE_MAX:
        form.add(path, *errors.command_too_large(wire.COMMAND_SIZE_MAX))
    return ValidatedCommand(int(command_type), name, definition)


def command_size(name: str, definition: Definition) -> int:
    """Return the size of a command in characters: names, descriptions and choice values.

    Each text counts with its longest localization."""
    return (
        _longest_text_length(name, definition.name_localizations)
        + _longest_text_length(definition.description, definition.description_localizations)
        + sum(map(_option_size, definition.options))
    )


def _option_size(option: wire.CommandOption) -> int:
    character_count = _longest_text_length(option.name, option.name_localizations) + _longest_text_length(
        option.description, option.description_localizations
    )
    for choice in option.choices or ():
        character_count += _longest_text_length(choice.name, choice.name_localizations) + len(str(choice.value))
    return character_count + sum(map(_option_size, option.options or ()))


def _longest_text_length(text: str, translations: Mapping[str, str] | None | UnsetType) -> int:
    return max(len(text), *(len(translation) for translation in (translations or {}).values()), 0)


# Names and texts


def is_typed_name(name: str) -> bool:
    """Return whether a name can be typed after a slash: lowercase letters, digits, `-`, `_`, `'` and marks of some scripts."""
    return (
        1 <= len(name) <= wire.COMMAND_NAME_MAX
        and name == name.lower()
        and all(
            character in "-_'"
            or unicodedata.category(character)[0] in "LN"
            or unicodedata.name(character, "").startswith(_MARK_SCRIPTS)
            for character in name
        )
    )


def _check_name(name: str, command_type: int, form: errors.FormErrors, path: FieldPath) -> None:
    if command_type in TYPED_NAME_TYPES:
        if not is_typed_name(name):
            form.add(path, *errors.command_name())
    elif not 1 <= len(name) <= wire.COMMAND_NAME_MAX:
        form.add(path, *errors.bad_length(1, wire.COMMAND_NAME_MAX))


def _check_description(
    command_type: int,
    description: str,
    translations: Mapping[str, str] | None,
    form: errors.FormErrors,
    path: FieldPath,
) -> None:
    if command_type == CommandType.CHAT_INPUT:
        if not description:
            form.add((*path, "description"), *errors.required())
    elif command_type in (CommandType.USER, CommandType.MESSAGE):
        if description:
            form.add((*path, "description"), *errors.command_context_menu("description"))
        if translations:
            form.add((*path, "description_localizations"), *errors.command_context_menu("description"))


def _localizations(
    requested_localizations: Mapping[str, str] | None,
    default_text: str,
    form: errors.FormErrors,
    path: FieldPath,
    check_text: Callable[[str, FieldPath], None] | None = None,
) -> dict[str, str] | None:
    """Return the localizations that differ from the default text, or None if there are none.

    `check_text` validates a text; its second argument is the location of the text in the request body."""
    localizations: dict[str, str] = {}
    for locale, text in (requested_localizations or {}).items():
        if locale not in LOCALES:
            form.add((*path, locale), *errors.choices(sorted(LOCALES)))
        else:
            if check_text is not None:
                check_text(text, (*path, locale))
            if text != default_text:
                localizations[locale] = text
    return localizations or None


# Contexts and permissions


def _default_integration_types(scope: CommandScope) -> list[int]:
    if scope.is_guild:
        return [int(ApplicationIntegrationType.GUILD_INSTALL)]
    return sorted(scope.supported_integration_types) or [int(ApplicationIntegrationType.GUILD_INSTALL)]


def _default_permissions(current_definition: Definition, body: wire.UpdateCommand) -> Permissions | None:
    if body.default_member_permissions is not UNSET:
        return body.default_member_permissions
    if body.default_permission is False:
        return Permissions(0)
    return current_definition.default_member_permissions


def derived_contexts(integration_types: Iterable[int]) -> list[int]:
    """Return the default contexts of a command (spec/webhooks-and-interactions.md#5.4)."""
    contexts = [int(InteractionContextType.GUILD), _BOT_DM]
    if ApplicationIntegrationType.USER_INSTALL in integration_types:
        contexts.append(int(InteractionContextType.PRIVATE_CHANNEL))
    return contexts


def _contexts(
    current_definition: Definition,
    body: wire.UpdateCommand,
    scope: CommandScope,
    integration_types: Sequence[int],
    form: errors.FormErrors,
    path: FieldPath,
) -> list[int] | None:
    if scope.is_guild:
        # spec/webhooks-and-interactions.md#5.4: contexts do not apply to guild commands.
        return None
    contexts = current_definition.contexts
    if scope.has_install_contexts and body.contexts is not UNSET:
        contexts = None if body.contexts is None else [int(context) for context in body.contexts]
        _check_unique(contexts or (), form, (*path, "contexts"))
        if contexts is not None:
            return contexts
    # dm_permission is an older field that only adds or removes the context BOT_DM.
    default_contexts = derived_contexts(integration_types)
    if body.dm_permission is False:
        return [context for context in (default_contexts if contexts is None else contexts) if context != _BOT_DM]
    if body.dm_permission is True and contexts is not None:
        contexts = sorted({*contexts, _BOT_DM})
        return None if contexts == default_contexts else contexts
    return contexts


def _integration_types(
    current_definition: Definition,
    body: wire.UpdateCommand,
    scope: CommandScope,
    form: errors.FormErrors,
    path: FieldPath,
) -> list[int]:
    if scope.is_guild or not scope.has_install_contexts or body.integration_types is UNSET:
        return current_definition.integration_types
    if body.integration_types is None:
        return _default_integration_types(scope)
    integration_types = [int(integration_type) for integration_type in body.integration_types]
    field_path = (*path, "integration_types")
    _check_unique(integration_types, form, field_path)
    for index, integration_type in enumerate(integration_types):
        if integration_type not in scope.supported_integration_types:
            form.add((*field_path, index), *errors.choices(sorted(scope.supported_integration_types)))
    return integration_types


def _check_unique(values: Iterable[object], form: errors.FormErrors, path: FieldPath) -> None:
    earlier_values: set[object] = set()
    for index, value in enumerate(values):
        if value in earlier_values:
            form.add((*path, index), *errors.duplicate())
        earlier_values.add(value)


# Options


class _OptionValidator:
    """Validates the options of one command."""

    def __init__(self, form: errors.FormErrors) -> None:
        self.form = form

    def validate_options(
        self, option_requests: list[wire.CommandOptionRequest], path: FieldPath, command_type: int
    ) -> list[wire.CommandOption]:
        """Validate the options of a command of CommandType `command_type`. Only chat input commands have options."""
        if option_requests and command_type != CommandType.CHAT_INPUT:
            self.add_error(path, errors.command_context_menu("options"))
            return []
        is_nested = bool(option_requests) and option_requests[0].type in NESTING_OPTION_TYPES
        allowed_types: Sequence[CommandOptionType] = tuple(NESTING_OPTION_TYPES) if is_nested else _VALUE_OPTION_TYPES
        return self.validate_siblings(option_requests, path, sorted(allowed_types))

    def validate_siblings(
        self,
        option_requests: list[wire.CommandOptionRequest],
        path: FieldPath,
        allowed_types: Sequence[CommandOptionType],
    ) -> list[wire.CommandOption]:
        """Validate the options of one level; required options must precede optional ones."""
        has_optional = False
        options = []
        for index, request in enumerate(option_requests):
            option_path = (*path, index)
            if request.type not in allowed_types:
                self.add_error(
                    (*option_path, "type"), errors.union_choices([int(option_type) for option_type in allowed_types])
                )
                continue
            if request.type not in NESTING_OPTION_TYPES:
                if request.required and has_optional:
                    self.add_error((*option_path, "required"), errors.command_options_required())
                has_optional = has_optional or not request.required
            options.append(self.validate_option(request, option_path))
        self.check_names(options, path)
        return options

    def check_names(self, options: list[wire.CommandOption], path: FieldPath) -> None:
        """Reject duplicate option names, in every language."""
        taken_names: set[str] = set()
        for index, option in enumerate(options):
            if option.name in taken_names:
                self.add_error((*path, index, "name"), errors.command_option_name_duplicated())
            taken_names.add(option.name)
        names_by_locale: dict[str, set[str]] = {}
        for index, option in enumerate(options):
            for locale, name in (option.name_localizations or {}).items():
                locale_names = names_by_locale.setdefault(locale, set())
                if name in locale_names or (name in taken_names and name != option.name):
                    name_path = (*path, index, "name_localizations", locale)
                    self.add_error(name_path, errors.command_option_name_duplicated())
                locale_names.add(name)

    def validate_option(self, request: wire.CommandOptionRequest, path: FieldPath) -> wire.CommandOption:
        """Validate one option, with the options inside it."""
        option_type = request.type
        if not is_typed_name(request.name):
            self.add_error((*path, "name"), errors.command_name())
        option = wire.CommandOption(type=int(option_type), name=request.name, description=request.description)
        option.name_localizations = (
            _localizations(
                request.name_localizations or None,
                request.name,
                self.form,
                (*path, "name_localizations"),
                lambda text, text_path: (
                    None if is_typed_name(text) else self.add_error(text_path, errors.command_name())
                ),
            )
            or UNSET
        )
        option.description_localizations = (
            _localizations(
                request.description_localizations or None,
                request.description,
                self.form,
                (*path, "description_localizations"),
            )
            or UNSET
        )
        if option_type in NESTING_OPTION_TYPES:
            inner_types = (
                (CommandOptionType.SUB_COMMAND,)
                if option_type == CommandOptionType.SUB_COMMAND_GROUP
                else _VALUE_OPTION_TYPES
            )
            if option_type == CommandOptionType.SUB_COMMAND_GROUP and not request.options:
                # A group without subcommands could never be executed.
                self.add_error((*path, "options"), errors.bad_length(1, wire.COMMAND_OPTIONS_MAX))
            option.options = self.validate_siblings(request.options or [], (*path, "options"), inner_types)
            return option
        if request.required:
            option.required = True
        if option_type in CHOICE_OPTION_TYPES:
            self.set_choices(request, option, path)
        if option_type == CommandOptionType.STRING:
            option.min_length = UNSET if request.min_length is None else request.min_length
            option.max_length = UNSET if request.max_length is None else request.max_length
            self.check_order(option.min_length, option.max_length, (*path, "max_length"))
        elif option_type in CHOICE_OPTION_TYPES:
            option.min_value = self.validate_bound(request.min_value, option_type, (*path, "min_value"))
            option.max_value = self.validate_bound(request.max_value, option_type, (*path, "max_value"))
            self.check_order(option.min_value, option.max_value, (*path, "max_value"))
            self.check_choice_bounds(option, path)
        elif option_type == CommandOptionType.CHANNEL and request.channel_types:
            option.channel_types = [int(channel_type) for channel_type in request.channel_types]
            _check_unique(option.channel_types, self.form, (*path, "channel_types"))
        elif option_type == CommandOptionType.ATTACHMENT and request.file_types:
            option.file_types = list(request.file_types)
            for index, file_type in enumerate(option.file_types):
                if not is_file_type(file_type):
                    self.add_error((*path, "file_types", index), errors.regex())
        return option

    def set_choices(self, request: wire.CommandOptionRequest, option: wire.CommandOption, path: FieldPath) -> None:
        """Validate the choices of an option and set them; an option has either choices or autocomplete."""
        if request.autocomplete:
            option.autocomplete = True
            if request.choices:
                self.add_error((*path, "choices"), errors.command_option_choices())
        if not request.choices:
            return
        option.choices = []
        for index, choice in enumerate(request.choices):
            choice_path = (*path, "choices", index)
            value = normalize_value(choice.value, request.type)
            check_value(value, request.type, self.form, (*choice_path, "value"))
            if any(choice.name == earlier_choice.name for earlier_choice in option.choices):
                self.add_error((*choice_path, "name"), errors.duplicate())
            option.choices.append(
                wire.CommandChoice(
                    name=choice.name,
                    value=value,
                    name_localizations=_localizations(
                        choice.name_localizations or None, choice.name, self.form, (*choice_path, "name_localizations")
                    )
                    or UNSET,
                )
            )

    def check_choice_bounds(self, option: wire.CommandOption, path: FieldPath) -> None:
        """Reject choices outside the option's bounds."""
        for index, choice in enumerate(option.choices or ()):
            value_path, value = (*path, "choices", index, "value"), choice.value
            if isinstance(value, str):
                continue
            number_type = "int" if option.type == CommandOptionType.INTEGER else "float"
            if option.min_value is not UNSET and value < option.min_value:
                self.add_error(value_path, errors.number_min(option.min_value, number_type))
            elif option.max_value is not UNSET and value > option.max_value:
                self.add_error(value_path, errors.number_max(option.max_value, number_type))

    def validate_bound(
        self, value: int | float | None | UnsetType, option_type: int, path: FieldPath
    ) -> int | float | UnsetType:
        """Validate the minimum or maximum of an option; return UNSET if there is none."""
        if value is None or value is UNSET:
            return UNSET
        value = normalize_value(value, option_type)
        check_value(value, option_type, self.form, path)
        return value

    def check_order(self, minimum: int | float | UnsetType, maximum: int | float | UnsetType, path: FieldPath) -> None:
        if minimum is not UNSET and maximum is not UNSET and maximum < minimum:
            self.add_error(path, errors.number_min(minimum, "float" if isinstance(minimum, float) else "int"))

    def add_error(self, path: FieldPath, error: errors.FormError) -> None:
        self.form.add(path, *error)


def normalize_value(value: ValueT, option_type: int) -> ValueT | int:
    """Return the stored form of a value of the CommandOptionType `option_type`.

    JSON has one number type, so 1.0 of an INTEGER option becomes 1."""
    if option_type == CommandOptionType.INTEGER and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def check_value(value: object, option_type: int, form: errors.FormErrors, path: FieldPath) -> None:
    """Add a form error if an option of the CommandOptionType `option_type` cannot have the value."""
    if option_type == CommandOptionType.STRING:
        if not isinstance(value, str):
            form.add(path, *errors.not_string(value))
        elif len(value) > wire.CHOICE_VALUE_MAX:
            form.add(path, *errors.max_length(wire.CHOICE_VALUE_MAX))
        return
    number_type = "int" if option_type == CommandOptionType.INTEGER else "float"
    if isinstance(value, bool) or not isinstance(value, int if number_type == "int" else int | float):
        form.add(path, *errors.not_number(value, number_type))
    elif value > wire.NUMBER_MAX:
        form.add(path, *errors.number_max(wire.NUMBER_MAX, number_type))
    elif value < -wire.NUMBER_MAX:
        form.add(path, *errors.number_min(-wire.NUMBER_MAX, number_type))
