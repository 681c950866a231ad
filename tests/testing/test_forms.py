"""Options and modals that are filled in from their definitions, and components that are found by ID or label."""

from typing import Any

import pytest

from hubbub.people import forms
from hubbub.protocol.enums import CommandOptionType, ComponentType

COMMAND: dict[str, Any] = {
    "name": "settings",
    "options": [
        {
            "type": CommandOptionType.SUB_COMMAND_GROUP,
            "name": "sound",
            "options": [
                {
                    "type": CommandOptionType.SUB_COMMAND,
                    "name": "set",
                    "options": [{"type": CommandOptionType.INTEGER, "name": "volume"}],
                }
            ],
        },
        {"type": CommandOptionType.SUB_COMMAND, "name": "show"},
    ],
}

MODAL: dict[str, Any] = {
    "components": [
        {"type": ComponentType.TEXT_DISPLAY, "content": "Welcome"},
        {
            "type": ComponentType.ACTION_ROW,
            "components": [{"type": ComponentType.TEXT_INPUT, "custom_id": "name", "label": "Name", "value": "nobody"}],
        },
        {
            "type": ComponentType.LABEL,
            "label": "Color",
            "component": {
                "type": ComponentType.RADIO_GROUP,
                "custom_id": "color",
                "options": [{"value": "r"}, {"value": "b", "default": True}],
            },
        },
        {
            "type": ComponentType.LABEL,
            "label": "Sure?",
            "component": {"type": ComponentType.CHECKBOX, "custom_id": "sure"},
        },
        {
            "type": ComponentType.LABEL,
            "label": "Where",
            "component": {"type": ComponentType.CHANNEL_SELECT, "custom_id": "where"},
        },
        {
            "type": ComponentType.LABEL,
            "label": "Sizes",
            "component": {"type": ComponentType.CHECKBOX_GROUP, "custom_id": "sizes", "options": [{"value": "s"}]},
        },
    ]
}


def resolve_value(value: Any, object_type: str | None) -> Any:
    """Return the value with the object type that it was resolved as, in place of a real lookup."""
    return value if object_type is None else f"{object_type} {value}"


def test_options_are_nested_in_their_sub_commands() -> None:
    assert forms.build_options(COMMAND, ["sound", "set"], {"volume": 7}, resolve_value) == [
        {
            "type": CommandOptionType.SUB_COMMAND_GROUP,
            "name": "sound",
            "options": [
                {
                    "type": CommandOptionType.SUB_COMMAND,
                    "name": "set",
                    "options": [{"type": CommandOptionType.INTEGER, "name": "volume", "value": 7}],
                },
            ],
        }
    ]
    assert forms.build_options(COMMAND, ["show"], {}, resolve_value) == [
        {"type": CommandOptionType.SUB_COMMAND, "name": "show", "options": []}
    ]


@pytest.mark.parametrize(
    ("option_type", "resolved_value"),
    [
        (CommandOptionType.CHANNEL, "channel general"),
        (CommandOptionType.ROLE, "role general"),
        (CommandOptionType.STRING, "general"),
        (CommandOptionType.USER, "user general"),
        (CommandOptionType.MENTIONABLE, "mentionable general"),
    ],
)
def test_options_resolve_objects_by_name(option_type: int, resolved_value: str) -> None:
    command = {"name": "go", "options": [{"type": option_type, "name": "to"}]}
    [option] = forms.build_options(command, [], {"to": "general"}, resolve_value, focused="to")
    assert option == {"type": option_type, "name": "to", "value": resolved_value, "focused": True}


def test_a_modal_is_submitted_with_its_default_values() -> None:
    assert forms.build_modal_components(MODAL, {}, resolve_value) == [
        {
            "type": ComponentType.ACTION_ROW,
            "components": [{"type": ComponentType.TEXT_INPUT, "custom_id": "name", "value": "nobody"}],
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.RADIO_GROUP, "custom_id": "color", "value": "b"},
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.CHECKBOX, "custom_id": "sure", "value": False},
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.CHANNEL_SELECT, "custom_id": "where", "values": []},
        },
        {
            "type": ComponentType.LABEL,
            "component": {"type": ComponentType.CHECKBOX_GROUP, "custom_id": "sizes", "values": []},
        },
    ]


def test_values_of_a_modal_are_given_by_custom_id_or_label() -> None:
    values = {"Name": "Ann", "color": "r", "Sure?": True, "where": "general", "Sizes": ["s"]}
    components = [
        component
        for row in forms.build_modal_components(MODAL, values, resolve_value)
        for component in row.get("components", [row.get("component")])
    ]
    assert [component.get("value", component.get("values")) for component in components] == [
        "Ann",
        "r",
        True,
        ["channel general"],
        ["s"],
    ]


def test_components_are_found_at_any_depth() -> None:
    deep = {
        "type": ComponentType.SECTION,
        "components": [],
        "accessory": {"type": ComponentType.BUTTON, "custom_id": "deep", "label": "Deep"},
    }
    message = {
        "components": [
            {
                "type": ComponentType.CONTAINER,
                "components": [deep, {"type": ComponentType.BUTTON, "label": "Link", "url": "http://x"}],
            }
        ]
    }
    assert forms.require_component(message, "Deep", (ComponentType.BUTTON,))["custom_id"] == "deep"
    assert forms.require_component(message, "deep", (ComponentType.BUTTON,))["label"] == "Deep"
    with pytest.raises(AssertionError, match="no such component 'Shallow'; it has: deep \\(Deep\\), Link"):
        forms.require_component(message, "Shallow", (ComponentType.BUTTON,))
