"""Add, update and remove members: write, audit, publish, raise signals."""

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
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity import users
from hubbub.server.identity.applications import ApplicationDeleting
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

_AUDITED = ("nick", "avatar", "banner", "mute", "deaf", "communication_disabled_until", "flags", "pending")


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
    temporary: bool = False,
    pending: bool | None = None,
    permissions: int | None = None,
    welcome: bool = True,
) -> Membership | None:
    """Add a user to a guild; return None if they are already a member.

    The caller checks `require_can_join` first. If the guild gates new members behind its form, users are pending unless
    `pending` is given. For a bot, `permissions` are the requested permissions; the bot gets a managed role with
    them."""
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    if pending is None:
        pending = not user.bot and rules.is_gated(call, guild_id, flags)
    if not user.bot and rules.has_onboarding(call, guild_id):
        flags |= MemberFlags.STARTED_ONBOARDING
    row = MemberRow(
        guild_id=GuildId(guild_id),
        user_id=UserId(user_id),
        nick=nick,
        avatar=None,
        banner=None,
        bio="",
        joined_ms=call.now,
        premium_since_ms=None,
        deaf=int(deaf),
        mute=int(mute),
        pending=int(pending),
        flags=flags,
        timed_out_until_ms=0,
        temporary=int(temporary),
    )
    if not store.insert(call.tx, row):
        return None
    assigned = sorted(set(role_ids))
    if user.bot and permissions is not None:
        assigned.append(_create_bot_role(call, row, user.username, permissions))
    roles.assign(call.tx, guild_id, user_id, assigned)
    membership = Membership(row, tuple(RoleId(role) for role in assigned), user)
    actor = call.actor_or_none
    if user.bot and actor is not None and actor.user_id != user_id:
        audit.record(call, guild_id, AuditLogAction.BOT_ADD, target_id=user_id)
    call.tx.emit(
        wire.GUILD_MEMBER_ADD,
        views.guild_member(membership),
        Audience.guild(guild_id, excluded_user_id=user_id),
        refresh="member",
        subject_id=user_id,
    )
    # The gateway replaces the ID with the whole guild, as each session may see it.
    call.tx.emit(GUILD_CREATE, UnavailableGuild(id=GuildId(guild_id)), Audience.of_users(user_id))
    call.notify(MemberAdded(guild_id=GuildId(guild_id), user_id=UserId(user_id), welcome=welcome))
    return membership


def _create_bot_role(call: Call, row: MemberRow, name: str, permissions: int) -> RoleId:
    role = RoleRow(
        id=call.new_id(RoleId),
        guild_id=row.guild_id,
        name=name,
        permissions=permissions,
        managed=1,
        tags=codec.encode(RoleTags(bot_id=UserId(row.user_id))).decode(),
    )
    if call.actor_or_none is not None:
        roles.create(call, role)
    else:
        # A world being built: there is no actor, and no session receives events yet.
        roles.insert_many(call.tx, [role])
    return RoleId(role.id)


def change(
    call: Call, before: Membership, row: MemberRow, role_ids: Iterable[int] | None = None, *, logged: bool = True
) -> Membership:
    """Store a member's new row and, if given, their new roles; publish only visible changes.

    With `logged=False` the caller writes its own audit log entry, if any."""
    if row.flags & MemberFlags.BYPASSES_VERIFICATION:
        row = row._replace(pending=0)
    new_roles = before.roles if role_ids is None else tuple(RoleId(role) for role in sorted(set(role_ids)))
    after = Membership(row, new_roles, before.user)
    if row != before.row:
        store.update(call.tx, row)
    if new_roles != before.roles:
        _change_roles(call, before, after, logged=logged)
    differences = audit.differences(views.member(before), views.member(after), _AUDITED)
    if differences and logged:
        audit.record(call, row.guild_id, AuditLogAction.MEMBER_UPDATE, target_id=row.user_id, changes=differences)
    if differences or new_roles != before.roles:
        # The gateway reloads the member only if permissions may have changed.
        affects_permissions = new_roles != before.roles or _permission_state(row) != _permission_state(before.row)
        _publish(call, after, refresh="member" if affects_permissions else "")
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
    """Make pending members full members.

    No audit log entry is written, since the members completed the form themselves."""
    for found in store.find_many(call.tx, guild_id, user_ids).values():
        change(call, found, found.row._replace(pending=0), logged=False)


def _permission_state(row: MemberRow) -> tuple[int, int, int]:
    return row.timed_out_until_ms, row.pending, row.flags


