"""Components of messages and modals: their limits. Components are stored and returned as JSON."""

from typing import Any, Final

COMPONENTS_MAX: Final = 40
"""Maximum number of components in a message with IS_COMPONENTS_V2, nested ones included."""
ACTION_ROWS_MAX: Final = 5
"""Maximum number of top-level action rows in a message without IS_COMPONENTS_V2."""
COMPONENT_TEXT_MAX: Final = 4000
"""Maximum number of characters in all text displays of a message."""
COMPONENT_ID_MAX: Final = (1 << 31) - 1
ROW_WIDTH: Final = 5
"""Width of an action row: a button takes 1, a select takes all."""
CUSTOM_ID_MAX: Final = 100

BUTTON_LABEL_MAX: Final = 80
BUTTON_URL_MAX: Final = 512

SELECT_VALUES_MAX: Final = 25
"""Maximum number of options of a select, and of values selected in it."""
SELECT_PLACEHOLDER_MAX: Final = 150
OPTION_TEXT_MAX: Final = 100
"""Maximum length of an option's label, value and description, each."""

SECTION_TEXTS_MAX: Final = 3
GALLERY_ITEMS_MAX: Final = 10
MEDIA_URL_MAX: Final = 2048
MEDIA_DESCRIPTION_MAX: Final = 1024

MODAL_COMPONENTS_MAX: Final = 5
"""Maximum number of top-level components of a modal."""
MODAL_TITLE_MAX: Final = 45
LABEL_MAX: Final = 45
LABEL_DESCRIPTION_MAX: Final = 100
TEXT_INPUT_MAX: Final = 4000
TEXT_INPUT_PLACEHOLDER_MAX: Final = 100
FILE_UPLOADS_MAX: Final = 10
FILE_TYPES_MAX: Final = 10
RADIO_OPTIONS_MIN: Final = 2
GROUP_OPTIONS_MAX: Final = 10
"""Maximum number of options of a radio group or a checkbox group."""

Component = dict[str, Any]
"""A component as JSON; its `type` determines its fields."""
