"""Filling in options, components and modals from their definitions."""

from typing import Any

import pytest

from hubbub.testing import forms

COMMAND: dict[str, Any] = {
    "name": "settings",
    "options": [
        {
            "type": 2,
            "name": "sound",
            "options": [{"type": 1, "name": "set", "options": [{"type": 4, "name": "volume"}]}],
        },
        {"type": 1, "name": "show"},
    ],
}

MODAL: dict[str, Any] = {
    "components": [
        {"type": 10, "content": "Welcome"},
        {"type": 1, "components": [{"type": 4, "custom_id": "name", "label": "Name", "value": "nobody"}]},
        {
            "type": 18,
            "label": "Colour",
            "component": {
                "type": 21,
                "custom_id": "colour",
                "options": [{"value": "r"}, {"value": "b", "default": True}],
            },
        },
        {"type": 18, "label": "Sure?", "component": {"type": 23, "custom_id": "sure"}},
        {"type": 18, "label": "Where", "component": {"type": 8, "custom_id": "where"}},
        {"type": 18, "label": "Sizes", "component": {"type": 22, "custom_id": "sizes", "options": [{"value": "s"}]}},
    ]
}


def resolve_value(value: Any, object_type: str | None) -> Any:
    """Describe the entity that a value was resolved as."""
    return value if object_type is None else f"{object_type} {value}"


def test_options_inside_sub_commands() -> None:
    assert forms.build_options(COMMAND, ["sound", "set"], {"volume": 7}, resolve_value) == [
        {
            "type": 2,
            "name": "sound",
            "options": [
                {"type": 1, "name": "set", "options": [{"type": 4, "name": "volume", "value": 7}]},
            ],
        }
    ]
    assert forms.build_options(COMMAND, ["show"], {}, resolve_value) == [{"type": 1, "name": "show", "options": []}]


@pytest.mark.parametrize(
    ("option_type", "resolved_value"), [(7, "channel general"), (8, "role general"), (3, "general"), (6, "general")]
)
def test_options_by_name(option_type: int, resolved_value: str) -> None:
    command = {"name": "go", "options": [{"type": option_type, "name": "to"}]}
    [option] = forms.build_options(command, [], {"to": "general"}, resolve_value, focused="to")
    assert option == {"type": option_type, "name": "to", "value": resolved_value, "focused": True}


def test_a_modal_is_submitted_with_its_default_values() -> None:
    assert forms.build_modal_components(MODAL, {}, resolve_value) == [
        {"type": 1, "components": [{"type": 4, "custom_id": "name", "value": "nobody"}]},
        {"type": 18, "component": {"type": 21, "custom_id": "colour", "value": "b"}},
        {"type": 18, "component": {"type": 23, "custom_id": "sure", "value": False}},
        {"type": 18, "component": {"type": 8, "custom_id": "where", "values": []}},
        {"type": 18, "component": {"type": 22, "custom_id": "sizes", "values": []}},
    ]


def test_a_modal_by_custom_ids_and_labels() -> None:
    values = {"Name": "Ann", "colour": "r", "Sure?": True, "where": "general", "Sizes": ["s"]}
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
    deep = {"type": 9, "components": [], "accessory": {"type": 2, "custom_id": "deep", "label": "Deep"}}
    message = {"components": [{"type": 17, "components": [deep, {"type": 2, "label": "Link", "url": "http://x"}]}]}
    assert forms.find_component(message, "Deep", (2,))["custom_id"] == "deep"
    assert forms.find_component(message, "deep", (2,))["label"] == "Deep"
    with pytest.raises(AssertionError, match="no such component 'Shallow'; it has: deep, Link"):
        forms.find_component(message, "Shallow", (2,))
