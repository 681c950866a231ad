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
from hubbub.server.resources.attachments import clean_filename
from hubbub.server.resources.messages.embeds import ATTACHMENT

Steps = tuple[str | int, ...]
Kinds = frozenset[ComponentType]

ENTITIES: Final[dict[int, tuple[str, ...]]] = {
    ComponentType.USER_SELECT: ("user",),
    ComponentType.ROLE_SELECT: ("role",),
    ComponentType.MENTIONABLE_SELECT: ("user", "role"),
    ComponentType.CHANNEL_SELECT: ("channel",),
}
"""Entity types that can be selected in selects without own options."""
SELECTS: Final[Kinds] = frozenset({ComponentType.STRING_SELECT, *(ComponentType(kind) for kind in ENTITIES)})

# Keys of each type beside `type` and `id`; `required` applies to modals only, and is not stored for messages.
_SELECT_KEYS: Final = ("custom_id", "placeholder", "min_values", "max_values")
KEYS: Final[dict[int, tuple[str, ...]]] = {
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
_ONE_VALUE: Final[dict[str, Any]] = {"min_values": 1, "max_values": 1}
_DEFAULTS: Final[dict[int, dict[str, Any]]] = {
    **{int(kind): _ONE_VALUE for kind in SELECTS},
    ComponentType.FILE_UPLOAD: _ONE_VALUE,
    ComponentType.CHECKBOX_GROUP: {"min_values": 1},
    ComponentType.CONTAINER: {"accent_color": None, "spoiler": False},
    ComponentType.SEPARATOR: {"spacing": int(SeparatorSpacing.SMALL), "divider": True},
    ComponentType.THUMBNAIL: {"description": None, "spoiler": False},
    ComponentType.FILE: {"spoiler": False, "name": "", "size": 0},
}


class Named(msgspec.Struct):
    """References in components that must be checked against the database or the request."""

    emojis: list[tuple[Steps, Component]] = []
    """Emoji to look up and complete in place."""
    skus: list[tuple[Steps, int]] = []
    files: list[tuple[Steps, str, bool]] = []
    """Attachments by filename, and whether each must be an image."""


class Fields:
    """Validator of component fields; errors are added to the form with their exact path."""

    def __init__(self, form: errors.FormErrors, *, modal: bool, numbered: bool) -> None:
        self.form = form
        self.modal = modal
        self.numbered = numbered
        self.named = Named()
        self.seen: list[Component] = []
        """All components in document order, including those of unknown type."""
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()

    def note(self, path: Steps, problem: errors.FormError) -> None:
        """Add a form error."""
        self.form.add(path, *problem)

    def refuse(self, component: Component, path: Steps, *keys: str) -> None:
        """Reject these keys if present."""
        for key in keys:
            if component.get(key) is not None:
                self.note((*path, key), errors.component_field())

    def identity(self, component: Component, path: Steps) -> None:
        """Validate the id chosen by the app; a missing id is assigned later."""
        given = component.pop("id", None)
        if given is None or not self.numbered:
            return
        if not isinstance(given, int) or isinstance(given, bool):
            self.note((*path, "id"), errors.not_number(given))
        elif given < 0:
            self.note((*path, "id"), errors.number_min(0))
        elif given > limits.COMPONENT_ID_MAX:
            self.note((*path, "id"), errors.number_max(limits.COMPONENT_ID_MAX))
        elif given in self.ids:
            self.note((*path, "id"), errors.duplicate())
        elif given:
            component["id"] = given
            self.ids.add(given)

    def enabled(self, component: Component, path: Steps) -> None:
        """Reject disabled components in modals (webhooks-and-interactions.md 4.3).

        A false value is accepted, because client libraries send it on every component."""
        known = self.boolean(component, path, "disabled")
        if component.pop("disabled", False) and known:
            self.note((*path, "disabled"), errors.component_field())

    def custom_id(self, component: Component, path: Steps) -> None:
        """Validate the custom id, which must be unique in a message or modal."""
        if self.string(component, path, "custom_id", least=1, most=limits.CUSTOM_ID_MAX, needed=True):
            if component["custom_id"] in self.custom_ids:
                self.note((*path, "custom_id"), errors.custom_id_duplicated())
            self.custom_ids.add(component["custom_id"])

    def string(
        self, component: Component, path: Steps, key: str, *, most: int, least: int = 0, needed: bool = False
    ) -> bool:
        """Validate a string and its length; return whether it is present and valid."""
        value = component.get(key)
        if value is None:
            if needed:
                self.note((*path, key), errors.required())
            return False
        if not isinstance(value, str):
            self.note((*path, key), errors.not_string(value))
            return False
        if not least <= len(value) <= most:
            self.note((*path, key), errors.bad_length(least, most) if least else errors.max_length(most))
            return False
        return True

    def number(self, component: Component, path: Steps, key: str, *, least: int, most: int) -> int | None:
        """Validate an integer and its bounds; return it, or None if absent or invalid."""
        value = component.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.note((*path, key), errors.not_number(value))
        elif value < least:
            self.note((*path, key), errors.number_min(least))
        elif value > most:
            self.note((*path, key), errors.number_max(most))
        else:
            return value
        return None

    def choice(self, value: Any, path: Steps, kinds: type[IntEnum]) -> bool:
        """Validate an enum value; 1.0 and true are rejected although they equal 1."""
        if type(value) is int and value in tuple(kinds):
            return True
        self.note(path, errors.choices([int(each) for each in kinds]))
        return False

    def boolean(self, component: Component, path: Steps, key: str) -> bool:
        """Validate a boolean; return False if it has another type."""
        if isinstance(component.get(key, False), bool):
            return True
        self.note((*path, key), errors.not_boolean())
        return False

    def range(self, component: Component, path: Steps, most: int, default: int = 1, *, least: int = 1) -> None:
        """Validate `min_values` and `max_values` against the limits of the component.

        A required input of a modal needs at least one value."""
        min_values = self.number(component, path, "min_values", least=0, most=most)
        max_values = self.number(component, path, "max_values", least=least, most=most)
        if min_values is not None and max_values is not None and max_values < min_values:
            self.note((*path, "max_values"), errors.number_min(min_values))
        if min_values is not None and component.get("max_values") is None and default < min_values:
            self.note((*path, "min_values"), errors.number_max(default))
        if self.boolean(component, path, "required") and self.modal and component.get("required", True):
            if min_values == 0:
                self.note((*path, "min_values"), errors.number_min(1))
            elif min_values is None and max_values == 0:
                self.note((*path, "max_values"), errors.number_min(1))

    def enough(self, component: Component, path: Steps) -> None:
        """Validate that there are at least `min_values` options."""
        min_values, options = component.get("min_values"), component.get("options")
        if not isinstance(min_values, int) or not isinstance(options, list) or not options:
            return
        # If `max_values` is absent, the default maximum was already checked.
        if len(options) < min_values <= self.most(component, len(options)):
            self.note((*path, "min_values"), errors.number_max(len(options)))

    def most(self, component: Component, default: int) -> int:
        """Return the maximum number of values, or the default if absent or invalid."""
        most = component.get("max_values", default)
        return most if isinstance(most, int) else default

    def items(
        self, component: Component, path: Steps, key: str, *, most: int, least: int = 1
    ) -> Iterator[tuple[Component, Steps]]:
        """Iterate over the objects of a list with their paths; report other items as errors."""
        found = component.get(key)
        if found is None:
            self.note((*path, key), errors.required())
        elif not isinstance(found, list):
            self.note((*path, key), errors.not_list())
        elif not least <= len(found) <= most:
            self.note((*path, key), errors.bad_length(least, most))
        else:
            for index, item in enumerate(found):
                if isinstance(item, dict):
                    yield item, (*path, key, index)
                else:
                    self.note((*path, key, index), errors.not_model())

    def options(self, component: Component, path: Steps, *, least: int, most: int, emoji: bool = False) -> int:
        """Validate the options of a select; return the number selected by default."""
        values: set[str] = set()
        chosen = 0
        for option, option_path in self.items(component, path, "options", least=least, most=most):
            keep(option, _OPTION_KEYS if emoji else tuple(key for key in _OPTION_KEYS if key != "emoji"))
            self.string(option, option_path, "label", least=1, most=limits.OPTION_TEXT_MAX, needed=True)
            self.string(option, option_path, "description", most=limits.OPTION_TEXT_MAX)
            self.boolean(option, option_path, "default")
            self.emoji(option, option_path)
            if self.string(option, option_path, "value", least=1, most=limits.OPTION_TEXT_MAX, needed=True):
                if option["value"] in values:
                    self.note((*option_path, "value"), errors.option_value_duplicated())
                values.add(option["value"])
            chosen += option.get("default") is True
        return chosen

    def emoji(self, component: Component, path: Steps) -> None:
        """Validate the emoji of a component or option."""
        emoji = component.get("emoji")
        if emoji is None:
            return
        if not isinstance(emoji, dict):
            self.note((*path, "emoji"), errors.not_model())
            return
        # The server sets `animated`.
        keep(emoji, ("id", "name"))
        if "id" in emoji:
            try:
                emoji["id"] = str(int(parse_wide(Snowflake, emoji["id"])))
            except ValueError:
                self.note((*path, "emoji", "id"), errors.not_snowflake(emoji["id"]))
                return
        elif not self.string(emoji, (*path, "emoji"), "name", least=1, most=32, needed=True):
            return
        self.named.emojis.append(((*path, "emoji"), emoji))

    def sku(self, component: Component, path: Steps) -> None:
        """Validate the SKU of a premium button."""
        if "sku_id" not in component:
            self.note((*path, "sku_id"), errors.required())
            return
        try:
            sku_id = parse_wide(Snowflake, component["sku_id"])
        except ValueError:
            self.note((*path, "sku_id"), errors.not_snowflake(component["sku_id"]))
            return
        component["sku_id"] = str(int(sku_id))
        self.named.skus.append(((*path, "sku_id"), int(sku_id)))

    def shown(self, component: Component, path: Steps) -> None:
        """Validate the description and spoiler flag of media."""
        self.string(component, path, "description", least=1, most=limits.MEDIA_DESCRIPTION_MAX)
        self.boolean(component, path, "spoiler")

    def media(self, holder: Component, key: str, path: Steps, *, picture: bool = False, attached: bool = False) -> None:
        """Validate the URL of media; attachment URLs are resolved later."""
        media = holder.get(key)
        if media is None:
            self.note((*path, key), errors.required())
        elif not isinstance(media, dict):
            self.note((*path, key), errors.not_model())
        elif self.string(media, (*path, key), "url", least=1, most=limits.MEDIA_URL_MAX, needed=True):
            # The server sets all other media fields.
            keep(media, ("url",))
            url, url_path = media["url"], (*path, key, "url")
            if url.startswith(ATTACHMENT):
                self.named.files.append((url_path, clean_filename(url.removeprefix(ATTACHMENT)), picture))
            elif attached:
                self.note(url_path, errors.bad_scheme(url.partition(":")[0], ("attachment",)))
            else:
                self.address(url, url_path, ("http", "https", "attachment"))

    def default_value(self, value: Any, path: Steps, kinds: tuple[str, ...]) -> None:
        """Validate a default value of an entity select."""
        if not isinstance(value, dict):
            self.note(path, errors.not_model())
            return
        keep(value, ("id", "type"))
        if value.get("type") not in kinds:
            problem = errors.required() if value.get("type") is None else errors.choices(kinds)
            self.note((*path, "type"), problem)
        try:
            value["id"] = str(int(parse_wide(Snowflake, value.get("id"))))
        except ValueError:
            problem = errors.required() if value.get("id") is None else errors.not_snowflake(value.get("id"))
            self.note((*path, "id"), problem)

    def channel_types(self, found: Any, path: Steps) -> None:
        """Validate the channel types of a channel select."""
        if not isinstance(found, list):
            self.note(path, errors.not_list())
            return
        for index, kind in enumerate(found):
            self.choice(kind, (*path, index), ChannelType)

    def address(self, url: str, path: Steps, schemes: tuple[str, ...]) -> None:
        """Validate a URL and its scheme."""
        try:
            parts = urlsplit(url)
        except ValueError:
            self.note(path, errors.bad_url())
            return
        if not parts.scheme:
            self.note(path, errors.bad_url())
        elif parts.scheme not in schemes:
            self.note(path, errors.bad_scheme(parts.scheme, schemes))
        elif not parts.netloc:
            self.note(path, errors.bad_url())

    def finish(self) -> None:
        """Assign missing ids in document order and set default values.

        Client libraries expect an id on each component."""
        next_id = 1
        for component in self.seen:
            if not self.numbered:
                # webhooks-and-interactions.md 4.2: components from before ids existed report 0.
                component["id"] = 0
            elif "id" not in component:
                while next_id in self.ids:
                    next_id += 1
                component["id"] = next_id
                self.ids.add(next_id)
            _complete(component)


def keep(item: Component, keys: tuple[str, ...]) -> None:
    """Remove keys that are not in `keys` or have a null value."""
    for key in [key for key, value in item.items() if key not in keys or value is None]:
        del item[key]


def _complete(component: Component) -> None:
    kind = component.get("type")
    if not isinstance(kind, int):
        return
    for key, value in _DEFAULTS.get(kind, {}).items():
        component.setdefault(key, value)
    if kind == ComponentType.MEDIA_GALLERY and isinstance(component.get("items"), list):
        for item in component["items"]:
            if isinstance(item, dict):
                item.setdefault("description", None)
                item.setdefault("spoiler", False)
                _complete_media(item.get("media"))
    _complete_media(component.get("media"))
    _complete_media(component.get("file"))


def _complete_media(media: Any) -> None:
    """Set the proxy URL of media; URLs of uploaded files are resolved when the message is shown."""
    if isinstance(media, dict) and isinstance(media.get("url"), str):
        if media["url"].startswith(ATTACHMENT):
            media["url"] = ATTACHMENT + clean_filename(media["url"].removeprefix(ATTACHMENT))
        media["proxy_url"] = media["url"]
        media["id"] = "0"
