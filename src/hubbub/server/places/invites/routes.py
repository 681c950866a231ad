"""HTTP handlers for invites and their target users."""

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.ids import ChannelId, GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import invites as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds, members
from hubbub.server.places.invites import actions, ports, rules, store, views
from hubbub.server.places.invites.formats import target_files
from hubbub.server.places.invites.formats.target_files import TargetList
from hubbub.server.places.invites.store import InviteRow
from hubbub.server.places.standing import access


@handles(wire.LIST_GUILD_INVITES, long=True)
def list_guild_invites(call: Call, guild_id: GuildId) -> list[wire.Invite]:
    """List guild invites.

    Metadata is included for callers with MANAGE_GUILD, and omitted for callers who have only VIEW_AUDIT_LOG."""
    standing = access.get_guild_standing(call, guild_id)
    can_manage = standing.can(Permissions.MANAGE_GUILD)
    access.require_guild(call, guild_id, Permissions.MANAGE_GUILD if can_manage else Permissions.VIEW_AUDIT_LOG)
    return views.invites(call, store.list_guild_invites(call.tx, guild_id, call.now_ms), with_metadata=can_manage)


@handles(wire.LIST_CHANNEL_INVITES)
def list_channel_invites(call: Call, channel_id: ChannelId) -> list[wire.Invite]:
    """List channel invites."""
    return views.invites(call, store.list_channel_invites(call.tx, [channel_id], call.now_ms), with_metadata=True)


@handles(wire.CREATE_CHANNEL_INVITE)
def create_channel_invite(call: Call, channel_id: ChannelId, body: wire.CreateChannelInvite) -> wire.Invite:
    """Create a channel invite.

    Unless `unique` is set, an equal existing invite may be returned."""
    channel_access = access.get_channel_standing(call, channel_id)
    rules.require_channel_type(channel_access.channel)
    max_age = body.max_age if isinstance(body.max_age, int) else wire.INVITE_AGE_SECONDS_DEFAULT
    template = InviteRow(
        code="",
        guild_id=None,
        channel_id=channel_id,
        inviter_id=call.user_id,
        created_ms=call.now_ms,
        expires_ms=call.now_ms + max_age * 1000 if max_age else None,
        max_age=max_age,
        max_uses=0,
    )
    target_list: TargetList | None = None
    if channel_access.guild is None:
        rules.require_group_expiry(body)
    else:
        template = template._replace(
            guild_id=channel_access.guild_id,
            max_uses=body.max_uses or 0,
            temporary=int(bool(body.temporary)),
            target_type=int(body.target_type) if body.target_type else None,
            target_user_id=body.target_user_id or None,
            target_application_id=body.target_application_id or None,
        )
        # Before `INVITE_ROLES`, invites granted no roles (spec/dated-changes.md#3).
        if changes.INVITE_ROLES.is_active(call.now_ms):
            role_rows = members.membership.require_assignable_roles(
                call, channel_access.guild, rules.parse_role_ids(body)
            )
            template = template._replace(role_ids=codec.encode(sorted(RoleId(row.id) for row in role_rows)).decode())
        # Before `INVITE_TARGET_USERS`, invites had no target users (spec/dated-changes.md#3).
        if changes.INVITE_TARGET_USERS.is_active(call.now_ms):
            target_list = target_files.parse(call.files[0].data) if call.files else None
        rules.require_valid_target(call, channel_access.channel, body)
    row: InviteRow | None = None
    if target_list is None and not body.unique:
        # An equal invite with at least half of its lifetime left (seconds * 1000 / 2) is reused (decisions/0017).
        row = store.find_reusable(call.tx, template, call.now_ms + max_age * 500)
    return _invite_view(call, row or actions.create(call, template, target_list), with_metadata=True)


@handles(wire.INVITE_RESOLVE)
def invite_resolve(call: Call, code: str, query: wire.ResolveInvite) -> wire.Invite:
    """Get an invite."""
    row = _require_invite(call, code)
    rules.require_visible(call, row)
    invite = _invite_view(call, row, with_metadata=False)
    if query.with_counts:
        _add_counts(call, row, invite)
    if query.guild_scheduled_event_id is not UNSET and invite.guild is not UNSET:
        event = ports.find_scheduled_event(call, invite, query.guild_scheduled_event_id)
        invite.guild_scheduled_event = event or UNSET
    return invite


@handles(wire.INVITE_REVOKE)
def invite_revoke(call: Call, code: str) -> wire.Invite:
    """Revoke an invite.

    The caller needs MANAGE_CHANNELS in the channel of the invite or MANAGE_GUILD in the guild. An invite to a group
    DM can be revoked by its creator and by the owner of the group.
    """
    row = _require_invite(call, code)
    rules.require_manager(call, row, rules.require_visible(call, row))
    if row.is_vanity:
        # A vanity code is removed with PATCH vanity-url.
        raise errors.UNKNOWN_INVITE()
    invite = _invite_view(call, row, with_metadata=False)
    actions.revoke(call, row)
    return invite


