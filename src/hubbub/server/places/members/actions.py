"""Add, update and remove members: write, audit, publish, send signals."""

from collections.abc import Iterable, Sequence

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, UserId
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE, UnavailableGuild
from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience, UserAudience
from hubbub.server.identity import users
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places import guilds, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.members import ports, rules, store, views
from hubbub.server.places.members.signals import (
    MemberAdded,
    MemberRemoved,
    MemberRenamed,
    VoiceModerated,
)
from hubbub.server.places.members.store import MemberRow, Membership
from hubbub.server.places.roles import RoleRow

_AUDITED_FIELDS = ("nick", "avatar", "banner", "mute", "deaf", "communication_disabled_until", "flags", "pending")


def add(
    call: Call,
    guild_id: int,
    user_id: int,
    *,
    role_ids: Iterable[int] = (),
    nick: str | None = None,
    mute: bool = False,
    deaf: bool = False,
    flags: int = 0,
    is_temporary: bool = False,
    is_pending: bool | None = None,
    permissions: int | None = None,
    is_announced: bool = True,
) -> Membership | None:
    """Add a user to a guild; return None if they are already a member.

    The caller checks `require_can_join` first. If `is_pending` is None, a user is pending if they must complete the
    guild's form first. For a bot, `permissions` are the requested permissions; the bot gets a managed role with them.
    `is_temporary` members are removed when their last session ends, unless they got a role. With `is_announced=False` no
    join message is posted. A timeout, mute or deafening from before the user left the guild applies again."""
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    if is_pending is None:
        is_pending = not user.bot and rules.must_pass_verification(call, guild_id, flags)
    if not user.bot and rules.has_onboarding(call, guild_id):
        flags |= MemberFlags.STARTED_ONBOARDING
    row = MemberRow(
        guild_id=GuildId(guild_id),
        user_id=UserId(user_id),
        nick=nick,
        avatar=None,
        banner=None,
        bio="",
        joined_ms=call.now_ms,
        premium_since_ms=None,
        deaf=int(deaf),
        mute=int(mute),
        pending=int(is_pending),
        flags=flags,
        timed_out_until_ms=0,
        temporary=int(is_temporary),
    )
    if not store.insert(call.tx, row):
        return None
    departed_member = store.take_departed_member(call.tx, guild_id, user_id)
    if departed_member.is_moderated:
        row = row._replace(
            timed_out_until_ms=departed_member.timed_out_until_ms,
            mute=row.mute | departed_member.mute,
            deaf=row.deaf | departed_member.deaf,
        )
        store.update(call.tx, row)
    assigned_role_ids = sorted(set(role_ids))
    if user.bot and permissions is not None:
        assigned_role_ids.append(_create_bot_role(call, row, user.username, permissions))
    roles.assignments.assign(call.tx, guild_id, user_id, assigned_role_ids)
    membership = Membership(row, tuple(RoleId(role_id) for role_id in assigned_role_ids), user)
    actor = call.actor_or_none
    if user.bot and actor is not None and actor.user_id != user_id:
        audit.record(call, guild_id, AuditLogAction.BOT_ADD, target_id=user_id)
    call.tx.emit(
        wire.GUILD_MEMBER_ADD,
        views.guild_member(membership),
        GuildAudience(guild_id, excluded_user_id=user_id),
        refresh="member",
        subject_id=user_id,
    )
    # The gateway replaces the ID with the whole guild, as each session may see it.
    call.tx.emit(GUILD_CREATE, UnavailableGuild(id=GuildId(guild_id)), UserAudience.of(user_id))
    call.notify(MemberAdded(guild_id=GuildId(guild_id), user_id=UserId(user_id), is_announced=is_announced))
    return membership


def _create_bot_role(call: Call, row: MemberRow, name: str, permissions: int) -> RoleId:
    """Create the managed role of a bot and return its ID."""
    role = RoleRow(
        id=call.new_id(RoleId),
        guild_id=row.guild_id,
        name=name,
        permissions=permissions,
        managed=1,
        tags=codec.encode(RoleTags(bot_id=UserId(row.user_id))).decode(),
    )
    # Without an actor, a world is being loaded or `hubbub admin` adds the bot: no member of the guild created the role.
    roles.create(call, role, is_audited=call.actor_or_none is not None)
    return RoleId(role.id)


