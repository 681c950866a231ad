"""Members: users in a guild, with their nickname, roles and permissions in it, and the pruning of inactive members."""

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
from hubbub.protocol.resources.users import BIO_MAX, AvatarDecoration, Collectibles, User

NICK_MAX = 32
"""Maximum length of a nickname, in characters."""
ACCESS_TOKEN_MAX = 10240
"""Maximum length of an OAuth2 access token, in characters."""
MEMBER_ROLES_MAX = 350
"""Maximum number of role IDs in one request; a guild has fewer roles."""
TIMEOUT_DAYS_MAX = 28
MEMBERS_PAGE_MAX = 1000
"""Maximum number of members on a page."""
MEMBERS_CHUNK_MAX = 1000
"""Maximum number of members in one GUILD_MEMBERS_CHUNK event."""
SEARCH_QUERY_MAX = 100
"""Maximum length of a search query, in characters."""
PRUNE_DAYS_MIN = 1
PRUNE_DAYS_MAX = 30
PRUNE_DAYS_DEFAULT = 7
PRUNE_ROLES_MAX = 100
"""Maximum number of roles whose members a prune includes."""

MEMBER_UPDATE_LIMIT = RateLimit(10, 10.0, per="guild_id")
NICK_LIMIT = RateLimit(1, 1.0, per="guild_id")
PRUNE_LIMIT = RateLimit(1, 10.0, per="guild_id", code=errors.MAX_PRUNES)

Nick = Annotated[str, Meta(max_length=NICK_MAX)]
"""Nickname in a guild; an empty string clears it, like null."""

PageLimit = Annotated[int, Meta(ge=1, le=MEMBERS_PAGE_MAX)]
PruneDays = Annotated[int, Meta(ge=PRUNE_DAYS_MIN, le=PRUNE_DAYS_MAX)]


class PartialMember(Struct, kw_only=True):
    """A member without the user, which the enclosing object contains."""

    roles: list[RoleId]
    """IDs of the member's roles, without the @everyone role."""
    joined_at: Timestamp
    """Time at which the user joined the guild."""
    deaf: bool = False
    """Whether the member is deafened in voice channels by the guild."""
    mute: bool = False
    """Whether the member is muted in voice channels by the guild."""
    flags: int = 0
    """Flags of the member; a `MemberFlags` bit set."""
    nick: str | None = None
    """Nickname in the guild; null if there is none."""
    avatar: str | None = None
    """Hash of the avatar in the guild; null if the user's own avatar is shown."""
    banner: str | None = None
    """Hash of the banner in the guild; null if the user's own banner is shown."""
    pending: bool = False
    """Whether the member has not yet completed the guild's verification form."""
    premium_since: Timestamp | None = None
    """Time since which the member has boosted the guild; null if the member does not boost it."""
    communication_disabled_until: Timestamp | None = None
    """Time at which the member's timeout ends; null or in the past if there is none."""
    permissions: Permissions | UnsetType = UNSET
    """Permissions of the member: in an interaction those in its channel, for the caller's own member those in the guild.
    Absent in all other members."""
    avatar_decoration_data: AvatarDecoration | None | UnsetType = UNSET
    """Avatar decoration in the guild; always absent."""
    collectibles: Collectibles | None | UnsetType = UNSET
    """Collectibles shown in the guild; always absent."""


class Member(PartialMember, kw_only=True):
    """A user in a guild."""

    user: User
    """User account of the member."""


class GuildMember(Member, kw_only=True):
    """A member in gateway events, with the guild ID."""

    guild_id: GuildId
    """ID of the guild."""


class GuildMemberRemoved(Struct, kw_only=True):
    """A user who is no longer a member of a guild."""

    guild_id: GuildId
    """ID of the guild."""
    user: User
    """User who left or was removed."""


