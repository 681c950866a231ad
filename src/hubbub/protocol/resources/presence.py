"""Presence: whether a user is there, and what they are doing."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.enums import GatewayOpcode, Scope
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command, Event
from hubbub.protocol.resources.users import PartialUser

ACTIVITY_NAME_MAX = 128
ACTIVITY_STATE_MAX = 128
ACTIVITY_TEXT_MIN = 2
"""Of state, details, the texts of pictures, a party's id and a secret."""
ACTIVITY_URL_MAX = 256
ACTIVITY_IMAGE_MAX = 300
SECRET_MAX = 128
BUTTONS_MAX = 2
BUTTON_LABEL_MAX = 32
BUTTON_URL_MAX = 512
PARTY_PUBLIC = 1
"""The privacy of a party that friends may join without asking."""
PLATFORMS = ("desktop", "xbox", "samsung", "ios", "android", "embedded", "ps4", "ps5")
"""Where an activity can be joined."""
PRESENCE_UPDATES_MAX = 5
PRESENCE_UPDATES_SECONDS = 20
"""At most PRESENCE_UPDATES_MAX updates in so many seconds; further ones are dropped."""


class ActivityTimestamps(Struct, kw_only=True):
    """When an activity began and will end, in Unix milliseconds."""

    start: int | UnsetType = UNSET
    end: int | UnsetType = UNSET


class ActivityEmoji(Struct, kw_only=True):
    """The emoji of a custom status."""

    name: str
    id: EmojiId | None | UnsetType = UNSET
    animated: bool | UnsetType = UNSET


class ActivityParty(Struct, kw_only=True):
    """Who plays together."""

    id: str | UnsetType = UNSET
    size: list[int] | UnsetType = UNSET
    """How many there are, and how many there may be."""


class SetActivityParty(ActivityParty, kw_only=True):
    """Who plays together, as their host says it."""

    privacy: int | None | UnsetType = UNSET
    """0 private, PARTY_PUBLIC; others learn of it by flags only."""


class ActivityMetadata(Struct, kw_only=True):
    """What a client says of an activity that others do not see."""

    button_urls: list[str] = []
    """Where the buttons lead, in their order."""


class ActivityAssets(Struct, kw_only=True):
    """The pictures of an activity and their texts."""

    large_image: str | UnsetType = UNSET
    large_text: str | UnsetType = UNSET
    large_url: str | UnsetType = UNSET
    small_image: str | UnsetType = UNSET
    small_text: str | UnsetType = UNSET
    small_url: str | UnsetType = UNSET
    invite_cover_image: str | UnsetType = UNSET


class ActivitySecrets(Struct, kw_only=True):
    """What lets others join, spectate or find the match."""

    join: str | UnsetType = UNSET
    spectate: str | UnsetType = UNSET
    match: str | UnsetType = UNSET


class Activity(Struct, kw_only=True):
    """One thing a user does."""

    name: str
    type: int
    """0 playing, 1 streaming, 2 listening, 3 watching, 4 custom, 5 competing."""
    created_at: int
    """Unix milliseconds."""
    id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    """The session that says so."""
    url: str | None | UnsetType = UNSET
    timestamps: ActivityTimestamps | UnsetType = UNSET
    application_id: ApplicationId | UnsetType = UNSET
    status_display_type: int | None | UnsetType = UNSET
    """Which line the member list shows: 0 name, 1 state, 2 details."""
    details: str | None | UnsetType = UNSET
    details_url: str | None | UnsetType = UNSET
    state: str | None | UnsetType = UNSET
    state_url: str | None | UnsetType = UNSET
    emoji: ActivityEmoji | None | UnsetType = UNSET
    party: ActivityParty | UnsetType = UNSET
    assets: ActivityAssets | UnsetType = UNSET
    secrets: ActivitySecrets | UnsetType = UNSET
    instance: bool | UnsetType = UNSET
    flags: int | UnsetType = UNSET
    supported_platforms: list[str] | UnsetType = UNSET
    """Of PLATFORMS, those on which it can be joined."""
    buttons: list[str] | UnsetType = UNSET
    """Labels only; the addresses stay with their owner."""