def update(
    call: Call, before: Membership, row: MemberRow, role_ids: Iterable[int] | None = None, *, is_audited: bool = True
) -> Membership:
    """Store a member's new row and, unless `role_ids` is None, replace their roles; return the stored member.

    A member with BYPASSES_VERIFICATION stops being pending. An event is published only for changes that clients can see.
    With `is_audited=False` no audit log entry is recorded."""
    if row.flags & MemberFlags.BYPASSES_VERIFICATION:
        row = row._replace(pending=0)
    new_role_ids = before.role_ids if role_ids is None else tuple(RoleId(role_id) for role_id in sorted(set(role_ids)))
    after = Membership(row, new_role_ids, before.user)
    if row != before.row:
        store.update(call.tx, row)
    if new_role_ids != before.role_ids:
        _change_roles(call, before, after, is_audited=is_audited)
    member_changes = audit.differences(views.member(before), views.member(after), _AUDITED_FIELDS)
    if member_changes and is_audited:
        audit.record(call, row.guild_id, AuditLogAction.MEMBER_UPDATE, target_id=row.user_id, changes=member_changes)
    if member_changes or new_role_ids != before.role_ids:
        # The gateway reloads the member only if permissions may have changed.
        affects_permissions = new_role_ids != before.role_ids or _permission_state(row) != _permission_state(before.row)
        _publish_update(call, after, refresh="member" if affects_permissions else "")
    if (row.mute, row.deaf) != (before.row.mute, before.row.deaf):
        call.notify(
            VoiceModerated(
                guild_id=GuildId(row.guild_id),
                user_id=UserId(row.user_id),
                mute=bool(row.mute),
                deaf=bool(row.deaf),
            )
        )
    if row.nick != before.row.nick:
        call.notify(MemberRenamed(guild_id=GuildId(row.guild_id), user_id=UserId(row.user_id)))
        after = store.find(call.tx, row.guild_id, row.user_id) or after
    return after


def admit(call: Call, guild_id: int, user_ids: Iterable[int]) -> None:
    """Make pending members full members, without audit log entries."""
    for membership in store.find_many(call.tx, guild_id, user_ids).values():
        update(call, membership, membership.row._replace(pending=0), is_audited=False)


def _permission_state(row: MemberRow) -> tuple[int, int, int]:
    """Return the columns that affect the member's permissions."""
    return row.timed_out_until_ms, row.pending, row.flags


def _change_roles(call: Call, before: Membership, after: Membership, *, is_audited: bool) -> None:
    guild_id, user_id = after.row.guild_id, after.row.user_id
    added_ids = [role_id for role_id in after.role_ids if role_id not in before.role_ids]
    removed_ids = [role_id for role_id in before.role_ids if role_id not in after.role_ids]
    roles.assignments.assign(call.tx, guild_id, user_id, added_ids)
    roles.assignments.unassign(call.tx, guild_id, user_id, removed_ids)
    if not is_audited:
        return
    rows_by_id = roles.find_many(call.tx, guild_id, added_ids + removed_ids)

    def role_entries(role_ids: Sequence[RoleId]) -> list[dict[str, object]]:
        return [{"id": role_id, "name": rows_by_id[role_id].name} for role_id in role_ids if role_id in rows_by_id]

    changes = [
        AuditLogChange(key=key, new_value=role_entries(role_ids))
        for key, role_ids in (("$add", added_ids), ("$remove", removed_ids))
        if role_ids
    ]
    audit.record(call, guild_id, AuditLogAction.MEMBER_ROLE_UPDATE, target_id=user_id, changes=changes)


def _publish_update(call: Call, membership: Membership, *, refresh: str = "") -> None:
    row = membership.row
    call.tx.emit(
        wire.GUILD_MEMBER_UPDATE,
        views.guild_member(membership),
        GuildAudience(row.guild_id, intent_exempt_user_id=row.user_id),
        refresh=refresh,
        subject_id=row.user_id,
    )


def move_to_channel(call: Call, guild_id: GuildId, user_id: UserId, channel_id: ChannelId | None) -> None:
    """Move a connected member to another voice channel, or disconnect them if `channel_id` is None."""
    if channel_id is not None:
        options = {"channel_id": int(channel_id), "count": 1}
        audit.record(call, guild_id, AuditLogAction.MEMBER_MOVE, options=options)
    else:
        audit.record(call, guild_id, AuditLogAction.MEMBER_DISCONNECT, options={"count": 1})
    ports.move_in_voice(call, guild_id, user_id, channel_id)


def grant_roles(call: Call, guild_id: int, user_id: int, role_ids: Iterable[int]) -> None:
    """Add roles to a member, for example the roles of an invite. Do nothing for a user who is not a member."""
    membership = store.find(call.tx, guild_id, user_id)
    if membership is not None:
        update(call, membership, membership.row, {*membership.role_ids, *role_ids})


def kick(call: Call, guild_id: int, user_id: int) -> None:
    """Remove a member at a user's request, with an audit log entry."""
    audit.record(call, guild_id, AuditLogAction.MEMBER_KICK, target_id=user_id)
    remove(call, guild_id, user_id)


