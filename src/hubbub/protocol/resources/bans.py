"""Bans: users who may not come back to a guild."""

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
DELETE_MESSAGE_SECONDS_MAX = 604_800
DELETE_MESSAGE_DAYS_MAX = 7

DeleteMessageSeconds = Annotated[int, Meta(ge=0, le=DELETE_MESSAGE_SECONDS_MAX)]


class Ban(Struct, kw_only=True):
    """A banned user, and why."""

    user: User
    reason: str | None


class GuildBan(Struct, kw_only=True):
    """A ban that began or ended."""

    guild_id: GuildId
    user: User


class ListGuildBans(Struct, kw_only=True):
    """A page of bans, by ascending user id; `before` wins over `after`."""

    limit: Annotated[int, Meta(ge=1, le=BANS_PAGE_MAX)] = BANS_PAGE_MAX
    before: UserId | UnsetType = UNSET
    after: UserId | UnsetType = UNSET


class BanUser(Struct, kw_only=True):
    """A ban, and how much of the user's recent words goes with it."""

    delete_message_seconds: DeleteMessageSeconds | None | UnsetType = UNSET
    delete_message_days: Annotated[int, Meta(ge=0, le=DELETE_MESSAGE_DAYS_MAX)] | None | UnsetType = UNSET
    """The older form of delete_message_seconds."""


class BulkBanUsers(Struct, kw_only=True):
    """Many bans at once."""

    user_ids: Annotated[list[UserId], Meta(min_length=1, max_length=BULK_BAN_MAX)]
    delete_message_seconds: DeleteMessageSeconds | None | UnsetType = UNSET


class BulkBanned(Struct, kw_only=True):
    """Who was banned, and who could not be."""

    banned_users: list[UserId]
    failed_users: list[UserId]


GUILD_BAN_ADD = Event("GUILD_BAN_ADD", GuildBan, intents=Intents.GUILD_MODERATION)
GUILD_BAN_REMOVE = Event("GUILD_BAN_REMOVE", GuildBan, intents=Intents.GUILD_MODERATION)

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

# Recent messages go with a MESSAGE_DELETE_BULK per channel, which the messages resource declares and emits.
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
    result=BulkBanned,
    needs=Permissions.BAN_MEMBERS | Permissions.MANAGE_GUILD,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.FAILED_TO_BAN_USERS),
    emits=(GUILD_BAN_ADD, members.GUILD_MEMBER_REMOVE),
    audits=(AuditLogAction.MEMBER_BAN_ADD,),
)
