"""Validate select and modal values against the components that the user was shown.

See spec/webhooks-and-interactions.md#4.4."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hubbub.protocol import errors
from hubbub.protocol.enums import ComponentType
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources.components import TEXT_INPUT_MAX, Component
from hubbub.server.play.interactions.requests.options import EntityReference, FieldPath
from hubbub.server.talk import messages

_REFERENCE_KINDS: Final[dict[int, str]] = {
    ComponentType.USER_SELECT: "user",
    ComponentType.ROLE_SELECT: "role",
    ComponentType.MENTIONABLE_SELECT: "mentionable",
    ComponentType.CHANNEL_SELECT: "channel",
}


def find_component(components: Sequence[Component], custom_id: str, component_type: int) -> Component | None:
    """Return the enabled interactive component with this custom ID and type, or None."""
    for component in messages.content.walk_components(components):
        if component.get("custom_id") == custom_id and component["type"] == component_type:
            is_usable = component_type in messages.content.INTERACTIVE_TYPES and not component.get("disabled")
            return component if is_usable else None
    return None


def selected_values(
    component: Component, submitted_values: Sequence[str] | None, form: errors.FormErrors
) -> tuple[list[str] | None, list[EntityReference]]:
    """Return the selected values and the IDs in them; (None, []) for a button. Errors are added to `form`."""
    if component["type"] == ComponentType.BUTTON:
        return None, []
    return _selected_values(component, submitted_values, ("data", "values"), form)


def modal_values(
    components: Sequence[Component], submitted_components: Sequence[Component], form: errors.FormErrors
) -> tuple[list[Component], list[EntityReference]]:
    """Return the modal's components with submitted values, in display order, and the IDs in them.

    `components` are the components that the user was shown. Errors are added to `form`."""
    inputs_by_custom_id = {
        component["custom_id"]: component
        for component in _flatten_submitted(submitted_components)
        if isinstance(component.get("custom_id"), str)
    }
    filled_components: list[Component] = []
    references: list[EntityReference] = []
    for index, component in enumerate(components):
        path: FieldPath = ("data", "components", index)
        filled_component: Component = {"type": component["type"], "id": component["id"]}
        if component["type"] == ComponentType.LABEL:
            filled_component["component"], new_references = _filled_component(
                component["component"], inputs_by_custom_id, (*path, "component"), form
            )
            references += new_references
        elif component["type"] == ComponentType.ACTION_ROW:
            filled_component["components"] = []
            for child_index, child in enumerate(component["components"]):
                filled_child, new_references = _filled_component(
                    child, inputs_by_custom_id, (*path, "components", child_index), form
                )
                filled_component["components"].append(filled_child)
                references += new_references
        filled_components.append(filled_component)
    return filled_components, references


def _flatten_submitted(components: Sequence[Any]) -> Iterator[Component]:
    """Iterate over submitted components and the components inside them, and skip values that are not objects."""
    for component in components:
        if isinstance(component, dict):
            yield component
            children = component.get("components")
            yield from _flatten_submitted(children if isinstance(children, list) else ())
            yield from _flatten_submitted((component.get("component"),))


def _filled_component(
    component: Component, inputs_by_custom_id: dict[str, Component], path: FieldPath, form: errors.FormErrors
) -> tuple[Component, list[EntityReference]]:
    """Return a component with its submitted value, and the IDs in the value.

    `inputs_by_custom_id` are the submitted components; `path` is the location of the component in the request."""
    component_type = component["type"]
    submitted_component = inputs_by_custom_id.get(component["custom_id"], {})
    filled_component: Component = {"type": component_type, "id": component["id"], "custom_id": component["custom_id"]}
    references: list[EntityReference] = []
    if component_type == ComponentType.TEXT_INPUT:
        filled_component["value"] = _text_value(component, submitted_component.get("value"), (*path, "value"), form)
    elif component_type == ComponentType.CHECKBOX:
        filled_component["value"] = submitted_component.get("value", False)
        if not isinstance(filled_component["value"], bool):
            form.add((*path, "value"), *errors.not_boolean())
    elif component_type == ComponentType.RADIO_GROUP:
        filled_component["value"] = submitted_component.get("value")
        offered_values = [option["value"] for option in component["options"]]
        if filled_component["value"] is None:
            if messages.content.is_required(component):
                form.add((*path, "value"), *errors.required())
        elif filled_component["value"] not in offered_values:
            form.add((*path, "value"), *errors.choices(offered_values))
    else:
        values = submitted_component.get("values")
        if values is not None and not isinstance(values, list):
            form.add((*path, "values"), *errors.not_list())
            values = None
        filled_component["values"], references = _selected_values(
            component, values, (*path, "values"), form, is_in_modal=True
        )
    return filled_component, references


def _text_value(component: Component, value: Any, path: FieldPath, form: errors.FormErrors) -> str:
    if value is None or value == "":
        if messages.content.is_required(component):
            form.add(path, *errors.required())
        return ""
    if not isinstance(value, str):
        form.add(path, *errors.not_string(value))
        return ""
    min_length, max_length = component.get("min_length", 0), component.get("max_length", TEXT_INPUT_MAX)
    if not min_length <= len(value) <= max_length:
        form.add(path, *errors.bad_length(min_length, max_length))
    return value


def _selected_values(
    component: Component,
    submitted_values: Sequence[Any] | None,
    path: FieldPath,
    form: errors.FormErrors,
    *,
    is_in_modal: bool = False,
) -> tuple[list[str], list[EntityReference]]:
    values = list(submitted_values or ())
    min_values, max_values = component["min_values"], component["max_values"]
    if is_in_modal and not messages.content.is_required(component) and not values:
        return [], []
    if not min_values <= len(values) <= max_values:
        form.add(path, *errors.bad_length(min_values, max_values))
        return [], []
    references: list[EntityReference] = []
    accepted_values: list[str] = []
    offered_values = [option["value"] for option in component.get("options", ())]
    for index, value in enumerate(values):
        value_path = (*path, index)
        if "options" in component:
            if value not in offered_values:
                form.add(value_path, *errors.choices(offered_values))
                continue
        else:
            try:
                value = str(int(parse_wide(Snowflake, value)))
            except ValueError:
                form.add(value_path, *errors.not_snowflake(value))
                continue
            kind = _REFERENCE_KINDS.get(component["type"], "attachment")
            channel_types, file_types = component.get("channel_types") or (), component.get("file_types") or ()
            references.append(EntityReference(value_path, kind, int(value), channel_types, file_types))
        if value in accepted_values:
            form.add(value_path, *errors.duplicate())
        accepted_values.append(value)
    return accepted_values, references
