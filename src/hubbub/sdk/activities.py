"""Rich presence records: `Activity` and its parts, their limits, and their wire format (spec/sdk.md#10.1)."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from hubbub.protocol.activity_limits import (
    ACTIVITY_BUTTON_LABEL_MAX,
    ACTIVITY_BUTTON_URL_MAX,
    ACTIVITY_BUTTONS_MAX,
    ACTIVITY_IMAGE_MAX,
    ACTIVITY_NAME_MAX,
    ACTIVITY_SECRET_MAX,
    ACTIVITY_TEXT_MAX,
    ACTIVITY_TEXT_MIN,
    ACTIVITY_URL_MAX,
)
from hubbub.sdk.arguments import Int32, checks_arguments
from hubbub.sdk.enums import (
    ActivityGamePlatforms,
    ActivityPartyPrivacy,
    ActivityTypes,
    StatusDisplayTypes,
    member_or_default,
)
from hubbub.sdk.records import Record, field
from hubbub.sdk.tolerant_models import has_value, value_or

if TYPE_CHECKING:
    from hubbub.protocol.resources.presence import Activity as ActivityPayload

RecordT = TypeVar("RecordT", bound=Record)

SETTABLE_TYPES: Final = frozenset(
    (ActivityTypes.PLAYING, ActivityTypes.LISTENING, ActivityTypes.WATCHING, ActivityTypes.COMPETING)
)
"""Types of activities that a game can set."""
NO_PLATFORMS: Final = ActivityGamePlatforms(0)
URL_MIN: Final = 2
"""Minimum length of the URLs of details and state, in characters (spec/sdk.md#10.1)."""
SECONDS_MAX: Final = 10**11
"""A timestamp below this value is read as seconds, not milliseconds (decisions/0041)."""


class ActivityAssets(Record):
    """Images of an activity with their texts; an image is the key of an uploaded asset or a URL."""

    large_image: str | None = None
    """Large image, 1 to 300 characters."""
    large_text: str | None = None
    """Tooltip of the large image, 2 to 128 characters."""
    large_url: str | None = None
    """URL opened by clicking the large image, at most 256 characters."""
    small_image: str | None = None
    """Small image, 1 to 300 characters."""
    small_text: str | None = None
    """Tooltip of the small image, 2 to 128 characters."""
    small_url: str | None = None
    """URL opened by clicking the small image, at most 256 characters."""
    invite_cover_image: str | None = None
    """Cover image of activity invites, 1 to 300 characters."""


class ActivityTimestamps(Record):
    """Start and end of an activity, as Unix milliseconds; a value below `SECONDS_MAX` is read as Unix seconds."""

    start: int = 0
    """Start time as Unix milliseconds; 0 if unset."""
    end: int = 0
    """End time as Unix milliseconds; 0 if unset."""


class ActivityParty(Record):
    """The party of an activity: the players in one game session."""

    id: str = ""
    """ID of the party, 2 to 128 characters; an empty ID means no party."""
    current_size: Int32 = 0
    """Number of players, at least 1."""
    max_size: Int32 = 0
    """Maximum number of players; 0 if there is no maximum."""
    privacy: ActivityPartyPrivacy = ActivityPartyPrivacy.PRIVATE
    """Whether friends may join without an invite."""


class ActivitySecrets(Record):
    """Secrets of an activity, visible only to users who join."""

    join: str = ""
    """Secret with which the game admits a joining user, 2 to 128 characters."""


class ActivityButton(Record):
    """A link shown with an activity."""

    label: str = ""
    """Text of the button, 1 to 32 characters."""
    url: str = ""
    """URL of the button, 1 to 512 characters; empty in the activities of other users."""


class Activity(Record):
    """Rich presence of a user: the game and its state."""

    name: str = ""
    """Name of the game, at most 128 characters; empty uses the application's name."""
    type: ActivityTypes = ActivityTypes.PLAYING
    """Kind of activity; a game can set `PLAYING`, `LISTENING`, `WATCHING` and `COMPETING`."""
    status_display_type: StatusDisplayTypes | None = None
    """Field shown in the user's status line; None uses the name."""
    state: str | None = None
    """State of the player or party, 2 to 128 characters."""
    state_url: str | None = None
    """URL opened by clicking the state, 2 to 256 characters."""
    details: str | None = None
    """Current action of the player in the game, 2 to 128 characters."""
    details_url: str | None = None
    """URL opened by clicking the details, 2 to 256 characters."""
    application_id: int | None = None
    """ID of the game's application; ignored when set, because the platform determines it from the session."""
    parent_application_id: int | None = None
    """ID of the publisher's application; ignored when set."""
    assets: ActivityAssets | None = None
    """Images of the activity."""
    timestamps: ActivityTimestamps | None = None
    """Start and end of the activity."""
    party: ActivityParty | None = None
    """Party of the player; required for invites."""
    secrets: ActivitySecrets | None = None
    """Join secret; required for invites."""
    supported_platforms: ActivityGamePlatforms = NO_PLATFORMS
    """Platforms on which the join button is shown; required for invites."""
    buttons: list[ActivityButton] = field(default_factory=list, compat=False)
    """Links shown with the activity, at most 2."""

    @checks_arguments
    def add_button(self, button: ActivityButton) -> None:
        """Add a copy of a button; an activity may have at most 2."""
        self.buttons.append(button.copy())

    def get_buttons(self) -> list[ActivityButton]:
        """Return copies of the buttons."""
        return [button.copy() for button in self.buttons]

    def equals(self, other: "Activity") -> bool:
        """Return whether all fields are equal."""
        return self == other

    @property
    def joinable(self) -> bool:
        """Whether other users can join: party, join secret and platforms are set, and there is room (spec/sdk.md#10.3)."""
        party, secrets = self.party, self.secrets
        if not party or not party.id or not secrets or not secrets.join or not self.supported_platforms:
            return False
        return party.max_size == 0 or party.current_size < party.max_size


_LENGTH_LIMITS: Final = {
    "state": (ACTIVITY_TEXT_MIN, ACTIVITY_TEXT_MAX),
    "state_url": (URL_MIN, ACTIVITY_URL_MAX),
    "details": (ACTIVITY_TEXT_MIN, ACTIVITY_TEXT_MAX),
    "details_url": (URL_MIN, ACTIVITY_URL_MAX),
    "assets.large_image": (1, ACTIVITY_IMAGE_MAX),
    "assets.small_image": (1, ACTIVITY_IMAGE_MAX),
    "assets.invite_cover_image": (1, ACTIVITY_IMAGE_MAX),
    "assets.large_text": (ACTIVITY_TEXT_MIN, ACTIVITY_TEXT_MAX),
    "assets.small_text": (ACTIVITY_TEXT_MIN, ACTIVITY_TEXT_MAX),
    "assets.large_url": (1, ACTIVITY_URL_MAX),
    "assets.small_url": (1, ACTIVITY_URL_MAX),
    "party.id": (ACTIVITY_TEXT_MIN, ACTIVITY_TEXT_MAX),
    "secrets.join": (ACTIVITY_TEXT_MIN, ACTIVITY_SECRET_MAX),
}
"""Minimum and maximum number of characters of the text fields of an activity, by path."""


def validation_errors(activity: Activity) -> Iterator[str]:
    """Yield an error message for each value of an activity that the platform would reject."""
    if len(activity.name) > ACTIVITY_NAME_MAX:
        yield f"name must have at most {ACTIVITY_NAME_MAX} characters"
    if activity.type not in SETTABLE_TYPES:
        yield "type must be Playing, Listening, Watching or Competing"
    for path, (minimum, maximum) in _LENGTH_LIMITS.items():
        value = _text_at_path(activity, path)
        # An empty text is valid: it is not sent, and since 1.4 null is not sent either.
        if value and not minimum <= len(value) <= maximum:
            yield f"{path} must have between {minimum} and {maximum} characters"
    party = activity.party
    if party and party.id:
        if party.current_size < 1:
            yield "party.current_size must be at least 1"
        if party.max_size < 0:
            yield "party.max_size must not be negative"
        if 0 < party.max_size < party.current_size:
            yield "party.current_size must not exceed party.max_size"
    if len(activity.buttons) > ACTIVITY_BUTTONS_MAX:
        yield f"buttons must have at most {ACTIVITY_BUTTONS_MAX} items"
    for button in activity.buttons:
        if not 1 <= len(button.label) <= ACTIVITY_BUTTON_LABEL_MAX:
            yield f"button.label must have between 1 and {ACTIVITY_BUTTON_LABEL_MAX} characters"
        if not 1 <= len(button.url) <= ACTIVITY_BUTTON_URL_MAX:
            yield f"button.url must have between 1 and {ACTIVITY_BUTTON_URL_MAX} characters"


def _text_at_path(activity: Activity, path: str) -> str | None:
    """Return the value of a field by its path, such as `assets.large_text`; None if it is empty or its record is unset."""
    node: Any = activity
    for step in path.split("."):
        node = getattr(node, step) if node else None
    return node or None


def to_wire(activity: Activity, application_id: int, *, for_chat_client: bool = False) -> dict[str, Any]:
    """Encode an activity for the gateway or, with `for_chat_client`, for the local chat client.

    The chat client expects each button as label and URL, no application ID, and no size of a party without a maximum."""
    payload: dict[str, Any] = {
        "name": activity.name or None,
        "type": int(activity.type),
        "state": activity.state,
        "state_url": activity.state_url,
        "details": activity.details,
        "details_url": activity.details_url,
        "status_display_type": None if activity.status_display_type is None else int(activity.status_display_type),
        "assets": _nonempty_fields(activity.assets),
        "secrets": _nonempty_fields(activity.secrets),
    }
    if not for_chat_client:
        payload["application_id"] = str(application_id)
    if activity.timestamps:
        timestamps = {
            "start": _to_milliseconds(activity.timestamps.start),
            "end": _to_milliseconds(activity.timestamps.end),
        }
        payload["timestamps"] = {name: value for name, value in timestamps.items() if value}
    party = activity.party
    if party and party.id:
        payload["party"] = {"id": party.id, "privacy": int(party.privacy)}
        # A maximum of 0 means that there is no maximum; the chat client rejects a party size with a maximum of 0.
        if party.max_size or not for_chat_client:
            payload["party"]["size"] = [party.current_size, party.max_size]
    if activity.supported_platforms:
        payload["supported_platforms"] = [
            platform.name.lower()
            for platform in ActivityGamePlatforms
            if platform in activity.supported_platforms and platform.name
        ]
    if activity.buttons and for_chat_client:
        payload["buttons"] = [{"label": button.label, "url": button.url} for button in activity.buttons]
    elif activity.buttons:
        payload["buttons"] = [button.label for button in activity.buttons]
        payload["metadata"] = {"button_urls": [button.url for button in activity.buttons]}
    return {name: value for name, value in payload.items() if value not in (None, "", {}, [])}


def _to_milliseconds(value: int) -> int:
    """Convert a timestamp in seconds to milliseconds; return a timestamp in milliseconds unchanged."""
    return value * 1000 if 0 < value < SECONDS_MAX else value


def _nonempty_fields(record: Record | None) -> dict[str, str]:
    """Return the fields of a record that are neither None nor empty, by name."""
    if not record:
        return {}
    return {name: value for name in record.fields if (value := getattr(record, name))}


def _construct(class_: type[RecordT], **fields: Any) -> RecordT:
    return class_.from_platform(**fields)


def from_wire(payload: "ActivityPayload", make: Callable[..., Any] = _construct) -> Activity:
    """Decode the activity of a user; secrets and button URLs are never sent to other users.

    `make(class_, **fields)` creates a record of a class; pass `core.Core.make` to create the client's variant of the class."""
    platforms = NO_PLATFORMS
    for name in payload.supported_platforms or ():
        platforms |= ActivityGamePlatforms.__members__.get(name.upper(), NO_PLATFORMS)
    party_size = (payload.party.size or []) if payload.party else []
    activity: Activity = make(
        Activity,
        name=payload.name or "",
        type=member_or_default(ActivityTypes, payload.type or 0, ActivityTypes.PLAYING),
        status_display_type=member_or_default(StatusDisplayTypes, payload.status_display_type, StatusDisplayTypes.NAME)
        if has_value(payload.status_display_type)
        else None,
        **{name: value_or(getattr(payload, name), None) for name in _PLAIN_FIELDS},
        assets=make(ActivityAssets, **{name: value_or(getattr(payload.assets, name), None) for name in _ASSET_FIELDS})
        if payload.assets
        else None,
        timestamps=make(ActivityTimestamps, start=payload.timestamps.start or 0, end=payload.timestamps.end or 0)
        if payload.timestamps
        else None,
        party=make(
            ActivityParty,
            id=payload.party.id or "",
            current_size=party_size[0] if party_size else 0,
            max_size=party_size[1] if len(party_size) > 1 else 0,
            privacy=member_or_default(ActivityPartyPrivacy, payload.party.privacy or 0, ActivityPartyPrivacy.PRIVATE),
        )
        if payload.party
        else None,
        supported_platforms=platforms,
        buttons=[make(ActivityButton, label=label) for label in payload.buttons or ()],
    )
    return activity


_PLAIN_FIELDS: Final = (
    "state",
    "state_url",
    "details",
    "details_url",
    "application_id",
    "parent_application_id",
)
"""Fields of an activity that are the same in the record and in the payload."""
_ASSET_FIELDS: Final = tuple(ActivityAssets.fields)
