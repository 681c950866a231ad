"""Coming, changing and going: write, audit, publish, tell."""

from collections.abc import Iterable, Sequence

from hubbub.protocol import errors
from hubbub.protocol import wire as codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import ChannelId, GuildId, RoleId, UserId
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.guilds import GUILD_CREATE, GUILD_DELETE, UnavailableGuild
from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core import audit
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import guilds, roles, users
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.members import rules, store, views
from hubbub.server.resources.members.facts import (
    MemberAdded,
    MemberRemoved,
    MemberRenamed,
    VoiceModerated,
    VoiceMoveRequested,
)
from hubbub.server.resources.members.store import MemberRow, Membership
from hubbub.server.resources.roles import RoleRow

_AUDITED = ("nick", "avatar", "banner", "mute", "deaf", "communication_disabled_until", "flags", "pending")


def add(
    call: Call,
    guild_id: int,
    user_id: int,
    *,
    roles: Iterable[int] = (),
    nick: str | None = None,
    mute: bool = False,
    deaf: bool = False,
    flags: int = 0,
    temporary: bool = False,
    pending: bool | None = None,
    permissions: int | None = None,
    welcome: bool = True,
) -> Membership | None:
    """Let a user into a guild; None when they are in already. Whether they may come is asked before (`require_can_join`).

    Where the guild asks newcomers to answer its form first, people are pending unless said otherwise. For a bot, `permissions`
    are what was asked for it: it gets a role of its own that carries them."""
    person = users.find(call.tx, user_id)
    if person is None:
        raise errors.UNKNOWN_USER()
    if pending is None:
        pending = not person.bot and rules.is_gated(call, guild_id, flags)
    if not person.bot and rules.is_asked(call, guild_id):
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
    worn = sorted(set(roles))
    if person.bot and permissions is not None:
        worn.append(_make_bot_role(call, row, person.username, permissions))
    store.add_roles(call.tx, guild_id, user_id, worn)
    found = Membership(row, tuple(RoleId(role) for role in worn), person)
    actor = call.find_actor
    if person.bot and actor is not None and actor.user_id != user_id:
        audit.record(call, guild_id, AuditLogAction.BOT_ADD, target_id=user_id)
    call.tx.emit(
        wire.GUILD_MEMBER_ADD,
        views.guild_member(found),
        Audience.guild(guild_id, excluded=user_id),
        refresh="member",
        subject_id=user_id,
    )
    # The gateway puts the whole guild in the place of its id, for each session as it may see it.
    call.tx.emit(GUILD_CREATE, UnavailableGuild(id=GuildId(guild_id)), Audience.of_users(user_id))
    call.tell(MemberAdded(guild_id=GuildId(guild_id), user_id=UserId(user_id), welcome=welcome))
    return found


def _make_bot_role(call: Call, row: MemberRow, name: str, permissions: int) -> RoleId:
    role = RoleRow(
        id=call.new_id(RoleId),
        guild_id=row.guild_id,
        name=name,
        permissions=permissions,
        managed=1,
        tags=codec.encode(RoleTags(bot_id=UserId(row.user_id))).decode(),
    )
    if call.find_actor is not None:
        roles.create(call, role)
    else:
        # A world in the making: nobody did it, and nobody listens yet.
        roles.insert_many(call.tx, [role])
    return RoleId(role.id)


def change(
    call: Call, before: Membership, row: MemberRow, role_ids: Iterable[int] | None = None, *, logged: bool = True
) -> Membership:
    """Keep a member's new row and, where given, their new roles; nothing is said when nothing shows.

    What is not `logged` here the caller writes down in words of its own."""
    if row.flags & MemberFlags.BYPASSES_VERIFICATION:
        row = row._replace(pending=0)
    worn = before.roles if role_ids is None else tuple(RoleId(role) for role in sorted(set(role_ids)))
    after = Membership(row, worn, before.user)
    if row != before.row:
        store.update(call.tx, row)
    if worn != before.roles:
        _change_roles(call, before, after, logged=logged)
    differences = audit.differences(views.member(before), views.member(after), _AUDITED)
    if differences and logged:
        audit.record(call, row.guild_id, AuditLogAction.MEMBER_UPDATE, target_id=row.user_id, changes=differences)
    if differences or worn != before.roles:
        # Only what decides permissions makes the gateway read the member again.
        weighs = worn != before.roles or _weight(row) != _weight(before.row)
        _tell(call, after, refresh="member" if weighs else "")
    if (row.mute, row.deaf) != (before.row.mute, before.row.deaf):
        call.tell(
            VoiceModerated(
                guild_id=GuildId(row.guild_id),
                user_id=UserId(row.user_id),
                mute=bool(row.mute),
                deaf=bool(row.deaf),
            )
        )
    if row.nick != before.row.nick:
        call.tell(MemberRenamed(guild_id=GuildId(row.guild_id), user_id=UserId(row.user_id)))
        after = store.find(call.tx, row.guild_id, row.user_id) or after
    return after


def admit(call: Call, guild_id: int, user_ids: Iterable[int]) -> None:
    """Let pending members be members in full; nothing is written down, for it is they who answered the form."""
    for found in store.find_many(call.tx, guild_id, user_ids).values():
        change(call, found, found.row._replace(pending=0), logged=False)


def _weight(row: MemberRow) -> tuple[int, int, int]:
    return row.timed_out_until_ms, row.pending, row.flags