class ClientStatus(Struct, kw_only=True):
    """The status by kind of client; a kind that is offline is absent. Bots are on the web."""

    desktop: str | UnsetType = UNSET
    mobile: str | UnsetType = UNSET
    web: str | UnsetType = UNSET
    vr: str | UnsetType = UNSET


class Presence(Struct, kw_only=True):
    """A user's presence as the members of one guild see it."""

    user: PartialUser
    status: str
    """online, idle, dnd or offline; who is invisible is offline to others."""
    activities: list[Activity]
    client_status: ClientStatus
    guild_id: GuildId | UnsetType = UNSET
    """Absent inside lists that belong to a guild, and among friends."""
    has_played_game: bool | UnsetType = UNSET
    """Among friends, in OAuth2 sessions only: whether the user plays a game of the application's family."""


class SetActivity(Struct, kw_only=True):
    """An activity as its owner sends it. Bots may set name, type, state and url; their other keys are dropped."""

    name: str = ""
    """Of a game that says none, the application's."""
    type: int = 0
    url: str | None | UnsetType = UNSET
    state: str | None | UnsetType = UNSET
    state_url: str | None | UnsetType = UNSET
    details: str | None | UnsetType = UNSET
    details_url: str | None | UnsetType = UNSET
    status_display_type: int | None | UnsetType = UNSET
    timestamps: ActivityTimestamps | None | UnsetType = UNSET
    application_id: ApplicationId | None | UnsetType = UNSET
    emoji: ActivityEmoji | None | UnsetType = UNSET
    party: SetActivityParty | None | UnsetType = UNSET
    assets: ActivityAssets | None | UnsetType = UNSET
    secrets: ActivitySecrets | None | UnsetType = UNSET
    instance: bool | None | UnsetType = UNSET
    flags: int | None | UnsetType = UNSET
    supported_platforms: list[str] | None | UnsetType = UNSET
    buttons: list[Any] | None | UnsetType = UNSET
    """Labels, whose addresses are in `metadata`; or objects with a label and a url."""
    metadata: ActivityMetadata | None | UnsetType = UNSET


class SetPresence(Struct, kw_only=True):
    """What a session says of its user; libraries differ in which keys they leave out."""

    status: str = "online"
    activities: list[SetActivity] | None = None
    since: float | None = None
    """Since when the client is idle, in Unix milliseconds."""
    afk: bool = False
    showing_chat: bool | None = None
    """That a game shows chat now, so that the person's clients need not tell of the same messages (sdk.md 20)."""
    game: SetActivity | None = None
    """The old key of a single activity; discord.py still sends it in Identify (gateway.md 4.1)."""

    @property
    def shown(self) -> list[SetActivity]:
        """The activities, wherever they were sent."""
        if self.activities is None:
            return [self.game] if self.game is not None else []
        return self.activities


class SessionClient(Struct, kw_only=True):
    """What kind of program holds a session."""

    client: str
    """desktop, mobile, web or vr."""


class UserSession(Struct, kw_only=True):
    """One of a person's sessions, as their own clients see it."""

    session_id: str
    status: str
    """As the session says it, `invisible` too."""
    activities: list[Activity]
    client_info: SessionClient
    application_id: ApplicationId | UnsetType = UNSET
    """The game, where the session is one's."""
    showing_chat: bool = False
    """Whether messages are seen there already: other clients stay quiet."""


# Named apart from the event, which has the same documented name.
SET_PRESENCE = Command("PRESENCE_UPDATE", GatewayOpcode.PRESENCE_UPDATE, SetPresence)

PRESENCE_UPDATE = Event(
    "PRESENCE_UPDATE",
    Presence,
    intents=Intents.GUILD_PRESENCES,
    dm_intents=Intents.USER_PRESENCE,
    scope=Scope.RELATIONSHIPS_READ,
)

SESSIONS_REPLACE = Event("SESSIONS_REPLACE", list[UserSession])
"""All sessions of a person who has several, to their own clients and to no game."""
