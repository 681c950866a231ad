"""Validation of components in messages and modals, with the path of each error, and against the store."""

import base64
import copy
import json
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ButtonStyle, ComponentType, TextInputStyle
from hubbub.protocol.flags import MessageFlags
from hubbub.server.core.call import Call
from hubbub.server.talk import messages
from hubbub.server.talk.messages.content.rich_content import components
from hubbub.server.transports.cdn import default_avatar
from tests.world import NOW_MS, ApiResponse, World

TEXT_DISPLAY: dict[str, Any] = {"type": ComponentType.TEXT_DISPLAY, "content": "hello"}
LINK_BUTTON: dict[str, Any] = {
    "type": ComponentType.BUTTON,
    "style": ButtonStyle.LINK,
    "label": "go",
    "url": "https://example.com",
}
MEDIA: dict[str, Any] = {"url": "https://example.com/a.png"}
THUMBNAIL: dict[str, Any] = {"type": ComponentType.THUMBNAIL, "media": MEDIA}


def button(**fields: Any) -> dict[str, Any]:
    """Return an interactive button."""
    return {"type": ComponentType.BUTTON, "style": ButtonStyle.PRIMARY, "label": "x", "custom_id": "b", **fields}


def string_select(**fields: Any) -> dict[str, Any]:
    return {"type": ComponentType.STRING_SELECT, "custom_id": "s", "options": options("a", "b"), **fields}


def user_select(**fields: Any) -> dict[str, Any]:
    return {"type": ComponentType.USER_SELECT, "custom_id": "u", **fields}


def options(*values: str, **fields: Any) -> list[dict[str, Any]]:
    """Return select options whose labels are these values."""
    return [{"label": value, "value": value, **fields} for value in values]


def action_row(*children: Any, **fields: Any) -> dict[str, Any]:
    return {"type": ComponentType.ACTION_ROW, "components": list(children), **fields}


def label(component: Any, **fields: Any) -> dict[str, Any]:
    """Return a label component that contains an input component."""
    return {"type": ComponentType.LABEL, "label": "L", "component": component, **fields}


def text_input(**fields: Any) -> dict[str, Any]:
    return {"type": ComponentType.TEXT_INPUT, "custom_id": "t", "style": TextInputStyle.SHORT, **fields}


def to_request(component_list: list[Any]) -> list[Any]:
    """Return components as the server decodes them from a request, without enum members."""
    request_components: list[Any] = json.loads(json.dumps(component_list))
    return request_components


def find_errors(
    component_list: list[Any], *, is_v2: bool = False, is_modal: bool = False, now_ms: int = NOW_MS
) -> dict[str, list[str]]:
    """Return the error constants that the validator reports, by path."""
    form = errors.FormErrors()
    request_components = to_request(component_list)
    if is_modal:
        components.validate_modal_components(request_components, form, now_ms=now_ms)
    else:
        components.validate_message_components(request_components, form, is_v2=is_v2, now_ms=now_ms)
    errors_by_path: dict[str, list[str]] = {}

    def walk(node: dict[str, Any], path: tuple[str, ...]) -> None:
        for key, value in node.items():
            if key == "_errors":
                errors_by_path[".".join(path)] = [error["code"] for error in value]
            else:
                walk(value, (*path, key))

    walk(form.tree, ())
    return errors_by_path


