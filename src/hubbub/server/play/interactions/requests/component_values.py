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


def find_component(components: Sequence[Component], custom_id: str, kind: int) -> Component | None:
    """Return the enabled interactive component with this custom ID and type, or None."""
    for component in messages.content.walk_components(components):
        if component.get("custom_id") == custom_id and component["type"] == kind:
            is_usable = kind in messages.content.INTERACTIVE_TYPES and not component.get("disabled")
            return component if is_usable else None
    return None


def selected_values(
    component: Component, submitted: Sequence[str] | None, form: errors.FormErrors
) -> tuple[list[str] | None, list[EntityReference]]:
    """Return the selected values and the IDs in them; (None, []) for a button. Errors are added to `form`."""
    if component["type"] == ComponentType.BUTTON:
        return None, []
    return _selected_values(component, submitted, ("data", "values"), form)


def modal_values(
    components: Sequence[Component], submitted: Sequence[Component], form: errors.FormErrors
) -> tuple[list[Component], list[EntityReference]]:
    """Return the modal's components with submitted values, in display order, and the IDs in them.

    `components` are the components that the user was shown, `submitted` the submitted ones. Errors are added to `form`."""
    inputs = {
        component["custom_id"]: component
        for component in _flatten_submitted(submitted)
        if isinstance(component.get("custom_id"), str)
    }
    filled_components: list[Component] = []
    references: list[EntityReference] = []
    for index, component in enumerate(components):
        path: FieldPath = ("data", "components", index)
        filled: Component = {"type": component["type"], "id": component["id"]}
        if component["type"] == ComponentType.LABEL:
            filled["component"], new_references = _filled_component(
                component["component"], inputs, (*path, "component"), form
            )
            references += new_references
        elif component["type"] == ComponentType.ACTION_ROW:
            filled["components"] = []
            for position, inner in enumerate(component["components"]):
                value, new_references = _filled_component(inner, inputs, (*path, "components", position), form)
                filled["components"].append(value)
                references += new_references
        filled_components.append(filled)
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
    component: Component, inputs: dict[str, Component], path: FieldPath, form: errors.FormErrors
) -> tuple[Component, list[EntityReference]]:
    """Return a component with its submitted value, and the IDs in the value.

    `inputs` are the submitted components by custom ID; `path` is the location of the component in the request."""
    kind = component["type"]
    submitted = inputs.get(component["custom_id"], {})
    result: Component = {"type": kind, "id": component["id"], "custom_id": component["custom_id"]}
    references: list[EntityReference] = []
    if kind == ComponentType.TEXT_INPUT:
        result["value"] = _text_value(component, submitted.get("value"), (*path, "value"), form)
    elif kind == ComponentType.CHECKBOX:
        result["value"] = submitted.get("value", False)
        if not isinstance(result["value"], bool):
            form.add((*path, "value"), *errors.not_boolean())
    elif kind == ComponentType.RADIO_GROUP:
        result["value"] = submitted.get("value")
        offered_values = [option["value"] for option in component["options"]]
        if result["value"] is None:
            if messages.content.is_required(component):
                form.add((*path, "value"), *errors.required())
        elif result["value"] not in offered_values:
            form.add((*path, "value"), *errors.choices(offered_values))
    else:
        values = submitted.get("values")
        if values is not None and not isinstance(values, list):
            form.add((*path, "values"), *errors.not_list())
            values = None
        result["values"], references = _selected_values(component, values, (*path, "values"), form, is_in_modal=True)
    return result, references


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
    submitted: Sequence[Any] | None,
    path: FieldPath,
    form: errors.FormErrors,
    *,
    is_in_modal: bool = False,
) -> tuple[list[str], list[EntityReference]]:
    values = list(submitted or ())
    min_values, max_values = component["min_values"], component["max_values"]
    if is_in_modal and not messages.content.is_required(component) and not values:
        return [], []
    if not min_values <= len(values) <= max_values:
        form.add(path, *errors.bad_length(min_values, max_values))
        return [], []
    references: list[EntityReference] = []
    accepted: list[str] = []
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
        if value in accepted:
            form.add(value_path, *errors.duplicate())
        accepted.append(value)
    return accepted, references
