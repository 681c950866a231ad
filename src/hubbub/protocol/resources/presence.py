"""Presence: the online status and the activities of users."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.enums import GatewayOpcode, Scope
from hubbub.protocol.ids import ApplicationId, EmojiId, GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Command, Event
from hubbub.protocol.resources.users import PartialUser

PLATFORMS = ("desktop", "xbox", "samsung", "ios", "android", "embedded", "ps4", "ps5")
"""Platforms on which an activity can be joined."""


class ActivityTimestamps(Struct, kw_only=True):
    """The start and end of an activity; an absent field means that the time is not set."""

    start: int | UnsetType = UNSET
    """Time at which the activity started, in Unix milliseconds."""
    end: int | UnsetType = UNSET
    """Time at which the activity ends, in Unix milliseconds."""


class ActivityEmoji(Struct, kw_only=True):
    """The emoji of a custom status."""

    name: str
    """Name of the custom emoji, or the Unicode emoji itself."""
    id: EmojiId | None | UnsetType = UNSET
    """ID of the custom emoji; null or absent for a Unicode emoji."""
    animated: bool | UnsetType = UNSET
    """Whether the custom emoji is animated."""


class ActivityParty(Struct, kw_only=True):
    """The party of an activity; fields that are not set are absent."""

    id: str | UnsetType = UNSET
    """ID of the party."""
    size: list[int] | UnsetType = UNSET
    """Current and maximum number of members, in this order; a maximum of 0 is not shown."""
    privacy: int | None | UnsetType = UNSET
    """Privacy of the party: 0 private, 1 public. Sent by its host only; other users see it in the activity's flags."""


class ActivityMetadata(Struct, kw_only=True):
    """Data of an activity that is not part of presence events."""

    button_urls: list[str] = []
    """URLs of the buttons, in the order of `buttons` in the activity."""


class ActivityAssets(Struct, kw_only=True):
    """The images of an activity and their texts; fields that are not set are absent."""

    large_image: str | UnsetType = UNSET
    """Asset key, asset ID or URL of the large image."""
    large_text: str | UnsetType = UNSET
    """Text shown when the large image is hovered over."""
    large_url: str | UnsetType = UNSET
    """URL opened when the large image is clicked."""
    small_image: str | UnsetType = UNSET
    """Asset key, asset ID or URL of the small image."""
    small_text: str | UnsetType = UNSET
    """Text shown when the small image is hovered over."""
    small_url: str | UnsetType = UNSET
    """URL opened when the small image is clicked."""
    invite_cover_image: str | UnsetType = UNSET
    """Asset key, asset ID or URL of the image of invites to the activity."""


class ActivitySecrets(Struct, kw_only=True):
    """The secrets with which other users join an activity, absent if not set; never sent to other users."""

    join: str | UnsetType = UNSET
    """Secret for joining the party."""
    spectate: str | UnsetType = UNSET
    """Secret for spectating the game."""
    match: str | UnsetType = UNSET
    """Secret that identifies a match."""


class Activity(Struct, kw_only=True):
    """An activity of a user; fields that are not set are absent."""

    name: str
    """Name of the activity."""
    type: int
    """Type of the activity: 0 playing, 1 streaming, 2 listening, 3 watching, 4 custom, 5 competing."""
    created_at: int
    """Time at which the activity was added to the session, in Unix milliseconds."""
    id: str | UnsetType = UNSET
    """ID of the activity within the user's presence."""
    session_id: str | UnsetType = UNSET
    """ID of the gateway session that shows the activity."""
    url: str | None | UnsetType = UNSET
    """URL of the stream; only for type 1, streaming."""
    timestamps: ActivityTimestamps | UnsetType = UNSET
    """Start and end of the activity."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the application that the activity belongs to."""
    parent_application_id: ApplicationId | UnsetType = UNSET
    """ID of the publisher's application; absent if the application has no publisher."""
    status_display_type: int | None | UnsetType = UNSET
    """Field shown in the member list: 0 name, 1 state, 2 details; null or absent if it is not set."""
    details: str | None | UnsetType = UNSET
    """Details of the activity, the first line of text."""
    details_url: str | None | UnsetType = UNSET
    """URL opened when the details are clicked."""
    state: str | None | UnsetType = UNSET
    """Status of the user's party, or the text of a custom status."""
    state_url: str | None | UnsetType = UNSET
    """URL opened when the state is clicked."""
    emoji: ActivityEmoji | None | UnsetType = UNSET
    """Emoji of a custom status."""
    party: ActivityParty | UnsetType = UNSET
    """Party of the activity."""
    assets: ActivityAssets | UnsetType = UNSET
    """Images of the activity."""
    secrets: ActivitySecrets | UnsetType = UNSET
    """Secrets with which other users join the activity; never sent to other users."""
    instance: bool | UnsetType = UNSET
    """Whether the activity is an instanced game session."""
    flags: int | UnsetType = UNSET
    """Flags of the activity; an `ActivityFlags` bit set."""
    supported_platforms: list[str] | UnsetType = UNSET
    """Platforms to join on: `desktop`, `xbox`, `samsung`, `ios`, `android`, `embedded`, `ps4`, `ps5`."""
    buttons: list[str] | UnsetType = UNSET
    """Labels of the buttons; GET_ACTIVITY_METADATA returns their URLs."""


class ClientStatus(Struct, kw_only=True):
    """The status of a user by kind of client; kinds that are offline are absent, and bots are on the web."""

    desktop: str | UnsetType = UNSET
    """Status on desktop clients."""
    mobile: str | UnsetType = UNSET
    """Status on mobile clients."""
    web: str | UnsetType = UNSET
    """Status in browsers, and of bots."""
    vr: str | UnsetType = UNSET
    """Status on VR clients."""


