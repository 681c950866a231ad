"""Invites: codes that let people into a guild or a group."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, InviteTargetType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, MessageId, RoleId, Snowflake, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds, members
from hubbub.protocol.resources.applications import PublicApplication
from hubbub.protocol.resources.channels import PartialChannel
from hubbub.protocol.resources.roles import PartialRole
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.protocol.resources.users import User

INVITES_MAX = 1000
INVITE_CODE_LENGTH = 8
INVITE_AGE_DEFAULT = 86_400
INVITE_AGE_MAX = 604_800
INVITE_USES_MAX = 100
INVITE_ROLES_MAX = 250
TARGET_USERS_FIELD = "target_users_file"
TARGET_USERS_MAX = 100_000
"""Users whom one invite can name. The specification has no number: ours keeps a list within one request."""
TARGET_USERS_FILE_MAX = 4 * 1024 * 1024
"""Bytes of their file."""

INVITE_LIMIT = RateLimit(5, 15.0)


class InviteGuild(Struct, kw_only=True):
    """The guild behind an invite, as strangers see it."""

    id: GuildId
    name: str
    splash: str | None
    banner: str | None
    description: str | None
    icon: str | None
    features: list[str]
    verification_level: int
    vanity_url_code: str | None
    nsfw_level: int
    nsfw: bool
    premium_subscription_count: int


class Invite(Struct, kw_only=True):
    """An invite; how much of it is told depends on who asks."""

    type: int
    """0 guild, 1 group, 2 friend."""
    code: str
    channel: PartialChannel | None
    expires_at: Timestamp | None
    guild: InviteGuild | UnsetType = UNSET
    """Present on guild invites, as is `guild_id`."""
    guild_id: GuildId | UnsetType = UNSET
    inviter: User | UnsetType = UNSET
    target_type: int | UnsetType = UNSET
    target_user: User | UnsetType = UNSET
    target_application: PublicApplication | UnsetType = UNSET
    guild_scheduled_event: ScheduledEvent | UnsetType = UNSET
    flags: int | UnsetType = UNSET
    roles: list[PartialRole] | UnsetType = UNSET
    """What who accepts is given; whole roles until 5 February 2026."""
    approximate_member_count: int | UnsetType = UNSET
    approximate_presence_count: int | UnsetType = UNSET
    uses: int | UnsetType = UNSET
    """This and the following are the metadata that managers see."""
    max_uses: int | UnsetType = UNSET
    max_age: int | UnsetType = UNSET
    """Seconds; 0 never ends."""
    temporary: bool | UnsetType = UNSET
    """That who came by it leaves with their last connection, unless given a role."""
    created_at: Timestamp | UnsetType = UNSET


class InviteCreated(Struct, kw_only=True):
    """A new invite."""

    channel_id: ChannelId
    code: str
    created_at: Timestamp
    max_age: int
    max_uses: int
    temporary: bool
    uses: int
    expires_at: Timestamp | None
    type: int = 0
    guild_id: GuildId | UnsetType = UNSET
    inviter: User | UnsetType = UNSET
    target_type: int | UnsetType = UNSET
    target_user: User | UnsetType = UNSET
    target_application: PublicApplication | UnsetType = UNSET
    role_ids: list[RoleId] | UnsetType = UNSET


class InviteDeleted(Struct, kw_only=True):
    """An invite that is no more: revoked, used up or expired."""

    channel_id: ChannelId
    code: str
    guild_id: GuildId | UnsetType = UNSET


class TargetUsersJob(Struct, kw_only=True):
    """How far the reading of an invite's target users has come."""

    status: int
    """0 unspecified, 1 processing, 2 completed, 3 failed."""
    total_users: int
    processed_users: int
    created_at: Timestamp | None
    completed_at: Timestamp | None
    error_message: str | None


class CreateChannelInvite(Struct, kw_only=True):
    """A new invite to a channel; the file of target users comes beside it."""

    max_age: Annotated[int, Meta(ge=0, le=INVITE_AGE_MAX)] | None | UnsetType = UNSET
    """Seconds, INVITE_AGE_DEFAULT unless said; 0 never ends."""
    max_uses: Annotated[int, Meta(ge=0, le=INVITE_USES_MAX)] | None | UnsetType = UNSET
    """0 has no bound."""
    temporary: bool | None | UnsetType = UNSET
    unique: bool | None | UnsetType = UNSET
    """False may return an equal invite that exists."""
    target_type: InviteTargetType | None | UnsetType = UNSET
    target_user_id: UserId | None | UnsetType = UNSET
    target_application_id: ApplicationId | None | UnsetType = UNSET
    role_ids: Annotated[list[RoleId], Meta(max_length=INVITE_ROLES_MAX)] | str | None | UnsetType = UNSET
    """Granted to who accepts; in form fields, parted by commas."""


