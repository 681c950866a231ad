"""Interaction data built from what a user sees: command options, message components and modal fields. No I/O."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hubbub.protocol.enums import CommandOptionType, ComponentType

NESTED: Final = (CommandOptionType.SUB_COMMAND, CommandOptionType.SUB_COMMAND_GROUP)
SELECTS: Final = (
    ComponentType.STRING_SELECT,
    ComponentType.USER_SELECT,
    ComponentType.ROLE_SELECT,
    ComponentType.MENTIONABLE_SELECT,
    ComponentType.CHANNEL_SELECT,
)

NAMED_OPTION_KINDS: Final[dict[int, str]] = {CommandOptionType.CHANNEL: "channel", CommandOptionType.ROLE: "role"}
"""Option types whose values can be given by name, and the kind of object."""
NAMED_COMPONENT_KINDS: Final[dict[int, str]] = {
    ComponentType.CHANNEL_SELECT: "channel",
    ComponentType.ROLE_SELECT: "role",
}
"""Component types whose values can be given by name, and the kind of object."""

ValueResolver = Callable[[Any, str | None], Any]
"""Converts a value in a test, and the kind of object it names (or None), to the value to send, such as an id."""


def options(
    command: Mapping[str, Any],
    path: Sequence[str],
    given: Mapping[str, Any],
    name: ValueResolver,
    focused: str | None = None,
) -> list[dict[str, Any]]:
    """Return the options of a command, nested in the sub-commands of `path`."""
    declared = list(command.get("options", []))
    if path:
        inner = {option["name"]: option for option in declared if option["type"] in NESTED}
        if path[0] not in inner:
            raise AssertionError(f"/{command['name']} has no sub-command {path[0]!r}; it has: {_list(inner)}")
        chosen = inner[path[0]]
        return [{"type": chosen["type"], "name": path[0], "options": options(chosen, path[1:], given, name, focused)}]
    kinds = {option["name"]: option["type"] for option in declared}
    filled = []
    for key, value in given.items():
        if key not in kinds:
            raise AssertionError(f"{command['name']} has no option {key!r}; it has: {_list(kinds)}")
        made = {"type": kinds[key], "name": key, "value": name(value, NAMED_OPTION_KINDS.get(kinds[key]))}
        filled.append({**made, "focused": True} if key == focused else made)
    return filled


def iter_components(components: Any) -> Iterator[dict[str, Any]]:
    """Yield all components, including nested ones."""
    for component in components or ():
        yield component
        yield from iter_components(component.get("components"))
        inner = [component[key] for key in ("component", "accessory") if isinstance(component.get(key), dict)]
        yield from iter_components(inner)


def component(message: Mapping[str, Any], wanted: str, kinds: Sequence[int]) -> dict[str, Any]:
    """Return the component of a message by its custom_id, label or placeholder."""
    found = [each for each in iter_components(message.get("components")) if each["type"] in kinds]
    for key in ("custom_id", "label", "placeholder"):
        matching = [each for each in found if each.get(key) == wanted]
        if matching:
            return matching[0]
    known = [str(each.get("custom_id") or each.get("label")) for each in found]
    raise AssertionError(f"the message has no such component {wanted!r}; it has: {_list(known)}")


def modal_values(modal: Mapping[str, Any], given: Mapping[str, Any], name: ValueResolver) -> list[dict[str, Any]]:
    """Return a modal's components as submitted: given values by custom_id or label, default values for the rest."""
    left = dict(given)
    made, known = [], []
    for shown in modal["components"]:
        if shown["type"] == ComponentType.LABEL:
            known.append(shown["label"])
            made.append({"type": shown["type"], "component": _field(shown["component"], shown["label"], left, name)})
        elif shown["type"] == ComponentType.ACTION_ROW:
            known += [each.get("label") or each["custom_id"] for each in shown["components"]]
            fields = [_field(each, each.get("label"), left, name) for each in shown["components"]]
            made.append({"type": shown["type"], "components": fields})
    if left:
        raise AssertionError(f"the modal has no field {next(iter(left))!r}; it has: {_list(known)}")
    return made


def _field(shown: Mapping[str, Any], label: str | None, left: dict[str, Any], name: ValueResolver) -> dict[str, Any]:
    kind, custom_id = shown["type"], shown["custom_id"]
    given = left.pop(custom_id, left.pop(label, None) if label is not None else None)
    field: dict[str, Any] = {"type": kind, "custom_id": custom_id}
    if kind == ComponentType.TEXT_INPUT:
        return {**field, "value": shown.get("value", "") if given is None else given}
    if kind == ComponentType.CHECKBOX:
        return {**field, "value": shown.get("default", False) if given is None else given}
    preset = [option["value"] for option in shown.get("options", ()) if option.get("default")]
    if kind == ComponentType.RADIO_GROUP:
        return {**field, "value": (preset[0] if preset else None) if given is None else given}
    values = preset if given is None else given if isinstance(given, list) else [given]
    return {**field, "values": [name(value, NAMED_COMPONENT_KINDS.get(kind)) for value in values]}


def _list(names: Any) -> str:
    return ", ".join(names) or "none"
