"""What a person chose or filled in, checked against the component or the modal that they were shown
(webhooks-and-interactions.md 4.4)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from hubbub.protocol import errors
from hubbub.protocol.enums import ComponentType
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources.components import TEXT_INPUT_MAX, Component
from hubbub.server.resources import messages
from hubbub.server.resources.interactions.options import Reference, Steps

_KINDS: Final[dict[int, str]] = {
    ComponentType.USER_SELECT: "user",
    ComponentType.ROLE_SELECT: "role",
    ComponentType.MENTIONABLE_SELECT: "mentionable",
    ComponentType.CHANNEL_SELECT: "channel",
}


def find(components: Sequence[Component], custom_id: str, kind: int) -> Component | None:
    """The component of a message that can be used under this name, or None."""
    for component in messages.each_component(components):
        if component.get("custom_id") == custom_id and component["type"] == kind:
            usable = kind in messages.INTERACTIVE and not component.get("disabled")
            return component if usable else None
    return None


def chosen(
    component: Component, given: Sequence[str] | None, form: errors.FormErrors
) -> tuple[list[str] | None, list[Reference]]:
    """What was chosen in a select; of a button there is nothing to choose."""
    if component["type"] == ComponentType.BUTTON:
        return None, []
    return _values(component, given, ("data", "values"), form)


def submitted(
    shown: Sequence[Component], given: Sequence[Component], form: errors.FormErrors
) -> tuple[list[Component], list[Reference]]:
    """A modal's components as the app hears of them, in the order they were shown."""
    answers = {each["custom_id"]: each for each in _inputs(given) if isinstance(each.get("custom_id"), str)}
    told: list[Component] = []
    references: list[Reference] = []
    for index, component in enumerate(shown):
        at: Steps = ("data", "components", index)
        head: Component = {"type": component["type"], "id": component["id"]}
        if component["type"] == ComponentType.LABEL:
            head["component"], more = _answer(component["component"], answers, (*at, "component"), form)
            references += more
        elif component["type"] == ComponentType.ACTION_ROW:
            head["components"] = []
            for place, inner in enumerate(component["components"]):
                made, more = _answer(inner, answers, (*at, "components", place), form)
                head["components"].append(made)
                references += more
        told.append(head)
    return told, references


def _inputs(given: Sequence[Any]) -> Iterator[Component]:
    for each in given:
        if isinstance(each, dict):
            yield each
            children = each.get("components")
            yield from _inputs(children if isinstance(children, list) else ())
            yield from _inputs((each.get("component"),))


def _answer(
    component: Component, answers: dict[str, Component], path: Steps, form: errors.FormErrors
) -> tuple[Component, list[Reference]]:
    kind = component["type"]
    said = answers.get(component["custom_id"], {})
    told: Component = {"type": kind, "id": component["id"], "custom_id": component["custom_id"]}
    references: list[Reference] = []
    if kind == ComponentType.TEXT_INPUT:
        told["value"] = _text(component, said.get("value"), (*path, "value"), form)
    elif kind == ComponentType.CHECKBOX:
        told["value"] = said.get("value", False)
        if not isinstance(told["value"], bool):
            form.add((*path, "value"), *errors.not_boolean())
    elif kind == ComponentType.RADIO_GROUP:
        told["value"] = said.get("value")
        offered = [option["value"] for option in component["options"]]
        if told["value"] is None:
            if messages.is_required(component):
                form.add((*path, "value"), *errors.required())
        elif told["value"] not in offered:
            form.add((*path, "value"), *errors.choices(offered))
    else:
        values = said.get("values")
        if values is not None and not isinstance(values, list):
            form.add((*path, "values"), *errors.not_list())
            values = None
        told["values"], references = _values(component, values, (*path, "values"), form, modal=True)
    return told, references


def _text(component: Component, value: Any, path: Steps, form: errors.FormErrors) -> str:
    if value is None or value == "":
        if messages.is_required(component):
            form.add(path, *errors.required())
        return ""
    if not isinstance(value, str):
        form.add(path, *errors.not_string(value))
        return ""
    least, most = component.get("min_length", 0), component.get("max_length", TEXT_INPUT_MAX)
    if not least <= len(value) <= most:
        form.add(path, *errors.bad_length(least, most))
    return value


def _values(
    component: Component, given: Sequence[Any] | None, path: Steps, form: errors.FormErrors, *, modal: bool = False
) -> tuple[list[str], list[Reference]]:
    values = list(given or ())
    least, most = component["min_values"], component["max_values"]
    if modal and not messages.is_required(component) and not values:
        return [], []
    if not least <= len(values) <= most:
        form.add(path, *errors.bad_length(least, most))
        return [], []
    references: list[Reference] = []
    told: list[str] = []
    offered = [option["value"] for option in component.get("options", ())]
    for index, value in enumerate(values):
        at = (*path, index)
        if "options" in component:
            if value not in offered:
                form.add(at, *errors.choices(offered))
                continue
        else:
            try:
                value = str(int(parse_wide(Snowflake, value)))
            except ValueError:
                form.add(at, *errors.not_snowflake(value))
                continue
            kind = _KINDS.get(component["type"], "attachment")
            types, files = component.get("channel_types") or (), component.get("file_types") or ()
            references.append(Reference(at, kind, int(value), types, files))
        if value in told:
            form.add(at, *errors.duplicate())
        told.append(value)
    return told, references
