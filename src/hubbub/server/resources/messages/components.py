"""The components of messages and of modals: one walk checks every rule of webhooks-and-interactions.md 4, notes what is wrong
with its exact path, gives an id to each component that has none, and keeps only the keys that its type has."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ButtonStyle, ChannelType, ComponentType, SeparatorSpacing, TextInputStyle
from hubbub.protocol.ids import Snowflake, parse_wide
from hubbub.protocol.resources import components as limits
from hubbub.protocol.resources.attachments import is_file_type
from hubbub.protocol.resources.components import Component
from hubbub.server.resources.attachments import clean_filename
from hubbub.server.resources.messages.embeds import ATTACHMENT

Steps = tuple[str | int, ...]
Kinds = frozenset[ComponentType]

_COMPONENTS_MAX_BEFORE: Final = 30
"""In all, before components_40 (dated-changes.md 3)."""
_TOP_MAX_BEFORE: Final = 10
"""At the top of a message, and in a container, before components_40."""

ENTITIES: Final[dict[int, tuple[str, ...]]] = {
    ComponentType.USER_SELECT: ("user",),
    ComponentType.ROLE_SELECT: ("role",),
    ComponentType.MENTIONABLE_SELECT: ("user", "role"),
    ComponentType.CHANNEL_SELECT: ("channel",),
}
"""What can be chosen in the selects that offer no options of their own."""
SELECTS: Final[Kinds] = frozenset({ComponentType.STRING_SELECT, *(ComponentType(kind) for kind in ENTITIES)})
INTERACTIVE: Final[Kinds] = SELECTS | {ComponentType.BUTTON}
"""What people can press or choose from in a message."""
INPUTS: Final[Kinds] = SELECTS | {
    ComponentType.TEXT_INPUT,
    ComponentType.FILE_UPLOAD,
    ComponentType.RADIO_GROUP,
    ComponentType.CHECKBOX_GROUP,
    ComponentType.CHECKBOX,
}
"""What a label of a modal can hold."""

_IN_CONTAINER: Final[Kinds] = frozenset(
    {
        ComponentType.ACTION_ROW,
        ComponentType.SECTION,
        ComponentType.TEXT_DISPLAY,
        ComponentType.MEDIA_GALLERY,
        ComponentType.FILE,
        ComponentType.SEPARATOR,
    }
)
_AT_TOP: Final[Kinds] = _IN_CONTAINER | {ComponentType.CONTAINER}
_ROWS: Final[Kinds] = frozenset({ComponentType.ACTION_ROW})
_TEXTS: Final[Kinds] = frozenset({ComponentType.TEXT_DISPLAY})
_TEXT_INPUTS: Final[Kinds] = frozenset({ComponentType.TEXT_INPUT})
_ACCESSORIES: Final[Kinds] = frozenset({ComponentType.BUTTON, ComponentType.THUMBNAIL})

# What each type has beside `type` and `id`; `required` is a modal's word, and messages do not keep it.
_CHOICE: Final = ("custom_id", "placeholder", "min_values", "max_values")
_KEYS: Final[dict[int, tuple[str, ...]]] = {
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
_REQUIRED: Final[Kinds] = INPUTS - {ComponentType.CHECKBOX}
"""Inputs that must be filled in unless they say otherwise."""


class Named(msgspec.Struct):
    """What components name and only the store knows."""

    emojis: list[tuple[Steps, Component]] = []
    """Emoji, to look up and complete in place."""
    skus: list[tuple[Steps, int]] = []
    files: list[tuple[Steps, str, bool]] = []
    """Attachments by their file names, and whether each must be a picture."""


def check(components: list[Component], form: errors.FormErrors, *, v2: bool, now: int) -> Named:
    """Note what is wrong with a message's components, as they may be at this moment, and say what they name."""
    top = most = inside = limits.COMPONENTS_MAX
    if not changes.COMPONENTS_40.active(now):
        top, most, inside = _TOP_MAX_BEFORE, _COMPONENTS_MAX_BEFORE, _TOP_MAX_BEFORE
    if not v2:
        top = limits.ACTION_ROWS_MAX
    walk = _Walk(form, modal=False, inside=inside)
    for index, component in enumerate(components):
        walk.component(component, ("components", index), _AT_TOP if v2 else _ROWS)
    if len(components) > top:
        form.add(("components",), *errors.bad_length(1, top))
    elif len(walk.seen) > most:
        form.add(("components",), *errors.bad_length(1, most))
    if walk.text > limits.COMPONENT_TEXT_MAX:
        form.add(("components",), *errors.max_length(limits.COMPONENT_TEXT_MAX))
    walk.finish()
    return walk.named


