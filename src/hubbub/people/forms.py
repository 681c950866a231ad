"""Functions that build interaction data: the options of a command, and the submitted fields of components and modals.

They do no I/O.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hubbub.people.errors import InvalidArgument
from hubbub.protocol.enums import CommandOptionType, ComponentType

SUB_COMMAND_TYPES: Final = (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
SELECT_TYPES: Final = (
    ComponentType.STRING_SELECT,
    ComponentType.USER_SELECT,
    ComponentType.ROLE_SELECT,
    ComponentType.MENTIONABLE_SELECT,
    ComponentType.CHANNEL_SELECT,
)

NAMED_OPTION_OBJECTS: Final[dict[int, str]] = {
    CommandOptionType.CHANNEL: "channel",
    CommandOptionType.ROLE: "role",
    CommandOptionType.USER: "user",
    CommandOptionType.MENTIONABLE: "mentionable",
}
"""Option types whose values may be names of objects, and the type of these objects."""
NAMED_COMPONENT_OBJECTS: Final[dict[int, str]] = {
    ComponentType.CHANNEL_SELECT: "channel",
    ComponentType.ROLE_SELECT: "role",
    ComponentType.USER_SELECT: "user",
    ComponentType.MENTIONABLE_SELECT: "mentionable",
}
"""Component types whose values may be names of objects, and the type of these objects."""

ValueResolver = Callable[[Any, str | None], Any]
"""Function that converts a value of the caller to the value to send, such as an ID.

Its second argument is the type of the object that the value may name, or None.
"""


def build_options(
    command: Mapping[str, Any],
    path: Sequence[str],
    values: Mapping[str, Any],
    resolve_value: ValueResolver,
    focused: str | None = None,
) -> list[dict[str, Any]]:
    """Build the options of a command, nested in the sub-commands of `path`.

    `values` are the option values by name, and `focused` is the name of the option to autocomplete."""
    declared_options = list(command.get("options", []))
    if path:
        sub_commands = {option["name"]: option for option in declared_options if option["type"] in SUB_COMMAND_TYPES}
        if path[0] not in sub_commands:
            raise InvalidArgument(
                "command", f"/{command['name']} has no sub-command {path[0]!r}; it has: {_join_names(sub_commands)}"
            )
        sub_command = sub_commands[path[0]]
        return [
            {
                "type": sub_command["type"],
                "name": path[0],
                "options": build_options(sub_command, path[1:], values, resolve_value, focused),
            }
        ]
    option_types = {option["name"]: option["type"] for option in declared_options}
    filled_options = []
    for key, value in values.items():
        if key not in option_types:
            raise InvalidArgument(
                ("options", key), f"{command['name']} has no option {key!r}; it has: {_join_names(option_types)}"
            )
        object_type = NAMED_OPTION_OBJECTS.get(option_types[key])
        with error_path("options", key):
            resolved_value = resolve_value(value, object_type)
        filled_option = {"type": option_types[key], "name": key, "value": resolved_value}
        filled_options.append({**filled_option, "focused": True} if key == focused else filled_option)
    return filled_options


@contextmanager
def error_path(*path: str) -> Iterator[None]:
    """Set the path of an `InvalidArgument` that is raised inside."""
    try:
        yield
    except InvalidArgument as error:
        error.field = path
        raise


def iter_components(components: Any) -> Iterator[dict[str, Any]]:
    """Yield all components, including nested ones."""
    for component in components or ():
        yield component
        yield from iter_components(component.get("components"))
        nested_components = [
            component[key] for key in ("component", "accessory") if isinstance(component.get(key), dict)
        ]
        yield from iter_components(nested_components)


def has_component(message: Mapping[str, Any], identifier: str, types: Sequence[int]) -> bool:
    """Return whether a message has a component with this custom_id, label or placeholder."""
    return any(
        component["type"] in types
        and identifier in (component.get("custom_id"), component.get("label"), component.get("placeholder"))
        for component in iter_components(message.get("components"))
    )


def require_component(message: Mapping[str, Any], identifier: str, types: Sequence[int]) -> dict[str, Any]:
    """Return the component of a message with this custom_id, label or placeholder; raise `InvalidArgument` if none has it."""
    candidates = [component for component in iter_components(message.get("components")) if component["type"] in types]
    for key in ("custom_id", "label", "placeholder"):
        matching_components = [candidate for candidate in candidates if candidate.get(key) == identifier]
        if matching_components:
            return matching_components[0]
    raise InvalidArgument(
        component_argument(types),
        f"the message has no such component {identifier!r}; it has: {_join_names(component_names(message, types))}",
    )


def component_argument(types: Sequence[int]) -> str:
    """Return the name of the argument of the control API that selects a component of these types."""
    return "button" if ComponentType.BUTTON in types else "select"


def component_names(message: Mapping[str, Any], types: Sequence[int]) -> list[str]:
    """Return the names of the components of a message: the custom_id, and the label or placeholder in parentheses."""
    names = []
    for component in iter_components(message.get("components")):
        if component["type"] in types:
            custom_id, text = component.get("custom_id"), component.get("label") or component.get("placeholder")
            names.append(f"{custom_id} ({text})" if custom_id and text else str(custom_id or text))
    return names


def build_modal_components(
    modal: Mapping[str, Any], values: Mapping[str, Any], resolve_value: ValueResolver
) -> list[dict[str, Any]]:
    """Build the components of a submitted modal.

    `values` are the values of fields by custom_id or label; other fields have their default values."""
    remaining_values = dict(values)
    submitted_components, available_names = [], []
    for component in modal["components"]:
        if component["type"] == ComponentType.LABEL:
            available_names.append(component["label"])
            field = _build_field(component["component"], component["label"], remaining_values, resolve_value)
            submitted_components.append({"type": component["type"], "component": field})
        elif component["type"] == ComponentType.ACTION_ROW:
            available_names += [child.get("label") or child["custom_id"] for child in component["components"]]
            fields = [
                _build_field(child, child.get("label"), remaining_values, resolve_value)
                for child in component["components"]
            ]
            submitted_components.append({"type": component["type"], "components": fields})
    if remaining_values:
        unknown_name = next(iter(remaining_values))
        raise InvalidArgument(
            ("fields", unknown_name), f"the modal has no field {unknown_name!r}; it has: {_join_names(available_names)}"
        )
    return submitted_components


def _build_field(
    component: Mapping[str, Any], label: str | None, values: dict[str, Any], resolve_value: ValueResolver
) -> dict[str, Any]:
    """Build one submitted field, and remove its value from `values`."""
    component_type, custom_id = component["type"], component["custom_id"]
    value = values.pop(custom_id, values.pop(label, None) if label is not None else None)
    field: dict[str, Any] = {"type": component_type, "custom_id": custom_id}
    if component_type == ComponentType.TEXT_INPUT:
        return {**field, "value": component.get("value", "") if value is None else value}
    if component_type == ComponentType.CHECKBOX:
        return {**field, "value": component.get("default", False) if value is None else value}
    defaults = [option["value"] for option in component.get("options", ()) if option.get("default")]
    if component_type == ComponentType.RADIO_GROUP:
        return {**field, "value": (defaults[0] if defaults else None) if value is None else value}
    selected_values = defaults if value is None else value if isinstance(value, list) else [value]
    with error_path("fields", label or custom_id):
        values_to_send = [resolve_value(item, NAMED_COMPONENT_OBJECTS.get(component_type)) for item in selected_values]
    return {**field, "values": values_to_send}


def _join_names(names: Any) -> str:
    return ", ".join(names) or "none"
