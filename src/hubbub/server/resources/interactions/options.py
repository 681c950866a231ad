"""What a person filled in for a command's options, checked against the command (webhooks-and-interactions.md 5.2)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import CommandOptionType
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources.commands import NUMBER_MAX, STRING_OPTION_MAX, CommandOption
from hubbub.protocol.resources.interactions import OptionValue
from hubbub.server.resources import commands

Steps = tuple[str | int, ...]

_NESTING: Final = (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
_ENTITIES: Final[dict[int, str]] = {
    CommandOptionType.USER: "user",
    CommandOptionType.CHANNEL: "channel",
    CommandOptionType.ROLE: "role",
    CommandOptionType.MENTIONABLE: "mentionable",
}


class Reference(msgspec.Struct):
    """Something that a value names by its id."""

    path: Steps
    kind: str
    """user, role, mentionable, channel or attachment."""
    id: int
    channel_types: Sequence[int] = ()
    file_types: Sequence[str] = ()


class Filled(msgspec.Struct):
    """What was filled in."""

    options: list[OptionValue] = []
    references: list[Reference] = []
    path: list[str] = []
    """The names of the sub-commands that were chosen."""
    focused: CommandOption | None = None


def read(
    known: Sequence[CommandOption], given: Sequence[OptionValue], form: errors.FormErrors, *, typing: bool
) -> Filled:
    """What was filled in, in the words of the command; `typing`: it is not complete yet."""
    filled = Filled()
    filled.options = _siblings(known, given, ("data", "options"), filled, form, typing=typing)
    return filled


def _siblings(
    known: Sequence[CommandOption],
    given: Sequence[OptionValue],
    path: Steps,
    filled: Filled,
    form: errors.FormErrors,
    *,
    typing: bool,
) -> list[OptionValue]:
    by_name = {option.name: option for option in known}
    nests = bool(known) and known[0].type in _NESTING
    if nests and len(given) != 1:
        form.add(path, *errors.bad_length(1, 1))
        return []
    seen: set[str] = set()
    values = []
    for index, value in enumerate(given):
        at = (*path, index)
        option = by_name.get(value.name)
        if option is None:
            form.add((*at, "name"), *errors.choices(by_name))
        elif value.name in seen:
            form.add((*at, "name"), *errors.duplicate())
        elif value.type != option.type:
            form.add((*at, "type"), *errors.choices([option.type]))
        elif option.type in _NESTING:
            filled.path.append(option.name)
            inner = _siblings(option.options or (), value.options or (), (*at, "options"), filled, form, typing=typing)
            values.append(OptionValue(type=option.type, name=option.name, options=inner))
        else:
            seen.add(value.name)
            made = _value(option, value, at, filled, form, typing=typing)
            if made is not None:
                values.append(made)
    if not nests and not typing:
        for option in known:
            if option.required and option.name not in seen:
                form.add((*path, option.name), *errors.required())
    return values


def _value(
    option: CommandOption, given: OptionValue, path: Steps, filled: Filled, form: errors.FormErrors, *, typing: bool
) -> OptionValue | None:
    made = OptionValue(type=option.type, name=option.name)
    if typing and given.focused:
        made.focused = True
        filled.focused = option
    value, at = commands.as_kind(given.value, option.type), (*path, "value")
    if value is UNSET or value is None:
        if not typing:
            form.add(at, *errors.required())
            return None
        made.value = ""
        return made
    if option.type in _ENTITIES or option.type == CommandOptionType.ATTACHMENT:
        try:
            found = parse_wide(Snowflake, value)
        except ValueError:
            form.add(at, *errors.not_snowflake(value))
            return None
        made.value = str(int(found))
        kind = _ENTITIES.get(option.type, "attachment")
        filled.references.append(Reference(at, kind, int(found), option.channel_types or (), option.file_types or ()))
        return made
    # webhooks-and-interactions.md 2.1: numbers that cannot be read yet are sent as text.
    wrong = None if typing and isinstance(value, str) else _misfit(option, value)
    if wrong is not None:
        form.add(at, *wrong)
        return None
    made.value = value
    return made


def _misfit(option: CommandOption, value: Any) -> errors.FormError | None:
    if option.type == CommandOptionType.BOOLEAN:
        return None if isinstance(value, bool) else errors.not_boolean()
    if option.type == CommandOptionType.STRING:
        if not isinstance(value, str):
            return errors.not_string(value)
        least, most = option.min_length or 0, option.max_length or STRING_OPTION_MAX
        if not least <= len(value) <= most:
            return errors.bad_length(least, most)
    else:
        word = "int" if option.type == CommandOptionType.INTEGER else "float"
        if isinstance(value, bool) or not isinstance(value, int if word == "int" else int | float):
            return errors.not_number(value, word)
        least_value = -NUMBER_MAX if option.min_value is UNSET else option.min_value
        most_value = NUMBER_MAX if option.max_value is UNSET else option.max_value
        if value < least_value:
            return errors.number_min(least_value, word)
        if value > most_value:
            return errors.number_max(most_value, word)
    if option.choices and not option.autocomplete and all(value != choice.value for choice in option.choices):
        return errors.choices([choice.value for choice in option.choices])
    return None