def check_modal(components: list[Component], form: errors.FormErrors, *, now: int, path: Steps = ()) -> Named:
    """Note what is wrong with a modal's components, as modals are at this moment, and say what they name."""
    at = (*path, "components")
    if not 1 <= len(components) <= limits.MODAL_COMPONENTS_MAX:
        form.add(at, *errors.bad_length(1, limits.MODAL_COMPONENTS_MAX))
    walk = _Walk(form, modal=True, inputs=_modal_inputs(now))
    top = _ROWS
    if changes.MODAL_LABELS.active(now):
        top |= {ComponentType.LABEL}
    if changes.MODAL_SELECTS.active(now):
        top |= _TEXTS
    for index, component in enumerate(components):
        walk.component(component, (*at, index), top)
    if not changes.CHANNEL_APPLICATION_ID_NULLABLE.active(now):
        # dated-changes.md 3: until the same day any file could be sent.
        for component in walk.seen:
            component.pop("file_types", None)
    walk.finish()
    return walk.named


def _modal_inputs(now: int) -> Kinds:
    """What a label can hold by now (dated-changes.md)."""
    inputs: Kinds = frozenset({ComponentType.TEXT_INPUT, ComponentType.STRING_SELECT})
    for change, kinds in (
        (changes.MODAL_SELECTS, SELECTS),
        (changes.MODAL_FILE_UPLOAD, {ComponentType.FILE_UPLOAD}),
        (changes.MODAL_CHOICES, {ComponentType.RADIO_GROUP, ComponentType.CHECKBOX_GROUP, ComponentType.CHECKBOX}),
    ):
        if change.active(now):
            inputs |= kinds
    return inputs


def each(components: Iterable[Component]) -> Iterator[Component]:
    """Every component, those inside others included, in the order they stand."""
    for component in components:
        yield component
        yield from each(component.get("components") or ())
        for key in ("accessory", "component"):
            if component.get(key) is not None:
                yield from each((component[key],))


def texts(components: list[Component]) -> Iterator[str]:
    """What text displays say: mentions are read from them too (http.md 1.15)."""
    for component in each(components):
        if component.get("type") == ComponentType.TEXT_DISPLAY and isinstance(component.get("content"), str):
            yield component["content"]


