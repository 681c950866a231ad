"""The fields of components: which of them each type has, how each is checked, and what one that is not said means."""

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
"""What can be chosen in the selects that offer no options of their own."""
SELECTS: Final[Kinds] = frozenset({ComponentType.STRING_SELECT, *(ComponentType(kind) for kind in ENTITIES)})

# What each type has beside `type` and `id`; `required` is a modal's word, and messages do not keep it.
_CHOICE: Final = ("custom_id", "placeholder", "min_values", "max_values")
KEYS: Final[dict[int, tuple[str, ...]]] = {
    ComponentType.ACTION_ROW: ("components",),
    ComponentType.BUTTON: ("style", "label", "emoji", "custom_id", "url", "sku_id", "disabled"),
    ComponentType.STRING_SELECT: (*_CHOICE, "options", "disabled"),
    ComponentType.USER_SELECT: (*_CHOICE, "default_values", "disabled"),
    ComponentType.ROLE_SELECT: (*_CHOICE, "default_values", "disabled"),
    ComponentType.MENTIONABLE_SELECT: (*_CHOICE, "default_values", "disabled"),
    ComponentType.CHANNEL_SELECT: (*_CHOICE, "default_values", "channel_types", "disabled"),
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
_OPTION: Final = ("label", "value", "description", "emoji", "default")

# Clients expect these keys in answers.
_ONE: Final[dict[str, Any]] = {"min_values": 1, "max_values": 1}
_DEFAULTS: Final[dict[int, dict[str, Any]]] = {
    **{int(kind): _ONE for kind in SELECTS},
    ComponentType.FILE_UPLOAD: _ONE,
    ComponentType.CHECKBOX_GROUP: {"min_values": 1},
    ComponentType.CONTAINER: {"accent_color": None, "spoiler": False},
    ComponentType.SEPARATOR: {"spacing": int(SeparatorSpacing.SMALL), "divider": True},
    ComponentType.THUMBNAIL: {"description": None, "spoiler": False},
    ComponentType.FILE: {"spoiler": False, "name": "", "size": 0},
}


class Named(msgspec.Struct):
    """What components name and only the store knows."""

    emojis: list[tuple[Steps, Component]] = []
    """Emoji, to look up and complete in place."""
    skus: list[tuple[Steps, int]] = []
    files: list[tuple[Steps, str, bool]] = []
    """Attachments by their file names, and whether each must be a picture."""


class Fields:
    """Checks the fields of one message's or modal's components, and notes what is wrong with its exact path."""

    def __init__(self, form: errors.FormErrors, *, modal: bool, numbered: bool) -> None:
        self.form = form
        self.modal = modal
        self.numbered = numbered
        self.named = Named()
        self.seen: list[Component] = []
        """Every component, whether its type is known or not, in the order they stand."""
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()

    def note(self, path: Steps, wrong: errors.FormError) -> None:
        """Something is wrong there."""
        self.form.add(path, *wrong)

    def refuse(self, component: Component, path: Steps, *keys: str) -> None:
        """These keys may not be there."""
        for key in keys:
            if component.get(key) is not None:
                self.note((*path, key), errors.component_field())

    def identity(self, component: Component, path: Steps) -> None:
        """Its number: the one that the app chose, or one that it gets in the end."""
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
        """Nothing in a modal is disabled (webhooks-and-interactions.md 4.3); libraries say so of everything."""
        known = self.boolean(component, path, "disabled")
        if component.pop("disabled", False) and known:
            self.note((*path, "disabled"), errors.component_field())

    def custom_id(self, component: Component, path: Steps) -> None:
        """The app's name for it, which is said once in a message or modal."""
        if self.string(component, path, "custom_id", least=1, most=limits.CUSTOM_ID_MAX, needed=True):
            if component["custom_id"] in self.custom_ids:
                self.note((*path, "custom_id"), errors.custom_id_duplicated())
            self.custom_ids.add(component["custom_id"])

    def string(
        self, component: Component, path: Steps, key: str, *, most: int, least: int = 0, needed: bool = False
    ) -> bool:
        """Whether there is a text of fitting length."""
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
        """A whole number within bounds, or None."""
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
        """Whether this is one of some numbers; 1.0 and true are not, though they equal 1."""
        if type(value) is int and value in tuple(kinds):
            return True
        self.note(path, errors.choices([int(each) for each in kinds]))
        return False

    def boolean(self, component: Component, path: Steps, key: str) -> bool:
        """Whether this is true, false or absent."""
        if isinstance(component.get(key, False), bool):
            return True
        self.note((*path, key), errors.not_boolean())
        return False

    def range(self, component: Component, path: Steps, most: int, default: int = 1, *, least: int = 1) -> None:
        """How many may be chosen: at least one where an answer is required, and so many at most unless it is said. `least` is
        the smallest number that may be the most."""
        low = self.number(component, path, "min_values", least=0, most=most)
        high = self.number(component, path, "max_values", least=least, most=most)
        if low is not None and high is not None and high < low:
            self.note((*path, "max_values"), errors.number_min(low))
        if low is not None and component.get("max_values") is None and default < low:
            self.note((*path, "min_values"), errors.number_max(default))
        if self.boolean(component, path, "required") and self.modal and component.get("required", True):
            if low == 0:
                self.note((*path, "min_values"), errors.number_min(1))
            elif low is None and high == 0:
                self.note((*path, "max_values"), errors.number_min(1))

    def enough(self, component: Component, path: Steps) -> None:
        """There are as many options as must be chosen."""
        low, options = component.get("min_values"), component.get("options")
        if not isinstance(low, int) or not isinstance(options, list) or not options:
            return
        # Where the most is not said, that it is less was noted already.
        if len(options) < low <= self.most(component, len(options)):
            self.note((*path, "min_values"), errors.number_max(len(options)))

    def most(self, component: Component, default: int) -> int:
        """How many may be chosen, as far as that is said well."""
        most = component.get("max_values", default)
        return most if isinstance(most, int) else default

    def items(
        self, component: Component, path: Steps, key: str, *, most: int, least: int = 1
    ) -> Iterator[tuple[Component, Steps]]:
        """The objects of a list, with their paths."""
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
        """The options to choose from; answers how many are chosen from the start."""
        values: set[str] = set()
        chosen = 0
        for option, at in self.items(component, path, "options", least=least, most=most):
            keep(option, _OPTION if emoji else tuple(key for key in _OPTION if key != "emoji"))
            self.string(option, at, "label", least=1, most=limits.OPTION_TEXT_MAX, needed=True)
            self.string(option, at, "description", most=limits.OPTION_TEXT_MAX)
            self.boolean(option, at, "default")
            self.emoji(option, at)
            if self.string(option, at, "value", least=1, most=limits.OPTION_TEXT_MAX, needed=True):
                if option["value"] in values:
                    self.note((*at, "value"), errors.option_value_duplicated())
                values.add(option["value"])
            chosen += option.get("default") is True
        return chosen

    def emoji(self, component: Component, path: Steps) -> None:
        """The emoji beside its words."""
        emoji = component.get("emoji")
        if emoji is None:
            return
        if not isinstance(emoji, dict):
            self.note((*path, "emoji"), errors.not_model())
            return
        # Whether it is animated is the server's to say.
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
        """What a premium button sells."""
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
        """How a picture or a file is shown."""
        self.string(component, path, "description", least=1, most=limits.MEDIA_DESCRIPTION_MAX)
        self.boolean(component, path, "spoiler")

    def media(self, holder: Component, key: str, path: Steps, *, picture: bool = False, attached: bool = False) -> None:
        """A picture or a file, by its address."""
        media = holder.get(key)
        if media is None:
            self.note((*path, key), errors.required())
        elif not isinstance(media, dict):
            self.note((*path, key), errors.not_model())
        elif self.string(media, (*path, key), "url", least=1, most=limits.MEDIA_URL_MAX, needed=True):
            # What the file is like is the server's to say.
            keep(media, ("url",))
            url, at = media["url"], (*path, key, "url")
            if url.startswith(ATTACHMENT):
                self.named.files.append((at, clean_filename(url.removeprefix(ATTACHMENT)), picture))
            elif attached:
                self.note(at, errors.bad_scheme(url.partition(":")[0], ("attachment",)))
            else:
                self.address(url, at, ("http", "https", "attachment"))

    def default_value(self, value: Any, path: Steps, kinds: tuple[str, ...]) -> None:
        """Who or what is chosen from the start."""
        if not isinstance(value, dict):
            self.note(path, errors.not_model())
            return
        keep(value, ("id", "type"))
        if value.get("type") not in kinds:
            wrong = errors.required() if value.get("type") is None else errors.choices(kinds)
            self.note((*path, "type"), wrong)
        try:
            value["id"] = str(int(parse_wide(Snowflake, value.get("id"))))
        except ValueError:
            wrong = errors.required() if value.get("id") is None else errors.not_snowflake(value.get("id"))
            self.note((*path, "id"), wrong)

    def channel_types(self, found: Any, path: Steps) -> None:
        """Which channels are offered."""
        if not isinstance(found, list):
            self.note(path, errors.not_list())
            return
        for index, kind in enumerate(found):
            self.choice(kind, (*path, index), ChannelType)

    def address(self, url: str, path: Steps, schemes: tuple[str, ...]) -> None:
        """An address with one of these schemes."""
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
        """Number those that have no id, depth first (client libraries expect one on each), and say what was left to its default."""
        fresh = 1
        for component in self.seen:
            if not self.numbered:
                # webhooks-and-interactions.md 4.2: what is older than these numbers reports 0.
                component["id"] = 0
            elif "id" not in component:
                while fresh in self.ids:
                    fresh += 1
                component["id"] = fresh
                self.ids.add(fresh)
            _complete(component)


def keep(item: Component, keys: tuple[str, ...]) -> None:
    """Leave only these keys, where they say something."""
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
    """An address from elsewhere stands for itself; one of an uploaded file is put in when the message is shown."""
    if isinstance(media, dict) and isinstance(media.get("url"), str):
        if media["url"].startswith(ATTACHMENT):
            media["url"] = ATTACHMENT + clean_filename(media["url"].removeprefix(ATTACHMENT))
        media["proxy_url"] = media["url"]
        media["id"] = "0"
