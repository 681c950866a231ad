"""Components of messages and modals: their limits. They are kept and given back as JSON, each with the keys of its type."""

from typing import Any, Final

COMPONENTS_MAX: Final = 40
"""In total, with IS_COMPONENTS_V2."""
ACTION_ROWS_MAX: Final = 5
"""At the top, without IS_COMPONENTS_V2."""
COMPONENT_TEXT_MAX: Final = 4000
"""Characters across all text displays."""
COMPONENT_ID_MAX: Final = (1 << 31) - 1
ROW_WIDTH: Final = 5
"""Of an action row: a button takes 1, a select all."""
CUSTOM_ID_MAX: Final = 100

BUTTON_LABEL_MAX: Final = 80
BUTTON_URL_MAX: Final = 512

SELECT_VALUES_MAX: Final = 25
"""Options of a select, and what can be chosen of them."""
SELECT_PLACEHOLDER_MAX: Final = 150
OPTION_TEXT_MAX: Final = 100
"""An option's label, value and description, each."""

SECTION_TEXTS_MAX: Final = 3
GALLERY_ITEMS_MAX: Final = 10
MEDIA_URL_MAX: Final = 2048
MEDIA_DESCRIPTION_MAX: Final = 1024
COLOR_MAX: Final = 0xFFFFFF

MODAL_COMPONENTS_MAX: Final = 5
"""At the top of a modal."""
MODAL_TITLE_MAX: Final = 45
LABEL_MAX: Final = 45
LABEL_DESCRIPTION_MAX: Final = 100
TEXT_INPUT_MAX: Final = 4000
TEXT_INPUT_PLACEHOLDER_MAX: Final = 100
FILE_UPLOADS_MAX: Final = 10
FILE_TYPES_MAX: Final = 10
RADIO_OPTIONS_MIN: Final = 2
GROUP_OPTIONS_MAX: Final = 10
"""Options of a radio group or a checkbox group."""

Component = dict[str, Any]
"""One component as JSON; its `type` says which keys it has."""