class _Walk:
    """One walk over the components of a message or a modal."""

    def __init__(
        self, form: errors.FormErrors, *, modal: bool, inputs: Kinds = INPUTS, inside: int = limits.COMPONENTS_MAX
    ) -> None:
        self.form = form
        self.modal = modal
        self.inputs = inputs
        self.inside = inside
        self.named = Named()
        self.seen: list[Component] = []
        self.text = 0
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()
        self.rules: dict[int, Callable[[Component, Steps], None]] = {
            ComponentType.ACTION_ROW: self.row,
            ComponentType.BUTTON: self.button,
            ComponentType.STRING_SELECT: self.string_select,
            **dict.fromkeys(ENTITIES, self.entity_select),
            ComponentType.TEXT_INPUT: self.text_input,
            ComponentType.SECTION: self.section,
            ComponentType.TEXT_DISPLAY: self.text_display,
            ComponentType.THUMBNAIL: self.thumbnail,
            ComponentType.MEDIA_GALLERY: self.gallery,
            ComponentType.FILE: self.file,
            ComponentType.SEPARATOR: self.separator,
            ComponentType.CONTAINER: self.container,
            ComponentType.LABEL: self.label,
            ComponentType.FILE_UPLOAD: self.file_upload,
            ComponentType.RADIO_GROUP: self.radio_group,
            ComponentType.CHECKBOX_GROUP: self.checkbox_group,
            ComponentType.CHECKBOX: self.checkbox,
        }

    def component(self, component: Any, path: Steps, allowed: Kinds) -> None:
        """One component where only some types may stand."""
        if not isinstance(component, dict):
            self.note(path, errors.not_model())
            return
        self.seen.append(component)
        kind = component.get("type")
        if kind is None:
            self.note((*path, "type"), errors.required())
        elif not isinstance(kind, int) or isinstance(kind, bool):
            self.note((*path, "type"), errors.not_number(kind))
        elif kind not in allowed:
            self.note((*path, "type"), errors.component_type())
        else:
            keys = _KEYS[kind]
            # `required` and `disabled` are looked at in both, and kept in one.
            _keep(component, ("type", "id", *keys, "required", "disabled"))
            self.identity(component, path)
            self.rules[kind](component, path)
            _keep(component, ("type", "id", *keys, *(("required",) if self.modal else ())))

    # What stands in messages

    def row(self, component: Component, path: Steps) -> None:
        if self.modal:
            # The older form of a modal: a row for each text input, which then has the label itself.
            self.children(component, path, _TEXT_INPUTS, most=1)
            return
        found = self.children(component, path, INTERACTIVE, most=limits.ROW_WIDTH)
        width = sum(
            1 if isinstance(child, dict) and child.get("type") == ComponentType.BUTTON else limits.ROW_WIDTH
            for child in found
        )
        if width > limits.ROW_WIDTH:
            self.note((*path, "components"), errors.component_width())

    def button(self, component: Component, path: Steps) -> None:
        style = component.get("style")
        if style is None:
            self.note((*path, "style"), errors.required())
            return
        if isinstance(style, bool) or style not in tuple(ButtonStyle):
            self.note((*path, "style"), errors.choices([int(each) for each in ButtonStyle]))
            return
        self.boolean(component, path, "disabled")
        if style == ButtonStyle.PREMIUM:
            self.refuse(component, path, "custom_id", "label", "url", "emoji")
            self.sku(component, path)
            return
        self.refuse(component, path, "sku_id")
        if "custom_id" in component and "url" in component:
            self.note((*path, "custom_id"), errors.button_custom_id_or_url())
        elif style == ButtonStyle.LINK:
            self.refuse(component, path, "custom_id")
            if self.string(component, path, "url", most=limits.BUTTON_URL_MAX, needed=True):
                self.address(component["url"], (*path, "url"), ("http", "https", "discord", "hubbub"))
        elif "custom_id" not in component:
            self.refuse(component, path, "url")
            self.note((*path, "custom_id"), errors.button_custom_id_required())
        else:
            self.custom_id(component, path)
        self.string(component, path, "label", most=limits.BUTTON_LABEL_MAX)
        self.emoji(component, path)
        if not component.get("label") and "emoji" not in component:
            self.note((*path, "label"), errors.required())

    def sku(self, component: Component, path: Steps) -> None:
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

    def section(self, component: Component, path: Steps) -> None:
        self.children(component, path, _TEXTS, most=limits.SECTION_TEXTS_MAX)
        if "accessory" in component:
            self.component(component["accessory"], (*path, "accessory"), _ACCESSORIES)
        else:
            self.note((*path, "accessory"), errors.required())

    def text_display(self, component: Component, path: Steps) -> None:
        if self.string(component, path, "content", least=1, most=limits.COMPONENT_TEXT_MAX, needed=True):
            if component["content"].strip():
                self.text += len(component["content"])
            else:
                self.note((*path, "content"), errors.required())

    def thumbnail(self, component: Component, path: Steps) -> None:
        self.media(component, "media", path, picture=True)
        self.shown(component, path)

    def gallery(self, component: Component, path: Steps) -> None:
        for item, at in self.items(component, path, "items", most=limits.GALLERY_ITEMS_MAX):
            _keep(item, ("media", "description", "spoiler"))
            self.media(item, "media", at)
            self.shown(item, at)

    def file(self, component: Component, path: Steps) -> None:
        self.media(component, "file", path, attached=True)
        self.boolean(component, path, "spoiler")
        # These are the server's to say.
        component.pop("name", None)
        component.pop("size", None)

    def shown(self, component: Component, path: Steps) -> None:
        self.string(component, path, "description", least=1, most=limits.MEDIA_DESCRIPTION_MAX)
        self.boolean(component, path, "spoiler")

    def media(self, holder: Component, key: str, path: Steps, *, picture: bool = False, attached: bool = False) -> None:
        media = holder.get(key)
        if media is None:
            self.note((*path, key), errors.required())
        elif not isinstance(media, dict):
            self.note((*path, key), errors.not_model())
        elif self.string(media, (*path, key), "url", least=1, most=limits.MEDIA_URL_MAX, needed=True):
            url, at = media["url"], (*path, key, "url")
            if url.startswith(ATTACHMENT):
                self.named.files.append((at, clean_filename(url.removeprefix(ATTACHMENT)), picture))
            elif attached:
                self.note(at, errors.bad_scheme(url.partition(":")[0], ("attachment",)))
            else:
                self.address(url, at, ("http", "https", "attachment"))

    def separator(self, component: Component, path: Steps) -> None:
        self.boolean(component, path, "divider")
        spacing = component.get("spacing")
        if spacing is not None and (isinstance(spacing, bool) or spacing not in tuple(SeparatorSpacing)):
            self.note((*path, "spacing"), errors.choices([int(each) for each in SeparatorSpacing]))

    def container(self, component: Component, path: Steps) -> None:
        self.children(component, path, _IN_CONTAINER, most=self.inside)
        self.number(component, path, "accent_color", least=0, most=limits.COLOR_MAX)
        self.boolean(component, path, "spoiler")

    # What stands in both

    def string_select(self, component: Component, path: Steps) -> None:
        chosen = self.options(component, path, least=1, most=limits.SELECT_VALUES_MAX, emoji=True)
        self.select(component, path)
        if chosen > self.most(component, 1):
            self.note((*path, "options"), errors.too_many_default_values())

    def entity_select(self, component: Component, path: Steps) -> None:
        self.select(component, path)
        if component["type"] == ComponentType.CHANNEL_SELECT and "channel_types" in component:
            self.channel_types(component["channel_types"], (*path, "channel_types"))
        found = component.get("default_values")
        if found is None:
            return
        at = (*path, "default_values")
        if not isinstance(found, list):
            self.note(at, errors.not_list())
            return
        for index, value in enumerate(found):
            self.default_value(value, (*at, index), ENTITIES[component["type"]])
        least = component.get("min_values", 1)
        if found and not (least if isinstance(least, int) else 1) <= len(found) <= self.most(component, 1):
            self.note(at, errors.too_many_default_values())

    def default_value(self, value: Any, path: Steps, kinds: tuple[str, ...]) -> None:
        if not isinstance(value, dict):
            self.note(path, errors.not_model())
            return
        _keep(value, ("id", "type"))
        if value.get("type") not in kinds:
            wrong = errors.required() if value.get("type") is None else errors.choices(kinds)
            self.note((*path, "type"), wrong)
        try:
            value["id"] = str(int(parse_wide(Snowflake, value.get("id"))))
        except ValueError:
            wrong = errors.required() if value.get("id") is None else errors.not_snowflake(value.get("id"))
            self.note((*path, "id"), wrong)

    def channel_types(self, found: Any, path: Steps) -> None:
        if not isinstance(found, list):
            self.note(path, errors.not_list())
            return
        for index, kind in enumerate(found):
            if isinstance(kind, bool) or kind not in tuple(ChannelType):
                self.note((*path, index), errors.choices([int(each) for each in ChannelType]))

    def select(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.string(component, path, "placeholder", most=limits.SELECT_PLACEHOLDER_MAX)
        self.range(component, path, limits.SELECT_VALUES_MAX)
        if self.boolean(component, path, "disabled") and self.modal and component.pop("disabled", False):
            # webhooks-and-interactions.md 4.3: nothing in a modal is disabled; libraries say so of everything.
            self.note((*path, "disabled"), errors.component_field())

    # What stands in modals

    def label(self, component: Component, path: Steps) -> None:
        self.string(component, path, "label", least=1, most=limits.LABEL_MAX, needed=True)
        self.string(component, path, "description", least=1, most=limits.LABEL_DESCRIPTION_MAX)
        if "component" in component:
            self.component(component["component"], (*path, "component"), self.inputs)
        else:
            self.note((*path, "component"), errors.required())

    def text_input(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        style = component.get("style")
        if style is None:
            self.note((*path, "style"), errors.required())
        elif isinstance(style, bool) or style not in tuple(TextInputStyle):
            self.note((*path, "style"), errors.choices([int(each) for each in TextInputStyle]))
        if path[-1] == "component":
            self.refuse(component, path, "label")
        else:
            self.string(component, path, "label", least=1, most=limits.LABEL_MAX, needed=True)
        self.boolean(component, path, "required")
        self.string(component, path, "value", most=limits.TEXT_INPUT_MAX)
        self.string(component, path, "placeholder", most=limits.TEXT_INPUT_PLACEHOLDER_MAX)
        least = self.number(component, path, "min_length", least=0, most=limits.TEXT_INPUT_MAX)
        most = self.number(component, path, "max_length", least=1, most=limits.TEXT_INPUT_MAX)
        if least is not None and most is not None and most < least:
            self.note((*path, "max_length"), errors.number_min(least))

    def file_upload(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.range(component, path, limits.FILE_UPLOADS_MAX)
        found = component.get("file_types")
        if found is None:
            return
        at = (*path, "file_types")
        if not isinstance(found, list):
            self.note(at, errors.not_list())
        elif len(found) > limits.FILE_TYPES_MAX:
            self.note(at, errors.bad_length(0, limits.FILE_TYPES_MAX))
        else:
            for index, kind in enumerate(found):
                if not isinstance(kind, str):
                    self.note((*at, index), errors.not_string(kind))
                elif not is_file_type(kind):
                    self.note((*at, index), errors.regex())

    def radio_group(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.boolean(component, path, "required")
        least, most = limits.RADIO_OPTIONS_MIN, limits.GROUP_OPTIONS_MAX
        if self.options(component, path, least=least, most=most) > 1:
            self.note((*path, "options"), errors.too_many_default_values())

    def checkbox_group(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        chosen = self.options(component, path, least=1, most=limits.GROUP_OPTIONS_MAX)
        options = component.get("options")
        all_of_them = len(options) if isinstance(options, list) else limits.GROUP_OPTIONS_MAX
        self.range(component, path, limits.GROUP_OPTIONS_MAX, default=max(1, all_of_them))
        if chosen > self.most(component, all_of_them):
            self.note((*path, "options"), errors.too_many_default_values())
        component.setdefault("max_values", all_of_them)

    def checkbox(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.boolean(component, path, "default")
        if component.get("required"):
            self.note((*path, "required"), errors.component_field())

    # Parts of components

    def note(self, path: Steps, wrong: errors.FormError) -> None:
        self.form.add(path, *wrong)

    def refuse(self, component: Component, path: Steps, *keys: str) -> None:
        """These keys may not be there."""
        for key in keys:
            if component.get(key) is not None:
                self.note((*path, key), errors.component_field())

    def identity(self, component: Component, path: Steps) -> None:
        given = component.pop("id", None)
        if given is None:
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

    def custom_id(self, component: Component, path: Steps) -> None:
        if self.string(component, path, "custom_id", least=1, most=limits.CUSTOM_ID_MAX, needed=True):
            if component["custom_id"] in self.custom_ids:
                self.note((*path, "custom_id"), errors.custom_id_duplicated())
            self.custom_ids.add(component["custom_id"])

    def children(self, component: Component, path: Steps, allowed: Kinds, *, most: int) -> list[Any]:
        found = component.get("components")
        if not isinstance(found, list) or not 1 <= len(found) <= most:
            self.note((*path, "components"), errors.bad_length(1, most))
            return []
        for index, child in enumerate(found):
            self.component(child, (*path, "components", index), allowed)
        return found

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
            _keep(option, _OPTION if emoji else tuple(key for key in _OPTION if key != "emoji"))
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

    def range(self, component: Component, path: Steps, most: int, default: int = 1) -> None:
        """How many may be chosen: at least one where an answer is required, and so many at most unless it is said."""
        low = self.number(component, path, "min_values", least=0, most=most)
        high = self.number(component, path, "max_values", least=1, most=most)
        if low is not None and high is not None and high < low:
            self.note((*path, "max_values"), errors.number_min(low))
        if low is not None and component.get("max_values") is None and default < low:
            self.note((*path, "min_values"), errors.number_max(default))
        if self.boolean(component, path, "required") and self.modal and low == 0 and component.get("required", True):
            self.note((*path, "min_values"), errors.number_min(1))

    def most(self, component: Component, default: int) -> int:
        most = component.get("max_values", default)
        return most if isinstance(most, int) else default

    def emoji(self, component: Component, path: Steps) -> None:
        emoji = component.get("emoji")
        if emoji is None:
            return
        if not isinstance(emoji, dict):
            self.note((*path, "emoji"), errors.not_model())
            return
        _keep(emoji, ("id", "name", "animated"))
        if "id" in emoji:
            try:
                emoji["id"] = str(int(parse_wide(Snowflake, emoji["id"])))
            except ValueError:
                self.note((*path, "emoji", "id"), errors.not_snowflake(emoji["id"]))
                return
        elif not self.string(emoji, (*path, "emoji"), "name", least=1, most=32, needed=True):
            return
        self.named.emojis.append(((*path, "emoji"), emoji))

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

    def boolean(self, component: Component, path: Steps, key: str) -> bool:
        """Whether this is true, false or absent."""
        if isinstance(component.get(key, False), bool):
            return True
        self.note((*path, key), errors.not_boolean())
        return False

    def address(self, url: str, path: Steps, schemes: tuple[str, ...]) -> None:
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
            if "id" not in component:
                while fresh in self.ids:
                    fresh += 1
                component["id"] = fresh
                self.ids.add(fresh)
            _complete(component)


def _keep(item: Component, keys: tuple[str, ...]) -> None:
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


def is_required(component: Component) -> bool:
    """Whether an input of a modal must be filled in."""
    return component["type"] in _REQUIRED and component.get("required", True)