class ResolveInvite(Struct, kw_only=True):
    """How much of an invite to tell."""

    with_counts: bool = False
    guild_scheduled_event_id: Snowflake | UnsetType = UNSET
    target_channel_id: ChannelId | UnsetType = UNSET
    target_message_id: MessageId | UnsetType = UNSET


class AcceptInvite(Struct, kw_only=True):
    """Joins."""

    session_id: str | None | UnsetType = UNSET
    """The gateway session that asks, where there is one."""


INVITE_CREATE = Event("INVITE_CREATE", InviteCreated, intents=Intents.GUILD_INVITES)
INVITE_DELETE = Event("INVITE_DELETE", InviteDeleted, intents=Intents.GUILD_INVITES)

# MANAGE_GUILD shows all, VIEW_AUDIT_LOG all but the metadata; either suffices, so the handler decides.
LIST_GUILD_INVITES = Operation(
    "GET",
    "/guilds/{guild_id}/invites",
    result=list[Invite],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
)

LIST_CHANNEL_INVITES = Operation(
    "GET",
    "/channels/{channel_id}/invites",
    result=list[Invite],
    needs=Permissions.MANAGE_CHANNELS,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.CANNOT_EXECUTE_ON_DM),
)

# 204 instead of 200 when a group needs no invite.
CREATE_CHANNEL_INVITE = Operation(
    "POST",
    "/channels/{channel_id}/invites",
    body=CreateChannelInvite,
    result=Invite,
    needs=Permissions.CREATE_INSTANT_INVITE,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.MAX_INVITES,
        errors.UNKNOWN_ROLE,
        errors.INVALID_ROLE,
        errors.WRONG_CHANNEL_TYPE,
        errors.CANNOT_EXECUTE_ON_DM,
    ),
    emits=(INVITE_CREATE,),
    limit=INVITE_LIMIT,
    uploads=Uploads(field=TARGET_USERS_FIELD, most=1, keep=False),
    optional_body=True,
    audits=(AuditLogAction.INVITE_CREATE,),
)

INVITE_RESOLVE = Operation(
    "GET",
    "/invites/{code}",
    query=ResolveInvite,
    result=Invite,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANYONE,
    raises=(errors.UNKNOWN_INVITE,),
)

# Needs MANAGE_CHANNELS on the invite's channel or MANAGE_GUILD, which the path does not name.
INVITE_REVOKE = Operation(
    "DELETE",
    "/invites/{code}",
    result=Invite,
    raises=(errors.UNKNOWN_INVITE, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(INVITE_DELETE,),
    audits=(AuditLogAction.INVITE_DELETE,),
)

# People only; a bot is refused with 20001.
ACCEPT_INVITE = Operation(
    "POST",
    "/invites/{code}",
    body=AcceptInvite,
    result=Invite,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_INVITE,
        errors.USER_BANNED,
        errors.FEATURE_DISABLED,
        errors.MAX_GUILDS,
        errors.MAX_MEMBERS,
        errors.MAX_RECIPIENTS,
        errors.BOTS_CANNOT_USE_ENDPOINT,
    ),
    emits=(
        members.GUILD_MEMBER_ADD,
        members.GUILD_MEMBER_UPDATE,
        guilds.GUILD_CREATE,
        INVITE_DELETE,
    ),
    optional_body=True,
    audits=(AuditLogAction.MEMBER_ROLE_UPDATE,),
)

# For the inviter, and holders of MANAGE_GUILD or VIEW_AUDIT_LOG.
GET_INVITE_TARGET_USERS = Operation(
    "GET",
    "/invites/{code}/target-users",
    result=bytes,
    raises=(
        errors.UNKNOWN_INVITE,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_INVITE_TARGET_USERS,
        errors.NOT_FOUND,
    ),
    media_type="text/csv",
)

UPDATE_INVITE_TARGET_USERS = Operation(
    "PUT",
    "/invites/{code}/target-users",
    raises=(errors.UNKNOWN_INVITE, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED, errors.NOT_FOUND),
    uploads=Uploads(field=TARGET_USERS_FIELD, most=1, keep=False),
    audits=(AuditLogAction.INVITE_UPDATE,),
)

GET_INVITE_TARGET_USERS_JOB_STATUS = Operation(
    "GET",
    "/invites/{code}/target-users/job-status",
    result=TargetUsersJob,
    raises=(
        errors.UNKNOWN_INVITE,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_INVITE_TARGET_USERS_JOB,
        errors.NOT_FOUND,
    ),
)
