"""Bans: users who may not join a guild."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members
from hubbub.protocol.resources.users import User

BANS_PAGE_MAX = 1000
BULK_BAN_MAX = 200
"""Maximum number of users in one bulk ban."""
DELETE_MESSAGE_SECONDS_MAX = 604_800
DELETE_MESSAGE_DAYS_MAX = 7

DeleteMessageSeconds = Annotated[int, Meta(ge=0, le=DELETE_MESSAGE_SECONDS_MAX)]


class Ban(Struct, kw_only=True):
    """A banned user and the reason."""

    user: User
    """The banned user."""
    reason: str | None
    """Reason for the ban; null if none was given."""


class GuildBan(Struct, kw_only=True):
    """A ban that was added or removed."""

    guild_id: GuildId
    """ID of the guild."""
    user: User
    """The banned or unbanned user."""


class ListGuildBans(Struct, kw_only=True):
    """Query parameters for listing bans, in ascending order of user IDs."""

    limit: Annotated[int, Meta(ge=1, le=BANS_PAGE_MAX)] = BANS_PAGE_MAX
    """Maximum number of bans to return, 1 to 1000; 1000 if absent."""
    before: UserId | UnsetType = UNSET
    """Only bans of users with a lower ID than this; takes precedence over `after`."""
    after: UserId | UnsetType = UNSET
    """Only bans of users with a higher ID than this."""


class BanUser(Struct, kw_only=True):
    """Request body for banning a user; the reason is in the header `X-Audit-Log-Reason`."""

    delete_message_seconds: DeleteMessageSeconds | None | UnsetType = UNSET
    """Age in seconds up to which the user's messages are deleted, at most 604800 (7 days); 0 if absent or null."""
    delete_message_days: Annotated[int, Meta(ge=0, le=DELETE_MESSAGE_DAYS_MAX)] | None | UnsetType = UNSET
    """Deprecated: like `delete_message_seconds`, but in days, at most 7; used if `delete_message_seconds` is 0 or absent."""


class BulkBanUsers(Struct, kw_only=True):
    """Request body for banning several users."""

    user_ids: Annotated[list[UserId], Meta(min_length=1, max_length=BULK_BAN_MAX)]
    """IDs of the users to ban, 1 to 200."""
    delete_message_seconds: DeleteMessageSeconds | None | UnsetType = UNSET
    """Age in seconds up to which the users' messages are deleted, at most 604800 (7 days); 0 if absent or null."""


class BulkBanResult(Struct, kw_only=True):
    """Result of banning several users."""

    banned_users: list[UserId]
    """IDs of the users who were banned."""
    failed_users: list[UserId]
    """IDs of the users who are unknown, already banned, or ranked too high to be banned by the caller."""


GUILD_BAN_ADD = Event(
    "GUILD_BAN_ADD",
    GuildBan,
    "Sent when a user is banned from a guild, to members with BAN_MEMBERS or VIEW_AUDIT_LOG.",
    intents=Intents.GUILD_MODERATION,
)
GUILD_BAN_REMOVE = Event(
    "GUILD_BAN_REMOVE",
    GuildBan,
    "Sent when a user's ban from a guild is removed, to members with BAN_MEMBERS or VIEW_AUDIT_LOG.",
    intents=Intents.GUILD_MODERATION,
)

LIST_GUILD_BANS = Operation(
    "GET",
    "/guilds/{guild_id}/bans",
    query=ListGuildBans,
    result=list[Ban],
    needs=Permissions.BAN_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)

GET_GUILD_BAN = Operation(
    "GET",
    "/guilds/{guild_id}/bans/{user_id}",
    result=Ban,
    needs=Permissions.BAN_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.UNKNOWN_BAN),
)

# The messages slice deletes the messages of the user in response to the ban and publishes MESSAGE_DELETE_BULK.
BAN_USER_FROM_GUILD = Operation(
    "PUT",
    "/guilds/{guild_id}/bans/{user_id}",
    body=BanUser,
    needs=Permissions.BAN_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.UNKNOWN_USER),
    emits=(GUILD_BAN_ADD, members.GUILD_MEMBER_REMOVE),
    optional_body=True,
    audits=(AuditLogAction.MEMBER_BAN_ADD,),
)

UNBAN_USER_FROM_GUILD = Operation(
    "DELETE",
    "/guilds/{guild_id}/bans/{user_id}",
    needs=Permissions.BAN_MEMBERS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.UNKNOWN_BAN),
    emits=(GUILD_BAN_REMOVE,),
    audits=(AuditLogAction.MEMBER_BAN_REMOVE,),
)

BULK_BAN_USERS_FROM_GUILD = Operation(
    "POST",
    "/guilds/{guild_id}/bulk-ban",
    body=BulkBanUsers,
    result=BulkBanResult,
    needs=Permissions.BAN_MEMBERS | Permissions.MANAGE_GUILD,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.FAILED_TO_BAN_USERS),
    emits=(GUILD_BAN_ADD, members.GUILD_MEMBER_REMOVE),
    audits=(AuditLogAction.MEMBER_BAN_ADD,),
)
