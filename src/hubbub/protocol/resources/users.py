"""Users and bots: the forms seen by others and by themselves, and profiles."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.numbers import COLOR_MAX
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit

# All lengths are in characters.
USERNAME_MIN = 2
USERNAME_MAX = 32
GLOBAL_NAME_MAX = 32
BIO_MAX = 190
NO_DISCRIMINATOR = "0"
"""Value of `discriminator` for users, whose usernames are unique."""

USERNAME_LIMIT = RateLimit(2, 3600.0, bucket="username")
"""Limit on username changes, counted by the handler. Other changes follow the operation's own bucket."""

Username = Annotated[str, Meta(min_length=USERNAME_MIN, max_length=USERNAME_MAX)]


class AvatarDecoration(Struct, kw_only=True):
    """Frame that clients show around an avatar."""

    asset: str
    """Hash of the decoration image."""
    sku_id: Snowflake | None
    """ID of the decoration's SKU; null if there is none."""


class Nameplate(Struct, kw_only=True):
    """The background of a name in the member list."""

    sku_id: Snowflake | None
    """ID of the nameplate's SKU; null if there is none."""
    asset: str
    """Path of the nameplate image."""
    label: str
    """Description of the nameplate."""
    palette: str
    """Background color of the nameplate."""


class Collectibles(Struct, kw_only=True):
    """The collectibles that a user shows."""

    nameplate: Nameplate | None
    """Nameplate of the user; null if there is none."""


class PrimaryGuild(Struct, kw_only=True):
    """The guild whose tag a user shows."""

    identity_guild_id: GuildId | None
    """ID of the guild; null if there is none."""
    identity_enabled: bool | None
    """Whether the user shows the tag; null if the platform removed it."""
    tag: str | None
    """Tag of the guild; null if there is none."""
    badge: str | None
    """Hash of the badge image; null if there is none."""


class User(Struct, kw_only=True):
    """A user in the form seen by others."""

    id: UserId
    """ID of the user."""
    username: str
    """Username, which is unique except for bots."""
    discriminator: str = NO_DISCRIMINATOR
    """Four digits for a bot, whose username need not be unique; otherwise "0"."""
    global_name: str | None = None
    """Display name; null if the username is shown."""
    avatar: str | None = None
    """Hash of the avatar; null for a default avatar."""
    public_flags: int = 0
    """Public flags of the user; a `UserFlags` bit set."""
    flags: int = 0
    """Flags of the user, a `UserFlags` bit set; the public flags, or all flags in the current user."""
    bot: bool | UnsetType = UNSET
    """Whether the user is a bot; absent if it is not."""
    system: bool | UnsetType = UNSET
    """Whether the user is an official account of the platform; absent if it is not."""
    banner: str | None | UnsetType = UNSET
    """Hash of the banner; null if there is none."""
    accent_color: int | None | UnsetType = UNSET
    """Color of the profile as an RGB number; null if there is none."""
    avatar_decoration_data: AvatarDecoration | None | UnsetType = UNSET
    """Avatar decoration of the user; always absent."""
    collectibles: Collectibles | None | UnsetType = UNSET
    """Collectibles of the user; always absent."""
    primary_guild: PrimaryGuild | None = None
    """Guild whose tag the user shows; null if there is none."""


class PartialUser(Struct, kw_only=True):
    """A partial user, as in presences; only the ID is always present."""

    id: UserId
    """ID of the user."""
    username: str | UnsetType = UNSET
    """Username, which is unique except for bots."""
    discriminator: str | UnsetType = UNSET
    """Four digits for a bot, whose username need not be unique; otherwise "0"."""
    global_name: str | None | UnsetType = UNSET
    """Display name; null if the username is shown."""
    avatar: str | None | UnsetType = UNSET
    """Hash of the avatar; null for a default avatar."""
    public_flags: int | UnsetType = UNSET
    """Public flags of the user; a `UserFlags` bit set."""
    flags: int | UnsetType = UNSET
    """Flags of the user, a `UserFlags` bit set; the public flags, or all flags in the current user."""
    bot: bool | UnsetType = UNSET
    """Whether the user is a bot."""


class MyUser(User, kw_only=True):
    """The current user.

    Keys that client libraries read unconditionally are always present.
    """

    bot: bool
    """Whether the user is a bot."""
    mfa_enabled: bool
    """Whether the user enabled two-factor authentication."""
    locale: str
    """Locale of the user."""
    premium_type: int
    """Premium level of the user; 0 for bots, and for OAuth2 tokens without the scope `identify.premium`."""
    verified: bool
    """Whether the email address is verified; always true for bots."""
    email: str | None | UnsetType = UNSET
    """Email address; absent for OAuth2 tokens without the scope `email`, null for bots."""
    bio: str | UnsetType = UNSET
    """Profile text; present only for the user's own clients."""


class UserProfile(Struct, kw_only=True):
    """The profile of a user, with the fields that other objects leave out."""

    user: User
    """User that the profile belongs to."""
    bio: str
    """Profile text; empty if there is none."""


class UpdateMyUser(Struct, kw_only=True):
    """Changes to the current user; absent fields keep their value."""

    username: Username | UnsetType = UNSET
    """New username."""
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET
    """New display name; null removes it."""
    avatar: ImageData | None | UnsetType = UNSET
    """New avatar as a data URI; null removes it."""
    banner: ImageData | None | UnsetType = UNSET
    """New banner as a data URI; null removes it."""
    accent_color: Annotated[int, Meta(ge=0, le=COLOR_MAX)] | None | UnsetType = UNSET
    """New color of the profile as an RGB number; null removes it. Ignored for bots."""
    bio: Annotated[str, Meta(max_length=BIO_MAX)] | None | UnsetType = UNSET
    """New profile text; null removes it. Ignored for bots."""
    locale: str | UnsetType = UNSET
    """New locale; one of the locales of guilds and commands. Ignored for bots."""


USER_UPDATE = Event("USER_UPDATE", MyUser, "Sent to the user's own sessions when the user changes.")

GET_MY_USER = Operation(
    "GET",
    "/users/@me",
    result=MyUser,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("identify",),
)

# Members of shared guilds also receive GUILD_MEMBER_UPDATE, which the members resource, a tier above, declares.
UPDATE_MY_USER = Operation("PATCH", "/users/@me", body=UpdateMyUser, result=MyUser, emits=(USER_UPDATE,))

GET_USER_PROFILE = Operation(
    "GET", "/users/{user_id}/profile", result=UserProfile, auth=Auth.USER, raises=(errors.UNKNOWN_USER,)
)

GET_USER = Operation("GET", "/users/{user_id}", result=User, raises=(errors.UNKNOWN_USER,))
