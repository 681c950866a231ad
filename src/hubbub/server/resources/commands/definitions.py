"""From what an app sends to the command that is kept: every rule about names, options, choices and translations."""

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
from hubbub.server.resources.commands.store import Definition

Value = TypeVar("Value")
Steps = tuple[str | int, ...]

WORDED: Final = frozenset({CommandType.CHAT_INPUT, CommandType.PRIMARY_ENTRY_POINT})
"""Types whose names are typed."""

NESTING: Final = frozenset({CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP})
OFFERING: Final = frozenset({CommandOptionType.STRING, CommandOptionType.INTEGER, CommandOptionType.NUMBER})
"""Options that have choices, or complete what is typed."""
_MARKED: Final = ("DEVANAGARI", "THAI")
"""Scripts whose marks are part of words: \\p{sc=Deva} and \\p{sc=Thai} of webhooks-and-interactions.md 5.1."""
_BOT_DM: Final = int(InteractionContextType.BOT_DM)
_VALUES: Final = tuple(kind for kind in CommandOptionType if kind not in NESTING)


class Around(NamedTuple):
    """What an application may offer in a scope."""

    guild: bool
    """Whether these are commands of one guild."""
    supported: Sequence[int]
    """The installation contexts that the application has."""
    embedded: bool
    """Whether it has activities, so that a command can launch them."""
    installs: bool
    """Whether commands say by now where they work and for which installations (dated-changes.md 3)."""


class Made(NamedTuple):
    """A checked command."""

    type: int
    name: str
    definition: Definition


def read(body: wire.CreateCommand, around: Around, form: errors.FormErrors, path: Steps = ()) -> Made:
    """A new command (or the new form of one that it replaces)."""
    kind = body.type or CommandType.CHAT_INPUT
    if kind == CommandType.PRIMARY_ENTRY_POINT and (around.guild or not around.embedded):
        allowed = [int(each) for each in CommandType if each != CommandType.PRIMARY_ENTRY_POINT]
        form.add((*path, "type"), *errors.choices(allowed))
    start = Definition(integration_types=_default_types(around))
    if kind == CommandType.PRIMARY_ENTRY_POINT:
        start.handler = int(CommandHandlerType.APP_HANDLER)
    return edit(kind, body.name, start, body, around, form, path)


