"""Field rules of components: the keys of each type, their validation and their defaults."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, ComponentType, SeparatorSpacing
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources import components as limits
from hubbub.protocol.resources.components import Component
from hubbub.server.talk.attachments import clean_filename
from hubbub.server.talk.messages.content.rich_content.embeds import ATTACHMENT

FieldPath = tuple[str | int, ...]
ComponentTypes = frozenset[ComponentType]

SELECT_ENTITIES: Final[dict[int, tuple[str, ...]]] = {
    ComponentType.USER_SELECT: ("user",),
    ComponentType.ROLE_SELECT: ("role",),
    ComponentType.MENTIONABLE_SELECT: ("user", "role"),
    ComponentType.CHANNEL_SELECT: ("channel",),
}
"""Entity types that users can select, by the type of a select without options of its own."""
SELECT_TYPES: Final[ComponentTypes] = frozenset(
    {ComponentType.STRING_SELECT, *(ComponentType(select_type) for select_type in SELECT_ENTITIES)}
)

# Keys of each type other than `type` and `id`; `required` applies to modals only, and is not stored for messages.
_SELECT_KEYS: Final = ("custom_id", "placeholder", "min_values", "max_values")
COMPONENT_KEYS: Final[dict[int, tuple[str, ...]]] = {
    ComponentType.ACTION_ROW: ("components",),
    ComponentType.BUTTON: ("style", "label", "emoji", "custom_id", "url", "sku_id", "disabled"),
    ComponentType.STRING_SELECT: (*_SELECT_KEYS, "options", "disabled"),
    ComponentType.USER_SELECT: (*_SELECT_KEYS, "default_values", "disabled"),
    ComponentType.ROLE_SELECT: (*_SELECT_KEYS, "default_values", "disabled"),
    ComponentType.MENTIONABLE_SELECT: (*_SELECT_KEYS, "default_values", "disabled"),
    ComponentType.CHANNEL_SELECT: (*_SELECT_KEYS, "default_values", "channel_types", "disabled"),
    ComponentType.TEXT_INPUT: (
        "custom_id",
        "style",
        "label",
        "min_length",
        "max_length",
        "required",
        "value",
        "placeholder",
    ),
    ComponentType.SECTION: ("components", "accessory"),
    ComponentType.TEXT_DISPLAY: ("content",),
    ComponentType.THUMBNAIL: ("media", "description", "spoiler"),
    ComponentType.MEDIA_GALLERY: ("items",),
    ComponentType.FILE: ("file", "spoiler", "name", "size"),
    ComponentType.SEPARATOR: ("divider", "spacing"),
    ComponentType.CONTAINER: ("components", "accent_color", "spoiler"),
    ComponentType.LABEL: ("label", "description", "component"),
    ComponentType.FILE_UPLOAD: ("custom_id", "min_values", "max_values", "required", "file_types"),
    ComponentType.RADIO_GROUP: ("custom_id", "options", "required"),
    ComponentType.CHECKBOX_GROUP: ("custom_id", "options", "min_values", "max_values", "required"),
    ComponentType.CHECKBOX: ("custom_id", "default"),
}
_OPTION_KEYS: Final = ("label", "value", "description", "emoji", "default")

# Clients expect these keys in responses.
_ONE_VALUE_DEFAULTS: Final[dict[str, Any]] = {"min_values": 1, "max_values": 1}
_DEFAULTS: Final[dict[int, dict[str, Any]]] = {
    **{int(select_type): _ONE_VALUE_DEFAULTS for select_type in SELECT_TYPES},
    ComponentType.FILE_UPLOAD: _ONE_VALUE_DEFAULTS,
    ComponentType.CHECKBOX_GROUP: {"min_values": 1},
    ComponentType.CONTAINER: {"accent_color": None, "spoiler": False},
    ComponentType.SEPARATOR: {"spacing": int(SeparatorSpacing.SMALL), "divider": True},
    ComponentType.THUMBNAIL: {"description": None, "spoiler": False},
    ComponentType.FILE: {"spoiler": False, "name": "", "size": 0},
}


_EMOJI_NAME_LENGTH_MAX: Final = 32
"""Maximum length of the Unicode emoji of a component or option, in characters."""


class ComponentReferences(msgspec.Struct):
    """References in components that must be checked against the database or the request."""

    emojis: list[tuple[FieldPath, Component]] = []
    """Emoji to look up and complete in place, with their paths."""
    skus: list[tuple[FieldPath, int]] = []
    """SKU IDs of premium buttons, with their paths."""
    files: list[tuple[FieldPath, str, bool]] = []
    """Filenames of attachments, with their paths and whether each must be an image."""


class FieldValidator:
    """Validator of component fields; errors are added to the form with their exact path.

    `is_modal` selects the rules for modals instead of messages. `assigns_ids` is False before the date from which components
    have IDs."""

    def __init__(self, form: errors.FormErrors, *, is_modal: bool, assigns_ids: bool) -> None:
        self.form = form
        self.is_modal = is_modal
        self.assigns_ids = assigns_ids
        self.references = ComponentReferences()
        self.components: list[Component] = []
        """All components in document order, including components of unknown type."""
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()

    def add_error(self, path: FieldPath, problem: errors.FormError) -> None:
        self.form.add(path, *problem)

    def forbid_keys(self, component: Component, path: FieldPath, *keys: str) -> None:
        """Reject a component that has one of `keys` with a value other than null."""
        for key in keys:
            if component.get(key) is not None:
                self.add_error((*path, key), errors.component_field())

    def check_id(self, component: Component, path: FieldPath) -> None:
        """Validate the ID chosen by the app; a missing ID, or an ID of 0, is replaced later."""
        component_id = component.pop("id", None)
        if component_id is None or not self.assigns_ids:
            return
        if not isinstance(component_id, int) or isinstance(component_id, bool):
            self.add_error((*path, "id"), errors.not_number(component_id))
        elif component_id < 0:
            self.add_error((*path, "id"), errors.number_min(0))
        elif component_id > limits.COMPONENT_ID_MAX:
            self.add_error((*path, "id"), errors.number_max(limits.COMPONENT_ID_MAX))
        elif component_id in self.ids:
            self.add_error((*path, "id"), errors.duplicate())
        elif component_id:
            component["id"] = component_id
            self.ids.add(component_id)

    def forbid_disabled(self, component: Component, path: FieldPath) -> None:
        """Reject disabled components in modals (spec/webhooks-and-interactions.md#4.3).

        A false value is accepted, because client libraries send it on every component."""
        is_boolean = self.validate_boolean(component, path, "disabled")
        if component.pop("disabled", False) and is_boolean:
            self.add_error((*path, "disabled"), errors.component_field())

    def check_custom_id(self, component: Component, path: FieldPath) -> None:
        """Validate the custom ID, which must be unique in a message or modal."""
        if self.validate_string(
            component, path, "custom_id", min_length=1, max_length=limits.CUSTOM_ID_MAX, is_required=True
        ):
            if component["custom_id"] in self.custom_ids:
                self.add_error((*path, "custom_id"), errors.custom_id_duplicated())
            self.custom_ids.add(component["custom_id"])

    def validate_string(
        self,
        component: Component,
        path: FieldPath,
        key: str,
        *,
        max_length: int,
        min_length: int = 0,
        is_required: bool = False,
    ) -> bool:
        """Validate a string and its length; return whether it is present and valid."""
        value = component.get(key)
        if value is None:
            if is_required:
                self.add_error((*path, key), errors.required())
            return False
        if not isinstance(value, str):
            self.add_error((*path, key), errors.not_string(value))
            return False
        if not min_length <= len(value) <= max_length:
            self.add_error(
                (*path, key), errors.bad_length(min_length, max_length) if min_length else errors.max_length(max_length)
            )
            return False
        return True

    def validate_number(
        self, component: Component, path: FieldPath, key: str, *, minimum: int, maximum: int
    ) -> int | None:
        """Validate an integer and its bounds; return it, or None if absent or invalid."""
        value = component.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.add_error((*path, key), errors.not_number(value))
        elif value < minimum:
            self.add_error((*path, key), errors.number_min(minimum))
        elif value > maximum:
            self.add_error((*path, key), errors.number_max(maximum))
        else:
            return value
        return None

    def validate_choice(self, value: Any, path: FieldPath, enum_type: type[IntEnum]) -> bool:
        """Validate a value of the enum `enum_type` and return whether it is valid; 1.0 and true are not, although they equal 1."""
        if type(value) is int and value in tuple(enum_type):
            return True
        self.add_error(path, errors.choices([int(choice) for choice in enum_type]))
        return False

    def validate_boolean(self, component: Component, path: FieldPath, key: str) -> bool:
        """Validate a boolean and return whether it is valid; an absent value is valid."""
        if isinstance(component.get(key, False), bool):
            return True
        self.add_error((*path, key), errors.not_boolean())
        return False

    def check_value_range(
        self,
        component: Component,
        path: FieldPath,
        values_max: int,
        default_max_values: int = 1,
        *,
        max_values_min: int = 1,
    ) -> None:
        """Validate `min_values` and `max_values` against the limits of the component.

        `values_max` is the upper limit of both, `max_values_min` the lower limit of `max_values`, and `default_max_values` the
        value of an absent `max_values`. A required input of a modal needs at least one value."""
        min_values = self.validate_number(component, path, "min_values", minimum=0, maximum=values_max)
        max_values = self.validate_number(component, path, "max_values", minimum=max_values_min, maximum=values_max)
        if min_values is not None and max_values is not None and max_values < min_values:
            self.add_error((*path, "max_values"), errors.number_min(min_values))
        if min_values is not None and component.get("max_values") is None and default_max_values < min_values:
            self.add_error((*path, "min_values"), errors.number_max(default_max_values))
        if self.validate_boolean(component, path, "required") and self.is_modal and component.get("required", True):
            if min_values == 0:
                self.add_error((*path, "min_values"), errors.number_min(1))
            elif min_values is None and max_values == 0:
                self.add_error((*path, "max_values"), errors.number_min(1))

    def check_option_count(self, component: Component, path: FieldPath) -> None:
        """Validate that there are at least `min_values` options."""
        min_values, options = component.get("min_values"), component.get("options")
        if not isinstance(min_values, int) or not isinstance(options, list) or not options:
            return
        # If `max_values` is absent, the default maximum was already checked.
        if len(options) < min_values <= self.read_max_values(component, len(options)):
            self.add_error((*path, "min_values"), errors.number_max(len(options)))

    def read_max_values(self, component: Component, default: int) -> int:
        """Return the maximum number of values, or the default if absent or invalid."""
        max_values = component.get("max_values", default)
        return max_values if isinstance(max_values, int) else default

    def iterate_items(
        self, component: Component, path: FieldPath, key: str, *, max_items: int, min_items: int = 1
    ) -> Iterator[tuple[Component, FieldPath]]:
        """Iterate over the objects of a list with their paths.

        Report other items, and a list that is missing, too short or too long, as errors."""
        items = component.get(key)
        if items is None:
            self.add_error((*path, key), errors.required())
        elif not isinstance(items, list):
            self.add_error((*path, key), errors.not_list())
        elif not min_items <= len(items) <= max_items:
            self.add_error((*path, key), errors.bad_length(min_items, max_items))
        else:
            for index, item in enumerate(items):
                if isinstance(item, dict):
                    yield item, (*path, key, index)
                else:
                    self.add_error((*path, key, index), errors.not_model())

    def check_options(
        self, component: Component, path: FieldPath, *, min_options: int, max_options: int, allow_emoji: bool = False
    ) -> int:
        """Validate the options of a select, a radio group or a checkbox group; return the number selected by default."""
        option_values: set[str] = set()
        default_count = 0
        for option, option_path in self.iterate_items(
            component, path, "options", min_items=min_options, max_items=max_options
        ):
            retain_keys(option, _OPTION_KEYS if allow_emoji else tuple(key for key in _OPTION_KEYS if key != "emoji"))
            self.validate_string(
                option, option_path, "label", min_length=1, max_length=limits.OPTION_TEXT_MAX, is_required=True
            )
            self.validate_string(option, option_path, "description", max_length=limits.OPTION_TEXT_MAX)
            self.validate_boolean(option, option_path, "default")
            self.check_emoji(option, option_path)
            if self.validate_string(
                option, option_path, "value", min_length=1, max_length=limits.OPTION_TEXT_MAX, is_required=True
            ):
                if option["value"] in option_values:
                    self.add_error((*option_path, "value"), errors.option_value_duplicated())
                option_values.add(option["value"])
            default_count += option.get("default") is True
        return default_count

    def check_emoji(self, component: Component, path: FieldPath) -> None:
        """Validate the emoji of a component or option."""
        emoji = component.get("emoji")
        if emoji is None:
            return
        if not isinstance(emoji, dict):
            self.add_error((*path, "emoji"), errors.not_model())
            return
        # The server sets `animated`.
        retain_keys(emoji, ("id", "name"))
        if "id" in emoji:
            try:
                emoji["id"] = str(int(parse_wide(Snowflake, emoji["id"])))
            except ValueError:
                self.add_error((*path, "emoji", "id"), errors.not_snowflake(emoji["id"]))
                return
        elif not self.validate_string(
            emoji, (*path, "emoji"), "name", min_length=1, max_length=_EMOJI_NAME_LENGTH_MAX, is_required=True
        ):
            return
        self.references.emojis.append(((*path, "emoji"), emoji))

    def check_sku(self, component: Component, path: FieldPath) -> None:
        """Validate the SKU of a premium button."""
        if "sku_id" not in component:
            self.add_error((*path, "sku_id"), errors.required())
            return
        try:
            sku_id = parse_wide(Snowflake, component["sku_id"])
        except ValueError:
            self.add_error((*path, "sku_id"), errors.not_snowflake(component["sku_id"]))
            return
        component["sku_id"] = str(int(sku_id))
        self.references.skus.append(((*path, "sku_id"), int(sku_id)))

    def check_media_display(self, component: Component, path: FieldPath) -> None:
        """Validate the description and spoiler flag of media."""
        self.validate_string(component, path, "description", min_length=1, max_length=limits.MEDIA_DESCRIPTION_MAX)
        self.validate_boolean(component, path, "spoiler")

    def check_media(
        self,
        parent: Component,
        key: str,
        path: FieldPath,
        *,
        must_be_image: bool = False,
        must_be_attachment: bool = False,
    ) -> None:
        """Validate the URL of the media `parent[key]`; attachment URLs are resolved later."""
        media = parent.get(key)
        if media is None:
            self.add_error((*path, key), errors.required())
        elif not isinstance(media, dict):
            self.add_error((*path, key), errors.not_model())
        elif self.validate_string(
            media, (*path, key), "url", min_length=1, max_length=limits.MEDIA_URL_MAX, is_required=True
        ):
            # The server sets all other media fields.
            retain_keys(media, ("url",))
            url, url_path = media["url"], (*path, key, "url")
            if url.startswith(ATTACHMENT):
                self.references.files.append((url_path, clean_filename(url.removeprefix(ATTACHMENT)), must_be_image))
            elif must_be_attachment:
                self.add_error(url_path, errors.bad_scheme(url.partition(":")[0], ("attachment",)))
            else:
                self.check_url(url, url_path, ("http", "https", "attachment"))

    def check_default_value(self, value: Any, path: FieldPath, entity_types: tuple[str, ...]) -> None:
        """Validate a default value of an entity select whose entity types are `entity_types`."""
        if not isinstance(value, dict):
            self.add_error(path, errors.not_model())
            return
        retain_keys(value, ("id", "type"))
        if value.get("type") not in entity_types:
            problem = errors.required() if value.get("type") is None else errors.choices(entity_types)
            self.add_error((*path, "type"), problem)
        try:
            value["id"] = str(int(parse_wide(Snowflake, value.get("id"))))
        except ValueError:
            problem = errors.required() if value.get("id") is None else errors.not_snowflake(value.get("id"))
            self.add_error((*path, "id"), problem)

    def check_channel_types(self, channel_types: Any, path: FieldPath) -> None:
        """Validate the channel types of a channel select."""
        if not isinstance(channel_types, list):
            self.add_error(path, errors.not_list())
            return
        for index, channel_type in enumerate(channel_types):
            self.validate_choice(channel_type, (*path, index), ChannelType)

    def check_url(self, url: str, path: FieldPath, schemes: tuple[str, ...]) -> None:
        """Validate a URL and its scheme."""
        try:
            url_parts = urlsplit(url)
        except ValueError:
            self.add_error(path, errors.bad_url())
            return
        if not url_parts.scheme:
            self.add_error(path, errors.bad_url())
        elif url_parts.scheme not in schemes:
            self.add_error(path, errors.bad_scheme(url_parts.scheme, schemes))
        elif not url_parts.netloc:
            self.add_error(path, errors.bad_url())

    def complete(self) -> None:
        """Assign missing IDs in document order and set default values.

        Client libraries expect an ID on each component."""
        next_id = 1
        for component in self.components:
            if not self.assigns_ids:
                # spec/webhooks-and-interactions.md#4.2: components from before IDs existed report 0.
                component["id"] = 0
            elif "id" not in component:
                while next_id in self.ids:
                    next_id += 1
                component["id"] = next_id
                self.ids.add(next_id)
            _set_defaults(component)


def retain_keys(item: Component, keys: tuple[str, ...]) -> None:
    """Remove keys that are not in `keys` or have a null value."""
    for key in [key for key, value in item.items() if key not in keys or value is None]:
        del item[key]


def _set_defaults(component: Component) -> None:
    """Set the default values of absent fields."""
    component_type = component.get("type")
    if not isinstance(component_type, int):
        return
    for key, value in _DEFAULTS.get(component_type, {}).items():
        component.setdefault(key, value)
    if component_type == ComponentType.MEDIA_GALLERY and isinstance(component.get("items"), list):
        for item in component["items"]:
            if isinstance(item, dict):
                item.setdefault("description", None)
                item.setdefault("spoiler", False)
                _complete_media(item.get("media"))
    _complete_media(component.get("media"))
    _complete_media(component.get("file"))


def _complete_media(media: Any) -> None:
    """Set the proxy URL and the ID of media, and sanitize the filename of an uploaded file.

    URLs of uploaded files are resolved when the message is shown."""
    if isinstance(media, dict) and isinstance(media.get("url"), str):
        if media["url"].startswith(ATTACHMENT):
            media["url"] = ATTACHMENT + clean_filename(media["url"].removeprefix(ATTACHMENT))
        media["proxy_url"] = media["url"]
        media["id"] = "0"
