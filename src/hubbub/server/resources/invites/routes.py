"""Invites over HTTP."""

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.ids import ChannelId, GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import invites as wire
from hubbub.server.core import access
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.resources import channels, guilds, members, users
from hubbub.server.resources.invites import actions, rules, store, targets, views
from hubbub.server.resources.invites.facts import InviteResolved
from hubbub.server.resources.invites.store import InviteRow
from hubbub.server.resources.invites.targets import Listed


@handles(wire.LIST_GUILD_INVITES, long=True)
def list_guild_invites(call: Call, guild_id: GuildId) -> list[wire.Invite]:
    """A guild's invites: whole for those who manage it, without the metadata for those who read its audit log."""
    standing = access.guild(call, guild_id)
    manages = standing.can(Permissions.MANAGE_GUILD)
    access.require_guild(call, guild_id, Permissions.MANAGE_GUILD if manages else Permissions.VIEW_AUDIT_LOG)
    return views.invites(call, store.list_of_guild(call.tx, guild_id, call.now), metadata=manages)


@handles(wire.LIST_CHANNEL_INVITES)
def list_channel_invites(call: Call, channel_id: ChannelId) -> list[wire.Invite]:
    """The invites to one channel."""
    return views.invites(call, store.list_of_channels(call.tx, [channel_id], call.now), metadata=True)


@handles(wire.CREATE_CHANNEL_INVITE)
def create_channel_invite(call: Call, channel_id: ChannelId, body: wire.CreateChannelInvite) -> wire.Invite:
    """Make an invite, or find an equal one where any will do."""
    here = access.channel(call, channel_id)
    rules.require_kind(here.channel)
    max_age = body.max_age if isinstance(body.max_age, int) else wire.INVITE_AGE_DEFAULT
    wanted = InviteRow(
        code="",
        guild_id=None,
        channel_id=channel_id,
        inviter_id=call.user_id,
        created_ms=call.now,
        expires_ms=call.now + max_age * 1000 if max_age else None,
        max_age=max_age,
        max_uses=0,
    )
    listed: Listed | None = None
    if here.guild is None:
        rules.require_group_age(body)
    else:
        wanted = wanted._replace(
            guild_id=here.guild_id,
            max_uses=body.max_uses or 0,
            temporary=int(bool(body.temporary)),
            target_type=int(body.target_type) if body.target_type else None,
            target_user_id=body.target_user_id or None,
            target_application_id=body.target_application_id or None,
        )
        # Until then invites were for everybody and gave nothing (dated-changes.md 4).
        if changes.INVITE_TARGET_USERS.active(call.now):
            granted = members.require_roles(call, here.guild, rules.role_ids(body))
            wanted = wanted._replace(role_ids=json.encode(sorted(RoleId(row.id) for row in granted)).decode())
            listed = targets.read(call.files[0].data) if call.files else None
        rules.require_target(call, here.channel, body)
    row: InviteRow | None = None
    if listed is None and not body.unique:
        # An equal one with half of its time before it does as well (decisions/0017).
        row = store.find_equal(call.tx, wanted, call.now + max_age * 500)
    return _show(call, row or actions.create(call, wanted, listed), metadata=True)


@handles(wire.INVITE_RESOLVE)
def invite_resolve(call: Call, code: str, query: wire.ResolveInvite) -> wire.Invite:
    """What an invite leads to."""
    row = _get(call, code)
    rules.require_visible(call, row)
    shown = _show(call, row, metadata=False)
    if query.with_counts:
        _count(call, row, shown)
    if query.guild_scheduled_event_id is not UNSET and shown.guild is not UNSET:
        call.tell(InviteResolved(invite=shown, event_id=query.guild_scheduled_event_id))
    return shown


@handles(wire.INVITE_REVOKE)
def invite_revoke(call: Call, code: str) -> wire.Invite:
    """End an invite."""
    row = _get(call, code)
    rules.require_manager(call, row, rules.require_visible(call, row))
    if row.is_vanity:
        # It is given up where it was chosen: PATCH vanity-url.
        raise errors.UNKNOWN_INVITE()
    shown = _show(call, row, metadata=False)
    actions.revoke(call, row)
    return shown


@handles(wire.ACCEPT_INVITE)
def accept_invite(call: Call, code: str) -> wire.Invite:
    """Come in."""
    row = _get(call, code)
    if row.targets is not None and not store.is_target(call.tx, row.code, call.user_id):
        raise errors.UNKNOWN_INVITE()
    shown = _show(call, row, metadata=False)
    actions.accept(call, row)
    return shown


@handles(wire.GET_INVITE_TARGET_USERS)
def get_invite_target_users(call: Call, code: str) -> bytes:
    """Whom an invite is meant for, as a file."""
    row = _with_targets(call, code)
    state = row.target_users
    if state is None:
        raise errors.UNKNOWN_INVITE_TARGET_USERS()
    # Before that day the header of the upload came back (dated-changes.md 4).
    header = targets.HEADER if changes.TARGET_USERS_HEADER.active(call.now) else state.header
    return targets.written(store.list_targets(call.tx, row.code), header)


@handles(wire.UPDATE_INVITE_TARGET_USERS)
def update_invite_target_users(call: Call, code: str) -> None:
    """Say anew whom an invite is meant for."""
    _require_targets_exist(call)
    row = _get(call, code)
    rules.require_target_changer(call, row, rules.require_visible(call, row))
    if not call.files:
        raise errors.invalid(wire.TARGET_USERS_FIELD, *errors.required())
    actions.change_targets(call, row, targets.read(call.files[0].data))


@handles(wire.GET_INVITE_TARGET_USERS_JOB_STATUS)
def get_invite_target_users_job_status(call: Call, code: str) -> wire.TargetUsersJob:
    """How far the reading of an invite's target users has come."""
    state = _with_targets(call, code).target_users
    if state is None:
        raise errors.UNKNOWN_INVITE_TARGET_USERS_JOB()
    return views.job(state)


def _get(call: Call, code: str) -> InviteRow:
    row = rules.find(call, code)
    if row is None or row.expired(call.now):
        raise errors.UNKNOWN_INVITE()
    return row


def _with_targets(call: Call, code: str) -> InviteRow:
    """An invite whose target users the caller may know."""
    _require_targets_exist(call)
    row = _get(call, code)
    rules.require_target_reader(call, row, rules.require_visible(call, row))
    return row


def _require_targets_exist(call: Call) -> None:
    if not changes.INVITE_TARGET_USERS.active(call.now):
        raise errors.NOT_FOUND()


def _show(call: Call, row: InviteRow, *, metadata: bool) -> wire.Invite:
    shown = views.invite(call, row, metadata=metadata)
    if row.guild_id is None and shown.channel is not None:
        inside = channels.recipients_of(call.tx, row.channel_id)
        people = users.find_many(call.tx, inside)
        shown.channel.recipients = views.recipients([people[user] for user in inside if user in people])
    return shown


def _count(call: Call, row: InviteRow, shown: wire.Invite) -> None:
    guild = None if row.guild_id is None else guilds.find(call.tx, row.guild_id)
    if guild is not None:
        shown.approximate_member_count = guild.member_count
        present = guilds.count_present(call.tx, [guild], {presence.user_id for presence in call.presences})
        shown.approximate_presence_count = present[guild.id]
    elif shown.channel is not None and shown.channel.recipients is not UNSET:
        shown.approximate_member_count = len(shown.channel.recipients)
