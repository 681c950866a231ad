"""Message components: checked for what would break a client, numbered, and kept as they were sent."""

from collections.abc import Iterator
from typing import Any, Final

from hubbub.protocol import errors
from hubbub.protocol.enums import ButtonStyle, ComponentType
from hubbub.protocol.resources.components import ACTION_ROWS_MAX, COMPONENT_TEXT_MAX, COMPONENTS_MAX
from hubbub.server.resources.attachments import clean_filename
from hubbub.server.resources.messages.embeds import ATTACHMENT

Steps = tuple[str | int, ...]

CUSTOM_ID_MAX: Final = 100
LABEL_MAX: Final = 80
OPTIONS_MAX: Final = 25
ROW_WIDTH: Final = 5
GALLERY_MAX: Final = 10
COMPONENTS_MAX_BEFORE: Final = 30
"""In all, before components_40 (dated-changes.md)."""

_SELECTS: Final = frozenset(
    {
        ComponentType.STRING_SELECT,
        ComponentType.USER_SELECT,
        ComponentType.ROLE_SELECT,
        ComponentType.MENTIONABLE_SELECT,
        ComponentType.CHANNEL_SELECT,
    }
)
_IN_CONTAINER: Final = frozenset(
    {
        ComponentType.ACTION_ROW,
        ComponentType.SECTION,
        ComponentType.TEXT_DISPLAY,
        ComponentType.MEDIA_GALLERY,
        ComponentType.FILE,
        ComponentType.SEPARATOR,
    }
)
_AT_TOP: Final = _IN_CONTAINER | {ComponentType.CONTAINER}
_CHOICE: Final[dict[str, Any]] = {"min_values": 1, "max_values": 1}
_DEFAULTS: Final[dict[int, dict[str, Any]]] = {
    **{int(kind): _CHOICE for kind in _SELECTS},
    ComponentType.CONTAINER: {"accent_color": None, "spoiler": False},
    ComponentType.SEPARATOR: {"spacing": 1, "divider": True},
    ComponentType.THUMBNAIL: {"description": None, "spoiler": False},
    ComponentType.FILE: {"spoiler": False, "name": "", "size": 0},
}
_ACCESSORIES: Final = frozenset({ComponentType.BUTTON, ComponentType.THUMBNAIL})


def check(components: list[dict[str, Any]], form: errors.FormErrors, *, v2: bool, most: int = COMPONENTS_MAX) -> None:
    """Note what is wrong with a message's components, and give an id to each that has none."""
    if not v2 and len(components) > ACTION_ROWS_MAX:
        form.add(("components",), *errors.bad_length(1, ACTION_ROWS_MAX))
    check = _Check(form)
    allowed = _AT_TOP if v2 else frozenset({ComponentType.ACTION_ROW})
    for index, component in enumerate(components):
        check.component(component, ("components", index), allowed)
    if len(check.seen) > most:
        form.add(("components",), *errors.bad_length(1, most))
    if check.text > COMPONENT_TEXT_MAX:
        form.add(("components",), *errors.max_length(COMPONENT_TEXT_MAX))
    check.number()


def texts(components: list[dict[str, Any]]) -> Iterator[str]:
    """What text displays say: mentions are read from them too (http.md 1.15)."""
    for component in components:
        if component.get("type") == ComponentType.TEXT_DISPLAY and isinstance(component.get("content"), str):
            yield component["content"]
        children = component.get("components")
        if isinstance(children, list):
            yield from texts([child for child in children if isinstance(child, dict)])


