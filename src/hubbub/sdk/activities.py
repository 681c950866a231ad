"""Rich presence as a value: `Activity` and its parts, their limits, and their form on the wire (sdk.md 10.1)."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from hubbub.sdk.enums import (
    ActivityGamePlatforms,
    ActivityPartyPrivacy,
    ActivityTypes,
    StatusDisplayTypes,
    known,
)
from hubbub.sdk.payloads import ActivityPayload
from hubbub.sdk.records import Record, field

T = TypeVar("T")

SETTABLE: Final = frozenset(
    (ActivityTypes.PLAYING, ActivityTypes.LISTENING, ActivityTypes.WATCHING, ActivityTypes.COMPETING)
)
NOWHERE: Final = ActivityGamePlatforms(0)
BUTTONS_MAX: Final = 2
SECONDS_BELOW: Final = 10**11
"""Open in the spec: a time below this is taken as seconds (decisions/0041)."""


class ActivityAssets(Record):
    """Pictures and their texts; a picture is an asset's key or a URL."""

    large_image: str | None = None
    large_text: str | None = None
    large_url: str | None = None
    small_image: str | None = None
    small_text: str | None = None
    small_url: str | None = None
    invite_cover_image: str | None = None


class ActivityTimestamps(Record):
    """Since when and until when, in Unix milliseconds; 0 is unset."""

    start: int = 0
    end: int = 0


class ActivityParty(Record):
    """Who plays together."""

    id: str = ""
    current_size: int = 0
    max_size: int = 0
    """0 shows no maximum."""
    privacy: ActivityPartyPrivacy = ActivityPartyPrivacy.PRIVATE


class ActivitySecrets(Record):
    """What lets others join; nobody else sees it."""

    join: str = ""


class ActivityButton(Record):
    """A link that others see."""

    label: str = ""
    url: str = ""


class Activity(Record):
    """What somebody plays."""

    name: str = ""
    """Overrides the application's name."""
    type: ActivityTypes = ActivityTypes.PLAYING
    status_display_type: StatusDisplayTypes | None = None
    state: str | None = None
    state_url: str | None = None
    details: str | None = None
    details_url: str | None = None
    application_id: int | None = None
    """Read only in effect: the platform knows which game this is."""
    parent_application_id: int | None = None
    assets: ActivityAssets | None = None
    timestamps: ActivityTimestamps | None = None
    party: ActivityParty | None = None
    secrets: ActivitySecrets | None = None
    supported_platforms: ActivityGamePlatforms = NOWHERE
    """Where the join button appears; needed for invites."""
    buttons: list[ActivityButton] = field(default_factory=list, compat=False)

    def add_button(self, button: ActivityButton) -> None:
        """Add a link; there may be two."""
        self.buttons.append(button.copy())

    def get_buttons(self) -> list[ActivityButton]:
        """The links."""
        return [button.copy() for button in self.buttons]

    def equals(self, other: "Activity") -> bool:
        """Whether both say the same."""
        return self == other

    @property
    def joinable(self) -> bool:
        """Whether others could join (sdk.md 10.3); a party without a maximum has room."""
        party, secrets = self.party, self.secrets
        if not party or not party.id or not secrets or not secrets.join or not self.supported_platforms:
            return False
        return party.max_size == 0 or party.current_size < party.max_size


_LENGTHS: Final = {
    "state": (2, 128),
    "state_url": (2, 256),
    "details": (2, 128),
    "details_url": (2, 256),
    "assets.large_image": (1, 300),
    "assets.small_image": (1, 300),
    "assets.invite_cover_image": (1, 300),
    "assets.large_text": (2, 128),
    "assets.small_text": (2, 128),
    "assets.large_url": (1, 256),
    "assets.small_url": (1, 256),
    "party.id": (2, 128),
    "secrets.join": (2, 128),
}


def problems(activity: Activity) -> Iterator[str]:
    """What the platform would refuse in an activity."""
    if len(activity.name) > 128:
        yield "name must be at most 128 characters"
    if activity.type not in SETTABLE:
        yield "type must be Playing, Listening, Watching or Competing"
    for path, (least, most) in _LENGTHS.items():
        value = _value(activity, path)
        # An empty text is one that was left out, as null keys are since 1.4.
        if value and not least <= len(value) <= most:
            yield f"{path} must be between {least} and {most} characters"
    party = activity.party
    if party and party.id:
        if party.current_size < 1:
            yield "party.current_size must be at least 1"
        if party.max_size < 0:
            yield "party.max_size must not be negative"
        if 0 < party.max_size < party.current_size:
            yield "party.current_size must not exceed party.max_size"
    if len(activity.buttons) > BUTTONS_MAX:
        yield f"there may be at most {BUTTONS_MAX} buttons"
    for button in activity.buttons:
        if not 1 <= len(button.label) <= 32:
            yield "a button's label must be between 1 and 32 characters"
        if not 1 <= len(button.url) <= 512:
            yield "a button's url must be between 1 and 512 characters"


