"""Tests of the component validator: every rule for messages and modals, with the exact error path."""

import base64
import copy
import json
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, errors
from hubbub.server.core.call import Call
from hubbub.server.talk import messages
from hubbub.server.talk.messages import components
from hubbub.server.transports.cdn import default_avatar
from tests.world import NOW_MS, ApiResponse, World

TEXT: dict[str, Any] = {"type": 10, "content": "hello"}
LINK: dict[str, Any] = {"type": 2, "style": 5, "label": "go", "url": "https://example.com"}
MEDIA: dict[str, Any] = {"url": "https://example.com/a.png"}
THUMBNAIL: dict[str, Any] = {"type": 11, "media": MEDIA}


def button(**keys: Any) -> dict[str, Any]:
    """Return an interactive button."""
    return {"type": 2, "style": 1, "label": "x", "custom_id": "b", **keys}


def select(**keys: Any) -> dict[str, Any]:
    """Return a string select."""
    return {"type": 3, "custom_id": "s", "options": options("a", "b"), **keys}


def users(**keys: Any) -> dict[str, Any]:
    """Return a user select."""
    return {"type": 5, "custom_id": "u", **keys}


def options(*values: str, **keys: Any) -> list[dict[str, Any]]:
    """Return select options."""
    return [{"label": value, "value": value, **keys} for value in values]


def row(*children: Any, **keys: Any) -> dict[str, Any]:
    """Return an action row."""
    return {"type": 1, "components": list(children), **keys}


def label(component: Any, **keys: Any) -> dict[str, Any]:
    """Return a label with its input."""
    return {"type": 18, "label": "L", "component": component, **keys}


def text_input(**keys: Any) -> dict[str, Any]:
    """Return a text input."""
    return {"type": 4, "custom_id": "t", "style": 1, **keys}


def find_problems(sent: list[Any], *, v2: bool = False, modal: bool = False, now: int = NOW_MS) -> dict[str, list[str]]:
    """Return the error constants that the validator reports, by path."""
    form = errors.FormErrors()
    checked = copy.deepcopy(sent)
    if modal:
        components.validate_modal_components(checked, form, now_ms=now)
    else:
        components.validate_message_components(checked, form, is_v2=v2, now_ms=now)
    problems: dict[str, list[str]] = {}

    def walk(node: dict[str, Any], path: tuple[str, ...]) -> None:
        for key, value in node.items():
            if key == "_errors":
                problems[".".join(path)] = [each["code"] for each in value]
            else:
                walk(value, (*path, key))

    walk(form.tree, ())
    return problems


IN_ROW = "components.0.components.0"


