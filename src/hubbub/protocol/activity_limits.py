"""Limits of activities and presence updates, without models, so that the SDK can import them at startup.

Lengths are in characters.
"""

from typing import Final

ACTIVITY_NAME_MAX: Final = 128
ACTIVITY_TEXT_MAX: Final = 128
"""Maximum length of state, details, image texts, party IDs and emoji names."""
ACTIVITY_TEXT_MIN: Final = 2
"""Minimum length of state, details, image texts, party IDs and secrets that are set."""
ACTIVITY_URL_MAX: Final = 256
ACTIVITY_IMAGE_MAX: Final = 300
"""Maximum length of the key, ID or URL of an image."""
ACTIVITY_SECRET_MAX: Final = 128
ACTIVITY_BUTTONS_MAX: Final = 2
"""Maximum number of buttons of an activity."""
ACTIVITY_BUTTON_LABEL_MAX: Final = 32
ACTIVITY_BUTTON_URL_MAX: Final = 512
PRESENCE_UPDATES_MAX: Final = 5
"""Maximum number of presence updates of a session per PRESENCE_UPDATE_WINDOW_SECONDS; further updates are dropped."""
PRESENCE_UPDATE_WINDOW_SECONDS: Final = 20
