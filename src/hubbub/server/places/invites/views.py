"""Build the wire models of invites, and of the processing of their target users."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import InviteType, NsfwLevel, TargetUsersJobStatus
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, Timestamp, UserId
from hubbub.protocol.resources import invites as wire
from hubbub.protocol.resources.applications import PublicApplication, wire_flags
from hubbub.protocol.resources.channels import ChannelRecipient, PartialChannel
from hubbub.protocol.resources.roles import PartialRole
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.users import UserRow
from hubbub.server.places import channels, guilds, roles
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.guilds import GuildRow
from hubbub.server.places.invites.store import InviteRow, TargetsProgress
from hubbub.server.places.roles import RoleRow


class RelatedObjects:
    """The guilds, channels, users, roles and applications that invites refer to, loaded together."""

    def __init__(self, call: Call, rows: Sequence[InviteRow]) -> None:
        tx = call.tx
        self.guilds_by_id = guilds.find_many(tx, [row.guild_id for row in rows if row.guild_id is not None])
        self.channels_by_id = channels.find_many(tx, [row.channel_id for row in rows])
        user_ids = [user_id for row in rows for user_id in (row.inviter_id, row.target_user_id) if user_id is not None]
        self.users_by_id: dict[int, UserRow] = users.find_many(tx, user_ids)
        role_ids_by_guild: dict[int, set[int]] = {}
        for row in rows:
            if row.guild_id is not None and row.granted_role_ids:
                role_ids_by_guild.setdefault(row.guild_id, set()).update(row.granted_role_ids)
        self.roles_by_id: dict[int, RoleRow] = {}
        for guild_id, role_ids in role_ids_by_guild.items():
            self.roles_by_id |= roles.find_many(tx, guild_id, role_ids)
        self.applications_by_id: dict[int, ApplicationRow] = {}
        for application_id in {row.target_application_id for row in rows if row.target_application_id is not None}:
            if (application_row := applications.find(tx, application_id)) is not None:
                self.applications_by_id[application_id] = application_row
        self.now_ms = call.now_ms
        # Before `INVITE_PARTIAL_ROLES`, an invite included its complete roles (spec/dated-changes.md#3).
        self.has_partial_roles = changes.INVITE_PARTIAL_ROLES.is_active(call.now_ms)

    def user(self, user_id: int | None) -> User | UnsetType:
        """Return the user with an ID, or UNSET if the ID is None or the user does not exist."""
        row = self.users_by_id.get(user_id or 0)
        return UNSET if row is None else users.user_view(row)

    def application(self, application_id: int | None) -> PublicApplication | UnsetType:
        """Return the public view of an application, or UNSET if the ID is None or the application does not exist."""
        row = self.applications_by_id.get(application_id or 0)
        if row is None:
            return UNSET
        flags, flags_new = wire_flags(row.flags, self.now_ms)
        return PublicApplication(
            id=ApplicationId(row.id),
            name=row.name,
            icon=row.icon,
            description=row.description,
            type=None,
            verify_key=row.verify_key,
            flags=flags,
            flags_new=flags_new,
        )

    def granted_roles(self, row: InviteRow) -> list[PartialRole] | UnsetType:
        """Return the existing roles that an invite grants, or UNSET if there are none."""
        role_rows = [self.roles_by_id[role_id] for role_id in row.granted_role_ids if role_id in self.roles_by_id]
        if not role_rows:
            return UNSET
        return [
            roles.partial_role(role, self.now_ms) if self.has_partial_roles else roles.role(role, self.now_ms)
            for role in role_rows
        ]


def invites(call: Call, rows: Sequence[InviteRow], *, with_metadata: bool) -> list[wire.Invite]:
    """Build invites; `with_metadata` includes the metadata that managers see."""
    related_objects = RelatedObjects(call, rows)
    return [_invite_view(related_objects, row, with_metadata) for row in rows]


def invite(call: Call, row: InviteRow, *, with_metadata: bool) -> wire.Invite:
    """Build an invite; `with_metadata` includes the metadata that managers see."""
    return invites(call, [row], with_metadata=with_metadata)[0]


def _invite_view(related_objects: RelatedObjects, row: InviteRow, with_metadata: bool) -> wire.Invite:
    channel = related_objects.channels_by_id.get(row.channel_id)
    guild = related_objects.guilds_by_id.get(row.guild_id or 0)
    view = wire.Invite(
        type=InviteType.GROUP_DM if row.guild_id is None else InviteType.GUILD,
        code=row.code,
        channel=None if channel is None else _partial_channel(channel),
        expires_at=_timestamp_or_none(row.expires_ms),
        inviter=related_objects.user(row.inviter_id),
    )
    if guild is not None:
        view.guild_id = GuildId(guild.id)
        view.guild = _invite_guild(guild)
        view.flags = row.flags
        view.target_type = UNSET if row.target_type is None else row.target_type
        view.target_user = related_objects.user(row.target_user_id)
        view.target_application = related_objects.application(row.target_application_id)
        view.roles = related_objects.granted_roles(row)
    if with_metadata:
        view.max_age = row.max_age
        view.created_at = codec.timestamp(row.created_ms)
        if guild is not None:
            view.uses = row.uses
            view.max_uses = row.max_uses
            view.temporary = bool(row.temporary)
    return view


def _invite_guild(row: GuildRow) -> wire.InviteGuild:
    return wire.InviteGuild(
        id=GuildId(row.id),
        name=row.name,
        splash=row.splash,
        banner=row.banner,
        description=row.description,
        icon=row.icon,
        features=row.feature_names,
        verification_level=row.verification_level,
        vanity_url_code=row.vanity_url_code,
        nsfw_level=row.nsfw_level,
        nsfw=row.nsfw_level in (NsfwLevel.EXPLICIT, NsfwLevel.AGE_RESTRICTED),
        premium_subscription_count=row.premium_subscription_count,
    )


def _partial_channel(row: ChannelRow) -> PartialChannel:
    view = channels.views.partial_channel(row)
    if row.icon is not None:
        view.icon = row.icon
    return view


def recipients(rows: Sequence[UserRow]) -> list[ChannelRecipient]:
    """Build the members of a group for an invite to it."""
    return [ChannelRecipient(id=UserId(row.id), username=row.username, avatar=row.avatar) for row in rows]


def invite_created(call: Call, row: InviteRow) -> wire.InviteCreated:
    """Build the INVITE_CREATE payload of a new invite."""
    related_objects = RelatedObjects(call, [row])
    return wire.InviteCreated(
        channel_id=ChannelId(row.channel_id),
        code=row.code,
        created_at=codec.timestamp(row.created_ms),
        max_age=row.max_age,
        max_uses=row.max_uses,
        temporary=bool(row.temporary),
        uses=row.uses,
        expires_at=_timestamp_or_none(row.expires_ms),
        guild_id=UNSET if row.guild_id is None else GuildId(row.guild_id),
        inviter=related_objects.user(row.inviter_id),
        target_type=UNSET if row.target_type is None else row.target_type,
        target_user=related_objects.user(row.target_user_id),
        target_application=related_objects.application(row.target_application_id),
        role_ids=row.granted_role_ids or UNSET,
    )


def targets_job(progress: TargetsProgress) -> wire.TargetUsersJob:
    """Build the processing status of a target user list."""
    is_completed = progress.completed_ms is not None
    return wire.TargetUsersJob(
        status=TargetUsersJobStatus.COMPLETED if is_completed else TargetUsersJobStatus.PROCESSING,
        total_users=progress.total,
        processed_users=progress.processed,
        created_at=codec.timestamp(progress.created_ms),
        completed_at=_timestamp_or_none(progress.completed_ms),
        error_message=None,
    )


def _timestamp_or_none(time_ms: int | None) -> Timestamp | None:
    return None if time_ms is None else codec.timestamp(time_ms)
