"""Validation of message and modal components (webhooks-and-interactions.md 4).

One walk validates every component, reports errors with their exact path, assigns missing ids and removes keys that the
type does not have."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ButtonStyle, ComponentType, SeparatorSpacing, TextInputStyle
from hubbub.protocol.resources import components as limits
from hubbub.protocol.resources.attachments import is_file_type
from hubbub.protocol.resources.components import Component
from hubbub.server.resources.messages.component_fields import ENTITIES, KEYS, SELECTS, Fields, Kinds, Named, Steps, keep

_LEGACY_COMPONENTS_MAX: Final = 30
"""Maximum number of components in total before components_40 (dated-changes.md 3)."""
_LEGACY_LEVEL_MAX: Final = 10
"""Maximum number of top-level components, and of components in a container, before components_40."""

INTERACTIVE: Final[Kinds] = SELECTS | {ComponentType.BUTTON}
"""Component types that users can click or select from in a message."""
INPUTS: Final[Kinds] = SELECTS | {
    ComponentType.TEXT_INPUT,
    ComponentType.FILE_UPLOAD,
    ComponentType.RADIO_GROUP,
    ComponentType.CHECKBOX_GROUP,
    ComponentType.CHECKBOX,
}
"""Component types that a label of a modal can contain."""

_CONTAINER_TYPES: Final[Kinds] = frozenset(
    {
        ComponentType.ACTION_ROW,
        ComponentType.SECTION,
        ComponentType.TEXT_DISPLAY,
        ComponentType.MEDIA_GALLERY,
        ComponentType.FILE,
        ComponentType.SEPARATOR,
    }
)
_TOP_LEVEL_TYPES: Final[Kinds] = _CONTAINER_TYPES | {ComponentType.CONTAINER}
_ROW_TYPES: Final[Kinds] = frozenset({ComponentType.ACTION_ROW})
_TEXT_TYPES: Final[Kinds] = frozenset({ComponentType.TEXT_DISPLAY})
_TEXT_INPUT_TYPES: Final[Kinds] = frozenset({ComponentType.TEXT_INPUT})
_ACCESSORY_TYPES: Final[Kinds] = frozenset({ComponentType.BUTTON, ComponentType.THUMBNAIL})

_REQUIRED_TYPES: Final[Kinds] = INPUTS - {ComponentType.CHECKBOX}
"""Inputs that are required unless they specify otherwise."""


def check(components: list[Component], form: errors.FormErrors, *, v2: bool, now: int) -> Named:
    """Validate a message's components by the rules at time `now`; return what they refer to."""
    top_level_max = total_max = container_max = limits.COMPONENTS_MAX
    if not changes.COMPONENTS_40.active(now):
        top_level_max, total_max, container_max = _LEGACY_LEVEL_MAX, _LEGACY_COMPONENTS_MAX, _LEGACY_LEVEL_MAX
    if not v2:
        top_level_max = limits.ACTION_ROWS_MAX
    validator = _ComponentValidator(
        form, modal=False, assigns_ids=changes.COMPONENTS_V2.active(now), container_max=container_max
    )
    for index, component in enumerate(components):
        validator.component(component, ("components", index), _TOP_LEVEL_TYPES if v2 else _ROW_TYPES)
    if len(components) > top_level_max:
        form.add(("components",), *errors.bad_length(1, top_level_max))
    elif len(validator.seen) > total_max:
        form.add(("components",), *errors.bad_length(1, total_max))
    if validator.text_length > limits.COMPONENT_TEXT_MAX:
        form.add(("components",), *errors.max_length(limits.COMPONENT_TEXT_MAX))
    validator.finish()
    return validator.named


def check_modal(components: list[Component], form: errors.FormErrors, *, now: int, path: Steps = ()) -> Named:
    """Validate a modal's components by the rules at time `now`; return what they refer to."""
    components_path = (*path, "components")
    if not 1 <= len(components) <= limits.MODAL_COMPONENTS_MAX:
        form.add(components_path, *errors.bad_length(1, limits.MODAL_COMPONENTS_MAX))
    validator = _ComponentValidator(
        form, modal=True, assigns_ids=changes.COMPONENTS_V2.active(now), inputs=_modal_inputs(now)
    )
    allowed = _ROW_TYPES
    if changes.MODAL_LABELS.active(now):
        allowed |= {ComponentType.LABEL}
    if changes.MODAL_SELECTS.active(now):
        allowed |= _TEXT_TYPES
    for index, component in enumerate(components):
        validator.component(component, (*components_path, index), allowed)
    if not changes.CHANNEL_APPLICATION_ID_NULLABLE.active(now):
        # dated-changes.md 3: before this change, uploads could not be restricted by file type.
        for component in validator.seen:
            component.pop("file_types", None)
    validator.finish()
    return validator.named


