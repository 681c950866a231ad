"""Validation of command definitions: names, options, choices and localizations."""

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

Value = TypeVar("Value")
Steps = tuple[str | int, ...]

TYPED_NAME_TYPES: Final = frozenset({CommandType.CHAT_INPUT, CommandType.PRIMARY_ENTRY_POINT})
"""Command types whose names users type."""

NESTING_OPTION_TYPES: Final = frozenset({CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP})
CHOICE_OPTION_TYPES: Final = frozenset({CommandOptionType.STRING, CommandOptionType.INTEGER, CommandOptionType.NUMBER})
"""Option types that support choices and autocomplete."""
_MARK_SCRIPTS: Final = ("DEVANAGARI", "THAI")
"""Scripts with marks allowed in names: \\p{sc=Deva} and \\p{sc=Thai} of spec/webhooks-and-interactions.md#5.1."""
_BOT_DM: Final = int(InteractionContextType.BOT_DM)
_VALUES: Final = tuple(kind for kind in CommandOptionType if kind not in NESTING_OPTION_TYPES)


class CommandScope(NamedTuple):
    """The scope that a command is created in, and what the application supports there."""

    is_guild: bool
    """Whether the commands belong to one guild."""
    supported: Sequence[int]
    """The installation contexts that the application supports."""
    has_activities: bool
    """Whether the application has activities, which an entry point command can launch."""
    has_install_contexts: bool
    """Whether contexts and integration types are in effect by now (spec/dated-changes.md#3)."""


class ValidatedCommand(NamedTuple):
    """A validated command."""

    type: int
    name: str
    definition: Definition


def parse(body: wire.CreateCommand, scope: CommandScope, form: errors.FormErrors, path: Steps = ()) -> ValidatedCommand:
    """Validate a new command, or the replacement of one."""
    kind = body.type or CommandType.CHAT_INPUT
    if kind == CommandType.PRIMARY_ENTRY_POINT and (scope.is_guild or not scope.has_activities):
        allowed = [int(each) for each in CommandType if each != CommandType.PRIMARY_ENTRY_POINT]
        form.add((*path, "type"), *errors.choices(allowed))
    start = Definition(integration_types=_default_types(scope))
    if kind == CommandType.PRIMARY_ENTRY_POINT:
        start.handler = int(CommandHandlerType.APP_HANDLER)
    return edit(kind, body.name, start, body, scope, form, path)


def edit(
    kind: int,
    name: str,
    before: Definition,
    body: wire.UpdateCommand,
    scope: CommandScope,
    form: errors.FormErrors,
    path: Steps = (),
) -> ValidatedCommand:
    """Validate changes of a command."""
    if body.name is not UNSET:
        name = body.name.strip() if kind not in TYPED_NAME_TYPES else body.name
        _check_name(name, kind, form, (*path, "name"))
    names = before.name_localizations if body.name_localizations is UNSET else body.name_localizations
    names = _localizations(
        names, name, form, (*path, "name_localizations"), lambda text, field: _check_name(text, kind, form, field)
    )
    description = before.description if body.description is UNSET else (body.description or "")
    if body.description_localizations is UNSET:
        descriptions = before.description_localizations
    else:
        descriptions = body.description_localizations or None
    descriptions = _localizations(descriptions, description, form, (*path, "description_localizations"))
    _check_description(kind, description, descriptions, form, path)
    options = before.options
    if body.options is not UNSET:
        options = _Options(form).read(body.options or [], (*path, "options"), kind)
    types = _integration_types(before, body, scope, form, path)
    after = Definition(
        description=description,
        name_localizations=names,
        description_localizations=descriptions,
        options=options,
        default_member_permissions=_default_permissions(before, body),
        contexts=_contexts(before, body, scope, types, form, path),
        integration_types=types,
        nsfw=before.nsfw if body.nsfw is UNSET else bool(body.nsfw),
        handler=before.handler,
    )
    if body.handler is not UNSET and body.handler is not None:
        if kind == CommandType.PRIMARY_ENTRY_POINT:
            after.handler = int(body.handler)
        else:
            form.add((*path, "handler"), *errors.command_handler())
    if size(name, after) > wire.COMMAND_SIZE_MAX:
        form.add(path, *errors.command_too_large(wire.COMMAND_SIZE_MAX))
    return ValidatedCommand(int(kind), name, after)


