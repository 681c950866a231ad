"""Limits of activities and presence updates, without models, so that the SDK can import them at startup.

Lengths are in characters.
"""

from typing import Final

ACTIVITY_NAME_MAX: Final = 128
ACTIVITY_STATE_MAX: Final = 128
ACTIVITY_TEXT_MIN: Final = 2
"""Minimum length of state, details, image texts, party IDs and secrets that are set."""
ACTIVITY_URL_MAX: Final = 256
ACTIVITY_IMAGE_MAX: Final = 300
SECRET_MAX: Final = 128
BUTTONS_MAX: Final = 2
BUTTON_LABEL_MAX: Final = 32
BUTTON_URL_MAX: Final = 512
PRESENCE_UPDATES_MAX: Final = 5
PRESENCE_UPDATE_WINDOW_SECONDS: Final = 20
"""Window in seconds in which a session may send PRESENCE_UPDATES_MAX updates; further updates are dropped."""
