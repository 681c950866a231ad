"""Users: people and bots, as others see them and as they see themselves."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit

USERNAME_MIN = 2
USERNAME_MAX = 32
GLOBAL_NAME_MAX = 32
NO_DISCRIMINATOR = "0"
"""What `discriminator` holds since names are unique."""

USERNAME_LIMIT = RateLimit(2, 3600.0, bucket="username")
"""Counted by the handler, since only a change of the name is so rare; pictures follow the operation's own bucket."""

Username = Annotated[str, Meta(min_length=USERNAME_MIN, max_length=USERNAME_MAX)]


class AvatarDecoration(Struct, kw_only=True):
    """The frame around an avatar."""

    asset: str
    sku_id: Snowflake | None


class Nameplate(Struct, kw_only=True):
    """The picture behind a name in a member list."""

    sku_id: Snowflake | None
    asset: str
    label: str
    palette: str


class Collectibles(Struct, kw_only=True):
    """What a user collected and shows."""

    nameplate: Nameplate | None


class PrimaryGuild(Struct, kw_only=True):
    """The guild whose tag a user wears."""

    identity_guild_id: GuildId | None
    identity_enabled: bool | None
    """None when the platform took the tag away."""
    tag: str | None
    badge: str | None
    """The hash of the badge's picture."""


class User(Struct, kw_only=True):
    """A user as others see them."""

    id: UserId
    username: str
    discriminator: str = NO_DISCRIMINATOR
    global_name: str | None = None
    """The name shown; the username where there is none."""
    avatar: str | None = None
    """The hash of the avatar; the default one where there is none."""
    public_flags: int = 0
    flags: int = 0
    bot: bool | UnsetType = UNSET
    system: bool | UnsetType = UNSET
    """That the platform itself speaks."""
    banner: str | None | UnsetType = UNSET
    accent_color: int | None | UnsetType = UNSET
    avatar_decoration_data: AvatarDecoration | None | UnsetType = UNSET
    collectibles: Collectibles | None | UnsetType = UNSET
    primary_guild: PrimaryGuild | None = None


class PartialUser(Struct, kw_only=True):
    """A user of whom only the id is certain, as in presences."""

    id: UserId
    username: str | UnsetType = UNSET
    discriminator: str | UnsetType = UNSET
    global_name: str | None | UnsetType = UNSET
    avatar: str | None | UnsetType = UNSET
    public_flags: int | UnsetType = UNSET
    bot: bool | UnsetType = UNSET


class MyUser(User, kw_only=True):
    """A user as they see themselves: keys that client libraries index without asking are always there."""

    bot: bool
    mfa_enabled: bool
    locale: str
    premium_type: int
    """0 unless the token may read it (scope `identify.premium`)."""
    verified: bool
    """That the address was confirmed; bots always are."""
    email: str | None | UnsetType = UNSET
    """Absent without the scope `email`; null for bots."""


class UpdateMyUser(Struct, kw_only=True):
    """What a user may change about themselves."""

    username: Username | UnsetType = UNSET
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET
    avatar: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""
    banner: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""


USER_UPDATE = Event("USER_UPDATE", MyUser)

GET_MY_USER = Operation(
    "GET",
    "/users/@me",
    result=MyUser,
    auth=Auth.BOT | Auth.USER | Auth.BEARER,
    scopes=("identify",),
)

# Those who share a guild also hear GUILD_MEMBER_UPDATE, which the members resource, a floor above, declares and emits.
UPDATE_MY_USER = Operation("PATCH", "/users/@me", body=UpdateMyUser, result=MyUser, emits=(USER_UPDATE,))

GET_USER = Operation("GET", "/users/{user_id}", result=User, raises=(errors.UNKNOWN_USER,))
