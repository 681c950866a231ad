"""Icons of the chat client: every name that a module uses has paths, and each settings screen has its own icon."""

import re
from collections import Counter

import pytest

from tests.contract.tables import SOURCE

APP = SOURCE / "server/transports/web/static/app"
MODULES = {module: module.read_text(encoding="utf-8") for module in sorted(APP.rglob("*.js"))}
ICON_NAMES = set(
    re.findall(r"^  (\w+): \[", MODULES[APP / "ui/dom.js"].partition("const ICON_PATHS = {")[2], re.MULTILINE)
)


def test_every_icon_has_paths() -> None:
    icon_use = re.compile(r'(?:\b(?:icon|iconButton)\(\s*|\bicon: )"([\w-]+)"')
    missing_icons = {
        name: module.name
        for module, code in MODULES.items()
        for name in icon_use.findall(code)
        if name not in ICON_NAMES
    }
    assert "people" in ICON_NAMES
    assert missing_icons == {}


@pytest.mark.parametrize(("folder", "screens_min"), [("settings", 21), ("account", 10)])
def test_no_two_screens_of_a_settings_dialog_have_the_same_icon(folder: str, screens_min: int) -> None:
    screen = re.compile(r'_SCREEN = \{[^}]*?\bicon: "(\w+)"')
    codes = [code for module, code in MODULES.items() if folder in module.parts]
    icons = Counter(name for code in codes for name in screen.findall(code))
    assert len(icons) >= screens_min
    assert [name for name, count in icons.items() if count > 1] == []