class GuildMembersChunk(Struct, kw_only=True):
    """One chunk of the response to a member request."""

    guild_id: GuildId
    """ID of the guild."""
    members: list[Member]
    """Members in this chunk; at most 1,000."""
    chunk_index: int
    """Index of this chunk, from 0."""
    chunk_count: int
    """Number of chunks in the response."""
    not_found: list[str | int] | UnsetType = UNSET
    """Requested user IDs that are not members, in the form in which they were sent; absent if there are none."""
    presences: list[Presence] | UnsetType = UNSET
    """Presences of the members; present if requested."""
    nonce: str | UnsetType = UNSET
    """Nonce of the request; absent if it had none."""


class ListGuildMembers(Struct, kw_only=True):
    """Page selection for members, in ascending order of user ID."""

    limit: PageLimit = 1
    """Maximum number of members to return."""
    after: UserId = UserId(0)
    """Return members with a greater user ID."""


class SearchGuildMembers(Struct, kw_only=True):
    """A search for members by the beginning of their username, display name or nickname."""

    query: Annotated[str, Meta(min_length=1, max_length=SEARCH_QUERY_MAX)]
    """Beginning of the username, display name or nickname; case is ignored."""
    limit: PageLimit = 1
    """Maximum number of members to return."""


class AddGuildMember(Struct, kw_only=True):
    """A user to add to a guild with an OAuth2 token; null or absent fields are not set."""

    access_token: Annotated[str, Meta(max_length=ACCESS_TOKEN_MAX)]
    """OAuth2 access token of the user with the scope `guilds.join`."""
    nick: Nick | None | UnsetType = UNSET
    """Nickname of the member; requires MANAGE_NICKNAMES."""
    roles: Annotated[list[RoleId], Meta(max_length=MEMBER_ROLES_MAX)] | None | UnsetType = UNSET
    """IDs of the member's roles; requires MANAGE_ROLES."""
    mute: bool | None | UnsetType = UNSET
    """Whether the member is muted in voice channels; requires MUTE_MEMBERS."""
    deaf: bool | None | UnsetType = UNSET
    """Whether the member is deafened in voice channels; requires DEAFEN_MEMBERS."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the member; only BYPASSES_VERIFICATION can be set."""


class UpdateGuildMember(Struct, kw_only=True):
    """Changes to another member; absent fields keep their value, and each field requires its own permission."""

    nick: Nick | None | UnsetType = UNSET
    """New nickname, null or empty to remove it; requires MANAGE_NICKNAMES."""
    roles: Annotated[list[RoleId], Meta(max_length=MEMBER_ROLES_MAX)] | None | UnsetType = UNSET
    """IDs of all roles of the member, which replace the current roles; null for none. Requires MANAGE_ROLES."""
    mute: bool | None | UnsetType = UNSET
    """Whether the member is muted in voice channels, false if null; requires MUTE_MEMBERS."""
    deaf: bool | None | UnsetType = UNSET
    """Whether the member is deafened in voice channels, false if null; requires DEAFEN_MEMBERS."""
    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the voice channel to move the member to, null to disconnect them; requires MOVE_MEMBERS."""
    communication_disabled_until: datetime | None | UnsetType = UNSET
    """Time at which the member's timeout ends, at most 28 days ahead.
    Null ends the timeout; requires MODERATE_MEMBERS."""
    flags: Bits | None | UnsetType = UNSET
    """New flags of the member; only BYPASSES_VERIFICATION can change, and null removes it."""


class UpdateMyGuildMember(Struct, kw_only=True):
    """Changes to the caller's own member; null clears a field, absent keeps it."""

    nick: Nick | None | UnsetType = UNSET
    """New nickname; requires CHANGE_NICKNAME."""
    avatar: ImageData | None | UnsetType = UNSET
    """New avatar in the guild, as a data URI."""
    banner: ImageData | None | UnsetType = UNSET
    """New banner in the guild, as a data URI."""
    bio: Annotated[str, Meta(max_length=BIO_MAX)] | None | UnsetType = UNSET
    """New profile text in the guild."""