class Presence(Struct, kw_only=True):
    """A user's presence in the form seen by members of a guild or friends."""

    user: PartialUser
    """Partial user; only `id` is always present."""
    user_id: UserId | UnsetType = UNSET
    """ID of the user. Never sent by this server; other servers send it in READY instead of `user`."""
    status: str
    """Status: `online`, `idle`, `dnd` or `offline`. Invisible users are `offline` to others."""
    activities: list[Activity]
    """Activities of the user."""
    client_status: ClientStatus
    """Status by kind of client."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent inside a guild's own lists and for friends."""
    has_played_game: bool | UnsetType = UNSET
    """Whether the user plays a game of the application's family. Sent for friends in OAuth2 sessions only."""


class SetActivity(Struct, kw_only=True):
    """An activity in the form that its user sends.

    Null and absent fields are not set. Bots may set `name`, `type`, `state` and `url`; other fields are ignored for bots.
    """

    name: str = ""
    """Name of the activity; games may omit it to use the application's name."""
    type: int = 0
    """Type of the activity: 0 playing, 1 streaming, 2 listening, 3 watching, 4 custom, 5 competing."""
    url: str | None | UnsetType = UNSET
    """URL of the stream; only for type 1, streaming."""
    state: str | None | UnsetType = UNSET
    """Status of the user's party, or the text of a custom status."""
    state_url: str | None | UnsetType = UNSET
    """URL opened when the state is clicked."""
    details: str | None | UnsetType = UNSET
    """Details of the activity, the first line of text."""
    details_url: str | None | UnsetType = UNSET
    """URL opened when the details are clicked."""
    status_display_type: int | None | UnsetType = UNSET
    """Field shown in the member list: 0 name, 1 state, 2 details; null or absent if it is not set."""
    timestamps: ActivityTimestamps | None | UnsetType = UNSET
    """Start and end of the activity."""
    application_id: ApplicationId | None | UnsetType = UNSET
    """ID of the application that the activity belongs to; games cannot change it."""
    emoji: ActivityEmoji | None | UnsetType = UNSET
    """Emoji of a custom status."""
    party: ActivityParty | None | UnsetType = UNSET
    """Party of the activity."""
    assets: ActivityAssets | None | UnsetType = UNSET
    """Images of the activity."""
    secrets: ActivitySecrets | None | UnsetType = UNSET
    """Secrets with which other users join the activity."""
    instance: bool | None | UnsetType = UNSET
    """Whether the activity is an instanced game session."""
    flags: int | None | UnsetType = UNSET
    """Flags of the activity; an `ActivityFlags` bit set."""
    supported_platforms: list[str] | None | UnsetType = UNSET
    """Platforms to join on: `desktop`, `xbox`, `samsung`, `ios`, `android`, `embedded`, `ps4`, `ps5`."""
    buttons: list[Any] | None | UnsetType = UNSET
    """Labels, whose URLs are in `metadata`, or objects with `label` and `url`; at most two."""
    metadata: ActivityMetadata | None | UnsetType = UNSET
    """Data that is not part of presence events."""


class SetPresence(Struct, kw_only=True):
    """The presence of a session; client libraries differ in the fields they omit."""

    status: str = "online"
    """Status: `online`, `idle`, `dnd`, `invisible` or `offline`."""
    activities: list[SetActivity] | None = None
    """Activities of the session; null or absent if there are none."""
    since: float | None = None
    """Time since which the client has been idle, in Unix milliseconds; null if it is not."""
    afk: bool | None = None
    """Whether the user is away from the keyboard; while false, no push notifications are sent to the user (decisions/0105)."""
    showing_chat: bool | None = None
    """Whether a game shows chat, so that the user's other clients suppress notifications (spec/sdk.md#20)."""
    game: SetActivity | None = None
    """Single activity under the deprecated key, which discord.py still sends in Identify (spec/gateway.md#4.1)."""

    @property
    def all_activities(self) -> list[SetActivity]:
        """Activities from `activities`, or from the deprecated `game` if `activities` is null."""
        if self.activities is None:
            return [self.game] if self.game is not None else []
        return self.activities


class SessionClient(Struct, kw_only=True):
    """The kind of client of a session."""

    client: str
    """Kind of client: `desktop`, `mobile`, `web` or `vr`."""


class UserSession(Struct, kw_only=True):
    """One of the user's sessions, in the form seen by their own clients."""

    session_id: str
    """ID of the session."""
    status: str
    """Status set by the session, including `invisible`."""
    activities: list[Activity]
    """Activities of the session."""
    client_info: SessionClient
    """Kind of client of the session."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the game that the session belongs to; absent for the chat client."""
    showing_chat: bool = False
    """Whether the session shows chat, so that other clients suppress notifications."""


# The event PRESENCE_UPDATE has the same documented name, so the constant of the command has another name.
SET_PRESENCE = Command("PRESENCE_UPDATE", GatewayOpcode.PRESENCE_UPDATE, SetPresence)
"""Command that sets the presence of the session."""

PRESENCE_UPDATE = Event(
    "PRESENCE_UPDATE",
    Presence,
    "Sent when the status or the activities of a guild member or a friend change.",
    intents=Intents.GUILD_PRESENCES,
    dm_intents=Intents.USER_PRESENCE,
    scope=Scope.RELATIONSHIPS_READ,
)

SESSIONS_REPLACE = Event(
    "SESSIONS_REPLACE",
    list[UserSession],
    "Sent to a user's own clients, and not to games, with all sessions of a user who has several.",
)
