"""The tables of a world file.

A key that was added after the first release is absent by default, because a stored world is recognized by the content of its file.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hubbub.protocol.enums import (
    AfkTimeout,
    AutoArchiveDuration,
    ChannelType,
    DefaultMessageNotifications,
    ExplicitContentFilter,
    ForumLayout,
    SortOrder,
    VerificationLevel,
)
from hubbub.protocol.resources.channels import Slowmode, TagSetting
from hubbub.protocol.resources.forum_settings import FORUM_TAG_NAME_MAX, UnicodeEmoji
from hubbub.protocol.resources.identity_providers import ClientId
from hubbub.protocol.resources.lobbies import LOBBY_IDLE_SECONDS_MAX, LOBBY_SECRET_MAX, IdleTimeout, Metadata
from hubbub.protocol.resources.messages import CONTENT_MAX

CHANNEL_TYPES: Final[Mapping[str, ChannelType]] = {
    "text": ChannelType.GUILD_TEXT,
    "voice": ChannelType.GUILD_VOICE,
    "category": ChannelType.GUILD_CATEGORY,
    "announcement": ChannelType.GUILD_ANNOUNCEMENT,
    "stage": ChannelType.GUILD_STAGE_VOICE,
    "forum": ChannelType.GUILD_FORUM,
    "media": ChannelType.GUILD_MEDIA,
}

Color = Annotated[int, Meta(ge=0, le=0xFFFFFF)]


class User(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A user; the table's name is the username."""

    password: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    """The password; by default derived from the seed."""
    global_name: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    email: str | None = None
    verified: bool | UnsetType = UNSET
    """Whether the user has confirmed the email address; by default false."""
    premium: Literal["none", "tier_0", "tier_1", "tier_2"] | UnsetType = UNSET