def size(name: str, definition: Definition) -> int:
    """Return the size of a command: names, descriptions and choice values, each in its longest localization."""
    return (
        _longest(name, definition.name_localizations)
        + _longest(definition.description, definition.description_localizations)
        + sum(map(_option_size, definition.options))
    )


def _option_size(option: wire.CommandOption) -> int:
    total = _longest(option.name, option.name_localizations) + _longest(
        option.description, option.description_localizations
    )
    for choice in option.choices or ():
        total += _longest(choice.name, choice.name_localizations) + len(str(choice.value))
    return total + sum(map(_option_size, option.options or ()))


def _longest(text: str, translations: Mapping[str, str] | None | UnsetType) -> int:
    return max(len(text), *(len(each) for each in (translations or {}).values()), 0)


# Names and texts


def is_typed_name(name: str) -> bool:
    """Return whether a name can be typed after a slash: lowercase letters, digits and marks of some scripts."""
    return (
        1 <= len(name) <= wire.COMMAND_NAME_MAX
        and name == name.lower()
        and all(
            letter in "-_'"
            or unicodedata.category(letter)[0] in "LN"
            or unicodedata.name(letter, "").startswith(_MARK_SCRIPTS)
            for letter in name
        )
    )


def _check_name(name: str, kind: int, form: errors.FormErrors, path: Steps) -> None:
    if kind in TYPED_NAME_TYPES:
        if not is_typed_name(name):
            form.add(path, *errors.command_name())
    elif not 1 <= len(name) <= wire.COMMAND_NAME_MAX:
        form.add(path, *errors.bad_length(1, wire.COMMAND_NAME_MAX))


def _check_description(
    kind: int, description: str, translations: Mapping[str, str] | None, form: errors.FormErrors, path: Steps
) -> None:
    if kind == CommandType.CHAT_INPUT:
        if not description:
            form.add((*path, "description"), *errors.required())
    elif kind in (CommandType.USER, CommandType.MESSAGE):
        if description:
            form.add((*path, "description"), *errors.command_context_menu("description"))
        if translations:
            form.add((*path, "description_localizations"), *errors.command_context_menu("description"))


def _localizations(
    requested: Mapping[str, str] | None,
    default: str,
    form: errors.FormErrors,
    path: Steps,
    check: Callable[[str, Steps], None] | None = None,
) -> dict[str, str] | None:
    """Return the localizations that differ from the default text."""
    localizations: dict[str, str] = {}
    for locale, text in (requested or {}).items():
        if locale not in LOCALES:
            form.add((*path, locale), *errors.choices(sorted(LOCALES)))
        else:
            if check is not None:
                check(text, (*path, locale))
            if text != default:
                localizations[locale] = text
    return localizations or None


# Contexts and permissions


def _default_types(scope: CommandScope) -> list[int]:
    if scope.is_guild:
        return [int(ApplicationIntegrationType.GUILD_INSTALL)]
    return sorted(scope.supported) or [int(ApplicationIntegrationType.GUILD_INSTALL)]


def _default_permissions(before: Definition, body: wire.UpdateCommand) -> Permissions | None:
    if body.default_member_permissions is not UNSET:
        return body.default_member_permissions
    if body.default_permission is False:
        return Permissions(0)
    return before.default_member_permissions


def derived_contexts(integration_types: Iterable[int]) -> list[int]:
    """Return the default contexts of a command (spec/webhooks-and-interactions.md#5.4)."""
    contexts = [int(InteractionContextType.GUILD), _BOT_DM]
    if ApplicationIntegrationType.USER_INSTALL in integration_types:
        contexts.append(int(InteractionContextType.PRIVATE_CHANNEL))
    return contexts


def _contexts(
    before: Definition,
    body: wire.UpdateCommand,
    scope: CommandScope,
    types: Sequence[int],
    form: errors.FormErrors,
    path: Steps,
) -> list[int] | None:
    if scope.is_guild:
        # spec/webhooks-and-interactions.md#5.4: contexts do not apply to guild commands.
        return None
    contexts = before.contexts
    if scope.has_install_contexts and body.contexts is not UNSET:
        contexts = None if body.contexts is None else [int(each) for each in body.contexts]
        _check_unique(contexts or (), form, (*path, "contexts"))
        if contexts is not None:
            return contexts
    # dm_permission is the older field for the same: with or without the bot's DM.
    derived = derived_contexts(types)
    if body.dm_permission is False:
        return [each for each in (derived if contexts is None else contexts) if each != _BOT_DM]
    if body.dm_permission is True and contexts is not None:
        contexts = sorted({*contexts, _BOT_DM})
        return None if contexts == derived else contexts
    return contexts