def _value(activity: Activity, path: str) -> str | None:
    node: Any = activity
    for step in path.split("."):
        node = getattr(node, step) if node else None
    return node or None


def to_wire(activity: Activity, application_id: int, *, local: bool = False) -> dict[str, Any]:
    """The activity as it is sent: over the gateway, or to the local client, where buttons keep their addresses."""
    sent: dict[str, Any] = {
        "name": activity.name or None,
        "type": int(activity.type),
        "state": activity.state,
        "state_url": activity.state_url,
        "details": activity.details,
        "details_url": activity.details_url,
        "status_display_type": None if activity.status_display_type is None else int(activity.status_display_type),
        "assets": _texts(activity.assets),
        "secrets": _texts(activity.secrets),
    }
    if not local:
        sent["application_id"] = str(application_id)
    if activity.timestamps:
        times = {"start": _ms(activity.timestamps.start), "end": _ms(activity.timestamps.end)}
        sent["timestamps"] = {name: value for name, value in times.items() if value}
    party = activity.party
    if party and party.id:
        sent["party"] = {"id": party.id, "privacy": int(party.privacy)}
        # A maximum of 0 shows none; the local client takes no such size.
        if party.max_size or not local:
            sent["party"]["size"] = [party.current_size, party.max_size]
    if activity.supported_platforms:
        sent["supported_platforms"] = [
            each.name.lower() for each in ActivityGamePlatforms if each in activity.supported_platforms and each.name
        ]
    if activity.buttons and local:
        sent["buttons"] = [{"label": button.label, "url": button.url} for button in activity.buttons]
    elif activity.buttons:
        sent["buttons"] = [button.label for button in activity.buttons]
        sent["metadata"] = {"button_urls": [button.url for button in activity.buttons]}
    return {name: value for name, value in sent.items() if value not in (None, "", {}, [])}


def _ms(value: int) -> int:
    return value * 1000 if 0 < value < SECONDS_BELOW else value


def _texts(record: Record | None) -> dict[str, str]:
    if not record:
        return {}
    return {name: value for name in record.fields if (value := getattr(record, name))}


def _plain(kind: type[T], **fields: Any) -> T:
    return kind(**fields)


def from_wire(sent: ActivityPayload, make: Callable[..., Any] = _plain) -> Activity:
    """An activity that somebody shows; secrets and addresses never come along."""
    platforms = ActivityGamePlatforms(0)
    for word in sent.supported_platforms or ():
        platforms |= ActivityGamePlatforms.__members__.get(word.upper(), ActivityGamePlatforms(0))
    size = (sent.party.size or []) if sent.party else []
    made: Activity = make(
        Activity,
        name=sent.name,
        type=known(ActivityTypes, sent.type, ActivityTypes.PLAYING),
        status_display_type=None
        if sent.status_display_type is None
        else known(StatusDisplayTypes, sent.status_display_type, StatusDisplayTypes.NAME),
        state=sent.state,
        state_url=sent.state_url,
        details=sent.details,
        details_url=sent.details_url,
        application_id=sent.application_id,
        parent_application_id=sent.parent_application_id,
        assets=make(ActivityAssets, **{name: sent.assets.get(name) for name in _ASSETS}) if sent.assets else None,
        timestamps=make(ActivityTimestamps, start=sent.timestamps.start or 0, end=sent.timestamps.end or 0)
        if sent.timestamps
        else None,
        party=make(
            ActivityParty,
            id=sent.party.id or "",
            current_size=size[0] if size else 0,
            max_size=size[1] if len(size) > 1 else 0,
            privacy=known(ActivityPartyPrivacy, sent.party.privacy or 0, ActivityPartyPrivacy.PRIVATE),
        )
        if sent.party
        else None,
        supported_platforms=platforms,
        buttons=[make(ActivityButton, label=label) for label in sent.buttons or () if isinstance(label, str)],
    )
    return made


_ASSETS: Final = tuple(ActivityAssets.fields)