class UpdateMyNick(Struct, kw_only=True):
    """Change of the nickname of the current user in a guild.

    Deprecated: `update_my_guild_member` changes the nickname, too.
    """

    nick: Nick | None | UnsetType = UNSET
    """New nickname; null or empty removes it."""


class MyNick(Struct, kw_only=True):
    """Nickname of the current user in a guild.

    Deprecated: the result of `update_my_guild_member` contains the nickname, too.
    """

    nick: str | None
    """Nickname after the change; null if there is none."""


class PreviewPrune(Struct, kw_only=True):
    """Selection of the members that a prune would remove."""

    days: PruneDays = PRUNE_DAYS_DEFAULT
    """Number of days without activity after which a member is counted."""
    include_roles: str | UnsetType = UNSET
    """IDs of roles, separated by commas (spec/http.md#1.6). Members who have no other roles are counted too."""


class PruneGuild(Struct, kw_only=True):
    """A prune of inactive members without roles."""

    days: PruneDays | None | UnsetType = UNSET
    """Number of days without activity after which a member is removed; default 7."""
    # discord.py sends a string.
    compute_prune_count: bool | Literal["true", "false"] | None | UnsetType = UNSET
    """Whether to return the number of removed members; false returns null. Set false for large guilds."""
    include_roles: Annotated[list[RoleId], Meta(max_length=PRUNE_ROLES_MAX)] | str | None | UnsetType = UNSET
    """IDs of roles, as a list or separated by commas; members who have no other roles are removed too."""


class PruneResult(Struct, kw_only=True):
    """The result of a prune or of its preview."""

    pruned: int | None
    """Number of members removed, or that would be removed; null if the count was not requested."""


GUILD_MEMBER_ADD = Event(
    "GUILD_MEMBER_ADD", GuildMember, "Sent when a user joins a guild.", intents=Intents.GUILD_MEMBERS
)
GUILD_MEMBER_UPDATE = Event(
    "GUILD_MEMBER_UPDATE",
    GuildMember,
    "Sent when a member of a guild changes; the member's own sessions receive it without the intent.",
    intents=Intents.GUILD_MEMBERS,
)
GUILD_MEMBER_REMOVE = Event(
    "GUILD_MEMBER_REMOVE",
    GuildMemberRemoved,
    "Sent when a member leaves a guild, is kicked or is banned.",
    intents=Intents.GUILD_MEMBERS,
)
GUILD_MEMBERS_CHUNK = Event(
    "GUILD_MEMBERS_CHUNK", GuildMembersChunk, "Sent in response to a request for guild members, once per chunk."
)

GET_MY_GUILD_MEMBER = Operation(
    "GET",
    "/users/@me/guilds/{guild_id}/member",
    result=Member,
    auth=Auth.USER | Auth.BEARER,
    scopes=("guilds.members.read",),
    raises=(errors.UNKNOWN_GUILD,),
)

# A bot whose application has not enabled the members intent is rejected with MISSING_ACCESS (spec/http.md#3.5).
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

# The status is 201 with the member, or 204 if the user is already a member. The user receives GUILD_CREATE, declared in `guilds`.
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
    other_statuses=(204,),
)

# `mute`, `deaf` and `channel_id` also cause VOICE_STATE_UPDATE, declared in `voice_states`.
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
    other_statuses=(204,),
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
    replaced_by="`update_my_guild_member`",
)

# Kicking a bot also deletes its managed role.
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
    result=PruneResult,
    # From changes.PRUNE_PERMISSIONS on, the handler also checks MANAGE_GUILD.
    needs=Permissions.KICK_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)

PRUNE_GUILD = Operation(
    "POST",
    "/guilds/{guild_id}/prune",
    body=PruneGuild,
    result=PruneResult,
    # From changes.PRUNE_PERMISSIONS on, the handler also checks MANAGE_GUILD.
    needs=Permissions.KICK_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    emits=(GUILD_MEMBER_REMOVE,),
    limit=PRUNE_LIMIT,
    optional_body=True,
    audits=(AuditLogAction.MEMBER_PRUNE,),
)