def _integration_types(
    before: Definition, body: wire.UpdateCommand, scope: CommandScope, form: errors.FormErrors, path: Steps
) -> list[int]:
    if scope.is_guild or not scope.has_install_contexts or body.integration_types is UNSET:
        return before.integration_types
    if body.integration_types is None:
        return _default_types(scope)
    types = [int(each) for each in body.integration_types]
    at = (*path, "integration_types")
    _check_unique(types, form, at)
    for index, kind in enumerate(types):
        if kind not in scope.supported:
            form.add((*at, index), *errors.choices(sorted(scope.supported)))
    return types


def _check_unique(values: Iterable[object], form: errors.FormErrors, path: Steps) -> None:
    seen: set[object] = set()
    for index, value in enumerate(values):
        if value in seen:
            form.add((*path, index), *errors.duplicate())
        seen.add(value)


# Options


class _Options:
    """Validates the options of one command."""

    def __init__(self, form: errors.FormErrors) -> None:
        self.form = form

    def read(self, given: list[wire.CommandOptionRequest], path: Steps, kind: int) -> list[wire.CommandOption]:
        """Validate the options of a command. Only chat input commands have options."""
        if given and kind != CommandType.CHAT_INPUT:
            self.add_error(path, errors.command_context_menu("options"))
            return []
        nests = bool(given) and given[0].type in NESTING_OPTION_TYPES
        allowed: Sequence[CommandOptionType] = tuple(NESTING_OPTION_TYPES) if nests else _VALUES
        return self.siblings(given, path, sorted(allowed))

    def siblings(
        self, given: list[wire.CommandOptionRequest], path: Steps, allowed: Sequence[CommandOptionType]
    ) -> list[wire.CommandOption]:
        optional = False
        options = []
        for index, option in enumerate(given):
            at = (*path, index)
            if option.type not in allowed:
                self.add_error((*at, "type"), errors.union_choices([int(each) for each in allowed]))
                continue
            if option.type not in NESTING_OPTION_TYPES:
                if option.required and optional:
                    self.add_error((*at, "required"), errors.command_options_required())
                optional = optional or not option.required
            options.append(self.option(option, at))
        self.check_names(options, path)
        return options

    def check_names(self, options: list[wire.CommandOption], path: Steps) -> None:
        """Reject duplicate option names, in every language."""
        taken: set[str] = set()
        for index, option in enumerate(options):
            if option.name in taken:
                self.add_error((*path, index, "name"), errors.command_option_name_duplicated())
            taken.add(option.name)
        by_locale: dict[str, set[str]] = {}
        for index, option in enumerate(options):
            for locale, name in (option.name_localizations or {}).items():
                known = by_locale.setdefault(locale, set())
                if name in known or (name in taken and name != option.name):
                    at = (*path, index, "name_localizations", locale)
                    self.add_error(at, errors.command_option_name_duplicated())
                known.add(name)

    def option(self, given: wire.CommandOptionRequest, path: Steps) -> wire.CommandOption:
        kind = given.type
        if not is_typed_name(given.name):
            self.add_error((*path, "name"), errors.command_name())
        option = wire.CommandOption(type=int(kind), name=given.name, description=given.description)
        option.name_localizations = (
            _localizations(
                given.name_localizations or None,
                given.name,
                self.form,
                (*path, "name_localizations"),
                lambda text, at: None if is_typed_name(text) else self.add_error(at, errors.command_name()),
            )
            or UNSET
        )
        option.description_localizations = (
            _localizations(
                given.description_localizations or None,
                given.description,
                self.form,
                (*path, "description_localizations"),
            )
            or UNSET
        )
        if kind in NESTING_OPTION_TYPES:
            inner = (CommandOptionType.SUB_COMMAND,) if kind == CommandOptionType.SUB_COMMAND_GROUP else _VALUES
            if kind == CommandOptionType.SUB_COMMAND_GROUP and not given.options:
                # A group without subcommands could never be executed.
                self.add_error((*path, "options"), errors.bad_length(1, wire.COMMAND_OPTIONS_MAX))
            option.options = self.siblings(given.options or [], (*path, "options"), inner)
            return option
        if given.required:
            option.required = True
        if kind in CHOICE_OPTION_TYPES:
            self.read_choices(given, option, path)
        if kind == CommandOptionType.STRING:
            option.min_length = UNSET if given.min_length is None else given.min_length
            option.max_length = UNSET if given.max_length is None else given.max_length
            self.check_order(option.min_length, option.max_length, (*path, "max_length"))
        elif kind in CHOICE_OPTION_TYPES:
            option.min_value = self.bound(given.min_value, kind, (*path, "min_value"))
            option.max_value = self.bound(given.max_value, kind, (*path, "max_value"))
            self.check_order(option.min_value, option.max_value, (*path, "max_value"))
            self.check_choice_bounds(option, path)
        elif kind == CommandOptionType.CHANNEL and given.channel_types:
            option.channel_types = [int(each) for each in given.channel_types]
            _check_unique(option.channel_types, self.form, (*path, "channel_types"))
        elif kind == CommandOptionType.ATTACHMENT and given.file_types:
            option.file_types = list(given.file_types)
            for index, file_type in enumerate(option.file_types):
                if not is_file_type(file_type):
                    self.add_error((*path, "file_types", index), errors.regex())
        return option

    def read_choices(self, given: wire.CommandOptionRequest, option: wire.CommandOption, path: Steps) -> None:
        if given.autocomplete:
            option.autocomplete = True
            if given.choices:
                self.add_error((*path, "choices"), errors.command_option_choices())
        if not given.choices:
            return
        option.choices = []
        for index, choice in enumerate(given.choices):
            at = (*path, "choices", index)
            value = normalize_value(choice.value, given.type)
            check_value(value, given.type, self.form, (*at, "value"))
            if any(choice.name == before.name for before in option.choices):
                self.add_error((*at, "name"), errors.duplicate())
            option.choices.append(
                wire.CommandChoice(
                    name=choice.name,
                    value=value,
                    name_localizations=_localizations(
                        choice.name_localizations or None, choice.name, self.form, (*at, "name_localizations")
                    )
                    or UNSET,
                )
            )

    def check_choice_bounds(self, option: wire.CommandOption, path: Steps) -> None:
        """Reject choices outside the option's bounds."""
        for index, choice in enumerate(option.choices or ()):
            at, value = (*path, "choices", index, "value"), choice.value
            if isinstance(value, str):
                continue
            number_type = "int" if option.type == CommandOptionType.INTEGER else "float"
            if option.min_value is not UNSET and value < option.min_value:
                self.add_error(at, errors.number_min(option.min_value, number_type))
            elif option.max_value is not UNSET and value > option.max_value:
                self.add_error(at, errors.number_max(option.max_value, number_type))

    def bound(self, value: int | float | None | UnsetType, kind: int, path: Steps) -> int | float | UnsetType:
        if value is None or value is UNSET:
            return UNSET
        value = normalize_value(value, kind)
        check_value(value, kind, self.form, path)
        return value

    def check_order(self, minimum: int | float | UnsetType, maximum: int | float | UnsetType, path: Steps) -> None:
        if minimum is not UNSET and maximum is not UNSET and maximum < minimum:
            self.add_error(path, errors.number_min(minimum, "float" if isinstance(minimum, float) else "int"))

    def add_error(self, path: Steps, error: errors.FormError) -> None:
        self.form.add(path, *error)


def normalize_value(value: Value, kind: int) -> Value | int:
    """Return the stored form of an option value. JSON has one number type, so 1.0 of an INTEGER becomes 1."""
    if kind == CommandOptionType.INTEGER and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def check_value(value: object, kind: int, form: errors.FormErrors, path: Steps) -> None:
    """Add a form error if an option of this type cannot have the value."""
    if kind == CommandOptionType.STRING:
        if not isinstance(value, str):
            form.add(path, *errors.not_string(value))
        elif len(value) > wire.CHOICE_VALUE_MAX:
            form.add(path, *errors.max_length(wire.CHOICE_VALUE_MAX))
        return
    number_type = "int" if kind == CommandOptionType.INTEGER else "float"
    if isinstance(value, bool) or not isinstance(value, int if number_type == "int" else int | float):
        form.add(path, *errors.not_number(value, number_type))
    elif value > wire.NUMBER_MAX:
        form.add(path, *errors.number_max(wire.NUMBER_MAX, number_type))
    elif value < -wire.NUMBER_MAX:
        form.add(path, *errors.number_min(-wire.NUMBER_MAX, number_type))
