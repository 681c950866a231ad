"""Invites: codes with which users join a guild or a group, and lists of target users who may use them."""

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
"""Number of characters of a generated invite code."""
INVITE_AGE_SECONDS_DEFAULT = 86_400
"""Default lifetime of an invite in seconds."""
INVITE_AGE_SECONDS_MAX = 604_800
"""Maximum lifetime of an invite in seconds."""
INVITE_USES_MAX = 100
"""Highest value of `max_uses` of an invite."""
INVITE_ROLES_MAX = 250
"""Maximum number of roles that an invite grants."""
TARGET_USERS_FIELD = "target_users_file"
"""Name of the form field with the CSV file of target users."""
TARGET_USERS_MAX = 100_000
"""Maximum number of target users of one invite. The specification gives no value; a list of this length fits in one request."""
TARGET_USERS_FILE_BYTES_MAX = 4 * 1024 * 1024
"""Maximum size in bytes of the CSV file of target users."""

INVITE_LIMIT = RateLimit(5, 15.0)


class InviteGuild(Struct, kw_only=True):
    """The guild of an invite, in the form shown to users who are not members."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    splash: str | None
    """Hash of the invite background image; null if there is none."""
    banner: str | None
    """Hash of the banner; null if there is none."""
    description: str | None
    """Description of the guild; null if there is none."""
    icon: str | None
    """Hash of the icon; null if there is none."""
    features: list[str]
    """Features of the guild, `GuildFeature` values."""
    verification_level: int
    """Level that members must meet to send messages; a `VerificationLevel`."""
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
    """Guild the invite leads to; absent for groups."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild the invite leads to; absent for groups."""
    inviter: User | UnsetType = UNSET
    """User who created the invite; absent if there is none."""
    target_type: int | UnsetType = UNSET
    """Type of the invite's target, an `InviteTargetType`; absent if there is no target."""
    target_user: User | UnsetType = UNSET
    """User whose stream the invite leads to; absent if there is none."""
    target_application: PublicApplication | UnsetType = UNSET
    """Application whose activity the invite leads to; absent if there is none."""
    guild_scheduled_event: ScheduledEvent | UnsetType = UNSET
    """Scheduled event of the guild; present if requested with `guild_scheduled_event_id`."""
    flags: int | UnsetType = UNSET
    """Flags of the invite, an `InviteFlags` bit set; absent for groups."""
    roles: list[PartialRole] | UnsetType = UNSET
    """Roles granted to users who accept the invite; complete roles before changes.INVITE_PARTIAL_ROLES. Absent if none."""
    approximate_member_count: int | UnsetType = UNSET
    """Approximate number of members; present if requested with `with_counts`."""
    approximate_presence_count: int | UnsetType = UNSET
    """Approximate number of members who are not offline; present if requested with `with_counts`."""
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
    """An invite that was created."""

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
    """ID of the guild; never absent, because the event is not sent for groups."""
    inviter: User | UnsetType = UNSET
    """User who created the invite; absent if there is none."""
    target_type: int | UnsetType = UNSET
    """Type of the invite's target, an `InviteTargetType`; absent if there is no target."""
    target_user: User | UnsetType = UNSET
    """User whose stream the invite leads to; absent if there is none."""
    target_application: PublicApplication | UnsetType = UNSET
    """Application whose activity the invite leads to; absent if there is none."""
    role_ids: list[RoleId] | UnsetType = UNSET
    """IDs of the roles granted to users who accept the invite; absent if there are none."""


class InviteDeleted(Struct, kw_only=True):
    """An invite that was revoked, used up or expired, or whose channel was deleted."""

    channel_id: ChannelId
    """ID of the channel the invite led to."""
    code: str
    """Code of the invite."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; never absent, because the event is not sent for groups."""


class TargetUsersJob(Struct, kw_only=True):
    """The progress of importing an invite's target users."""

    status: int
    """Status of the import: 0 unspecified, 1 processing, 2 completed, 3 failed."""
    total_users: int
    """Number of users in the uploaded file."""
    processed_users: int
    """Number of users imported so far."""
    created_at: Timestamp | None
    """Time at which the file was uploaded; never null, although the public API allows null."""
    completed_at: Timestamp | None
    """Time at which the import completed; null until then."""
    error_message: str | None
    """Description of the failure; always null."""