@pytest.mark.parametrize(
    ("component", "path", "code"),
    [
        (button(style=None), "style", "BASE_TYPE_REQUIRED"),
        (button(style=9), "style", "BASE_TYPE_CHOICES"),
        (button(style=1.0), "style", "BASE_TYPE_CHOICES"),
        (button(style=True), "style", "BASE_TYPE_CHOICES"),
        (button(style=[1]), "style", "BASE_TYPE_CHOICES"),
        (button(custom_id=None), "custom_id", "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"),
        (button(custom_id=""), "custom_id", "BASE_TYPE_BAD_LENGTH"),
        (button(custom_id="x" * 101), "custom_id", "BASE_TYPE_BAD_LENGTH"),
        (button(custom_id=5), "custom_id", "STRING_TYPE_CONVERT"),
        (button(url="https://a.b"), "custom_id", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE"),
        (button(sku_id="1"), "sku_id", "COMPONENT_FIELD_INVALID"),
        (button(label="x" * 81), "label", "BASE_TYPE_MAX_LENGTH"),
        (button(label=None), "label", "BASE_TYPE_REQUIRED"),
        (button(disabled="no"), "disabled", "BOOLEAN_TYPE_CONVERT"),
        (button(emoji="x"), "emoji", "MODEL_TYPE_CONVERT"),
        (button(emoji={}), "emoji.name", "BASE_TYPE_REQUIRED"),
        (button(emoji={"id": "x"}), "emoji.id", "NUMBER_TYPE_COERCE"),
        ({**LINK, "url": None}, "url", "BASE_TYPE_REQUIRED"),
        ({**LINK, "url": "https://a/" + "x" * 512}, "url", "BASE_TYPE_MAX_LENGTH"),
        ({**LINK, "url": "javascript:alert(1)"}, "url", "URL_TYPE_INVALID_SCHEME"),
        ({**LINK, "url": "nothing"}, "url", "URL_TYPE_INVALID_URL"),
        ({**LINK, "custom_id": "x"}, "custom_id", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE"),
        ({"type": 2, "style": 6}, "sku_id", "BASE_TYPE_REQUIRED"),
        ({"type": 2, "style": 6, "sku_id": "x"}, "sku_id", "NUMBER_TYPE_COERCE"),
        ({"type": 2, "style": 6, "sku_id": "1", "label": "x"}, "label", "COMPONENT_FIELD_INVALID"),
        ({"type": 2, "style": 6, "sku_id": "1", "custom_id": "x"}, "custom_id", "COMPONENT_FIELD_INVALID"),
        (select(custom_id=None), "custom_id", "BASE_TYPE_REQUIRED"),
        (select(options=None), "options", "BASE_TYPE_REQUIRED"),
        (select(options={}), "options", "LIST_TYPE_CONVERT"),
        (select(options=[]), "options", "BASE_TYPE_BAD_LENGTH"),
        (select(options=options(*map(str, range(26)))), "options", "BASE_TYPE_BAD_LENGTH"),
        (select(options=[5]), "options.0", "MODEL_TYPE_CONVERT"),
        (select(options=[{"value": "a"}]), "options.0.label", "BASE_TYPE_REQUIRED"),
        (select(options=[{"label": "a"}]), "options.0.value", "BASE_TYPE_REQUIRED"),
        (select(options=options("x" * 101)), "options.0.value", "BASE_TYPE_BAD_LENGTH"),
        (select(options=options("a", description="x" * 101)), "options.0.description", "BASE_TYPE_MAX_LENGTH"),
        (select(options=options("a", "a")), "options.1.value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED"),
        (select(options=options("a", "b", default=True)), "options", "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES"),
        (select(placeholder="x" * 151), "placeholder", "BASE_TYPE_MAX_LENGTH"),
        (select(min_values=-1), "min_values", "NUMBER_TYPE_MIN"),
        (select(min_values=26), "min_values", "NUMBER_TYPE_MAX"),
        (select(max_values=0), "max_values", "NUMBER_TYPE_MIN"),
        (select(min_values=2, max_values=1), "max_values", "NUMBER_TYPE_MIN"),
        (select(min_values=2), "min_values", "NUMBER_TYPE_MAX"),
        (select(min_values=2, max_values=None), "min_values", "NUMBER_TYPE_MAX"),
        (users(min_values=2), "min_values", "NUMBER_TYPE_MAX"),
        (select(min_values="1"), "min_values", "NUMBER_TYPE_COERCE"),
        (users(default_values=[{"id": "1", "type": "role"}]), "default_values.0.type", "BASE_TYPE_CHOICES"),
        (users(default_values=[{"id": "x", "type": "user"}]), "default_values.0.id", "NUMBER_TYPE_COERCE"),
        (users(default_values=[{"type": "user"}]), "default_values.0.id", "BASE_TYPE_REQUIRED"),
        (
            users(default_values=[{"id": "1", "type": "user"}, {"id": "2", "type": "user"}]),
            "default_values",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        ({"type": 8, "custom_id": "c", "channel_types": [99]}, "channel_types.0", "BASE_TYPE_CHOICES"),
        ({"type": 8, "custom_id": "c", "channel_types": [0, 5.0]}, "channel_types.1", "BASE_TYPE_CHOICES"),
        ({"type": 2.0}, "type", "NUMBER_TYPE_COERCE"),
        (select(min_values=1.0), "min_values", "NUMBER_TYPE_COERCE"),
        (text_input(), "type", "COMPONENT_TYPE_INVALID"),
        (TEXT, "type", "COMPONENT_TYPE_INVALID"),
        ({"custom_id": "x"}, "type", "BASE_TYPE_REQUIRED"),
        ({"type": "2"}, "type", "NUMBER_TYPE_COERCE"),
        (button(id="x"), "id", "NUMBER_TYPE_COERCE"),
        (button(id=-1), "id", "NUMBER_TYPE_MIN"),
        (button(id=1 << 31), "id", "NUMBER_TYPE_MAX"),
    ],
)
def test_components_in_a_row_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    problems = find_problems([row(component)])

    assert problems.get(f"{IN_ROW}.{path}") == [code], problems


@pytest.mark.parametrize(
    "component",
    [
        button(),
        button(label=None, emoji={"name": "👍"}),
        button(emoji={"id": "123", "name": "x"}, disabled=True),
        LINK,
        {"type": 2, "style": 6, "sku_id": "123"},
        select(),
        select(min_values=0, max_values=2, placeholder="x" * 150, disabled=True),
        select(options=options("a", default=True), required=False),
        users(default_values=[{"id": "1", "type": "user"}]),
        {"type": 6, "custom_id": "r", "default_values": [{"id": "1", "type": "role"}]},
        {
            "type": 7,
            "custom_id": "m",
            "max_values": 2,
            "default_values": [{"id": "1", "type": "role"}, {"id": "2", "type": "user"}],
        },
        {"type": 8, "custom_id": "c", "channel_types": [0, 5], "default_values": [{"id": "1", "type": "channel"}]},
    ],
)
def test_a_row_accepts_every_interactive_component(component: dict[str, Any]) -> None:
    assert find_problems([row(component)]) == {}


@pytest.mark.parametrize(
    ("sent", "problems"),
    [
        ([row(button())] * 6, {"components": ["BASE_TYPE_BAD_LENGTH"]}),
        ([row()], {"components.0.components": ["BASE_TYPE_BAD_LENGTH"]}),
        ([row(*(button(custom_id=str(n)) for n in range(6)))], {"components.0.components": ["BASE_TYPE_BAD_LENGTH"]}),
        ([row(select(), button())], {"components.0.components": ["COMPONENT_LAYOUT_WIDTH_EXCEEDED"]}),
        ([row(button(), button())], {"components.0.components.1.custom_id": ["COMPONENT_CUSTOM_ID_DUPLICATED"]}),
        (
            [row(button(id=3), button(id=3, custom_id="c"))],
            {"components.0.components.1.id": ["SET_TYPE_ALREADY_CONTAINS_VALUE"]},
        ),
        ([5], {"components.0": ["MODEL_TYPE_CONVERT"]}),
        ([TEXT], {"components.0.type": ["COMPONENT_TYPE_INVALID"]}),
        ([{"type": 17, "components": [TEXT]}], {"components.0.type": ["COMPONENT_TYPE_INVALID"]}),
    ],
)
def test_action_rows_of_a_message_are_validated(sent: list[Any], problems: dict[str, list[str]]) -> None:
    actual = find_problems(sent)

    assert {path: actual.get(path) for path in problems} == problems


@pytest.mark.parametrize(
    ("component", "path", "code"),
    [
        ({"type": 10}, "content", "BASE_TYPE_REQUIRED"),
        ({"type": 10, "content": ""}, "content", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 10, "content": "  "}, "content", "BASE_TYPE_REQUIRED"),
        ({"type": 10, "content": "x" * 4001}, "content", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 9, "components": [TEXT]}, "accessory", "BASE_TYPE_REQUIRED"),
        ({"type": 9, "components": [TEXT] * 4, "accessory": THUMBNAIL}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 9, "components": [], "accessory": THUMBNAIL}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 9, "components": [button()], "accessory": THUMBNAIL}, "components.0.type", "COMPONENT_TYPE_INVALID"),
        ({"type": 9, "components": [TEXT], "accessory": select()}, "accessory.type", "COMPONENT_TYPE_INVALID"),
        ({"type": 9, "components": [TEXT], "accessory": {"type": 11}}, "accessory.media", "BASE_TYPE_REQUIRED"),
        ({"type": 12, "items": []}, "items", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 12, "items": [{"media": MEDIA}] * 11}, "items", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 12, "items": [{"media": {}}]}, "items.0.media.url", "BASE_TYPE_REQUIRED"),
        ({"type": 12, "items": [{"media": {"url": "ftp://x/y"}}]}, "items.0.media.url", "URL_TYPE_INVALID_SCHEME"),
        (
            {"type": 12, "items": [{"media": MEDIA, "description": "x" * 1025}]},
            "items.0.description",
            "BASE_TYPE_BAD_LENGTH",
        ),
        ({"type": 12, "items": [{"media": MEDIA, "spoiler": 1}]}, "items.0.spoiler", "BOOLEAN_TYPE_CONVERT"),
        ({"type": 13}, "file", "BASE_TYPE_REQUIRED"),
        ({"type": 13, "file": MEDIA}, "file.url", "URL_TYPE_INVALID_SCHEME"),
        ({"type": 14, "spacing": 3}, "spacing", "BASE_TYPE_CHOICES"),
        ({"type": 14, "spacing": 2.0}, "spacing", "BASE_TYPE_CHOICES"),
        ({"type": 14, "divider": "x"}, "divider", "BOOLEAN_TYPE_CONVERT"),
        ({"type": 17, "components": []}, "components", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 17, "components": [TEXT], "accent_color": 0x1000000}, "accent_color", "NUMBER_TYPE_MAX"),
        (
            {"type": 17, "components": [{"type": 17, "components": [TEXT]}]},
            "components.0.type",
            "COMPONENT_TYPE_INVALID",
        ),
        (THUMBNAIL, "type", "COMPONENT_TYPE_INVALID"),
        (button(), "type", "COMPONENT_TYPE_INVALID"),
        (label(text_input()), "type", "COMPONENT_TYPE_INVALID"),
    ],
)
def test_components_v2_messages_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    problems = find_problems([component], v2=True)

    assert problems.get(f"components.0.{path}") == [code], problems