FIRST_BUTTON_PATH = "components.0.components.0"


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
        ({**LINK_BUTTON, "url": None}, "url", "BASE_TYPE_REQUIRED"),
        ({**LINK_BUTTON, "url": "https://a/" + "x" * 512}, "url", "BASE_TYPE_MAX_LENGTH"),
        ({**LINK_BUTTON, "url": "javascript:alert(1)"}, "url", "URL_TYPE_INVALID_SCHEME"),
        ({**LINK_BUTTON, "url": "nothing"}, "url", "URL_TYPE_INVALID_URL"),
        ({**LINK_BUTTON, "custom_id": "x"}, "custom_id", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE"),
        ({"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM}, "sku_id", "BASE_TYPE_REQUIRED"),
        ({"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "x"}, "sku_id", "NUMBER_TYPE_COERCE"),
        (
            {"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "1", "label": "x"},
            "label",
            "COMPONENT_FIELD_INVALID",
        ),
        (
            {"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "1", "custom_id": "x"},
            "custom_id",
            "COMPONENT_FIELD_INVALID",
        ),
        (string_select(custom_id=None), "custom_id", "BASE_TYPE_REQUIRED"),
        (string_select(options=None), "options", "BASE_TYPE_REQUIRED"),
        (string_select(options={}), "options", "LIST_TYPE_CONVERT"),
        (string_select(options=[]), "options", "BASE_TYPE_BAD_LENGTH"),
        (string_select(options=options(*map(str, range(26)))), "options", "BASE_TYPE_BAD_LENGTH"),
        (string_select(options=[5]), "options.0", "MODEL_TYPE_CONVERT"),
        (string_select(options=[{"value": "a"}]), "options.0.label", "BASE_TYPE_REQUIRED"),
        (string_select(options=[{"label": "a"}]), "options.0.value", "BASE_TYPE_REQUIRED"),
        (string_select(options=options("x" * 101)), "options.0.value", "BASE_TYPE_BAD_LENGTH"),
        (string_select(options=options("a", description="x" * 101)), "options.0.description", "BASE_TYPE_MAX_LENGTH"),
        (string_select(options=options("a", "a")), "options.1.value", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED"),
        (string_select(options=options("a", "b", default=True)), "options", "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES"),
        (string_select(placeholder="x" * 151), "placeholder", "BASE_TYPE_MAX_LENGTH"),
        (string_select(min_values=-1), "min_values", "NUMBER_TYPE_MIN"),
        (string_select(min_values=26), "min_values", "NUMBER_TYPE_MAX"),
        (string_select(max_values=0), "max_values", "NUMBER_TYPE_MIN"),
        (string_select(min_values=2, max_values=1), "max_values", "NUMBER_TYPE_MIN"),
        (string_select(min_values=2), "min_values", "NUMBER_TYPE_MAX"),
        (string_select(min_values=2, max_values=None), "min_values", "NUMBER_TYPE_MAX"),
        (user_select(min_values=2), "min_values", "NUMBER_TYPE_MAX"),
        (string_select(min_values="1"), "min_values", "NUMBER_TYPE_COERCE"),
        (user_select(default_values=[{"id": "1", "type": "role"}]), "default_values.0.type", "BASE_TYPE_CHOICES"),
        (user_select(default_values=[{"id": "x", "type": "user"}]), "default_values.0.id", "NUMBER_TYPE_COERCE"),
        (user_select(default_values=[{"type": "user"}]), "default_values.0.id", "BASE_TYPE_REQUIRED"),
        (
            user_select(default_values=[{"id": "1", "type": "user"}, {"id": "2", "type": "user"}]),
            "default_values",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        (
            {"type": ComponentType.CHANNEL_SELECT, "custom_id": "c", "channel_types": [99]},
            "channel_types.0",
            "BASE_TYPE_CHOICES",
        ),
        (
            {"type": ComponentType.CHANNEL_SELECT, "custom_id": "c", "channel_types": [0, 5.0]},
            "channel_types.1",
            "BASE_TYPE_CHOICES",
        ),
        ({"type": 2.0}, "type", "NUMBER_TYPE_COERCE"),
        (string_select(min_values=1.0), "min_values", "NUMBER_TYPE_COERCE"),
        (text_input(), "type", "COMPONENT_TYPE_INVALID"),
        (TEXT_DISPLAY, "type", "COMPONENT_TYPE_INVALID"),
        ({"custom_id": "x"}, "type", "BASE_TYPE_REQUIRED"),
        ({"type": "2"}, "type", "NUMBER_TYPE_COERCE"),
        (button(id="x"), "id", "NUMBER_TYPE_COERCE"),
        (button(id=-1), "id", "NUMBER_TYPE_MIN"),
        (button(id=1 << 31), "id", "NUMBER_TYPE_MAX"),
    ],
)
def test_components_in_a_row_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    errors_by_path = find_errors([action_row(component)])

    assert errors_by_path.get(f"{FIRST_BUTTON_PATH}.{path}") == [code], errors_by_path


@pytest.mark.parametrize(
    "component",
    [
        button(),
        button(label=None, emoji={"name": "👍"}),
        button(emoji={"id": "123", "name": "x"}, disabled=True),
        LINK_BUTTON,
        {"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "123"},
        string_select(),
        string_select(min_values=0, max_values=2, placeholder="x" * 150, disabled=True),
        string_select(options=options("a", default=True), required=False),
        user_select(default_values=[{"id": "1", "type": "user"}]),
        {"type": ComponentType.ROLE_SELECT, "custom_id": "r", "default_values": [{"id": "1", "type": "role"}]},
        {
            "type": ComponentType.MENTIONABLE_SELECT,
            "custom_id": "m",
            "max_values": 2,
            "default_values": [{"id": "1", "type": "role"}, {"id": "2", "type": "user"}],
        },
        {
            "type": ComponentType.CHANNEL_SELECT,
            "custom_id": "c",
            "channel_types": [0, 5],
            "default_values": [{"id": "1", "type": "channel"}],
        },
    ],
)
def test_a_row_accepts_every_interactive_component(component: dict[str, Any]) -> None:
    assert find_errors([action_row(component)]) == {}


@pytest.mark.parametrize(
    ("component_list", "errors_by_path"),
    [
        ([action_row(button())] * 6, {"components": ["BASE_TYPE_BAD_LENGTH"]}),
        ([action_row()], {"components.0.components": ["BASE_TYPE_BAD_LENGTH"]}),
        (
            [action_row(*(button(custom_id=str(number)) for number in range(6)))],
            {"components.0.components": ["BASE_TYPE_BAD_LENGTH"]},
        ),
        ([action_row(string_select(), button())], {"components.0.components": ["COMPONENT_LAYOUT_WIDTH_EXCEEDED"]}),
        ([action_row(button(), button())], {"components.0.components.1.custom_id": ["COMPONENT_CUSTOM_ID_DUPLICATED"]}),
        (
            [action_row(button(id=3), button(id=3, custom_id="c"))],
            {"components.0.components.1.id": ["SET_TYPE_ALREADY_CONTAINS_VALUE"]},
        ),
        ([5], {"components.0": ["MODEL_TYPE_CONVERT"]}),
        ([TEXT_DISPLAY], {"components.0.type": ["COMPONENT_TYPE_INVALID"]}),
        (
            [{"type": ComponentType.CONTAINER, "components": [TEXT_DISPLAY]}],
            {"components.0.type": ["COMPONENT_TYPE_INVALID"]},
        ),
    ],
)
def test_action_rows_of_a_message_are_validated(
    component_list: list[Any], errors_by_path: dict[str, list[str]]
) -> None:
    actual_errors = find_errors(component_list)

    assert {path: actual_errors.get(path) for path in errors_by_path} == errors_by_path


@pytest.mark.parametrize(
    ("component", "path", "code"),
    [
        ({"type": ComponentType.TEXT_DISPLAY}, "content", "BASE_TYPE_REQUIRED"),
        ({"type": ComponentType.TEXT_DISPLAY, "content": ""}, "content", "BASE_TYPE_BAD_LENGTH"),
        ({"type": ComponentType.TEXT_DISPLAY, "content": "  "}, "content", "BASE_TYPE_REQUIRED"),
        ({"type": ComponentType.TEXT_DISPLAY, "content": "x" * 4001}, "content", "BASE_TYPE_BAD_LENGTH"),
        ({"type": ComponentType.SECTION, "components": [TEXT_DISPLAY]}, "accessory", "BASE_TYPE_REQUIRED"),
        (
            {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY] * 4, "accessory": THUMBNAIL},
            "components",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"type": ComponentType.SECTION, "components": [], "accessory": THUMBNAIL},
            "components",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"type": ComponentType.SECTION, "components": [button()], "accessory": THUMBNAIL},
            "components.0.type",
            "COMPONENT_TYPE_INVALID",
        ),
        (
            {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY], "accessory": string_select()},
            "accessory.type",
            "COMPONENT_TYPE_INVALID",
        ),
        (
            {
                "type": ComponentType.SECTION,
                "components": [TEXT_DISPLAY],
                "accessory": {"type": ComponentType.THUMBNAIL},
            },
            "accessory.media",
            "BASE_TYPE_REQUIRED",
        ),
        ({"type": ComponentType.MEDIA_GALLERY, "items": []}, "items", "BASE_TYPE_BAD_LENGTH"),
        ({"type": ComponentType.MEDIA_GALLERY, "items": [{"media": MEDIA}] * 11}, "items", "BASE_TYPE_BAD_LENGTH"),
        ({"type": ComponentType.MEDIA_GALLERY, "items": [{"media": {}}]}, "items.0.media.url", "BASE_TYPE_REQUIRED"),
        (
            {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": {"url": "ftp://x/y"}}]},
            "items.0.media.url",
            "URL_TYPE_INVALID_SCHEME",
        ),
        (
            {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": MEDIA, "description": "x" * 1025}]},
            "items.0.description",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": MEDIA, "spoiler": 1}]},
            "items.0.spoiler",
            "BOOLEAN_TYPE_CONVERT",
        ),
        ({"type": ComponentType.FILE}, "file", "BASE_TYPE_REQUIRED"),
        ({"type": ComponentType.FILE, "file": MEDIA}, "file.url", "URL_TYPE_INVALID_SCHEME"),
        ({"type": ComponentType.SEPARATOR, "spacing": 3}, "spacing", "BASE_TYPE_CHOICES"),
        ({"type": ComponentType.SEPARATOR, "spacing": 2.0}, "spacing", "BASE_TYPE_CHOICES"),
        ({"type": ComponentType.SEPARATOR, "divider": "x"}, "divider", "BOOLEAN_TYPE_CONVERT"),
        ({"type": ComponentType.CONTAINER, "components": []}, "components", "BASE_TYPE_BAD_LENGTH"),
        (
            {"type": ComponentType.CONTAINER, "components": [TEXT_DISPLAY], "accent_color": 0x1000000},
            "accent_color",
            "NUMBER_TYPE_MAX",
        ),
        (
            {
                "type": ComponentType.CONTAINER,
                "components": [{"type": ComponentType.CONTAINER, "components": [TEXT_DISPLAY]}],
            },
            "components.0.type",
            "COMPONENT_TYPE_INVALID",
        ),
        (THUMBNAIL, "type", "COMPONENT_TYPE_INVALID"),
        (button(), "type", "COMPONENT_TYPE_INVALID"),
        (label(text_input()), "type", "COMPONENT_TYPE_INVALID"),
    ],
)
def test_components_v2_messages_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    errors_by_path = find_errors([component], is_v2=True)

    assert errors_by_path.get(f"components.0.{path}") == [code], errors_by_path


def test_a_components_v2_message_accepts_every_layout() -> None:
    component_list = [
        TEXT_DISPLAY,
        action_row(button()),
        {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY] * 3, "accessory": THUMBNAIL},
        {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY], "accessory": button(custom_id="c")},
        {"type": ComponentType.MEDIA_GALLERY, "items": [{"media": MEDIA, "description": "x", "spoiler": True}] * 10},
        {"type": ComponentType.FILE, "file": {"url": "attachment://a.txt"}, "spoiler": True},
        {"type": ComponentType.SEPARATOR, "divider": False, "spacing": 2},
        {
            "type": ComponentType.CONTAINER,
            "components": [TEXT_DISPLAY, action_row(string_select())],
            "accent_color": None,
            "spoiler": True,
        },
    ]

    assert find_errors(component_list, is_v2=True) == {}


def test_a_message_has_at_most_forty_components_including_nested_ones() -> None:
    def nested_components(count: int) -> list[Any]:
        return [{"type": ComponentType.CONTAINER, "components": [{"type": ComponentType.SEPARATOR}] * (count - 1)}]

    assert find_errors(nested_components(40), is_v2=True) == {}
    assert find_errors(nested_components(41), is_v2=True)["components"] == ["BASE_TYPE_BAD_LENGTH"]
    assert find_errors([{"type": ComponentType.TEXT_DISPLAY, "content": "x" * 2001}] * 2, is_v2=True) == {
        "components": ["BASE_TYPE_MAX_LENGTH"]
    }


@pytest.mark.dated(changes.COMPONENTS_V2)
async def test_messages_older_than_components_v2_report_component_id_zero(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    change_ms = changes.COMPONENTS_V2.at_ms

    async def send_message(**body: Any) -> Any:
        return await guild.send_message(bot, "x", components=[action_row(button(id=7), id=5)], **body)

    world.clock.set(change_ms - 1)
    old_message = await send_message()
    world.clock.set(change_ms)
    new_message = await send_message()

    def component_ids(message: dict[str, Any]) -> list[int]:
        return [component["id"] for component in components.walk_components(message["components"])]

    assert (component_ids(old_message), component_ids(new_message)) == ([0, 0], [5, 7])
    path = f"/channels/{guild.general}/messages/{old_message['id']}"
    assert component_ids((await bot.get(path)).ok()) == [0, 0]
    stored_components = (await bot.get(path)).ok()["components"]
    assert component_ids((await bot.patch(path, json={"components": stored_components})).ok()) == [1, 2]


def test_components_are_numbered_depth_first_and_skip_explicit_ids() -> None:
    section = {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY], "accessory": button(id=2)}
    component_list = to_request(
        [{"type": ComponentType.CONTAINER, "id": 0, "components": [section, action_row(string_select())]}]
    )

    components.validate_message_components(component_list, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)

    component_ids = [component["id"] for component in components.walk_components(component_list)]
    assert component_ids == [1, 3, 4, 2, 5, 6]


def test_unknown_keys_of_a_component_are_dropped() -> None:
    component_list = to_request([action_row(string_select(required=True, nonsense=1, placeholder=None), nonsense=2)])

    components.validate_message_components(component_list, errors.FormErrors(), is_v2=False, now_ms=NOW_MS)

    assert component_list == [
        {
            "type": ComponentType.ACTION_ROW,
            "id": 1,
            "components": [
                {
                    "type": ComponentType.STRING_SELECT,
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
    component_list = to_request(
        [{"type": ComponentType.FILE, "file": {"url": "attachment://a b.txt"}}, action_row(button(), id=7), THUMBNAIL]
    )
    components.validate_message_components(component_list, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)
    validated_once = copy.deepcopy(component_list)

    components.validate_message_components(component_list, errors.FormErrors(), is_v2=True, now_ms=NOW_MS)

    assert component_list == validated_once


# Modals


@pytest.mark.parametrize(
    ("component", "path", "code"),
    [
        ({"type": ComponentType.LABEL, "component": text_input()}, "label", "BASE_TYPE_REQUIRED"),
        (label(text_input(), label="x" * 46), "label", "BASE_TYPE_BAD_LENGTH"),
        (label(text_input(), description="x" * 101), "description", "BASE_TYPE_BAD_LENGTH"),
        ({"type": ComponentType.LABEL, "label": "x"}, "component", "BASE_TYPE_REQUIRED"),
        (label(button()), "component.type", "COMPONENT_TYPE_INVALID"),
        (label(TEXT_DISPLAY), "component.type", "COMPONENT_TYPE_INVALID"),
        (label(label(text_input())), "component.type", "COMPONENT_TYPE_INVALID"),
        (string_select(), "type", "COMPONENT_TYPE_INVALID"),
        (action_row(string_select()), "components.0.type", "COMPONENT_TYPE_INVALID"),
        (action_row(text_input()), "components.0.label", "BASE_TYPE_REQUIRED"),
        (action_row(text_input(label="x" * 46)), "components.0.label", "BASE_TYPE_BAD_LENGTH"),
        (action_row(text_input(label="a"), text_input(label="b", custom_id="c")), "components", "BASE_TYPE_BAD_LENGTH"),
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
        (label(string_select(disabled=True)), "component.disabled", "COMPONENT_FIELD_INVALID"),
        (label(text_input(disabled=True)), "component.disabled", "COMPONENT_FIELD_INVALID"),
        (label(text_input(disabled=1)), "component.disabled", "BOOLEAN_TYPE_CONVERT"),
        (label(text_input(), disabled=True), "disabled", "COMPONENT_FIELD_INVALID"),
        ({**TEXT_DISPLAY, "disabled": True}, "disabled", "COMPONENT_FIELD_INVALID"),
        (action_row(text_input(label="x", disabled=True)), "components.0.disabled", "COMPONENT_FIELD_INVALID"),
        (
            label(
                {"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options("a", "b"), "disabled": True}
            ),
            "component.disabled",
            "COMPONENT_FIELD_INVALID",
        ),
        (label(string_select(min_values=0)), "component.min_values", "NUMBER_TYPE_MIN"),
        (label(user_select(min_values=0, required=True)), "component.min_values", "NUMBER_TYPE_MIN"),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "min_values": 11}),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "max_values": 11}),
            "component.max_values",
            "NUMBER_TYPE_MAX",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "max_values": -1}),
            "component.max_values",
            "NUMBER_TYPE_MIN",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "max_values": 0}),
            "component.max_values",
            "NUMBER_TYPE_MIN",
        ),
        (
            label(
                {
                    "type": ComponentType.FILE_UPLOAD,
                    "custom_id": "f",
                    "min_values": 1,
                    "max_values": 0,
                    "required": False,
                }
            ),
            "component.max_values",
            "NUMBER_TYPE_MIN",
        ),
        (label(string_select(min_values=3, max_values=5)), "component.min_values", "NUMBER_TYPE_MAX"),
        (
            label(
                {
                    "type": ComponentType.CHECKBOX_GROUP,
                    "custom_id": "g",
                    "options": options("a", "b"),
                    "min_values": 3,
                    "max_values": 3,
                }
            ),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (label(string_select(max_values=0, required=False)), "component.max_values", "NUMBER_TYPE_MIN"),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "min_values": 0}),
            "component.min_values",
            "NUMBER_TYPE_MIN",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "min_values": 3}),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (
            label(
                {
                    "type": ComponentType.CHECKBOX_GROUP,
                    "custom_id": "g",
                    "options": options("a", "b", "c"),
                    "min_values": 5,
                }
            ),
            "component.min_values",
            "NUMBER_TYPE_MAX",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "file_types": ["x"] * 11}),
            "component.file_types",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "file_types": [1]}),
            "component.file_types.0",
            "STRING_TYPE_CONVERT",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "file_types": [""]}),
            "component.file_types.0",
            "STRING_TYPE_REGEX",
        ),
        (
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "file_types": [".png", "image/*"]}),
            "component.file_types.1",
            "STRING_TYPE_REGEX",
        ),
        (
            label({"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options("a")}),
            "component.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            label({"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options(*map(str, range(11)))}),
            "component.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            label({"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options("a", "b", default=True)}),
            "component.options",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        (
            label({"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options("a", "a")}),
            "component.options.1.value",
            "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
        ),
        (
            label({"type": ComponentType.CHECKBOX_GROUP, "custom_id": "g", "options": []}),
            "component.options",
            "BASE_TYPE_BAD_LENGTH",
        ),
        (
            label({"type": ComponentType.CHECKBOX_GROUP, "custom_id": "g", "options": options("a"), "min_values": 0}),
            "component.min_values",
            "NUMBER_TYPE_MIN",
        ),
        (
            label(
                {
                    "type": ComponentType.CHECKBOX_GROUP,
                    "custom_id": "g",
                    "options": options("a", "b", default=True),
                    "max_values": 1,
                }
            ),
            "component.options",
            "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES",
        ),
        (
            label({"type": ComponentType.CHECKBOX, "custom_id": "c", "default": 1}),
            "component.default",
            "BOOLEAN_TYPE_CONVERT",
        ),
        (
            label({"type": ComponentType.CHECKBOX, "custom_id": "c", "required": True}),
            "component.required",
            "COMPONENT_FIELD_INVALID",
        ),
        ({"type": ComponentType.CONTAINER, "components": [TEXT_DISPLAY]}, "type", "COMPONENT_TYPE_INVALID"),
    ],
)
def test_modals_are_validated(component: dict[str, Any], path: str, code: str) -> None:
    errors_by_path = find_errors([component], is_modal=True)

    assert errors_by_path.get(f"components.0.{path}") == [code], errors_by_path


