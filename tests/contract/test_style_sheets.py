"""Style sheets: layouts also work in languages that are written from right to left (decisions/0136)."""

import re

from hubbub.server.transports.web.static_files import STATIC_FOLDER, THIRD_PARTY

# Properties and values that name the left or right side.
_PHYSICAL_PROPERTY_PATTERN = re.compile(
    r"(?<![\w-])(?:(?:margin|padding|border|scroll-margin|scroll-padding)-(?:left|right)|left|right)(?:-\w+)*\s*:"
    r"|border-(?:top|bottom)-(?:left|right)-radius|text-align:\s*(?:left|right)|(?:float|clear):\s*(?:left|right)"
)
# Shorthands with four values, which are physical if left and right differ.
_FOUR_VALUE_SHORTHAND_PATTERN = re.compile(
    r"(?<![\w-])(?:margin|padding|inset)\s*:\s*(?:[^\s;{}()]+|\S*\([^)]*\))(?:\s+(?:[^\s;{}()]+|\S*\([^)]*\))){3}\s*[;}]"
)


def test_style_sheets_use_logical_properties() -> None:
    physical = []
    for path in sorted(STATIC_FOLDER.rglob("*.css")):
        if THIRD_PARTY in path.parts:
            continue
        for line, text in enumerate(path.read_text().splitlines(), 1):
            declarations = _PHYSICAL_PROPERTY_PATTERN.findall(text)
            for match in _FOUR_VALUE_SHORTHAND_PATTERN.finditer(text):
                _, right, _, left = re.findall(r"(?:\S*\([^)]*\)|[^\s:;{}]+)", match[0].partition(":")[2])
                declarations += [match[0]] if left != right else []
            physical += [f"{path.name}:{line}: {part}" for part in declarations]
    assert physical == []