def test_a_components_v2_message_accepts_every_layout() -> None:
    sent = [
        TEXT,
        row(button()),
        {"type": 9, "components": [TEXT] * 3, "accessory": THUMBNAIL},
        {"type": 9, "components": [TEXT], "accessory": button(custom_id="c")},
        {"type": 12, "items": [{"media": MEDIA, "description": "x", "spoiler": True}] * 10},
        {"type": 13, "file": {"url": "attachment://a.txt"}, "spoiler": True},
        {"type": 14, "divider": False, "spacing": 2},
        {"type": 17, "components": [TEXT, row(select())], "accent_color": None, "spoiler": True},
    ]

    assert find_problems(sent, v2=True) == {}


def test_a_message_has_at_most_forty_components_including_nested_ones() -> None:
    def many(count: int) -> list[Any]:
        return [{"type": 17, "components": [{"type": 14}] * (count - 1)}]

    assert find_problems(many(40), v2=True) == {}
    assert find_problems(many(41), v2=True)["components"] == ["BASE_TYPE_BAD_LENGTH"]
    assert find_problems([{"type": 10, "content": "x" * 2001}] * 2, v2=True) == {"components": ["BASE_TYPE_MAX_LENGTH"]}


@pytest.mark.dated(changes.COMPONENTS_V2)
async def test_messages_older_than_components_v2_report_component_id_zero(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    at = changes.COMPONENTS_V2.at_ms

    async def say(**body: Any) -> Any:
        return await guild.send_message(bot, "x", components=[row(button(id=7), id=5)], **body)

    world.clock.set(at - 1)
    old = await say()
    world.clock.set(at)
    new = await say()

    def numbers(message: dict[str, Any]) -> list[int]:
        return [each["id"] for each in components.walk_components(message["components"])]

    assert (numbers(old), numbers(new)) == ([0, 0], [5, 7])
    path = f"/channels/{guild.general}/messages/{old['id']}"
    assert numbers((await bot.get(path)).ok()) == [0, 0]
    same = (await bot.get(path)).ok()["components"]
    assert numbers((await bot.patch(path, json={"components": same})).ok()) == [1, 2]


def test_components_are_numbered_depth_first_around_explicit_ids() -> None:
    section = {"type": 9, "components": [TEXT], "accessory": button(id=2)}
    sent = copy.deepcopy([{"type": 17, "id": 0, "components": [section, row(select())]}])

    components.validate_message_components(sent, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)

    numbers = [component["id"] for component in components.walk_components(sent)]
    assert numbers == [1, 3, 4, 2, 5, 6]


def test_unknown_keys_of_a_component_are_dropped() -> None:
    sent = copy.deepcopy([row(select(required=True, nonsense=1, placeholder=None), nonsense=2)])

    components.validate_message_components(sent, errors.FormErrors(), is_v2=False, now_ms=NOW_MS)

    assert sent == [
        {
            "type": 1,
            "id": 1,
            "components": [
                {
                    "type": 3,
                    "id": 2,
                    "custom_id": "s",
                    "options": options("a", "b"),
                    "min_values": 1,
                    "max_values": 1,
                }
            ],
        }
    ]


def test_validation_is_idempotent() -> None:
    sent = copy.deepcopy([{"type": 13, "file": {"url": "attachment://a b.txt"}}, row(button(), id=7), THUMBNAIL])
    components.validate_message_components(sent, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)
    once = copy.deepcopy(sent)

    components.validate_message_components(sent, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)

    assert sent == once


# Modals


@pytest.mark.parametrize(
    ("component", "path", "code"),
    [
        ({"type": 18, "component": text_input()}, "label", "BASE_TYPE_REQUIRED"),
        (label(text_input(), label="x" * 46), "label", "BASE_TYPE_BAD_LENGTH"),
        (label(text_input(), description="x" * 101), "description", "BASE_TYPE_BAD_LENGTH"),
        ({"type": 18, "label": "x"}, "component", "BASE_TYPE_REQUIRED"),
        (label(button()), "component.type", "COMPONENT_TYPE_INVALID"),
        (label(TEXT), "component.type", "COMPONENT_TYPE_INVALID"),
        (label(label(text_input())), "component.type", "COMPONENT_TYPE_INVALID"),
        (select(), "type", "COMPONENT_TYPE_INVALID"),
        (row(select()), "components.0.type", "COMPONENT_TYPE_INVALID"),
        (row(text_input()), "components.0.label", "BASE_TYPE_REQUIRED"),
        (row(text_input(label="x" * 46)), "components.0.label", "BASE_TYPE_BAD_LENGTH"),
        (row(text_input(label="a"), text_input(label="b", custom_id="c")), "components", "BASE_TYPE_BAD_LENGTH"),
        (label(text_input(label="x")), "component.label", "COMPONENT_FIELD_INVALID"),
        (label(text_input(custom_id=None)), "component.custom_id", "BASE_TYPE_REQUIRED"),
        (label(text_input(style=None)), "component.style", "BASE_TYPE_REQUIRED"),
        (label(text_input(style=3)), "component.style", "BASE_TYPE_CHOICES"),
        (label(text_input(style=1.0)), "component.style", "BASE_TYPE_CHOICES"),
        (label(text_input(min_length=4001)), "component.min_length", "NUMBER_TYPE_MAX"),
        (label(text_input(max_length=0)), "component.max_length", "NUMBER_TYPE_MIN"),
        (label(text_input(min_length=5, max_length=4)), "component.max_length", "NUMBER_TYPE_MIN"),
        (label(text_input(value="x" * 4001)), "component.value", "BASE_TYPE_MAX_LENGTH"),
        (label(text_input(placeholder="x" * 101)), "component.placeholder", "BASE_TYPE_MAX_LENGTH"),
        (label(text_input(required="x")), "component.required", "BOOLEAN_TYPE_CONVERT"),
        (label(select(disabled=True)), "component.disabled", "COMPONENT_FIELD_INVALID"),
        (label(text_input(disabled=True)), "component.disabled", "COMPONENT_FIELD_INVALID"),
        (label(text_input(disabled=1)), "component.disabled", "BOOLEAN_TYPE_CONVERT"),
        (label(text_input(), disabled=True), "disabled", "COMPONENT_FIELD_INVALID"),
        ({**TEXT, "disabled": True}, "disabled", "COMPONENT_FIELD_INVALID"),
        (row(text_input(label="x", disabled=True)), "components.0.disabled", "COMPONENT_FIELD_INVALID"),
        (
            label({"type": 21, "custom_id": "r", "options": options("a", "b"), "disabled": True}),
            "component.disabled",
            "COMPONENT_FIELD_INVALID",
        ),
        (label(select(min_values=0)), "component.min_values", "NUMBER_TYPE_MIN"),
        (label(users(min_values=0, required=True)), "component.min_values", "NUMBER_TYPE_MIN"),
        (label({"type": 19, "custom_id": "f", "min_values": 11}), "component.min_values", "NUMBER_TYPE_MAX"),
        (label({"type": 19, "custom_id": "f", "max_values": 11}), "component.max_values", "NUMBER_TYPE_MAX"),
        (label({"type": 19, "custom_id": "f", "max_values": -1}), "component.max_values", "NUMBER_TYPE_MIN"),
        (label({"type": 19, "custom_id": "f", "max_values": 0}), "component.max_values", "NUMBER_TYPE_MIN"),
        (
            label({"type": 19, "custom_id": "f", "min_values": 1, "max_values": 0, "required": False}),
            "component.max_values",
            "NUMBER_TYPE_MIN",
        ),
        (label(select(min_values=3, max_values=5)), "component.min_values", "NUMBER_TYPE_MAX"),
        (
            label({"type": 22, "custom_id": "g", "options": options("a", "b"), "min_values": 3, "max_values": 3}),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (label(select(max_values=0, required=False)), "component.max_values", "NUMBER_TYPE_MIN"),
        (label({"type": 19, "custom_id": "f", "min_values": 0}), "component.min_values", "NUMBER_TYPE_MIN"),
        (label({"type": 19, "custom_id": "f", "min_values": 3}), "component.min_values", "NUMBER_TYPE_MAX"),
        (
            label({"type": 22, "custom_id": "g", "options": options("a", "b", "c"), "min_values": 5}),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (
            label({"type": 19, "custom_id": "f", "file_types": ["x"] * 11}),
            "component.file_types",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (label({"type": 19, "custom_id": "f", "file_types": [1]}), "component.file_types.0", "STRING_TYPE_CONVERT"),
        (label({"type": 19, "custom_id": "f", "file_types": [""]}), "component.file_types.0", "STRING_TYPE_REGEX"),
        (
            label({"type": 19, "custom_id": "f", "file_types": [".png", "image/*"]}),
            "component.file_types.1",
            "STRING_TYPE_REGEX",
        ),
        (label({"type": 21, "custom_id": "r", "options": options("a")}), "component.options", "BASE_TYPE_BAD_LENGTH"),
        (
            label({"type": 21, "custom_id": "r", "options": options(*map(str, range(11)))}),
            "component.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            label({"type": 21, "custom_id": "r", "options": options("a", "b", default=True)}),
            "component.options",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        (
            label({"type": 21, "custom_id": "r", "options": options("a", "a")}),
            "component.options.1.value",
            "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        ),
        (label({"type": 22, "custom_id": "g", "options": []}), "component.options", "BASE_TYPE_BAD_LENGTH"),
        (
            label({"type": 22, "custom_id": "g", "options": options("a"), "min_values": 0}),
            "component.min_values",
            "NUMBER_TYPE_MIN",
        ),
        (
            label({"type": 22, "custom_id": "g", "options": options("a", "b", default=True), "max_values": 1}),
            "component.options",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        (label({"type": 23, "custom_id": "c", "default": 1}), "component.default", "BOOLEAN_TYPE_CONVERT"),
        (label({"type": 23, "custom_id": "c", "required": True}), "component.required", "COMPONENT_FIELD_INVALID"),
        ({"type": 17, "components": [TEXT]}, "type", "COMPONENT_TYPE_INVALID"),
    ],
)
def test_modals_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    problems = find_problems([component], modal=True)

    assert problems.get(f"components.0.{path}") == [code], problems


@pytest.mark.parametrize(
    "component",
    [
        TEXT,
        row(text_input(label="old")),
        label(text_input(min_length=0, max_length=4000, value="x", placeholder="y", required=False)),
        label(select(required=False, min_values=0)),
        label(select(disabled=False)),
        label(text_input(disabled=False), disabled=False),
        label(users(max_values=25)),
        label({"type": 8, "custom_id": "c", "channel_types": [0]}),
        label({"type": 19, "custom_id": "f", "min_values": 0, "max_values": 10, "required": False}),
        label({"type": 19, "custom_id": "f", "min_values": 0, "max_values": 0, "required": False}),
        label({"type": 19, "custom_id": "f", "max_values": 0, "required": False}),
        label({"type": 22, "custom_id": "g", "options": options("a", "b", "c"), "min_values": 3}),
        label({"type": 21, "custom_id": "r", "options": options("a", "b")}),
        label({"type": 22, "custom_id": "g", "options": options("a", default=True), "required": True}),
        label({"type": 23, "custom_id": "c", "default": True, "required": False}),
    ],
)
def test_a_modal_accepts_every_input(component: dict[str, Any]) -> None:
    assert find_problems([component], modal=True) == {}


def test_a_modal_has_one_to_five_components_with_unique_custom_ids() -> None:
    assert find_problems([], modal=True) == {"components": ["BASE_TYPE_BAD_LENGTH"]}
    assert find_problems([TEXT] * 6, modal=True) == {"components": ["BASE_TYPE_BAD_LENGTH"]}
    assert find_problems([label(text_input()), label(text_input())], modal=True) == {
        "components.1.component.custom_id": ["COMPONENT_CUSTOM_ID_DUPLICATED"]
    }


def test_max_values_of_a_checkbox_group_defaults_to_all_options() -> None:
    sent = [label({"type": 22, "custom_id": "g", "options": options("a", "b", "c")})]

    components.validate_modal_components(sent, errors.FormErrors(), now_ms=NOW_MS)

    assert sent[0]["component"]["max_values"] == 3
    assert components.is_required(sent[0]["component"])


@pytest.mark.parametrize(
    ("change", "component", "path"),
    [
        pytest.param(
            changes.MODAL_LABELS,
            label(text_input()),
            "components.0.type",
            marks=pytest.mark.dated(changes.MODAL_LABELS),
        ),
        pytest.param(
            changes.MODAL_SELECTS,
            label(users()),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_SELECTS),
        ),
        pytest.param(changes.MODAL_SELECTS, TEXT, "components.0.type", marks=pytest.mark.dated(changes.MODAL_SELECTS)),
        pytest.param(
            changes.MODAL_FILE_UPLOAD,
            label({"type": 19, "custom_id": "f"}),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_FILE_UPLOAD),
        ),
        pytest.param(
            changes.MODAL_CHOICES,
            label({"type": 23, "custom_id": "c"}),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_CHOICES),
        ),
    ],
)
def test_modals_accept_new_components_from_their_dates(
    change: changes.Change, component: dict[str, Any], path: str
) -> None:
    assert find_problems([component], modal=True, now=change.at_ms) == {}
    assert find_problems([component], modal=True, now=change.at_ms - 1) == {path: ["COMPONENT_TYPE_INVALID"]}


# Validation against the store


async def test_emoji_of_components_must_exist_and_are_completed(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    async def send(emoji: dict[str, Any]) -> ApiResponse:
        body = {"content": "x", "components": [row(button(label=None, emoji=emoji))]}
        return await bot.post(f"/channels/{guild.general}/messages", json=body)

    assert (await send({"id": "1", "name": "x"})).errors(f"{IN_ROW}.emoji.id") == ["BUTTON_COMPONENT_INVALID_EMOJI"]
    assert (await send({"name": "plain words"})).errors(f"{IN_ROW}.emoji.name") == ["BUTTON_COMPONENT_INVALID_EMOJI"]
    image = "data:image/png;base64," + base64.b64encode(default_avatar(0)).decode()
    created_emoji = (await guild.owner.post(f"/guilds/{guild.id}/emojis", json={"name": "wave", "image": image})).ok()
    for extra in ({}, {"animated": True}, {"animated": {"a": [1]}}, {"name": ["x"], "more": 1}):
        message = (await send({"id": created_emoji["id"], **extra})).ok()
        assert message["components"][0]["components"][0]["emoji"] == {"id": created_emoji["id"], "name": "wave"}
    message = (await send({"name": "👍", "animated": "very"})).ok()
    assert message["components"][0]["components"][0]["emoji"] == {"name": "👍"}


async def test_media_properties_sent_by_clients_are_ignored(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    media = {**MEDIA, "width": "wide", "content_type": ["x"], "flags": {}, "proxy_url": 5, "id": {}}
    components = [{"type": 12, "items": [{"media": media}]}]

    message = (
        await bot.post(f"/channels/{guild.general}/messages", json={"flags": 1 << 15, "components": components})
    ).ok()

    assert message["components"][0]["items"][0]["media"] == {**MEDIA, "proxy_url": MEDIA["url"], "id": "0"}


async def test_a_premium_button_requires_an_active_sku_of_the_application(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    body = {"content": "x", "components": [row({"type": 2, "style": 6, "sku_id": "123"})]}
    requests: list[tuple[int, list[int]]] = []

    refused = await bot.post(f"/channels/{guild.general}/messages", json=body)
    assert refused.errors(f"{IN_ROW}.sku_id") == ["BUTTON_COMPONENT_INVALID_SKU"]

    def approve(call: Call, application_id: int, sku_ids: Iterable[int]) -> set[int]:
        requests.append((application_id, list(sku_ids)))
        return set(sku_ids)

    monkeypatch.setitem(world.app.ports, messages.ports.find_active_skus, (approve,))
    message = (await bot.post(f"/channels/{guild.general}/messages", json=body)).ok()
    assert message["components"][0]["components"][0]["sku_id"] == "123"
    assert requests == [(bot.application_id, [123])]


async def test_files_of_components_must_come_with_the_message(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    thumbnail = {"type": 11, "media": {"url": "attachment://note.txt"}}
    sent: list[Any] = [
        {"type": 13, "file": {"url": "attachment://note.txt"}},
        {"type": 9, "components": [TEXT], "accessory": thumbnail},
    ]

    async def send(filename: str, *parts: Any) -> ApiResponse:
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps({"flags": 1 << 15, "components": list(parts)}))
        form.add_field("files[0]", b"text", filename=filename)
        return await bot.post(f"/channels/{guild.general}/messages", data=form)

    message = (await send("note.txt", sent[0])).ok()
    assert (message["components"][0]["name"], message["components"][0]["size"]) == ("note.txt", 4)
    assert (await send("other.txt", sent[0])).errors("components.0.file.url") == ["ATTACHMENT_NOT_FOUND"]
    refused = await send("note.txt", sent[1])
    assert refused.errors("components.0.accessory.media.url") == ["ATTACHMENT_NOT_FOUND"]