class Application(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An application, with a bot of the same name unless `bot` is false."""

    owner: str | None = None
    """The username of the owner; by default the first user of the file."""
    bot: bool = True
    intents: list[str] = []
    """The privileged intents that the bot may use."""
    flags: list[str] = []
    redirect_uris: list[str] = []
    scopes: list[str] = []
    """The OAuth2 scopes that the application is approved for."""
    parent: str | None = None
    """The name of the publisher's application, which authenticates the players of this game."""
    providers: dict[str, Any] = {}
    """The identity providers that the application trusts, by provider type."""
    url_map: dict[str, str] = {}
    """Targets of the activity's paths by prefix; an application with a URL map has activities."""
    commands: Any = UNSET
    """Global commands, as in the bodies of the API. Absent in worlds without commands, whose fingerprints must not change."""


class WorldProvider(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An identity provider of an application."""

    clients: Annotated[list[ClientId], Meta(min_length=1)]
    """The client IDs that a token may be issued for."""
    issuer: str | None = None
    """The URL of the issuer, or `built-in`; OIDC only."""


class Sku(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An item that an application sells; the table's name is its name."""

    application: str
    type: Literal["subscription", "durable", "consumable"] = "subscription"
    sold_to: Literal["users", "guilds"] = "users"
    """Whether a subscription is for users or guilds."""
    description: str | None = None
    price: Annotated[int, Meta(ge=0)] = 0
    """The price in the smallest unit of the currency."""
    currency: Annotated[str, Meta(pattern="^[a-z]{3}$")] = "usd"
    published: bool = True


class Role(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A role; the roles of a guild are listed from the highest to the lowest."""

    permissions: list[str] = []
    color: Color = 0
    hoist: bool = False
    mentionable: bool = False


class Overwrite(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The permissions of a role or member in one channel; the table's name is that of the role, user or application."""

    allow: list[str] = []
    deny: list[str] = []


class ForumTag(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A tag for posts of a forum or media channel."""

    name: Annotated[str, Meta(min_length=1, max_length=FORUM_TAG_NAME_MAX)]
    emoji_name: UnicodeEmoji | UnsetType = UNSET
    """Unicode emoji."""
    moderated: bool = False
    """Whether only members with MANAGE_THREADS may apply or remove the tag."""


class Channel(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A channel of a guild."""

    type: Literal["text", "voice", "category", "announcement", "stage", "forum", "media"] = "text"
    topic: Annotated[str, Meta(max_length=4096)] | None = None
    parent: str | None = None
    """The name of the category."""
    nsfw: bool = False
    rate_limit_per_user: Slowmode = 0
    user_limit: Annotated[int, Meta(ge=0, le=10_000)] | None = None
    bitrate: Annotated[int, Meta(ge=8000)] | None = None
    overwrites: dict[str, Any] | UnsetType = UNSET
    """Permission overwrites; if absent, those of the category."""
    default_auto_archive_duration: AutoArchiveDuration | UnsetType = UNSET
    """Minutes until a new thread is archived."""
    default_thread_rate_limit_per_user: Slowmode | UnsetType = UNSET
    """Slowmode of new threads, in seconds."""
    available_tags: list[ForumTag] | UnsetType = UNSET
    """Tags of a forum or media channel."""
    default_reaction_emoji: UnicodeEmoji | UnsetType = UNSET
    """Unicode emoji that posts of a forum or media channel offer as their first reaction."""
    default_sort_order: SortOrder | UnsetType = UNSET
    default_forum_layout: ForumLayout | UnsetType = UNSET
    default_tag_setting: TagSetting | UnsetType = UNSET
    messages: Any = UNSET
    """Messages, oldest first. Absent in worlds without messages, whose fingerprints must not change."""

    @property
    def channel_type(self) -> ChannelType:
        """The channel type on the wire."""
        return CHANNEL_TYPES[self.type]


class Message(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A message of a member or a bot."""

    author: str
    content: Annotated[str, Meta(min_length=1, max_length=CONTENT_MAX)]
    at: datetime | None = None
    """Time of the message; by default one minute after the previous one, from the creation of the world on."""


class Member(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A user's membership in a guild."""

    roles: list[str] = []
    nick: Annotated[str, Meta(min_length=1, max_length=32)] | None = None


class Bot(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A bot's membership in a guild."""

    roles: list[str] = []
    nick: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    permissions: list[str] | None = None
    """The permissions requested when the bot was added; if given, the bot has its own role with these."""
    commands: Any = UNSET
    """Commands of the application in this guild, as in the bodies of the API."""


class Guild(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A guild with its roles, channels and members."""

    owner: str
    description: Annotated[str, Meta(max_length=300)] | None = None
    features: list[str] = []
    premium_tier: Annotated[int, Meta(ge=0, le=3)] | UnsetType = UNSET
    """The boost tier."""
    everyone: list[str] | None = None
    """The permissions of @everyone; by default those of a new guild."""
    verification_level: VerificationLevel | UnsetType = UNSET
    default_message_notifications: DefaultMessageNotifications | UnsetType = UNSET
    explicit_content_filter: ExplicitContentFilter | UnsetType = UNSET
    preferred_locale: str | UnsetType = UNSET
    afk_channel: str | UnsetType = UNSET
    """The voice channel to which idle members are moved."""
    afk_timeout: AfkTimeout | UnsetType = UNSET
    """Seconds until an idle member is moved to the AFK channel."""
    system_channel: str | None = None
    system_channel_flags: list[str] | UnsetType = UNSET
    """System messages that the guild suppresses."""
    rules_channel: str | None = None
    """The rules channel; a guild with COMMUNITY has one by default (see `default_community_channel`)."""
    public_updates_channel: str | None = None
    """The channel for community updates; a guild with COMMUNITY has one by default."""
    roles: dict[str, Any] = {}
    channels: dict[str, Any] = {}
    members: dict[str, Any] = {}
    bots: dict[str, Any] = {}


class Friendship(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A friendship of two users."""

    between: Annotated[list[str], Meta(min_length=2, max_length=2)]


class LobbyMember(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A player in a lobby; building the world authorizes the game for them."""

    metadata: Metadata | None = None
    flags: list[str] = []


class Lobby(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A lobby of an application; its name determines its ID and is its key in the ready file."""

    application: str
    secret: Annotated[str, Meta(min_length=1, max_length=LOBBY_SECRET_MAX)] | None = None
    """The secret that lets players join; a lobby without one is managed by the game's backend."""
    metadata: Metadata | None = None
    flags: list[str] = []
    idle_timeout_seconds: IdleTimeout = LOBBY_IDLE_SECONDS_MAX
    """The idle timeout; by default the maximum, because players of a rehearsal may arrive late."""
    members: dict[str, Any] = {}
    guild: str | None = None
    """The guild of the linked channel, or None."""
    channel: str | None = None
    """The text channel that the guild's owner links to the lobby, or None."""
