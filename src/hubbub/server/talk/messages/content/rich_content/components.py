"""Validation of message and modal components (spec/webhooks-and-interactions.md#4).

One walk validates every component, reports errors with their exact path and removes keys that the type does not have.
Missing IDs and defaults are set after the walk."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ButtonStyle, ComponentType, SeparatorSpacing, TextInputStyle
from hubbub.protocol.numbers import COLOR_MAX
from hubbub.protocol.resources import components as limits
from hubbub.protocol.resources.attachments import is_file_type
from hubbub.protocol.resources.components import Component
from hubbub.server.talk.messages.content.rich_content.component_fields import (
    COMPONENT_KEYS,
    SELECT_ENTITIES,
    SELECT_TYPES,
    ComponentReferences,
    ComponentTypes,
    FieldPath,
    FieldValidator,
    retain_keys,
)

_LEGACY_COMPONENTS_MAX: Final = 30
"""Maximum number of components in total before `changes.COMPONENTS_40` (spec/dated-changes.md#3)."""
_LEGACY_LEVEL_MAX: Final = 10
"""Maximum number of top-level components, and of components in a container, before `changes.COMPONENTS_40`."""

INTERACTIVE_TYPES: Final[ComponentTypes] = SELECT_TYPES | {ComponentType.BUTTON}
"""Component types that users can click or select from in a message."""
INPUT_TYPES: Final[ComponentTypes] = SELECT_TYPES | {
    ComponentType.TEXT_INPUT,
    ComponentType.FILE_UPLOAD,
    ComponentType.RADIO_GROUP,
    ComponentType.CHECKBOX_GROUP,
    ComponentType.CHECKBOX,
}
"""Component types that a label of a modal can contain."""

_CONTAINER_TYPES: Final[ComponentTypes] = frozenset(
    {
        ComponentType.ACTION_ROW,
        ComponentType.SECTION,
        ComponentType.TEXT_DISPLAY,
        ComponentType.MEDIA_GALLERY,
        ComponentType.FILE,
        ComponentType.SEPARATOR,
    }
)
_TOP_LEVEL_TYPES: Final[ComponentTypes] = _CONTAINER_TYPES | {ComponentType.CONTAINER}
_ROW_TYPES: Final[ComponentTypes] = frozenset({ComponentType.ACTION_ROW})
_TEXT_TYPES: Final[ComponentTypes] = frozenset({ComponentType.TEXT_DISPLAY})
_TEXT_INPUT_TYPES: Final[ComponentTypes] = frozenset({ComponentType.TEXT_INPUT})
_ACCESSORY_TYPES: Final[ComponentTypes] = frozenset({ComponentType.BUTTON, ComponentType.THUMBNAIL})

_REQUIRED_TYPES: Final[ComponentTypes] = INPUT_TYPES - {ComponentType.CHECKBOX}
"""Inputs that are required unless they specify otherwise."""


def validate_message_components(
    components: list[Component], form: errors.FormErrors, *, is_v2: bool, now_ms: int
) -> ComponentReferences:
    """Validate a message's components by the rules at `now_ms`; return the objects they refer to.

    `is_v2` is True for messages with the flag IS_COMPONENTS_V2."""
    top_level_max = total_max = container_max = limits.COMPONENTS_MAX
    if not changes.COMPONENTS_40.is_active(now_ms):
        top_level_max, total_max, container_max = _LEGACY_LEVEL_MAX, _LEGACY_COMPONENTS_MAX, _LEGACY_LEVEL_MAX
    if not is_v2:
        top_level_max = limits.ACTION_ROWS_MAX
    validator = _ComponentValidator(
        form, is_modal=False, assigns_ids=changes.COMPONENTS_V2.is_active(now_ms), container_max=container_max
    )
    for index, component in enumerate(components):
        validator.check_component(component, ("components", index), _TOP_LEVEL_TYPES if is_v2 else _ROW_TYPES)
    if len(components) > top_level_max:
        form.add(("components",), *errors.bad_length(1, top_level_max))
    elif len(validator.components) > total_max:
        form.add(("components",), *errors.bad_length(1, total_max))
    if validator.text_length > limits.COMPONENT_TEXT_MAX:
        form.add(("components",), *errors.max_length(limits.COMPONENT_TEXT_MAX))
    validator.complete()
    return validator.references


def validate_modal_components(
    components: list[Component], form: errors.FormErrors, *, now_ms: int, path: FieldPath = ()
) -> ComponentReferences:
    """Validate a modal's components by the rules at `now_ms`; return the objects they refer to.

    `path` is the position of the modal in the request, for error paths."""
    components_path = (*path, "components")
    if not 1 <= len(components) <= limits.MODAL_COMPONENTS_MAX:
        form.add(components_path, *errors.bad_length(1, limits.MODAL_COMPONENTS_MAX))
    validator = _ComponentValidator(
        form, is_modal=True, assigns_ids=changes.COMPONENTS_V2.is_active(now_ms), input_types=_modal_input_types(now_ms)
    )
    allowed_types = _ROW_TYPES
    if changes.MODAL_LABELS.is_active(now_ms):
        allowed_types |= {ComponentType.LABEL}
    if changes.MODAL_TEXT_DISPLAYS.is_active(now_ms):
        allowed_types |= _TEXT_TYPES
    for index, component in enumerate(components):
        validator.check_component(component, (*components_path, index), allowed_types)
    if not changes.FILE_UPLOAD_TYPES.is_active(now_ms):
        # spec/dated-changes.md#3: before this change, uploads could not be limited to file types.
        for component in validator.components:
            component.pop("file_types", None)
    validator.complete()
    return validator.references


def _modal_input_types(now_ms: int) -> ComponentTypes:
    """Return the component types that a label can contain at `now_ms` (spec/dated-changes.md#3)."""
    input_types: ComponentTypes = frozenset({ComponentType.TEXT_INPUT, ComponentType.STRING_SELECT})
    for change, component_types in (
        (changes.MODAL_SELECTS, SELECT_TYPES),
        (changes.MODAL_FILE_UPLOAD, {ComponentType.FILE_UPLOAD}),
        (changes.MODAL_CHOICES, {ComponentType.RADIO_GROUP, ComponentType.CHECKBOX_GROUP, ComponentType.CHECKBOX}),
    ):
        if change.is_active(now_ms):
            input_types |= component_types
    return input_types


def walk_components(components: Iterable[Component]) -> Iterator[Component]:
    """Iterate over all components in document order, including nested ones."""
    for component in components:
        yield component
        yield from walk_components(component.get("components") or ())
        for key in ("accessory", "component"):
            if component.get(key) is not None:
                yield from walk_components((component[key],))


def text_contents(components: list[Component]) -> Iterator[str]:
    """Iterate over the contents of text displays, which can contain mentions (spec/http.md#1.15)."""
    for component in walk_components(components):
        if component.get("type") == ComponentType.TEXT_DISPLAY and isinstance(component.get("content"), str):
            yield component["content"]


class _ComponentValidator(FieldValidator):
    """Validator of all components of a message or a modal. The methods named after a type validate one component.

    `input_types` are the types that a label can contain, `container_max` is the maximum number of components in a container."""

    def __init__(
        self,
        form: errors.FormErrors,
        *,
        is_modal: bool,
        assigns_ids: bool,
        input_types: ComponentTypes = INPUT_TYPES,
        container_max: int = limits.COMPONENTS_MAX,
    ) -> None:
        super().__init__(form, is_modal=is_modal, assigns_ids=assigns_ids)
        self.input_types = input_types
        self.container_max = container_max
        self.text_length = 0
        self.checks_by_type: dict[int, Callable[[Component, FieldPath], None]] = {
            ComponentType.ACTION_ROW: self.check_row,
            ComponentType.BUTTON: self.check_button,
            ComponentType.STRING_SELECT: self.check_string_select,
            **dict.fromkeys(SELECT_ENTITIES, self.check_entity_select),
            ComponentType.TEXT_INPUT: self.check_text_input,
            ComponentType.SECTION: self.check_section,
            ComponentType.TEXT_DISPLAY: self.check_text_display,
            ComponentType.THUMBNAIL: self.check_thumbnail,
            ComponentType.MEDIA_GALLERY: self.check_gallery,
            ComponentType.FILE: self.check_file,
            ComponentType.SEPARATOR: self.check_separator,
            ComponentType.CONTAINER: self.check_container,
            ComponentType.LABEL: self.check_label,
            ComponentType.FILE_UPLOAD: self.check_file_upload,
            ComponentType.RADIO_GROUP: self.check_radio_group,
            ComponentType.CHECKBOX_GROUP: self.check_checkbox_group,
            ComponentType.CHECKBOX: self.check_checkbox,
        }

    def check_component(self, component: Any, path: FieldPath, allowed_types: ComponentTypes) -> None:
        """Validate one component at a position that allows only some types."""
        if not isinstance(component, dict):
            self.add_error(path, errors.not_model())
            return
        self.components.append(component)
        component_type = component.get("type")
        if component_type is None:
            self.add_error((*path, "type"), errors.required())
        elif not isinstance(component_type, int) or isinstance(component_type, bool):
            self.add_error((*path, "type"), errors.not_number(component_type))
        elif component_type not in allowed_types:
            self.add_error((*path, "type"), errors.component_type())
        else:
            keys = COMPONENT_KEYS[component_type]
            # `required` and `disabled` are validated everywhere, but stored only where they apply.
            retain_keys(component, ("type", "id", *keys, "required", "disabled"))
            self.check_id(component, path)
            if self.is_modal:
                self.forbid_disabled(component, path)
            self.checks_by_type[component_type](component, path)
            retain_keys(component, ("type", "id", *keys, *(("required",) if self.is_modal else ())))

    def check_children(
        self, component: Component, path: FieldPath, allowed_types: ComponentTypes, *, children_max: int
    ) -> list[Any]:
        """Validate the children of a component; return them, or an empty list if their number is invalid."""
        components = component.get("components")
        if not isinstance(components, list) or not 1 <= len(components) <= children_max:
            self.add_error((*path, "components"), errors.bad_length(1, children_max))
            return []
        for index, child in enumerate(components):
            self.check_component(child, (*path, "components", index), allowed_types)
        return components

    # Layout, text, media and buttons

    def check_row(self, component: Component, path: FieldPath) -> None:
        if self.is_modal:
            # Legacy modals have an action row per text input, which then has its own label.
            self.check_children(component, path, _TEXT_INPUT_TYPES, children_max=1)
            return
        children = self.check_children(component, path, INTERACTIVE_TYPES, children_max=limits.ROW_WIDTH)
        width = sum(
            1 if isinstance(child, dict) and child.get("type") == ComponentType.BUTTON else limits.ROW_WIDTH
            for child in children
        )
        if width > limits.ROW_WIDTH:
            self.add_error((*path, "components"), errors.component_width())

    def check_button(self, component: Component, path: FieldPath) -> None:
        style = component.get("style")
        if style is None:
            self.add_error((*path, "style"), errors.required())
            return
        if not self.validate_choice(style, (*path, "style"), ButtonStyle):
            return
        self.validate_boolean(component, path, "disabled")
        if style == ButtonStyle.PREMIUM:
            self.forbid_keys(component, path, "custom_id", "label", "url", "emoji")
            self.check_sku(component, path)
            return
        self.forbid_keys(component, path, "sku_id")
        if "custom_id" in component and "url" in component:
            self.add_error((*path, "custom_id"), errors.button_custom_id_or_url())
        elif style == ButtonStyle.LINK:
            self.forbid_keys(component, path, "custom_id")
            if self.validate_string(component, path, "url", max_length=limits.BUTTON_URL_MAX, is_required=True):
                self.check_url(component["url"], (*path, "url"), ("http", "https", "discord", "hubbub"))
        elif "custom_id" not in component:
            self.forbid_keys(component, path, "url")
            self.add_error((*path, "custom_id"), errors.button_custom_id_required())
        else:
            self.check_custom_id(component, path)
        self.validate_string(component, path, "label", max_length=limits.BUTTON_LABEL_MAX)
        self.check_emoji(component, path)
        if not component.get("label") and "emoji" not in component:
            self.add_error((*path, "label"), errors.required())

    def check_section(self, component: Component, path: FieldPath) -> None:
        self.check_children(component, path, _TEXT_TYPES, children_max=limits.SECTION_TEXTS_MAX)
        if "accessory" in component:
            self.check_component(component["accessory"], (*path, "accessory"), _ACCESSORY_TYPES)
        else:
            self.add_error((*path, "accessory"), errors.required())

    def check_text_display(self, component: Component, path: FieldPath) -> None:
        if self.validate_string(
            component, path, "content", min_length=1, max_length=limits.COMPONENT_TEXT_MAX, is_required=True
        ):
            if component["content"].strip():
                self.text_length += len(component["content"])
            else:
                self.add_error((*path, "content"), errors.required())

    def check_thumbnail(self, component: Component, path: FieldPath) -> None:
        self.check_media(component, "media", path, must_be_image=True)
        self.check_media_display(component, path)

    def check_gallery(self, component: Component, path: FieldPath) -> None:
        for item, item_path in self.iterate_items(component, path, "items", max_items=limits.GALLERY_ITEMS_MAX):
            retain_keys(item, ("media", "description", "spoiler"))
            self.check_media(item, "media", item_path)
            self.check_media_display(item, item_path)

    def check_file(self, component: Component, path: FieldPath) -> None:
        self.check_media(component, "file", path, must_be_attachment=True)
        self.validate_boolean(component, path, "spoiler")
        # The server sets the name and size.
        component.pop("name", None)
        component.pop("size", None)

    def check_separator(self, component: Component, path: FieldPath) -> None:
        self.validate_boolean(component, path, "divider")
        spacing = component.get("spacing")
        if spacing is not None:
            self.validate_choice(spacing, (*path, "spacing"), SeparatorSpacing)

    def check_container(self, component: Component, path: FieldPath) -> None:
        self.check_children(component, path, _CONTAINER_TYPES, children_max=self.container_max)
        self.validate_number(component, path, "accent_color", minimum=0, maximum=COLOR_MAX)
        self.validate_boolean(component, path, "spoiler")

    # Selects

    def check_string_select(self, component: Component, path: FieldPath) -> None:
        default_count = self.check_options(
            component, path, min_options=1, max_options=limits.SELECT_VALUES_MAX, allow_emoji=True
        )
        self.check_select(component, path)
        self.check_option_count(component, path)
        if default_count > self.read_max_values(component, 1):
            self.add_error((*path, "options"), errors.too_many_default_values())

    def check_entity_select(self, component: Component, path: FieldPath) -> None:
        self.check_select(component, path)
        if component["type"] == ComponentType.CHANNEL_SELECT and "channel_types" in component:
            self.check_channel_types(component["channel_types"], (*path, "channel_types"))
        default_values = component.get("default_values")
        if default_values is None:
            return
        values_path = (*path, "default_values")
        if not isinstance(default_values, list):
            self.add_error(values_path, errors.not_list())
            return
        for index, value in enumerate(default_values):
            self.check_default_value(value, (*values_path, index), SELECT_ENTITIES[component["type"]])
        min_values = component.get("min_values", 1)
        if default_values and not (min_values if isinstance(min_values, int) else 1) <= len(
            default_values
        ) <= self.read_max_values(component, 1):
            self.add_error(values_path, errors.too_many_default_values())

    def check_select(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        self.validate_string(component, path, "placeholder", max_length=limits.SELECT_PLACEHOLDER_MAX)
        self.check_value_range(component, path, limits.SELECT_VALUES_MAX)
        self.validate_boolean(component, path, "disabled")

    # Labels and inputs of modals

    def check_label(self, component: Component, path: FieldPath) -> None:
        self.validate_string(
            component, path, "label", min_length=1, max_length=limits.MODAL_LABEL_MAX, is_required=True
        )
        self.validate_string(component, path, "description", min_length=1, max_length=limits.LABEL_DESCRIPTION_MAX)
        if "component" in component:
            self.check_component(component["component"], (*path, "component"), self.input_types)
        else:
            self.add_error((*path, "component"), errors.required())

    def check_text_input(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        style = component.get("style")
        if style is None:
            self.add_error((*path, "style"), errors.required())
        else:
            self.validate_choice(style, (*path, "style"), TextInputStyle)
        if path[-1] == "component":
            self.forbid_keys(component, path, "label")
        else:
            self.validate_string(
                component, path, "label", min_length=1, max_length=limits.MODAL_LABEL_MAX, is_required=True
            )
        self.validate_boolean(component, path, "required")
        self.validate_string(component, path, "value", max_length=limits.TEXT_INPUT_MAX)
        self.validate_string(component, path, "placeholder", max_length=limits.TEXT_INPUT_PLACEHOLDER_MAX)
        min_length = self.validate_number(component, path, "min_length", minimum=0, maximum=limits.TEXT_INPUT_MAX)
        max_length = self.validate_number(component, path, "max_length", minimum=1, maximum=limits.TEXT_INPUT_MAX)
        if min_length is not None and max_length is not None and max_length < min_length:
            self.add_error((*path, "max_length"), errors.number_min(min_length))

    def check_file_upload(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        # The specification requires: "min and max file count, each between 0 and 10".
        self.check_value_range(component, path, limits.FILE_UPLOADS_MAX, max_values_min=0)
        if component.get("max_values") == 0:
            component.setdefault("min_values", 0)
        file_types = component.get("file_types")
        if file_types is None:
            return
        types_path = (*path, "file_types")
        if not isinstance(file_types, list):
            self.add_error(types_path, errors.not_list())
        elif len(file_types) > limits.UPLOAD_FILE_TYPES_MAX:
            self.add_error(types_path, errors.bad_length(0, limits.UPLOAD_FILE_TYPES_MAX))
        else:
            for index, file_type in enumerate(file_types):
                if not isinstance(file_type, str):
                    self.add_error((*types_path, index), errors.not_string(file_type))
                elif not is_file_type(file_type):
                    self.add_error((*types_path, index), errors.regex())

    def check_radio_group(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        self.validate_boolean(component, path, "required")
        min_options, max_options = limits.RADIO_OPTIONS_MIN, limits.GROUP_OPTIONS_MAX
        if self.check_options(component, path, min_options=min_options, max_options=max_options) > 1:
            self.add_error((*path, "options"), errors.too_many_default_values())

    def check_checkbox_group(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        default_count = self.check_options(component, path, min_options=1, max_options=limits.GROUP_OPTIONS_MAX)
        options = component.get("options")
        option_count = len(options) if isinstance(options, list) else limits.GROUP_OPTIONS_MAX
        self.check_value_range(component, path, limits.GROUP_OPTIONS_MAX, default_max_values=max(1, option_count))
        self.check_option_count(component, path)
        if default_count > self.read_max_values(component, option_count):
            self.add_error((*path, "options"), errors.too_many_default_values())
        component.setdefault("max_values", option_count)

    def check_checkbox(self, component: Component, path: FieldPath) -> None:
        self.check_custom_id(component, path)
        self.validate_boolean(component, path, "default")
        if component.get("required"):
            self.add_error((*path, "required"), errors.component_field())


def is_required(component: Component) -> bool:
    """Return whether an input of a modal must be filled in."""
    return component["type"] in _REQUIRED_TYPES and component.get("required", True)