@pytest.mark.parametrize(
    "component",
    [
        TEXT_DISPLAY,
        action_row(text_input(label="old")),
        label(text_input(min_length=0, max_length=4000, value="x", placeholder="y", required=False)),
        label(string_select(required=False, min_values=0)),
        label(string_select(disabled=False)),
        label(text_input(disabled=False), disabled=False),
        label(user_select(max_values=25)),
        label({"type": ComponentType.CHANNEL_SELECT, "custom_id": "c", "channel_types": [0]}),
        label(
            {"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "min_values": 0, "max_values": 10, "required": False}
        ),
        label(
            {"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "min_values": 0, "max_values": 0, "required": False}
        ),
        label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f", "max_values": 0, "required": False}),
        label(
            {"type": ComponentType.CHECKBOX_GROUP, "custom_id": "g", "options": options("a", "b", "c"), "min_values": 3}
        ),
        label({"type": ComponentType.RADIO_GROUP, "custom_id": "r", "options": options("a", "b")}),
        label(
            {
                "type": ComponentType.CHECKBOX_GROUP,
                "custom_id": "g",
                "options": options("a", default=True),
                "required": True,
            }
        ),
        label({"type": ComponentType.CHECKBOX, "custom_id": "c", "default": True, "required": False}),
    ],
)
def test_a_modal_accepts_every_input(component: dict[str, Any]) -> None:
    assert find_errors([component], is_modal=True) == {}


def test_a_modal_has_one_to_five_components_with_unique_custom_ids() -> None:
    assert find_errors([], is_modal=True) == {"components": ["BASE_TYPE_BAD_LENGTH"]}
    assert find_errors([TEXT_DISPLAY] * 6, is_modal=True) == {"components": ["BASE_TYPE_BAD_LENGTH"]}
    assert find_errors([label(text_input()), label(text_input())], is_modal=True) == {
        "components.1.component.custom_id": ["COMPONENT_CUSTOM_ID_DUPLICATED"]
    }


def test_max_values_of_a_checkbox_group_defaults_to_all_options() -> None:
    component_list = [
        label({"type": ComponentType.CHECKBOX_GROUP, "custom_id": "g", "options": options("a", "b", "c")})
    ]

    components.validate_modal_components(component_list, errors.FormErrors(), now_ms=NOW_MS)

    assert component_list[0]["component"]["max_values"] == 3
    assert components.is_required(component_list[0]["component"])


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
            label(user_select()),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_SELECTS),
        ),
        pytest.param(
            changes.MODAL_TEXT_DISPLAYS,
            TEXT_DISPLAY,
            "components.0.type",
            marks=pytest.mark.dated(changes.MODAL_TEXT_DISPLAYS),
        ),
        pytest.param(
            changes.MODAL_FILE_UPLOAD,
            label({"type": ComponentType.FILE_UPLOAD, "custom_id": "f"}),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_FILE_UPLOAD),
        ),
        pytest.param(
            changes.MODAL_CHOICES,
            label({"type": ComponentType.CHECKBOX, "custom_id": "c"}),
            "components.0.component.type",
            marks=pytest.mark.dated(changes.MODAL_CHOICES),
        ),
    ],
)
def test_modals_accept_new_components_from_their_dates(
    change: changes.Change, component: dict[str, Any], path: str
) -> None:
    assert find_errors([component], is_modal=True, now_ms=change.at_ms) == {}
    assert find_errors([component], is_modal=True, now_ms=change.at_ms - 1) == {path: ["COMPONENT_TYPE_INVALID"]}