@handles(wire.ACCEPT_INVITE)
def accept_invite(call: Call, code: str) -> wire.Invite:
    """Accept an invite.

    The caller joins the guild or group DM and gets the invite's roles. A caller who is already a member only gets
    the roles."""
    row = _require_invite(call, code)
    if row.targets is not None and not store.is_target(call.tx, row.code, call.user_id):
        raise errors.UNKNOWN_INVITE()
    invite = _invite_view(call, row, with_metadata=False)
    actions.accept(call, row)
    return invite


@handles(wire.GET_INVITE_TARGET_USERS)
def get_invite_target_users(call: Call, code: str) -> bytes:
    """Get the target users of an invite as a CSV file.

    The caller needs MANAGE_GUILD or VIEW_AUDIT_LOG in the guild, or must have created the invite.
    """
    row = _require_invite_with_readable_targets(call, code)
    progress = row.targets_progress
    if progress is None:
        raise errors.UNKNOWN_INVITE_TARGET_USERS()
    # Before `TARGET_USERS_HEADER`, the header of the uploaded file was returned (spec/dated-changes.md#3).
    header = target_files.HEADER if changes.TARGET_USERS_HEADER.is_active(call.now_ms) else progress.header
    return target_files.serialize(store.list_target_ids(call.tx, row.code), header)


@handles(wire.UPDATE_INVITE_TARGET_USERS)
def update_invite_target_users(call: Call, code: str) -> None:
    """Update the target users of an invite.

    The uploaded file replaces the whole list.

    The caller needs MANAGE_GUILD in the guild, or must have created the invite.
    """
    _require_targets_released(call)
    row = _require_invite(call, code)
    rules.require_target_changer(call, row, rules.require_visible(call, row))
    if not call.files:
        raise errors.invalid(wire.TARGET_USERS_FIELD, *errors.required())
    actions.replace_targets(call, row, target_files.parse(call.files[0].data))


@handles(wire.GET_INVITE_TARGET_USERS_JOB_STATUS)
def get_invite_target_users_job_status(call: Call, code: str) -> wire.TargetUsersJob:
    """Get the processing status of an invite's target users.

    The caller needs MANAGE_GUILD or VIEW_AUDIT_LOG in the guild, or must have created the invite.
    """
    progress = _require_invite_with_readable_targets(call, code).targets_progress
    if progress is None:
        raise errors.UNKNOWN_INVITE_TARGET_USERS_JOB()
    return views.targets_job(progress)


def _require_invite(call: Call, code: str) -> InviteRow:
    row = rules.find_invite(call, code)
    if row is None or row.is_expired(call.now_ms):
        raise errors.UNKNOWN_INVITE()
    return row


def _require_invite_with_readable_targets(call: Call, code: str) -> InviteRow:
    """Return an invite whose target users the caller may read, whether or not it has any."""
    _require_targets_released(call)
    row = _require_invite(call, code)
    rules.require_target_reader(call, row, rules.require_visible(call, row))
    return row


def _require_targets_released(call: Call) -> None:
    """Raise NOT_FOUND before the date at which target users of invites are introduced (spec/dated-changes.md#3)."""
    if not changes.INVITE_TARGET_USERS.is_active(call.now_ms):
        raise errors.NOT_FOUND()


def _invite_view(call: Call, row: InviteRow, *, with_metadata: bool) -> wire.Invite:
    """Build an invite; an invite to a group includes the members of the group."""
    invite = views.invite(call, row, with_metadata=with_metadata)
    if row.guild_id is None and invite.channel is not None:
        recipient_ids = channels.private_channels.list_recipient_ids(call.tx, row.channel_id)
        users_by_id = users.find_many(call.tx, recipient_ids)
        invite.channel.recipients = views.recipients(
            [users_by_id[user_id] for user_id in recipient_ids if user_id in users_by_id]
        )
    return invite


def _add_counts(call: Call, row: InviteRow, invite: wire.Invite) -> None:
    guild = None if row.guild_id is None else guilds.find(call.tx, row.guild_id)
    if guild is not None:
        invite.approximate_member_count = guild.member_count
        online_counts = guilds.membership.count_online(
            call.tx, [guild], {presence.user_id for presence in call.presences}
        )
        invite.approximate_presence_count = online_counts[guild.id]
    elif invite.channel is not None and invite.channel.recipients is not UNSET:
        invite.approximate_member_count = len(invite.channel.recipients)
