"""Invites: codes with which users join a guild or a group."""

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
"""Maximum number of invites per guild."""
INVITE_CODE_LENGTH = 8
INVITE_AGE_SECONDS_DEFAULT = 86_400
"""Default lifetime of an invite in seconds."""
INVITE_AGE_SECONDS_MAX = 604_800
"""Maximum lifetime of an invite in seconds."""
INVITE_USES_MAX = 100
INVITE_ROLES_MAX = 250
TARGET_USERS_FIELD = "target_users_file"
TARGET_USERS_MAX = 100_000
"""Maximum number of target users of one invite. The specification gives no value; a list of this length fits in one request."""
TARGET_USERS_FILE_BYTES_MAX = 4 * 1024 * 1024
"""Maximum size in bytes of the file with the target users."""

INVITE_LIMIT = RateLimit(5, 15.0)


class InviteGuild(Struct, kw_only=True):
    """The guild of an invite, in the form shown to users who are not members."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    splash: str | None
    """Hash of the invite splash image; null if there is none."""
    banner: str | None
    """Hash of the banner; null if there is none."""
    description: str | None
    """Description of the guild; null if there is none."""
    icon: str | None
    """Hash of the icon; null if there is none."""
    features: list[str]
    """Features of the guild."""
    verification_level: int
    """Verification level of the guild."""
    vanity_url_code: str | None
    """Vanity invite code of the guild; null if there is none."""
    nsfw_level: int
    """Age rating of the guild; an `NsfwLevel`."""
    nsfw: bool
    """Whether the guild is age-restricted."""
    premium_subscription_count: int
    """Number of boosts of the guild."""


class Invite(Struct, kw_only=True):
    """An invite; the included fields depend on the caller's permissions."""

    type: int
    """Type of the invite: 0 guild, 1 group, 2 friend."""
    code: str
    """Code of the invite."""
    channel: PartialChannel | None
    """Channel the invite leads to; null for friend invites."""
    expires_at: Timestamp | None
    """Time at which the invite expires; null if it never does."""
    guild: InviteGuild | UnsetType = UNSET
    """Guild the invite leads to; present on guild invites."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; present on guild invites."""
    inviter: User | UnsetType = UNSET
    """User who created the invite; absent if there is none."""
    target_type: int | UnsetType = UNSET
    """Type of the target of the invite in the channel; an `InviteTargetType`."""
    target_user: User | UnsetType = UNSET
    """User whose stream the invite leads to."""
    target_application: PublicApplication | UnsetType = UNSET
    """Application whose activity the invite leads to."""
    guild_scheduled_event: ScheduledEvent | UnsetType = UNSET
    """Scheduled event; present if requested with `guild_scheduled_event_id`."""
    flags: int | UnsetType = UNSET
    """Flags of the invite; an `InviteFlags` bit set."""
    roles: list[PartialRole] | UnsetType = UNSET
    """Roles granted to users who accept the invite; complete role objects until 5 February 2026."""
    approximate_member_count: int | UnsetType = UNSET
    """Approximate number of members; present if requested with `with_counts`."""
    approximate_presence_count: int | UnsetType = UNSET
    """Approximate number of online members; present if requested with `with_counts`."""
    uses: int | UnsetType = UNSET
    """Number of times the invite was used; sent only to users who manage the invite."""
    max_uses: int | UnsetType = UNSET
    """Maximum number of uses, 0 if unlimited; sent only to users who manage the invite."""
    max_age: int | UnsetType = UNSET
    """Lifetime in seconds, 0 if the invite never expires; sent only to users who manage the invite."""
    temporary: bool | UnsetType = UNSET
    """Whether members who joined with the invite are removed when they go offline without having a role.
    Sent only to users who manage the invite."""
    created_at: Timestamp | UnsetType = UNSET
    """Time at which the invite was created; sent only to users who manage the invite."""


class InviteCreated(Struct, kw_only=True):
    """A new invite."""

    channel_id: ChannelId
    """ID of the channel the invite leads to."""
    code: str
    """Code of the invite."""
    created_at: Timestamp
    """Time at which the invite was created."""
    max_age: int
    """Lifetime in seconds; 0 if the invite never expires."""
    max_uses: int
    """Maximum number of uses; 0 if unlimited."""
    temporary: bool
    """Whether members who joined with the invite are removed when they go offline without having a role."""
    uses: int
    """Number of times the invite was used; 0 for a new invite."""
    expires_at: Timestamp | None
    """Time at which the invite expires; null if it never does."""
    type: int = 0
    """Type of the invite: 0 guild, 1 group, 2 friend."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for groups."""
    inviter: User | UnsetType = UNSET
    """User who created the invite; absent if there is none."""
    target_type: int | UnsetType = UNSET
    """Type of the target of the invite in the channel; an `InviteTargetType`."""
    target_user: User | UnsetType = UNSET
    """User whose stream the invite leads to."""
    target_application: PublicApplication | UnsetType = UNSET
    """Application whose activity the invite leads to."""
    role_ids: list[RoleId] | UnsetType = UNSET
    """IDs of the roles granted to users who accept the invite."""