class CreateChannelInvite(Struct, kw_only=True):
    """Request body for creating an invite; null is equivalent to an absent field.

    The CSV file of target users is a separate part of the form."""

    max_age: Annotated[int, Meta(ge=0, le=INVITE_AGE_SECONDS_MAX)] | None | UnsetType = UNSET
    """Lifetime in seconds, at most 604800 (7 days), or 0 for no end; 86400 (one day) if absent or null."""
    max_uses: Annotated[int, Meta(ge=0, le=INVITE_USES_MAX)] | None | UnsetType = UNSET
    """Maximum number of uses, at most 100; unlimited if 0, absent or null."""
    temporary: bool | None | UnsetType = UNSET
    """Whether to remove members who joined with the invite when they go offline without having a role; false if absent."""
    unique: bool | None | UnsetType = UNSET
    """Whether to create a new invite even if an equal one exists; false or absent may return the existing one."""
    target_type: InviteTargetType | None | UnsetType = UNSET
    """Type of the invite's target in a voice channel, STREAM or EMBEDDED_APPLICATION; absent or null for no target."""
    target_user_id: UserId | None | UnsetType = UNSET
    """ID of the user whose stream the invite leads to; required for the target type STREAM."""
    target_application_id: ApplicationId | None | UnsetType = UNSET
    """ID of the application whose activity the invite leads to; required for the target type EMBEDDED_APPLICATION."""
    role_ids: Annotated[list[RoleId], Meta(max_length=INVITE_ROLES_MAX)] | str | None | UnsetType = UNSET
    """IDs of the roles granted to users who accept the invite, at most 250; comma-separated if sent as a form field."""


class ResolveInvite(Struct, kw_only=True):
    """Query parameters for getting an invite."""

    with_counts: bool = False
    """Whether to include the approximate member and presence counts."""
    guild_scheduled_event_id: Snowflake | UnsetType = UNSET
    """ID of a scheduled event to include; absent for none."""
    target_channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel the invite link points to; accepted and ignored."""
    target_message_id: MessageId | UnsetType = UNSET
    """ID of the message the invite link points to; accepted and ignored."""


class AcceptInvite(Struct, kw_only=True):
    """Request body for accepting an invite."""

    session_id: str | None | UnsetType = UNSET
    """ID of the caller's gateway session; accepted and ignored."""


INVITE_CREATE = Event(
    "INVITE_CREATE", InviteCreated, "Sent when an invite to a channel is created.", intents=Intents.GUILD_INVITES
)
INVITE_DELETE = Event(
    "INVITE_DELETE", InviteDeleted, "Sent when an invite is revoked, used up or expires.", intents=Intents.GUILD_INVITES
)

# The handler checks the permissions: MANAGE_GUILD returns all fields, and VIEW_AUDIT_LOG omits the metadata.
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
    uploads=Uploads(field=TARGET_USERS_FIELD, files_max=1, stores_files=False),
    optional_body=True,
    audits=(AuditLogAction.INVITE_CREATE,),
)

INVITE_RESOLVE = Operation(
    "GET",
    "/invites/{code}",
    query=ResolveInvite,
    result=Invite,
    auth=Auth.BOT | Auth.USER | Auth.BEARER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_INVITE,),
)

# The caller needs MANAGE_GUILD, or MANAGE_CHANNELS in the invite's channel. The path contains no guild or channel, so the
# handler checks both.
INVITE_REVOKE = Operation(
    "DELETE",
    "/invites/{code}",
    result=Invite,
    raises=(errors.UNKNOWN_INVITE, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(INVITE_DELETE,),
    audits=(AuditLogAction.INVITE_DELETE,),
)

# Only users can accept invites; bots are rejected with BOTS_CANNOT_USE_ENDPOINT.
ACCEPT_INVITE = Operation(
    "POST",
    "/invites/{code}",
    body=AcceptInvite,
    result=Invite,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_INVITE,
        errors.USER_BANNED,
        errors.MISSING_ACCESS,
        errors.FEATURE_DISABLED,
        errors.MAX_GUILDS,
        errors.MAX_MEMBERS,
        errors.MAX_RECIPIENTS,
        errors.BOTS_CANNOT_USE_ENDPOINT,
        errors.FORBIDDEN,
    ),
    emits=(
        members.GUILD_MEMBER_ADD,
        members.GUILD_MEMBER_UPDATE,
        guilds.GUILD_CREATE,
        guilds.GUILD_UPDATE,
        INVITE_DELETE,
    ),
    optional_body=True,
    audits=(AuditLogAction.MEMBER_ROLE_UPDATE,),
)

# The inviter, and members with MANAGE_GUILD or VIEW_AUDIT_LOG, can call this operation.
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
    uploads=Uploads(field=TARGET_USERS_FIELD, files_max=1, stores_files=False),
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
