"""Components of messages and modals: limits, and the type of a component as JSON.

The server validates components and stores and returns them as JSON, so there is no model for each type.
"""

from typing import Any, Final

COMPONENTS_MAX: Final = 40
"""Maximum number of components in a message with IS_COMPONENTS_V2, nested ones included."""
ACTION_ROWS_MAX: Final = 5
"""Maximum number of top-level action rows in a message without IS_COMPONENTS_V2."""
COMPONENT_TEXT_MAX: Final = 4000
"""Maximum number of characters in all text displays of a message."""
COMPONENT_ID_MAX: Final = (1 << 31) - 1
"""Maximum `id` of a component."""
ROW_WIDTH: Final = 5
"""Width of an action row in buttons; a select has the width of the whole row."""
CUSTOM_ID_MAX: Final = 100
"""Maximum length of the `custom_id` of a component or modal, in characters."""

BUTTON_LABEL_MAX: Final = 80
BUTTON_URL_MAX: Final = 512

SELECT_VALUES_MAX: Final = 25
"""Maximum number of options of a select, and of values selected in it."""
SELECT_PLACEHOLDER_MAX: Final = 150
OPTION_TEXT_MAX: Final = 100
"""Maximum length of an option's label, value and description, each in characters."""

SECTION_TEXTS_MAX: Final = 3
"""Maximum number of text displays in a section."""
GALLERY_ITEMS_MAX: Final = 10
"""Maximum number of items in a media gallery."""
MEDIA_URL_MAX: Final = 2048
"""Maximum length of the URL of a media item, in characters."""
MEDIA_DESCRIPTION_MAX: Final = 1024
"""Maximum length of the alternative text of a media item, in characters."""

MODAL_COMPONENTS_MAX: Final = 5
"""Maximum number of top-level components of a modal."""
MODAL_TITLE_MAX: Final = 45
MODAL_LABEL_MAX: Final = 45
"""Maximum length of the label of a modal's component, in characters."""
LABEL_DESCRIPTION_MAX: Final = 100
TEXT_INPUT_MAX: Final = 4000
"""Maximum length of the value of a text input, in characters."""
TEXT_INPUT_PLACEHOLDER_MAX: Final = 100
FILE_UPLOADS_MAX: Final = 10
"""Maximum number of files in a file upload component."""
UPLOAD_FILE_TYPES_MAX: Final = 10
"""Maximum number of file types that a file upload component accepts."""
RADIO_OPTIONS_MIN: Final = 2
"""Minimum number of options of a radio group."""
GROUP_OPTIONS_MAX: Final = 10
"""Maximum number of options of a radio group or a checkbox group."""

Component = dict[str, Any]
"""A component as JSON; its `type` determines its fields."""