class InviteDeleted(Struct, kw_only=True):
    """An invite that was revoked, used up or expired."""

    channel_id: ChannelId
    """ID of the channel the invite led to."""
    code: str
    """Code of the invite."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent for groups."""


class TargetUsersJob(Struct, kw_only=True):
    """The progress of importing an invite's target users."""

    status: int
    """Status of the import: 0 unspecified, 1 processing, 2 completed, 3 failed."""
    total_users: int
    """Number of users in the uploaded file."""
    processed_users: int
    """Number of users imported so far."""
    created_at: Timestamp | None
    """Time at which the import was created."""
    completed_at: Timestamp | None
    """Time at which the import completed; null until then."""
    error_message: str | None
    """Description of the failure; null unless the import failed."""


class CreateChannelInvite(Struct, kw_only=True):
    """A new invite to a channel; the file of target users is sent as a separate part."""

    max_age: Annotated[int, Meta(ge=0, le=INVITE_AGE_SECONDS_MAX)] | None | UnsetType = UNSET
    """Lifetime in seconds, INVITE_AGE_DEFAULT if absent; 0 never expires."""
    max_uses: Annotated[int, Meta(ge=0, le=INVITE_USES_MAX)] | None | UnsetType = UNSET
    """Maximum number of uses; 0 or absent is unlimited."""
    temporary: bool | None | UnsetType = UNSET
    """Whether to remove members who joined with the invite when they go offline without having a role."""
    unique: bool | None | UnsetType = UNSET
    """Whether to create a new invite even if an equal one exists; false or absent may return the existing one."""
    target_type: InviteTargetType | None | UnsetType = UNSET
    """Type of the target of the invite in a voice channel."""
    target_user_id: UserId | None | UnsetType = UNSET
    """ID of the user whose stream the invite leads to; required for target type 1."""
    target_application_id: ApplicationId | None | UnsetType = UNSET
    """ID of the application whose activity the invite leads to; required for target type 2."""
    role_ids: Annotated[list[RoleId], Meta(max_length=INVITE_ROLES_MAX)] | str | None | UnsetType = UNSET
    """IDs of the roles granted to users who accept the invite; separated by commas in form fields."""


class ResolveInvite(Struct, kw_only=True):
    """Optional parts of an invite to include."""

    with_counts: bool = False
    """Whether to include the approximate member and presence counts."""
    guild_scheduled_event_id: Snowflake | UnsetType = UNSET
    """ID of a scheduled event to include."""
    target_channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel the invite link points to; accepted and ignored."""
    target_message_id: MessageId | UnsetType = UNSET
    """ID of the message the invite link points to; accepted and ignored."""


class AcceptInvite(Struct, kw_only=True):
    """Parameters of accepting an invite."""

    session_id: str | None | UnsetType = UNSET
    """ID of the caller's gateway session, if it has one."""


INVITE_CREATE = Event(
    "INVITE_CREATE", InviteCreated, "Sent when an invite to a channel is created.", intents=Intents.GUILD_INVITES
)
INVITE_DELETE = Event(
    "INVITE_DELETE", InviteDeleted, "Sent when an invite is revoked, used up or expires.", intents=Intents.GUILD_INVITES
)

# Requires MANAGE_GUILD, which returns all fields, or VIEW_AUDIT_LOG, which omits the metadata; the handler checks both.
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

# The status is 204 instead of 200 if a group needs no invite.
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
    uploads=Uploads(field=TARGET_USERS_FIELD, files_max=1, store_files=False),
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

# Requires MANAGE_GUILD, or MANAGE_CHANNELS in the invite's channel. The path contains no guild or channel, so the handler
# checks both.
INVITE_REVOKE = Operation(
    "DELETE",
    "/invites/{code}",
    result=Invite,
    raises=(errors.UNKNOWN_INVITE, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(INVITE_DELETE,),
    audits=(AuditLogAction.INVITE_DELETE,),
)

# Users only; bots are rejected with 20001.
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

# Available to the inviter, and to holders of MANAGE_GUILD or VIEW_AUDIT_LOG.
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
    uploads=Uploads(field=TARGET_USERS_FIELD, files_max=1, store_files=False),
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