class _Check:
    """One walk over a message's components."""

    def __init__(self, form: errors.FormErrors) -> None:
        self.form = form
        self.seen: list[dict[str, Any]] = []
        self.text = 0
        self.custom_ids: set[str] = set()
        self.ids: set[int] = set()

    def component(self, component: Any, path: Steps, allowed: frozenset[ComponentType]) -> None:
        if not isinstance(component, dict):
            self.form.add(path, *errors.not_model())
            return
        self.seen.append(component)
        kind = component.get("type")
        if not isinstance(kind, int) or isinstance(kind, bool):
            self.form.add((*path, "type"), *errors.required())
            return
        if kind not in allowed:
            self.form.add((*path, "type"), *errors.component_type())
            return
        self.identity(component, path)
        if kind == ComponentType.ACTION_ROW:
            self.row(component, path)
        elif kind == ComponentType.BUTTON:
            self.button(component, path)
        elif kind in _SELECTS:
            self.select(component, path)
        elif kind == ComponentType.SECTION:
            self.children(component, path, frozenset({ComponentType.TEXT_DISPLAY}), most=3)
            self.component(component.get("accessory"), (*path, "accessory"), _ACCESSORIES)
        elif kind == ComponentType.CONTAINER:
            self.children(component, path, _IN_CONTAINER, most=COMPONENTS_MAX)
        elif kind == ComponentType.TEXT_DISPLAY:
            content = component.get("content")
            if not isinstance(content, str) or not content.strip():
                self.form.add((*path, "content"), *errors.required())
            else:
                self.text += len(content)
        elif kind == ComponentType.MEDIA_GALLERY:
            items = component.get("items")
            if not isinstance(items, list) or not 1 <= len(items) <= GALLERY_MAX:
                self.form.add((*path, "items"), *errors.bad_length(1, GALLERY_MAX))
                return
            for index, item in enumerate(items):
                self.media(item, "media", (*path, "items", index))
        elif kind == ComponentType.THUMBNAIL:
            self.media(component, "media", path)
        elif kind == ComponentType.FILE:
            self.media(component, "file", path)

    def media(self, holder: Any, key: str, path: Steps) -> None:
        media = holder.get(key) if isinstance(holder, dict) else None
        url = media.get("url") if isinstance(media, dict) else None
        if not isinstance(url, str) or not url:
            self.form.add((*path, key, "url"), *errors.required())
        elif not url.startswith(("https://", "http://", ATTACHMENT)):
            self.form.add((*path, key, "url"), *errors.bad_scheme(url.partition(":")[0]))

    def identity(self, component: dict[str, Any], path: Steps) -> None:
        given = component.get("id")
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            if given in self.ids:
                self.form.add((*path, "id"), *errors.duplicate())
            self.ids.add(given)
        else:
            component.pop("id", None)

    def children(
        self, component: dict[str, Any], path: Steps, allowed: frozenset[ComponentType], *, most: int
    ) -> list[Any]:
        found = component.get("components")
        if not isinstance(found, list) or not 1 <= len(found) <= most:
            self.form.add((*path, "components"), *errors.bad_length(1, most))
            return []
        for index, child in enumerate(found):
            self.component(child, (*path, "components", index), allowed)
        return found

    def row(self, component: dict[str, Any], path: Steps) -> None:
        found = self.children(component, path, _SELECTS | {ComponentType.BUTTON}, most=ROW_WIDTH)
        width = sum(
            1 if isinstance(child, dict) and child.get("type") == ComponentType.BUTTON else ROW_WIDTH for child in found
        )
        if width > ROW_WIDTH:
            self.form.add((*path, "components"), *errors.component_width())

    def custom_id(self, component: dict[str, Any], path: Steps) -> None:
        value = component["custom_id"]
        if not isinstance(value, str) or not 1 <= len(value) <= CUSTOM_ID_MAX:
            self.form.add((*path, "custom_id"), *errors.bad_length(1, CUSTOM_ID_MAX))
        elif value in self.custom_ids:
            self.form.add((*path, "custom_id"), *errors.custom_id_duplicated())
        else:
            self.custom_ids.add(value)

    def button(self, component: dict[str, Any], path: Steps) -> None:
        style = component.get("style")
        named = component.get("custom_id") is not None
        if named and component.get("url") is not None:
            self.form.add((*path, "custom_id"), *errors.button_custom_id_or_url())
        elif style == ButtonStyle.LINK:
            if not isinstance(component.get("url"), str):
                self.form.add((*path, "url"), *errors.required())
        elif style == ButtonStyle.PREMIUM:
            if component.get("sku_id") is None:
                self.form.add((*path, "sku_id"), *errors.required())
        elif style not in tuple(ButtonStyle):
            self.form.add((*path, "style"), *errors.choices([int(each) for each in ButtonStyle]))
        elif not named:
            self.form.add((*path, "custom_id"), *errors.button_custom_id_required())
        else:
            self.custom_id(component, path)
        label = component.get("label")
        if label is not None and (not isinstance(label, str) or len(label) > LABEL_MAX):
            self.form.add((*path, "label"), *errors.max_length(LABEL_MAX))

    def select(self, component: dict[str, Any], path: Steps) -> None:
        if component.get("custom_id") is None:
            self.form.add((*path, "custom_id"), *errors.required())
        else:
            self.custom_id(component, path)
        if component["type"] != ComponentType.STRING_SELECT:
            return
        options = component.get("options")
        if not isinstance(options, list) or not 1 <= len(options) <= OPTIONS_MAX:
            self.form.add((*path, "options"), *errors.bad_length(1, OPTIONS_MAX))
            return
        values: set[str] = set()
        chosen = 0
        for index, option in enumerate(options):
            if not isinstance(option, dict) or not isinstance(option.get("value"), str):
                self.form.add((*path, "options", index), *errors.required())
                continue
            if option["value"] in values:
                self.form.add((*path, "options", index, "value"), *errors.option_value_duplicated())
            values.add(option["value"])
            chosen += bool(option.get("default"))
        most = component.get("max_values")
        if chosen > (most if isinstance(most, int) else 1):
            self.form.add((*path, "options"), *errors.too_many_default_values())

    def number(self) -> None:
        """Client libraries expect an id on every component (hikari indexes it)."""
        fresh = 1
        for component in self.seen:
            if "id" not in component:
                while fresh in self.ids:
                    fresh += 1
                component["id"] = fresh
                self.ids.add(fresh)
            _complete(component)


def _complete(component: dict[str, Any]) -> None:
    """Say what was left to its default: clients expect these keys in answers."""
    kind = component.get("type")
    for key, value in _DEFAULTS.get(kind, {}).items() if isinstance(kind, int) else ():
        if component.get(key) is None:
            component[key] = value
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