# Validation against the store


async def test_emoji_of_components_must_exist_and_are_completed(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)

    async def send(emoji: dict[str, Any]) -> ApiResponse:
        body = {"content": "x", "components": [action_row(button(label=None, emoji=emoji))]}
        return await bot.post(f"/channels/{guild.general}/messages", json=body)

    assert (await send({"id": "1", "name": "x"})).errors(f"{FIRST_BUTTON_PATH}.emoji.id") == [
        "BUTTON_COMPONENT_INVALID_EMOJI"
    ]
    assert (await send({"name": "plain words"})).errors(f"{FIRST_BUTTON_PATH}.emoji.name") == [
        "BUTTON_COMPONENT_INVALID_EMOJI"
    ]
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
    component_list = [{"type": ComponentType.MEDIA_GALLERY, "items": [{"media": media}]}]

    message = (
        await bot.post(
            f"/channels/{guild.general}/messages",
            json={"flags": MessageFlags.IS_COMPONENTS_V2, "components": component_list},
        )
    ).ok()

    assert message["components"][0]["items"][0]["media"] == {**MEDIA, "proxy_url": MEDIA["url"], "id": "0"}


async def test_a_premium_button_requires_an_active_sku_of_the_application(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    body = {
        "content": "x",
        "components": [action_row({"type": ComponentType.BUTTON, "style": ButtonStyle.PREMIUM, "sku_id": "123"})],
    }
    port_calls: list[tuple[int, list[int]]] = []

    rejected_response = await bot.post(f"/channels/{guild.general}/messages", json=body)
    assert rejected_response.errors(f"{FIRST_BUTTON_PATH}.sku_id") == ["BUTTON_COMPONENT_INVALID_SKU"]

    def approve_all_skus(call: Call, application_id: int, sku_ids: Iterable[int]) -> set[int]:
        port_calls.append((application_id, list(sku_ids)))
        return set(sku_ids)

    monkeypatch.setitem(world.app.ports, messages.ports.find_offerable_skus, (approve_all_skus,))
    message = (await bot.post(f"/channels/{guild.general}/messages", json=body)).ok()
    assert message["components"][0]["components"][0]["sku_id"] == "123"
    assert port_calls == [(bot.application_id, [123])]


async def test_files_of_components_must_come_with_the_message(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    thumbnail = {"type": ComponentType.THUMBNAIL, "media": {"url": "attachment://note.txt"}}
    component_list: list[Any] = [
        {"type": ComponentType.FILE, "file": {"url": "attachment://note.txt"}},
        {"type": ComponentType.SECTION, "components": [TEXT_DISPLAY], "accessory": thumbnail},
    ]

    async def send(filename: str, *parts: Any) -> ApiResponse:
        form = aiohttp.FormData()
        form.add_field("payload_json", json.dumps({"flags": MessageFlags.IS_COMPONENTS_V2, "components": list(parts)}))
        form.add_field("files[0]", b"text", filename=filename)
        return await bot.post(f"/channels/{guild.general}/messages", data=form)

    message = (await send("note.txt", component_list[0])).ok()
    assert (message["components"][0]["name"], message["components"][0]["size"]) == ("note.txt", 4)
    assert (await send("other.txt", component_list[0])).errors("components.0.file.url") == ["ATTACHMENT_NOT_FOUND"]
    rejected_response = await send("note.txt", component_list[1])
    assert rejected_response.errors("components.0.accessory.media.url") == ["ATTACHMENT_NOT_FOUND"]