def _change_roles(call: Call, before: Membership, after: Membership, *, logged: bool) -> None:
    guild_id, user_id = after.row.guild_id, after.row.user_id
    gained = [role for role in after.roles if role not in before.roles]
    lost = [role for role in before.roles if role not in after.roles]
    roles.assign(call.tx, guild_id, user_id, gained)
    roles.unassign(call.tx, guild_id, user_id, lost)
    if not logged:
        return
    known = roles.find_many(call.tx, guild_id, gained + lost)

    def role_entries(ids: Sequence[RoleId]) -> list[dict[str, object]]:
        return [{"id": role, "name": known[role].name} for role in ids if role in known]

    changes = [
        AuditLogChange(key=key, new_value=role_entries(ids))
        for key, ids in (("$add", gained), ("$remove", lost))
        if ids
    ]
    audit.record(call, guild_id, AuditLogAction.MEMBER_ROLE_UPDATE, target_id=user_id, changes=changes)


def _publish(call: Call, member: Membership, *, refresh: str = "") -> None:
    row = member.row
    call.tx.emit(
        wire.GUILD_MEMBER_UPDATE,
        views.guild_member(member),
        Audience.guild(row.guild_id, intent_exempt_user_id=row.user_id),
        refresh=refresh,
        subject_id=row.user_id,
    )


def move(call: Call, guild_id: GuildId, user_id: UserId, channel_id: ChannelId | None) -> None:
    """Move a connected member to another voice channel, or disconnect them."""
    if channel_id is not None:
        options = {"channel_id": int(channel_id), "count": 1}
        audit.record(call, guild_id, AuditLogAction.MEMBER_MOVE, options=options)
    else:
        audit.record(call, guild_id, AuditLogAction.MEMBER_DISCONNECT, options={"count": 1})
    ports.move_in_voice(call, guild_id, user_id, channel_id)


def grant_roles(call: Call, guild_id: int, user_id: int, role_ids: Iterable[int]) -> None:
    """Add roles to a member who may lack some of them, for example from an invite."""
    found = store.find(call.tx, guild_id, user_id)
    if found is not None:
        change(call, found, found.row, {*found.roles, *role_ids})


def kick(call: Call, guild_id: int, user_id: int) -> None:
    """Remove a member at a user's request, with an audit log entry."""
    audit.record(call, guild_id, AuditLogAction.MEMBER_KICK, target_id=user_id)
    remove(call, guild_id, user_id)


def prune(call: Call, guild_id: int, user_ids: Sequence[int], days: int) -> None:
    """Remove members who were inactive for `days` days."""
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
    """Remove users from a guild; return the IDs of those who were members."""
    removed = [UserId(user_id) for user_id in store.find_rows(call.tx, guild_id, user_ids)]
    if not removed:
        return []
    users_by_id = users.find_many(call.tx, removed)
    store.delete(call.tx, guild_id, removed)
    for user_id in removed:
        call.notify(MemberRemoved(guild_id=GuildId(guild_id), user_id=user_id))
        user = users_by_id.get(user_id)
        if user is not None:
            call.tx.emit(
                wire.GUILD_MEMBER_REMOVE,
                wire.GuildMemberRemoved(guild_id=GuildId(guild_id), user=users.user(user)),
                Audience.guild(guild_id, excluded_user_id=user_id),
                refresh="member",
                subject_id=user_id,
            )
        call.tx.emit(GUILD_DELETE, UnavailableGuild(id=GuildId(guild_id)), Audience.of_users(user_id))
    bots = {user_id for user_id in removed if user_id in users_by_id and users_by_id[user_id].bot}
    if bots:
        _delete_bot_roles(call, guild_id, bots)
    return removed


def _delete_bot_roles(call: Call, guild_id: int, bots: set[UserId]) -> None:
    """Delete the managed roles of removed bots."""
    for row in roles.list_of_guild(call.tx, guild_id):
        if row.managed and row.tags and codec.decode(row.tags, RoleTags).bot_id in bots:
            roles.delete(call, row)


def user_changed(call: Call, signal: users.UserChanged) -> None:
    """Publish a user's changed profile in every guild they are in."""
    for found in store.memberships_of_user(call.tx, signal.row.id):
        _publish(call, found._replace(user=signal.row))


def user_deleted(call: Call, signal: users.UserDeleted) -> None:
    """Remove a deleted account from every guild."""
    for guild_id in guilds.ids_of_user(call.tx, signal.user_id):
        remove(call, guild_id, signal.user_id)


def application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Remove a deleted application's bot from every guild."""
    if signal.row.bot_id is not None:
        for guild_id in guilds.ids_of_user(call.tx, signal.row.bot_id):
            remove(call, guild_id, signal.row.bot_id)


def session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Remove temporary members without a role when their last session ends."""
    if not call.presences.is_connected(user_id, excluding=session_id):
        for guild_id in store.temporary_guild_ids(call.tx, user_id):
            remove(call, guild_id, user_id)


def insert_owner(call: Call, guild_id: int, user_id: int) -> None:
    """Insert the owner of a new guild as its first member; the guild's own event announces them."""
    store.insert_owner(call.tx, guild_id, user_id, call.now)


def delete_of_guild(call: Call, guild_id: int) -> None:
    """Delete the members of a deleted guild; GUILD_DELETE informs them."""
    store.delete_of_guild(call.tx, guild_id)