def _modal_inputs(now: int) -> Kinds:
    """Return the component types that a label can contain at time `now` (dated-changes.md)."""
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
    """Iterate over all components in document order, including nested ones."""
    for component in components:
        yield component
        yield from each(component.get("components") or ())
        for key in ("accessory", "component"):
            if component.get(key) is not None:
                yield from each((component[key],))


def texts(components: list[Component]) -> Iterator[str]:
    """Iterate over the contents of text displays, which can contain mentions (http.md 1.15)."""
    for component in each(components):
        if component.get("type") == ComponentType.TEXT_DISPLAY and isinstance(component.get("content"), str):
            yield component["content"]


class _ComponentValidator(Fields):
    """Validator of all components of a message or a modal."""

    def __init__(
        self,
        form: errors.FormErrors,
        *,
        modal: bool,
        assigns_ids: bool,
        inputs: Kinds = INPUTS,
        container_max: int = limits.COMPONENTS_MAX,
    ) -> None:
        super().__init__(form, modal=modal, numbered=assigns_ids)
        self.inputs = inputs
        self.container_max = container_max
        self.text_length = 0
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
        """Validate one component at a position that allows only some types."""
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
            keys = KEYS[kind]
            # `required` and `disabled` are validated everywhere, but stored only where they apply.
            keep(component, ("type", "id", *keys, "required", "disabled"))
            self.identity(component, path)
            if self.modal:
                self.enabled(component, path)
            self.rules[kind](component, path)
            keep(component, ("type", "id", *keys, *(("required",) if self.modal else ())))

    def children(self, component: Component, path: Steps, allowed: Kinds, *, children_max: int) -> list[Any]:
        found = component.get("components")
        if not isinstance(found, list) or not 1 <= len(found) <= children_max:
            self.note((*path, "components"), errors.bad_length(1, children_max))
            return []
        for index, child in enumerate(found):
            self.component(child, (*path, "components", index), allowed)
        return found

    # Components of messages

    def row(self, component: Component, path: Steps) -> None:
        if self.modal:
            # Legacy modals have an action row per text input, which then has its own label.
            self.children(component, path, _TEXT_INPUT_TYPES, children_max=1)
            return
        found = self.children(component, path, INTERACTIVE, children_max=limits.ROW_WIDTH)
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
        if not self.choice(style, (*path, "style"), ButtonStyle):
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

    def section(self, component: Component, path: Steps) -> None:
        self.children(component, path, _TEXT_TYPES, children_max=limits.SECTION_TEXTS_MAX)
        if "accessory" in component:
            self.component(component["accessory"], (*path, "accessory"), _ACCESSORY_TYPES)
        else:
            self.note((*path, "accessory"), errors.required())

    def text_display(self, component: Component, path: Steps) -> None:
        if self.string(component, path, "content", least=1, most=limits.COMPONENT_TEXT_MAX, needed=True):
            if component["content"].strip():
                self.text_length += len(component["content"])
            else:
                self.note((*path, "content"), errors.required())

    def thumbnail(self, component: Component, path: Steps) -> None:
        self.media(component, "media", path, picture=True)
        self.shown(component, path)

    def gallery(self, component: Component, path: Steps) -> None:
        for item, item_path in self.items(component, path, "items", most=limits.GALLERY_ITEMS_MAX):
            keep(item, ("media", "description", "spoiler"))
            self.media(item, "media", item_path)
            self.shown(item, item_path)

    def file(self, component: Component, path: Steps) -> None:
        self.media(component, "file", path, attached=True)
        self.boolean(component, path, "spoiler")
        # The server sets these.
        component.pop("name", None)
        component.pop("size", None)

    def separator(self, component: Component, path: Steps) -> None:
        self.boolean(component, path, "divider")
        spacing = component.get("spacing")
        if spacing is not None:
            self.choice(spacing, (*path, "spacing"), SeparatorSpacing)

    def container(self, component: Component, path: Steps) -> None:
        self.children(component, path, _CONTAINER_TYPES, children_max=self.container_max)
        self.number(component, path, "accent_color", least=0, most=limits.COLOR_MAX)
        self.boolean(component, path, "spoiler")

    # Components of messages and modals

    def string_select(self, component: Component, path: Steps) -> None:
        default_count = self.options(component, path, least=1, most=limits.SELECT_VALUES_MAX, emoji=True)
        self.select(component, path)
        self.enough(component, path)
        if default_count > self.most(component, 1):
            self.note((*path, "options"), errors.too_many_default_values())

    def entity_select(self, component: Component, path: Steps) -> None:
        self.select(component, path)
        if component["type"] == ComponentType.CHANNEL_SELECT and "channel_types" in component:
            self.channel_types(component["channel_types"], (*path, "channel_types"))
        found = component.get("default_values")
        if found is None:
            return
        values_path = (*path, "default_values")
        if not isinstance(found, list):
            self.note(values_path, errors.not_list())
            return
        for index, value in enumerate(found):
            self.default_value(value, (*values_path, index), ENTITIES[component["type"]])
        min_values = component.get("min_values", 1)
        if found and not (min_values if isinstance(min_values, int) else 1) <= len(found) <= self.most(component, 1):
            self.note(values_path, errors.too_many_default_values())

    def select(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.string(component, path, "placeholder", most=limits.SELECT_PLACEHOLDER_MAX)
        self.range(component, path, limits.SELECT_VALUES_MAX)
        self.boolean(component, path, "disabled")

    # Components of modals

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
        else:
            self.choice(style, (*path, "style"), TextInputStyle)
        if path[-1] == "component":
            self.refuse(component, path, "label")
        else:
            self.string(component, path, "label", least=1, most=limits.LABEL_MAX, needed=True)
        self.boolean(component, path, "required")
        self.string(component, path, "value", most=limits.TEXT_INPUT_MAX)
        self.string(component, path, "placeholder", most=limits.TEXT_INPUT_PLACEHOLDER_MAX)
        min_length = self.number(component, path, "min_length", least=0, most=limits.TEXT_INPUT_MAX)
        max_length = self.number(component, path, "max_length", least=1, most=limits.TEXT_INPUT_MAX)
        if min_length is not None and max_length is not None and max_length < min_length:
            self.note((*path, "max_length"), errors.number_min(min_length))

    def file_upload(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        # The specification says: "min and max file count, each between 0 and 10".
        self.range(component, path, limits.FILE_UPLOADS_MAX, least=0)
        if component.get("max_values") == 0:
            component.setdefault("min_values", 0)
        found = component.get("file_types")
        if found is None:
            return
        types_path = (*path, "file_types")
        if not isinstance(found, list):
            self.note(types_path, errors.not_list())
        elif len(found) > limits.FILE_TYPES_MAX:
            self.note(types_path, errors.bad_length(0, limits.FILE_TYPES_MAX))
        else:
            for index, kind in enumerate(found):
                if not isinstance(kind, str):
                    self.note((*types_path, index), errors.not_string(kind))
                elif not is_file_type(kind):
                    self.note((*types_path, index), errors.regex())

    def radio_group(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.boolean(component, path, "required")
        min_options, max_options = limits.RADIO_OPTIONS_MIN, limits.GROUP_OPTIONS_MAX
        if self.options(component, path, least=min_options, most=max_options) > 1:
            self.note((*path, "options"), errors.too_many_default_values())

    def checkbox_group(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        default_count = self.options(component, path, least=1, most=limits.GROUP_OPTIONS_MAX)
        options = component.get("options")
        option_count = len(options) if isinstance(options, list) else limits.GROUP_OPTIONS_MAX
        self.range(component, path, limits.GROUP_OPTIONS_MAX, default=max(1, option_count))
        self.enough(component, path)
        if default_count > self.most(component, option_count):
            self.note((*path, "options"), errors.too_many_default_values())
        component.setdefault("max_values", option_count)

    def checkbox(self, component: Component, path: Steps) -> None:
        self.custom_id(component, path)
        self.boolean(component, path, "default")
        if component.get("required"):
            self.note((*path, "required"), errors.component_field())


def is_required(component: Component) -> bool:
    """Report whether an input of a modal must be filled in."""
    return component["type"] in _REQUIRED_TYPES and component.get("required", True)