def _change_roles(call: Call, before: Membership, after: Membership, *, logged: bool) -> None:
    guild_id, user_id = after.row.guild_id, after.row.user_id
    gained = [role for role in after.roles if role not in before.roles]
    lost = [role for role in before.roles if role not in after.roles]
    store.add_roles(call.tx, guild_id, user_id, gained)
    store.remove_roles(call.tx, guild_id, user_id, lost)
    if not logged:
        return
    known = roles.find_many(call.tx, guild_id, gained + lost)

    def named(ids: Sequence[RoleId]) -> list[dict[str, object]]:
        return [{"id": role, "name": known[role].name} for role in ids if role in known]

    changes = [
        AuditLogChange(key=key, new_value=named(ids)) for key, ids in (("$add", gained), ("$remove", lost)) if ids
    ]
    audit.record(call, guild_id, AuditLogAction.MEMBER_ROLE_UPDATE, target_id=user_id, changes=changes)


def _tell(call: Call, member: Membership, *, refresh: str = "") -> None:
    row = member.row
    call.tx.emit(
        wire.GUILD_MEMBER_UPDATE,
        views.guild_member(member),
        Audience.guild(row.guild_id, always=row.user_id),
        refresh=refresh,
        subject_id=row.user_id,
    )


def move(call: Call, guild_id: GuildId, user_id: UserId, channel_id: ChannelId | None) -> None:
    """Take a connected member to another voice channel, or disconnect them."""
    if channel_id is not None:
        options = {"channel_id": int(channel_id), "count": 1}
        audit.record(call, guild_id, AuditLogAction.MEMBER_MOVE, options=options)
    else:
        audit.record(call, guild_id, AuditLogAction.MEMBER_DISCONNECT, options={"count": 1})
    call.tell(VoiceMoveRequested(guild_id=guild_id, user_id=user_id, channel_id=channel_id))


def give_roles(call: Call, guild_id: int, user_id: int, role_ids: Iterable[int]) -> None:
    """Give roles to a member who may lack some of them (an invite that carries roles)."""
    found = store.find(call.tx, guild_id, user_id)
    if found is not None:
        change(call, found, found.row, {*found.roles, *role_ids})


def kick(call: Call, guild_id: int, user_id: int) -> None:
    """Remove a member on somebody's word."""
    audit.record(call, guild_id, AuditLogAction.MEMBER_KICK, target_id=user_id)
    remove(call, guild_id, user_id)


def prune(call: Call, guild_id: int, user_ids: Sequence[int], days: int) -> None:
    """Remove members who were not seen for so many days."""
    if user_ids:
        audit.record(
            call,
            guild_id,
            AuditLogAction.MEMBER_PRUNE,
            options={"delete_member_days": days, "members_removed": len(user_ids)},
        )
    remove_many(call, guild_id, user_ids)


def remove(call: Call, guild_id: int, user_id: int) -> bool:
    """Take a user out of a guild; False when they were not in it."""
    return bool(remove_many(call, guild_id, (user_id,)))


def remove_many(call: Call, guild_id: int, user_ids: Iterable[int]) -> list[UserId]:
    """Take users out of a guild, and answer who of them was in it."""
    gone = [UserId(user_id) for user_id in store.find_rows(call.tx, guild_id, user_ids)]
    if not gone:
        return []
    people = users.find_many(call.tx, gone)
    store.delete(call.tx, guild_id, gone)
    for user_id in gone:
        call.tell(MemberRemoved(guild_id=GuildId(guild_id), user_id=user_id))
        person = people.get(user_id)
        if person is not None:
            call.tx.emit(
                wire.GUILD_MEMBER_REMOVE,
                wire.GuildMemberRemoved(guild_id=GuildId(guild_id), user=users.user(person)),
                Audience.guild(guild_id, excluded=user_id),
                refresh="member",
                subject_id=user_id,
            )
        call.tx.emit(GUILD_DELETE, UnavailableGuild(id=GuildId(guild_id)), Audience.of_users(user_id))
    bots = {user_id for user_id in gone if user_id in people and people[user_id].bot}
    if bots:
        _delete_bot_roles(call, guild_id, bots)
    return gone


def _delete_bot_roles(call: Call, guild_id: int, bots: set[UserId]) -> None:
    """A bot's own role goes with it."""
    for row in roles.list_of_guild(call.tx, guild_id):
        if row.managed and row.tags and codec.decode(row.tags, RoleTags).bot_id in bots:
            roles.delete(call, row)


def user_changed(call: Call, fact: users.UserChanged) -> None:
    """A user's new look, told in every guild they are in."""
    for found in store.everywhere(call.tx, fact.row.id):
        _tell(call, found._replace(user=fact.row))


def user_deleted(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone, and leaves every guild."""
    for guild_id in guilds.ids_of_user(call.tx, fact.user_id):
        remove(call, guild_id, fact.user_id)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes, and its bot leaves every guild."""
    if fact.row.bot_id is not None:
        for guild_id in guilds.ids_of_user(call.tx, fact.row.bot_id):
            remove(call, guild_id, fact.row.bot_id)


def session_ended(call: Call, user_id: int, session_id: str) -> None:
    """Who came by a temporary invite leaves with their last session, unless they got a role."""
    if not call.presences.connected(user_id, besides=session_id):
        for guild_id in store.temporary_guilds(call.tx, user_id):
            remove(call, guild_id, user_id)