def edit(
    kind: int,
    name: str,
    before: Definition,
    body: wire.UpdateCommand,
    around: Around,
    form: errors.FormErrors,
    path: Steps = (),
) -> Made:
    """A command with some of it changed."""
    if body.name is not UNSET:
        name = body.name.strip() if kind not in WORDED else body.name
        _check_name(name, kind, form, (*path, "name"))
    names = before.name_localizations if body.name_localizations is UNSET else body.name_localizations
    names = _localizations(
        names, name, form, (*path, "name_localizations"), lambda text, at: _check_name(text, kind, form, at)
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
    types = _integration_types(before, body, around, form, path)
    after = Definition(
        description=description,
        name_localizations=names,
        description_localizations=descriptions,
        options=options,
        default_member_permissions=_needed(before, body),
        contexts=_contexts(before, body, around, types, form, path),
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
    return Made(int(kind), name, after)


def size(name: str, definition: Definition) -> int:
    """How much a command says: its names, descriptions and choice values, each in its longest language."""
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


# Names and other words


def is_word(name: str) -> bool:
    """Whether a name can be typed after a slash: letters, numbers and marks of some scripts, in lower case where there is one."""
    return (
        1 <= len(name) <= wire.COMMAND_NAME_MAX
        and name == name.lower()
        and all(
            letter in "-_'"
            or unicodedata.category(letter)[0] in "LN"
            or unicodedata.name(letter, "").startswith(_MARKED)
            for letter in name
        )
    )


def _check_name(name: str, kind: int, form: errors.FormErrors, path: Steps) -> None:
    if kind in WORDED:
        if not is_word(name):
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
    given: Mapping[str, str] | None,
    default: str,
    form: errors.FormErrors,
    path: Steps,
    check: Callable[[str, Steps], None] | None = None,
) -> dict[str, str] | None:
    """The translations that say something else than the text itself."""
    kept: dict[str, str] = {}
    for locale, text in (given or {}).items():
        if locale not in LOCALES:
            form.add((*path, locale), *errors.choices(sorted(LOCALES)))
        else:
            if check is not None:
                check(text, (*path, locale))
            if text != default:
                kept[locale] = text
    return kept or None


# Where and for whom


def _default_types(around: Around) -> list[int]:
    if around.guild:
        return [int(ApplicationIntegrationType.GUILD_INSTALL)]
    return sorted(around.supported) or [int(ApplicationIntegrationType.GUILD_INSTALL)]


def _needed(before: Definition, body: wire.UpdateCommand) -> Permissions | None:
    if body.default_member_permissions is not UNSET:
        return body.default_member_permissions
    if body.default_permission is False:
        return Permissions(0)
    return before.default_member_permissions


def derived_contexts(integration_types: Iterable[int]) -> list[int]:
    """Where a command works that does not say so (webhooks-and-interactions.md 5.4)."""
    contexts = [int(InteractionContextType.GUILD), _BOT_DM]
    if ApplicationIntegrationType.USER_INSTALL in integration_types:
        contexts.append(int(InteractionContextType.PRIVATE_CHANNEL))
    return contexts


def _contexts(
    before: Definition,
    body: wire.UpdateCommand,
    around: Around,
    types: Sequence[int],
    form: errors.FormErrors,
    path: Steps,
) -> list[int] | None:
    if around.guild:
        # webhooks-and-interactions.md 5.4: a guild's commands are used in that guild, whatever else is said.
        return None
    contexts = before.contexts
    if around.installs and body.contexts is not UNSET:
        contexts = None if body.contexts is None else [int(each) for each in body.contexts]
        _check_unique(contexts or (), form, (*path, "contexts"))
        if contexts is not None:
            return contexts
    # The older word for the same: with the bot's DM, or without.
    derived = derived_contexts(types)
    if body.dm_permission is False:
        return [each for each in (derived if contexts is None else contexts) if each != _BOT_DM]
    if body.dm_permission is True and contexts is not None:
        contexts = sorted({*contexts, _BOT_DM})
        return None if contexts == derived else contexts
    return contexts


def _integration_types(
    before: Definition, body: wire.UpdateCommand, around: Around, form: errors.FormErrors, path: Steps
) -> list[int]:
    if around.guild or not around.installs or body.integration_types is UNSET:
        return before.integration_types
    if body.integration_types is None:
        return _default_types(around)
    types = [int(each) for each in body.integration_types]
    at = (*path, "integration_types")
    _check_unique(types, form, at)
    for index, kind in enumerate(types):
        if kind not in around.supported:
            form.add((*at, index), *errors.choices(sorted(around.supported)))
    return types


def _check_unique(values: Iterable[object], form: errors.FormErrors, path: Steps) -> None:
    seen: set[object] = set()
    for index, value in enumerate(values):
        if value in seen:
            form.add((*path, index), *errors.duplicate())
        seen.add(value)


# Options


class _Options:
    """One walk over the options of a command."""

    def __init__(self, form: errors.FormErrors) -> None:
        self.form = form

    def read(self, given: list[wire.CommandOptionRequest], path: Steps, kind: int) -> list[wire.CommandOption]:
        """The options of a command; only chat input commands have any."""
        if given and kind != CommandType.CHAT_INPUT:
            self.note(path, errors.command_context_menu("options"))
            return []
        nests = bool(given) and given[0].type in NESTING
        allowed: Sequence[CommandOptionType] = tuple(NESTING) if nests else _VALUES
        return self.siblings(given, path, sorted(allowed))

    def siblings(
        self, given: list[wire.CommandOptionRequest], path: Steps, allowed: Sequence[CommandOptionType]
    ) -> list[wire.CommandOption]:
        optional = False
        made = []
        for index, option in enumerate(given):
            at = (*path, index)
            if option.type not in allowed:
                self.note((*at, "type"), errors.union_choices([int(each) for each in allowed]))
                continue
            if option.type not in NESTING:
                if option.required and optional:
                    self.note((*at, "required"), errors.command_options_required())
                optional = optional or not option.required
            made.append(self.option(option, at))
        self.names(made, path)
        return made

    def names(self, options: list[wire.CommandOption], path: Steps) -> None:
        """No two options have the same name, in no language."""
        taken: set[str] = set()
        for index, option in enumerate(options):
            if option.name in taken:
                self.note((*path, index, "name"), errors.command_option_name_duplicated())
            taken.add(option.name)
        by_locale: dict[str, set[str]] = {}
        for index, option in enumerate(options):
            for locale, name in (option.name_localizations or {}).items():
                known = by_locale.setdefault(locale, set())
                if name in known or (name in taken and name != option.name):
                    at = (*path, index, "name_localizations", locale)
                    self.note(at, errors.command_option_name_duplicated())
                known.add(name)

    def option(self, given: wire.CommandOptionRequest, path: Steps) -> wire.CommandOption:
        kind = given.type
        if not is_word(given.name):
            self.note((*path, "name"), errors.command_name())
        made = wire.CommandOption(type=int(kind), name=given.name, description=given.description)
        made.name_localizations = (
            _localizations(
                given.name_localizations or None,
                given.name,
                self.form,
                (*path, "name_localizations"),
                lambda text, at: None if is_word(text) else self.note(at, errors.command_name()),
            )
            or UNSET
        )
        made.description_localizations = (
            _localizations(
                given.description_localizations or None,
                given.description,
                self.form,
                (*path, "description_localizations"),
            )
            or UNSET
        )
        if kind in NESTING:
            inner = (CommandOptionType.SUB_COMMAND,) if kind == CommandOptionType.SUB_COMMAND_GROUP else _VALUES
            if kind == CommandOptionType.SUB_COMMAND_GROUP and not given.options:
                # Nothing of it could be run.
                self.note((*path, "options"), errors.bad_length(1, wire.COMMAND_OPTIONS_MAX))
            made.options = self.siblings(given.options or [], (*path, "options"), inner)
            return made
        if given.required:
            made.required = True
        if kind in OFFERING:
            self.offers(given, made, path)
        if kind == CommandOptionType.STRING:
            made.min_length = UNSET if given.min_length is None else given.min_length
            made.max_length = UNSET if given.max_length is None else given.max_length
            self.ordered(made.min_length, made.max_length, (*path, "max_length"))
        elif kind in OFFERING:
            made.min_value = self.bound(given.min_value, kind, (*path, "min_value"))
            made.max_value = self.bound(given.max_value, kind, (*path, "max_value"))
            self.ordered(made.min_value, made.max_value, (*path, "max_value"))
            self.within(made, path)
        elif kind == CommandOptionType.CHANNEL and given.channel_types:
            made.channel_types = [int(each) for each in given.channel_types]
            _check_unique(made.channel_types, self.form, (*path, "channel_types"))
        elif kind == CommandOptionType.ATTACHMENT and given.file_types:
            made.file_types = list(given.file_types)
            for index, word in enumerate(made.file_types):
                if not is_file_type(word):
                    self.note((*path, "file_types", index), errors.regex())
        return made

    def offers(self, given: wire.CommandOptionRequest, made: wire.CommandOption, path: Steps) -> None:
        if given.autocomplete:
            made.autocomplete = True
            if given.choices:
                self.note((*path, "choices"), errors.command_option_choices())
        if not given.choices:
            return
        made.choices = []
        for index, choice in enumerate(given.choices):
            at = (*path, "choices", index)
            value = as_kind(choice.value, given.type)
            check_choice(value, given.type, self.form, (*at, "value"))
            if any(choice.name == before.name for before in made.choices):
                self.note((*at, "name"), errors.duplicate())
            made.choices.append(
                wire.CommandChoice(
                    name=choice.name,
                    value=value,
                    name_localizations=_localizations(
                        choice.name_localizations or None, choice.name, self.form, (*at, "name_localizations")
                    )
                    or UNSET,
                )
            )

    def within(self, made: wire.CommandOption, path: Steps) -> None:
        """Nobody could choose what lies beyond the bounds."""
        for index, choice in enumerate(made.choices or ()):
            at, value = (*path, "choices", index, "value"), choice.value
            if isinstance(value, str):
                continue
            word = "int" if made.type == CommandOptionType.INTEGER else "float"
            if made.min_value is not UNSET and value < made.min_value:
                self.note(at, errors.number_min(made.min_value, word))
            elif made.max_value is not UNSET and value > made.max_value:
                self.note(at, errors.number_max(made.max_value, word))

    def bound(self, value: int | float | None | UnsetType, kind: int, path: Steps) -> int | float | UnsetType:
        if value is None or value is UNSET:
            return UNSET
        value = as_kind(value, kind)
        check_choice(value, kind, self.form, path)
        return value

    def ordered(self, least: int | float | UnsetType, most: int | float | UnsetType, path: Steps) -> None:
        if least is not UNSET and most is not UNSET and most < least:
            self.note(path, errors.number_min(least, "float" if isinstance(least, float) else "int"))

    def note(self, path: Steps, wrong: errors.FormError) -> None:
        self.form.add(path, *wrong)


def as_kind(value: Value, kind: int) -> Value | int:
    """A value of an option as it is kept: JSON has one kind of numbers, so 1.0 of an INTEGER is 1."""
    if kind == CommandOptionType.INTEGER and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def check_choice(value: object, kind: int, form: errors.FormErrors, path: Steps) -> None:
    """Note where a value is not one that an option of this type can have."""
    if kind == CommandOptionType.STRING:
        if not isinstance(value, str):
            form.add(path, *errors.not_string(value))
        elif len(value) > wire.CHOICE_VALUE_MAX:
            form.add(path, *errors.max_length(wire.CHOICE_VALUE_MAX))
        return
    word = "int" if kind == CommandOptionType.INTEGER else "float"
    if isinstance(value, bool) or not isinstance(value, int if word == "int" else int | float):
        form.add(path, *errors.not_number(value, word))
    elif value > wire.NUMBER_MAX:
        form.add(path, *errors.number_max(wire.NUMBER_MAX, word))
    elif value < -wire.NUMBER_MAX:
        form.add(path, *errors.number_min(-wire.NUMBER_MAX, word))
