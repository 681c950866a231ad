"""Members: users in a guild, with their nick, roles and standing there."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, Timestamp, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.presence import Presence
from hubbub.protocol.resources.users import AvatarDecoration, Collectibles, User

NICK_MAX = 32
BIO_MAX = 190
ACCESS_TOKEN_MAX = 10240
MEMBER_ROLES_MAX = 350
TIMEOUT_DAYS_MAX = 28
MEMBERS_PAGE_MAX = 1000
MEMBERS_CHUNK_MAX = 1000
SEARCH_QUERY_MAX = 100
PRUNE_DAYS_MIN = 1
PRUNE_DAYS_MAX = 30
PRUNE_DAYS_DEFAULT = 7
PRUNE_ROLES_MAX = 100

MEMBER_UPDATE_LIMIT = RateLimit(10, 10.0, per="guild_id")
NICK_LIMIT = RateLimit(1, 1.0, per="guild_id")
PRUNE_LIMIT = RateLimit(1, 10.0, per="guild_id", code=errors.MAX_PRUNES)

Nick = Annotated[str, Meta(max_length=NICK_MAX)]
"""An empty nick clears it, as null does."""

PageLimit = Annotated[int, Meta(ge=1, le=MEMBERS_PAGE_MAX)]
PruneDays = Annotated[int, Meta(ge=PRUNE_DAYS_MIN, le=PRUNE_DAYS_MAX)]


class PartialMember(Struct, kw_only=True):
    """A member beside a user that is told elsewhere, as in messages."""

    roles: list[RoleId]
    joined_at: Timestamp
    deaf: bool = False
    mute: bool = False
    flags: int = 0
    nick: str | None = None
    avatar: str | None = None
    """The hash of the avatar in this guild."""
    banner: str | None = None
    pending: bool = False
    """That they have yet to pass membership screening."""
    premium_since: Timestamp | None = None
    communication_disabled_until: Timestamp | None = None
    """The end of a timeout; in the past, it is over."""
    permissions: Permissions | UnsetType = UNSET
    """In the channel of an interaction, overwrites included; for oneself, in the guild."""
    avatar_decoration_data: AvatarDecoration | None | UnsetType = UNSET
    collectibles: Collectibles | None | UnsetType = UNSET


class Member(PartialMember, kw_only=True):
    """A user in a guild."""

    user: User


class GuildMember(Member, kw_only=True):
    """A member as events name them, with their guild."""

    guild_id: GuildId


class GuildMemberRemoved(Struct, kw_only=True):
    """A user who is no longer in the guild."""

    guild_id: GuildId
    user: User


class GuildMembersChunk(Struct, kw_only=True):
    """A part of the answer to a request for members."""

    guild_id: GuildId
    members: list[Member]
    chunk_index: int
    chunk_count: int
    not_found: list[str | int] | UnsetType = UNSET
    """The ids asked for in vain, as they were sent."""
    presences: list[Presence] | UnsetType = UNSET
    nonce: str | UnsetType = UNSET


class ListGuildMembers(Struct, kw_only=True):
    """A page of members, by ascending id."""

    limit: PageLimit = 1
    after: UserId = UserId(0)


class SearchGuildMembers(Struct, kw_only=True):
    """Members whose name or nick begins so."""

    query: Annotated[str, Meta(min_length=1, max_length=SEARCH_QUERY_MAX)]
    limit: PageLimit = 1


class AddGuildMember(Struct, kw_only=True):
    """Takes a user in who granted `guilds.join`."""

    access_token: Annotated[str, Meta(max_length=ACCESS_TOKEN_MAX)]
    nick: Nick | None | UnsetType = UNSET
    roles: Annotated[list[RoleId], Meta(max_length=MEMBER_ROLES_MAX)] | None | UnsetType = UNSET
    mute: bool | None | UnsetType = UNSET
    deaf: bool | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET


class UpdateGuildMember(Struct, kw_only=True):
    """Changes another member; each key asks for its own permission."""

    nick: Nick | None | UnsetType = UNSET
    roles: Annotated[list[RoleId], Meta(max_length=MEMBER_ROLES_MAX)] | None | UnsetType = UNSET
    mute: bool | None | UnsetType = UNSET
    deaf: bool | None | UnsetType = UNSET
    channel_id: ChannelId | None | UnsetType = UNSET
    """Moves them to another voice channel; null disconnects."""
    communication_disabled_until: datetime | None | UnsetType = UNSET
    """The end of a timeout, at most TIMEOUT_DAYS_MAX days ahead."""
    flags: Bits | None | UnsetType = UNSET
    """Only BYPASSES_VERIFICATION may change."""


class UpdateMyGuildMember(Struct, kw_only=True):
    """Changes oneself in a guild; null clears."""

    nick: Nick | None | UnsetType = UNSET
    avatar: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""
    banner: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""
    bio: Annotated[str, Meta(max_length=BIO_MAX)] | None | UnsetType = UNSET


class UpdateMyNick(Struct, kw_only=True):
    """The body of the old nick route."""

    nick: Nick | None | UnsetType = UNSET


class MyNick(Struct, kw_only=True):
    """The answer of the old nick route."""

    nick: str | None


class PreviewPrune(Struct, kw_only=True):
    """Whom a prune would remove."""

    days: PruneDays = PRUNE_DAYS_DEFAULT
    include_roles: str | UnsetType = UNSET
    """Role ids, parted by commas (http.md 1.6); members with only these are counted too."""


class PruneGuild(Struct, kw_only=True):
    """Removes members without roles who were not seen for some days."""

    days: PruneDays | None | UnsetType = UNSET
    # discord.py sends the word.
    compute_prune_count: bool | Literal["true", "false"] | None | UnsetType = UNSET
    """False: the answer holds null instead of the count, which is dear in a large guild."""
    include_roles: Annotated[list[RoleId], Meta(max_length=PRUNE_ROLES_MAX)] | str | None | UnsetType = UNSET


class Pruned(Struct, kw_only=True):
    """How many a prune removes."""

    pruned: int | None


GUILD_MEMBER_ADD = Event("GUILD_MEMBER_ADD", GuildMember, intents=Intents.GUILD_MEMBERS)
GUILD_MEMBER_UPDATE = Event("GUILD_MEMBER_UPDATE", GuildMember, intents=Intents.GUILD_MEMBERS)
"""The member themselves hears it without the intent."""
GUILD_MEMBER_REMOVE = Event("GUILD_MEMBER_REMOVE", GuildMemberRemoved, intents=Intents.GUILD_MEMBERS)
GUILD_MEMBERS_CHUNK = Event("GUILD_MEMBERS_CHUNK", GuildMembersChunk)

GET_MY_GUILD_MEMBER = Operation(
    "GET",
    "/users/@me/guilds/{guild_id}/member",
    result=Member,
    auth=Auth.USER | Auth.BEARER,
    scopes=("guilds.members.read",),
    raises=(errors.UNKNOWN_GUILD,),
)

# Without the members intent on its application a bot is refused with 50001 (http.md 3.5).
LIST_GUILD_MEMBERS = Operation(
    "GET",
    "/guilds/{guild_id}/members",
    query=ListGuildMembers,
    result=list[Member],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

SEARCH_GUILD_MEMBERS = Operation(
    "GET",
    "/guilds/{guild_id}/members/search",
    query=SearchGuildMembers,
    result=list[Member],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

GET_GUILD_MEMBER = Operation(
    "GET",
    "/guilds/{guild_id}/members/{user_id}",
    result=Member,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_MEMBER),
)

# 201 with the member, or 204 when the user is in already. The user hears GUILD_CREATE, declared with the guilds.
ADD_GUILD_MEMBER = Operation(
    "PUT",
    "/guilds/{guild_id}/members/{user_id}",
    body=AddGuildMember,
    result=Member,
    status=201,
    auth=Auth.BOT,
    needs=Permissions.CREATE_INSTANT_INVITE,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_USER,
        errors.UNKNOWN_ROLE,
        errors.INVALID_OAUTH2_ACCESS_TOKEN,
        errors.MISSING_OAUTH2_SCOPE,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.USER_BANNED,
        errors.INVALID_ROLE,
        errors.MAX_GUILDS,
        errors.MAX_MEMBERS,
    ),
    emits=(GUILD_MEMBER_ADD,),
    limit=MEMBER_UPDATE_LIMIT,
    also=(204,),
)

# mute, deaf and channel_id also cause a VOICE_STATE_UPDATE, which the voice_states resource declares.
UPDATE_GUILD_MEMBER = Operation(
    "PATCH",
    "/guilds/{guild_id}/members/{user_id}",
    body=UpdateGuildMember,
    result=Member,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_MEMBER,
        errors.UNKNOWN_ROLE,
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_ROLE,
        errors.WRONG_CHANNEL_TYPE,
        errors.TARGET_NOT_IN_VOICE,
    ),
    emits=(GUILD_MEMBER_UPDATE,),
    limit=MEMBER_UPDATE_LIMIT,
    also=(204,),
    audits=(
        AuditLogAction.MEMBER_UPDATE,
        AuditLogAction.MEMBER_ROLE_UPDATE,
        AuditLogAction.MEMBER_MOVE,
        AuditLogAction.MEMBER_DISCONNECT,
    ),
)

UPDATE_MY_GUILD_MEMBER = Operation(
    "PATCH",
    "/guilds/{guild_id}/members/@me",
    body=UpdateMyGuildMember,
    result=Member,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    emits=(GUILD_MEMBER_UPDATE,),
    limit=NICK_LIMIT,
    audits=(AuditLogAction.MEMBER_UPDATE,),
)

UPDATE_MY_GUILD_MEMBER_NICK = Operation(
    "PATCH",
    "/guilds/{guild_id}/members/@me/nick",
    body=UpdateMyNick,
    result=MyNick,
    needs=Permissions.CHANGE_NICKNAME,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    emits=(GUILD_MEMBER_UPDATE,),
    limit=NICK_LIMIT,
    audits=(AuditLogAction.MEMBER_UPDATE,),
)

DELETE_GUILD_MEMBER = Operation(
    "DELETE",
    "/guilds/{guild_id}/members/{user_id}",
    needs=Permissions.KICK_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_MEMBER, errors.MISSING_PERMISSIONS),
    emits=(GUILD_MEMBER_REMOVE,),
    audits=(AuditLogAction.MEMBER_KICK, AuditLogAction.ROLE_DELETE),
)

ADD_GUILD_MEMBER_ROLE = Operation(
    "PUT",
    "/guilds/{guild_id}/members/{user_id}/roles/{role_id}",
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_MEMBER,
        errors.UNKNOWN_ROLE,
        errors.MISSING_PERMISSIONS,
        errors.INVALID_ROLE,
    ),
    emits=(GUILD_MEMBER_UPDATE,),
    limit=MEMBER_UPDATE_LIMIT,
    audits=(AuditLogAction.MEMBER_ROLE_UPDATE,),
)

DELETE_GUILD_MEMBER_ROLE = Operation(
    "DELETE",
    "/guilds/{guild_id}/members/{user_id}/roles/{role_id}",
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_MEMBER,
        errors.UNKNOWN_ROLE,
        errors.MISSING_PERMISSIONS,
        errors.INVALID_ROLE,
    ),
    emits=(GUILD_MEMBER_UPDATE,),
    limit=MEMBER_UPDATE_LIMIT,
    audits=(AuditLogAction.MEMBER_ROLE_UPDATE,),
)

PREVIEW_PRUNE_GUILD = Operation(
    "GET",
    "/guilds/{guild_id}/prune",
    query=PreviewPrune,
    result=Pruned,
    # And MANAGE_GUILD, which the handler asks for: until 15 March 2024 this one was enough.
    needs=Permissions.KICK_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)

PRUNE_GUILD = Operation(
    "POST",
    "/guilds/{guild_id}/prune",
    body=PruneGuild,
    result=Pruned,
    needs=Permissions.KICK_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    emits=(GUILD_MEMBER_REMOVE,),
    limit=PRUNE_LIMIT,
    optional_body=True,
    audits=(AuditLogAction.MEMBER_PRUNE,),
)