def prune(call: Call, guild_id: int, user_ids: Sequence[int], days: int) -> None:
    """Remove these members because of their inactivity; `days` is recorded in the audit log."""
    if user_ids:
        audit.record(
            call,
            guild_id,
            AuditLogAction.MEMBER_PRUNE,
            options={"delete_member_days": days, "members_removed": len(user_ids)},
        )
    remove_many(call, guild_id, user_ids)


def remove(call: Call, guild_id: int, user_id: int) -> bool:
    """Remove a user from a guild; return False if they were not a member."""
    return bool(remove_many(call, guild_id, (user_id,)))


def remove_many(call: Call, guild_id: int, user_ids: Iterable[int]) -> list[UserId]:
    """Remove users from a guild; return the IDs of the users who were members."""
    rows_by_user = store.find_rows(call.tx, guild_id, user_ids)
    removed_ids = [UserId(user_id) for user_id in rows_by_user]
    if not removed_ids:
        return []
    users_by_id = users.find_many(call.tx, removed_ids)
    store.insert_departed_members(
        call.tx,
        [
            store.DepartedMemberRow(guild_id, user_id, row.timed_out_until_ms, row.mute, row.deaf)
            for user_id, row in rows_by_user.items()
            if row.timed_out_until_ms > call.now_ms or row.mute or row.deaf
        ],
    )
    store.delete(call.tx, guild_id, removed_ids)
    for user_id in removed_ids:
        call.notify(MemberRemoved(guild_id=GuildId(guild_id), user_id=user_id))
        user = users_by_id.get(user_id)
        if user is not None:
            call.tx.emit(
                wire.GUILD_MEMBER_REMOVE,
                wire.GuildMemberRemoved(guild_id=GuildId(guild_id), user=users.user_view(user)),
                GuildAudience(guild_id, excluded_user_id=user_id),
                refresh="member",
                subject_id=user_id,
            )
        call.tx.emit(GUILD_DELETE, UnavailableGuild(id=GuildId(guild_id)), UserAudience.of(user_id))
    bot_ids = {user_id for user_id in removed_ids if user_id in users_by_id and users_by_id[user_id].bot}
    if bot_ids:
        _delete_bot_roles(call, guild_id, bot_ids)
    return removed_ids


def _delete_bot_roles(call: Call, guild_id: int, bot_ids: set[UserId]) -> None:
    """Delete the managed roles of removed bots."""
    for row in roles.list_guild_roles(call.tx, guild_id):
        if row.managed and row.tags and codec.decode(row.tags, RoleTags).bot_id in bot_ids:
            roles.delete(call, row)


def on_user_changed(call: Call, signal: users.signals.UserChanged) -> None:
    """Publish a user's changed profile in every guild they are in."""
    for membership in store.iterate_memberships(call.tx, signal.row.id):
        _publish_update(call, membership._replace(user=signal.row))


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Remove a deleted account from every guild."""
    for guild_id in guilds.membership.list_user_guild_ids(call.tx, signal.user_id):
        remove(call, guild_id, signal.user_id)
    store.delete_departed_memberships(call.tx, signal.user_id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Remove a deleted application's bot from every guild."""
    if signal.row.bot_id is not None:
        for guild_id in guilds.membership.list_user_guild_ids(call.tx, signal.row.bot_id):
            remove(call, guild_id, signal.row.bot_id)


def on_session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Remove a user whose last session ended from the guilds in which they are a temporary member without a role."""
    if not call.presences.is_connected(user_id, excluding=session_id):
        for guild_id in store.list_temporary_membership_guild_ids(call.tx, user_id):
            remove(call, guild_id, user_id)


def transfer_membership(call: Call, guild_id: int, placeholder_id: UserId, user_id: UserId) -> None:
    """Transfer the membership of a placeholder account, with its roles and nickname, to a user.

    A user who is already a member only gets the roles. No join message is posted. The placeholder account leaves
    the guild. If it is not a member, nothing changes."""
    placeholder_membership = store.find(call.tx, guild_id, placeholder_id)
    if placeholder_membership is None:
        return
    membership = store.find(call.tx, guild_id, user_id)
    if membership is None:
        rules.require_can_join(call, guild_id, user_id)
        add(
            call,
            guild_id,
            user_id,
            role_ids=placeholder_membership.role_ids,
            nick=placeholder_membership.row.nick,
            is_announced=False,
        )
    else:
        update(
            call, membership, membership.row, {*membership.role_ids, *placeholder_membership.role_ids}, is_audited=False
        )
    remove(call, guild_id, placeholder_id)


def insert_owner(call: Call, guild_id: int, user_id: int) -> None:
    """Insert the owner of a new guild as its first member; GUILD_CREATE includes them, so there is no other event."""
    store.insert_owner(call.tx, guild_id, user_id, call.now_ms)


def delete_guild_members(call: Call, guild_id: int) -> None:
    """Delete the members of a deleted guild; GUILD_DELETE informs them."""
    store.delete_guild_members(call.tx, guild_id)
