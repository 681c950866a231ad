"""Parse and validate option values against the command's definition (spec/webhooks-and-interactions.md#5.2)."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import CommandOptionType
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources.commands import NUMBER_MAX, STRING_OPTION_MAX, CommandOption
from hubbub.protocol.resources.interactions import OptionValue
from hubbub.server.play import commands

FieldPath = tuple[str | int, ...]
"""Location of a value in a request body: field names and list indexes."""

_SUBCOMMAND_TYPES: Final = (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
_ENTITY_KINDS: Final[dict[int, str]] = {
    CommandOptionType.USER: "user",
    CommandOptionType.CHANNEL: "channel",
    CommandOptionType.ROLE: "role",
    CommandOptionType.MENTIONABLE: "mentionable",
}


class EntityReference(msgspec.Struct):
    """An ID in a submitted value that must be resolved."""

    path: FieldPath
    kind: str
    """`user`, `role`, `mentionable`, `channel` or `attachment`."""
    id: int
    """The referenced ID; for an attachment, the index of the upload."""
    channel_types: Sequence[int] = ()
    """Types that a referenced channel may have; empty for any."""
    file_types: Sequence[str] = ()
    """File types that a referenced attachment may have; empty for any."""


class ParsedOptions(msgspec.Struct):
    """The parsed options of a command invocation."""

    options: list[OptionValue] = []
    references: list[EntityReference] = []
    subcommand_names: list[str] = []
    """Names of the selected subcommand group and subcommand."""
    focused_option: CommandOption | None = None
    """The option whose value the user is typing, in an autocomplete request; otherwise None."""


def parse_options(
    definitions: Sequence[CommandOption],
    submitted_values: Sequence[OptionValue],
    form: errors.FormErrors,
    *,
    is_autocomplete: bool,
) -> ParsedOptions:
    """Validate submitted option values against the options that the command defines; errors are added to `form`.

    With `is_autocomplete` the request is for autocomplete choices, and values may be incomplete."""
    parsed_options = ParsedOptions()
    parsed_options.options = _parse_siblings(
        definitions, submitted_values, ("data", "options"), parsed_options, form, is_autocomplete=is_autocomplete
    )
    return parsed_options


def _parse_siblings(
    definitions: Sequence[CommandOption],
    submitted_values: Sequence[OptionValue],
    path: FieldPath,
    parsed_options: ParsedOptions,
    form: errors.FormErrors,
    *,
    is_autocomplete: bool,
) -> list[OptionValue]:
    """Return the valid values of one level of options; the options of a subcommand are parsed recursively.

    Required options may be missing with `is_autocomplete`. Errors are added to `form`."""
    options_by_name = {option.name: option for option in definitions}
    has_subcommands = bool(definitions) and definitions[0].type in _SUBCOMMAND_TYPES
    if has_subcommands and len(submitted_values) != 1:
        form.add(path, *errors.bad_length(1, 1))
        return []
    seen_names: set[str] = set()
    parsed_values = []
    for index, submitted_value in enumerate(submitted_values):
        option_path = (*path, index)
        option = options_by_name.get(submitted_value.name)
        if option is None:
            form.add((*option_path, "name"), *errors.choices(options_by_name))
        elif submitted_value.name in seen_names:
            form.add((*option_path, "name"), *errors.duplicate())
        elif submitted_value.type != option.type:
            form.add((*option_path, "type"), *errors.choices([option.type]))
        elif option.type in _SUBCOMMAND_TYPES:
            parsed_options.subcommand_names.append(option.name)
            inner_values = _parse_siblings(
                option.options or (),
                submitted_value.options or (),
                (*option_path, "options"),
                parsed_options,
                form,
                is_autocomplete=is_autocomplete,
            )
            parsed_values.append(OptionValue(type=option.type, name=option.name, options=inner_values))
        else:
            seen_names.add(submitted_value.name)
            parsed_value = _parse_value(
                option, submitted_value, option_path, parsed_options, form, is_autocomplete=is_autocomplete
            )
            if parsed_value is not None:
                parsed_values.append(parsed_value)
    if not has_subcommands and not is_autocomplete:
        for option in definitions:
            if option.required and option.name not in seen_names:
                # A missing option has no index, so its name is in the path.
                form.add((*path, option.name), *errors.required())
    return parsed_values


def _parse_value(
    option: CommandOption,
    submitted_value: OptionValue,
    path: FieldPath,
    parsed_options: ParsedOptions,
    form: errors.FormErrors,
    *,
    is_autocomplete: bool,
) -> OptionValue | None:
    parsed_value = OptionValue(type=option.type, name=option.name)
    if is_autocomplete and submitted_value.focused:
        parsed_value.focused = True
        parsed_options.focused_option = option
    value, value_path = commands.normalize_value(submitted_value.value, option.type), (*path, "value")
    if value is UNSET or value is None:
        if not is_autocomplete:
            form.add(value_path, *errors.required())
            return None
        parsed_value.value = ""
        return parsed_value
    if option.type in _ENTITY_KINDS or option.type == CommandOptionType.ATTACHMENT:
        try:
            entity_id = parse_wide(Snowflake, value)
        except ValueError:
            form.add(value_path, *errors.not_snowflake(value))
            return None
        parsed_value.value = str(int(entity_id))
        kind = _ENTITY_KINDS.get(option.type, "attachment")
        parsed_options.references.append(
            EntityReference(value_path, kind, int(entity_id), option.channel_types or (), option.file_types or ())
        )
        return parsed_value
    # spec/webhooks-and-interactions.md#2.1: a number that is still incomplete is sent as text.
    value_error = None if is_autocomplete and isinstance(value, str) else _find_value_error(option, value)
    if value_error is not None:
        form.add(value_path, *value_error)
        return None
    parsed_value.value = value
    return parsed_value


def _find_value_error(option: CommandOption, value: Any) -> errors.FormError | None:
    if option.type == CommandOptionType.BOOLEAN:
        return None if isinstance(value, bool) else errors.not_boolean()
    if option.type == CommandOptionType.STRING:
        if not isinstance(value, str):
            return errors.not_string(value)
        min_length, max_length = option.min_length or 0, option.max_length or STRING_OPTION_MAX
        if not min_length <= len(value) <= max_length:
            return errors.bad_length(min_length, max_length)
    else:
        number_type = "int" if option.type == CommandOptionType.INTEGER else "float"
        if isinstance(value, bool) or not isinstance(value, int if number_type == "int" else int | float):
            return errors.not_number(value, number_type)
        min_value = -NUMBER_MAX if option.min_value is UNSET else option.min_value
        max_value = NUMBER_MAX if option.max_value is UNSET else option.max_value
        if value < min_value:
            return errors.number_min(min_value, number_type)
        if value > max_value:
            return errors.number_max(max_value, number_type)
    if option.choices and not option.autocomplete and all(value != choice.value for choice in option.choices):
        return errors.choices([choice.value for choice in option.choices])
    return None
