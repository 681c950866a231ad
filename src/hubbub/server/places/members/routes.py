"""HTTP handlers for members: lists, search, additions, changes, roles, removal and pruning."""

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.ids import GuildId, RoleId, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members as wire
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import users
from hubbub.server.places.members import actions, ports, rules, store, views
from hubbub.server.places.members.store import MemberRow, Membership
from hubbub.server.places.standing import GuildAccess, access


def _require_member(call: Call, guild_id: GuildId, user_id: UserId) -> Membership:
    membership = store.find(call.tx, guild_id, user_id)
    if membership is None:
        raise errors.UNKNOWN_MEMBER()
    return membership


def _require_standing(call: Call, guild_id: GuildId, user_id: UserId) -> GuildAccess:
    standing = access.find_guild_standing(call.tx, call.now_ms, guild_id, user_id)
    if standing is None:
        raise errors.UNKNOWN_MEMBER()
    return standing


def _clean_nick(nick: str | None) -> str | None:
    """Return the normalized nickname, or None if nothing remains."""
    return users.names.clean_name(nick or "") or None


@handles(wire.GET_MY_GUILD_MEMBER)
def get_my_guild_member(call: Call, guild_id: GuildId) -> wire.Member:
    """Get the current user as a member of a guild.

    A guild that the user is not in counts as unknown."""
    try:
        standing = access.get_guild_standing(call, guild_id)
    except errors.ApiError:
        raise errors.UNKNOWN_GUILD() from None
    return views.member(_require_member(call, guild_id, call.user_id), standing.permissions)


@handles(wire.LIST_GUILD_MEMBERS, long=True)
def list_guild_members(call: Call, guild_id: GuildId, query: wire.ListGuildMembers) -> list[wire.Member]:
    """List guild members."""
    access.get_guild_standing(call, guild_id)
    rules.require_can_list(call)
    return [
        views.member(membership)
        for membership in store.list_page(call.tx, guild_id, after=query.after, limit=query.limit)
    ]


@handles(wire.SEARCH_GUILD_MEMBERS, long=True)
def search_guild_members(call: Call, guild_id: GuildId, query: wire.SearchGuildMembers) -> list[wire.Member]:
    """Search guild members.

    The query matches the beginning of usernames, global names and nicknames."""
    access.get_guild_standing(call, guild_id)
    return [views.member(membership) for membership in store.search(call.tx, guild_id, query.query, query.limit)]


@handles(wire.GET_GUILD_MEMBER)
def get_guild_member(call: Call, guild_id: GuildId, user_id: UserId) -> wire.Member:
    """Get a guild member."""
    access.get_guild_standing(call, guild_id)
    return views.member(_require_member(call, guild_id, user_id))


@handles(wire.ADD_GUILD_MEMBER)
def add_guild_member(call: Call, guild_id: GuildId, user_id: UserId, body: wire.AddGuildMember) -> Response:
    """Add a guild member.

    The user must have granted the application the `guilds.join` scope."""
    standing = access.get_guild_standing(call, guild_id)
    if users.find(call.tx, user_id) is None:
        raise errors.UNKNOWN_USER()
    rules.require_consent(call, user_id, body.access_token)
    if store.find_row(call.tx, guild_id, user_id) is not None:
        return Response(204)
    rules.require_can_join(call, guild_id, user_id)
    nick = None if body.nick is UNSET else _clean_nick(body.nick)
    if nick is not None:
        access.require_guild(call, guild_id, Permissions.MANAGE_NICKNAMES)
    if body.mute:
        access.require_guild(call, guild_id, Permissions.MUTE_MEMBERS)
    if body.deaf:
        access.require_guild(call, guild_id, Permissions.DEAFEN_MEMBERS)
    if body.flags:
        rules.require_can_edit_flags(call, standing)
    granted_roles = rules.require_assignable_roles(call, standing, body.roles or (), target_id=user_id)
    membership = actions.add(
        call,
        guild_id,
        user_id,
        role_ids=[row.id for row in granted_roles],
        nick=nick,
        mute=bool(body.mute),
        deaf=bool(body.deaf),
        flags=rules.edited_flags(0, body.flags or 0),
    )
    return Response(201, views.member(membership)) if membership is not None else Response(204)


@handles(wire.UPDATE_GUILD_MEMBER)
def update_guild_member(call: Call, guild_id: GuildId, user_id: UserId, body: wire.UpdateGuildMember) -> wire.Member:
    """Update a guild member.

    Each field requires its own permission: `nick` MANAGE_NICKNAMES (CHANGE_NICKNAME for the caller's own nickname),
    `roles` MANAGE_ROLES, `mute` MUTE_MEMBERS, `deaf` DEAFEN_MEMBERS, `channel_id` MOVE_MEMBERS and CONNECT in the
    target channel, `communication_disabled_until` MODERATE_MEMBERS, and `flags` MANAGE_GUILD, MANAGE_ROLES, or all
    of MODERATE_MEMBERS, KICK_MEMBERS and BAN_MEMBERS.

    For a timeout and for the nickname of another member, the caller's highest role must be above the member's highest
    role; for `roles`, above each role that is added or removed.
    """
    standing = access.get_guild_standing(call, guild_id)
    membership = _require_member(call, guild_id, user_id)
    target_standing = _require_standing(call, guild_id, user_id)
    row = _with_voice_moderation(call, membership.row, body)
    if body.nick is not UNSET:
        rules.require_can_change_nick(call, standing, target_standing)
        row = row._replace(nick=_clean_nick(body.nick))
    if body.flags is not UNSET:
        rules.require_can_edit_flags(call, standing)
        row = row._replace(flags=rules.edited_flags(row.flags, body.flags or 0))
    role_ids: set[int] | None = None
    if body.roles is not UNSET:
        access.require_guild(call, guild_id, Permissions.MANAGE_ROLES)
        role_ids = set(body.roles or ())
        held_role_ids = set(membership.role_ids)
        rules.require_assignable_roles(
            call, standing, role_ids ^ held_role_ids, target_id=user_id, held_role_ids=held_role_ids
        )
    if body.communication_disabled_until is not UNSET:
        timeout_end = body.communication_disabled_until
        until_ms = 0 if timeout_end is None else codec.milliseconds(timeout_end)
        # A time in the past ends the timeout, as null does.
        until_ms = until_ms if until_ms > call.now_ms else 0
        rules.require_can_time_out(call, standing, target_standing, until_ms)
        row = row._replace(timed_out_until_ms=until_ms)
    if _changes_voice(body) and store.find_voice_channel_id(call.tx, guild_id, user_id) is None:
        raise errors.TARGET_NOT_IN_VOICE()
    updated_membership = actions.update(call, membership, row, role_ids)
    if body.channel_id is not UNSET:
        actions.move_to_channel(call, guild_id, user_id, body.channel_id)
    return views.member(updated_membership)


def _changes_voice(body: wire.UpdateGuildMember) -> bool:
    return body.mute is not UNSET or body.deaf is not UNSET or body.channel_id is not UNSET


def _with_voice_moderation(call: Call, row: MemberRow, body: wire.UpdateGuildMember) -> MemberRow:
    """Return the row with `mute` and `deaf` of the body applied.

    Raise unless the caller has the permissions for these fields and for `channel_id`."""
    if body.mute is not UNSET:
        access.require_guild(call, row.guild_id, Permissions.MUTE_MEMBERS)
        row = row._replace(mute=int(bool(body.mute)))
    if body.deaf is not UNSET:
        access.require_guild(call, row.guild_id, Permissions.DEAFEN_MEMBERS)
        row = row._replace(deaf=int(bool(body.deaf)))
    if body.channel_id is not UNSET:
        access.require_guild(call, row.guild_id, Permissions.MOVE_MEMBERS)
        if body.channel_id is not None:
            rules.require_voice_channel(call, row.guild_id, body.channel_id)
    return row


@handles(wire.UPDATE_MY_GUILD_MEMBER)
def update_my_guild_member(call: Call, guild_id: GuildId, body: wire.UpdateMyGuildMember) -> wire.Member:
    """Update the current member.

    A member can change their nickname, avatar, banner and bio in the guild.

    A change of the nickname requires CHANGE_NICKNAME.
    """
    standing = access.get_guild_standing(call, guild_id)
    membership = _require_member(call, guild_id, call.user_id)
    row = membership.row
    if body.nick is not UNSET:
        rules.require_can_change_own_nick(standing, membership.row.flags)
        row = row._replace(nick=_clean_nick(body.nick))
    # Before `BOT_GUILD_PROFILES`, bots could not have guild profiles (spec/dated-changes.md#3).
    if not call.actor.is_bot or changes.BOT_GUILD_PROFILES.is_active(call.now_ms):
        if body.avatar is not UNSET:
            row = row._replace(avatar=body.avatar.hash if body.avatar else None)
        if body.banner is not UNSET and changes.MEMBER_BANNER.is_active(call.now_ms):
            row = row._replace(banner=body.banner.hash if body.banner else None)
        if body.bio is not UNSET:
            row = row._replace(bio=body.bio or "")
    return views.member(actions.update(call, membership, row), standing.permissions)


@handles(wire.UPDATE_MY_GUILD_MEMBER_NICK)
def update_my_guild_member_nick(call: Call, guild_id: GuildId, body: wire.UpdateMyNick) -> wire.MyNick:
    """Update the current member's nickname."""
    membership = _require_member(call, guild_id, call.user_id)
    if body.nick is not UNSET:
        membership = actions.update(call, membership, membership.row._replace(nick=_clean_nick(body.nick)))
    return wire.MyNick(nick=membership.row.nick)


@handles(wire.DELETE_GUILD_MEMBER)
def delete_guild_member(call: Call, guild_id: GuildId, user_id: UserId) -> None:
    """Remove a guild member."""
    rules.require_outranks(access.get_guild_standing(call, guild_id), _require_standing(call, guild_id, user_id))
    actions.kick(call, guild_id, user_id)


@handles(wire.ADD_GUILD_MEMBER_ROLE)
def add_guild_member_role(call: Call, guild_id: GuildId, user_id: UserId, role_id: RoleId) -> None:
    """Add a role to a guild member."""
    membership = _require_member(call, guild_id, user_id)
    rules.require_assignable_roles(call, access.get_guild_standing(call, guild_id), (role_id,), target_id=user_id)
    actions.update(call, membership, membership.row, {*membership.role_ids, role_id})


@handles(wire.DELETE_GUILD_MEMBER_ROLE)
def delete_guild_member_role(call: Call, guild_id: GuildId, user_id: UserId, role_id: RoleId) -> None:
    """Remove a role from a guild member."""
    membership = _require_member(call, guild_id, user_id)
    rules.require_assignable_roles(
        call, access.get_guild_standing(call, guild_id), (role_id,), target_id=user_id, held_role_ids=(role_id,)
    )
    actions.update(call, membership, membership.row, {*membership.role_ids} - {role_id})


def _prunable_ids(call: Call, guild_id: GuildId, days: int, included_role_ids: list[RoleId]) -> list[int]:
    """Return the IDs of members to prune, without the caller; raise unless the caller may prune."""
    rules.require_can_prune(call, access.get_guild_standing(call, guild_id), included_role_ids)
    since_ms = call.now_ms - days * DAY_MS
    user_ids = store.list_prune_candidate_ids(call.tx, guild_id, since_ms, included_role_ids)
    active_ids = ports.find_active_author_ids(call, guild_id, user_ids, since_ms)
    return [user_id for user_id in user_ids if user_id != call.user_id and user_id not in active_ids]


@handles(wire.PREVIEW_PRUNE_GUILD, long=True)
def preview_prune_guild(call: Call, guild_id: GuildId, query: wire.PreviewPrune) -> wire.PruneResult:
    """Get the number of members that a prune would remove.

    The caller needs MANAGE_GUILD, and ADMINISTRATOR if the guild has the feature PRUNE_REQUIRES_ADMIN.
    """
    included_role_ids = rules.parse_included_role_ids(query.include_roles or "")
    return wire.PruneResult(pruned=len(_prunable_ids(call, guild_id, query.days, included_role_ids)))


@handles(wire.PRUNE_GUILD)
def prune_guild(call: Call, guild_id: GuildId, body: wire.PruneGuild) -> wire.PruneResult:
    """Prune guild members.

    Members who were inactive for the given number of days are removed. Bots, the owner, the caller and members with a role
    that is not in `include_roles` are kept.

    The caller needs MANAGE_GUILD, and ADMINISTRATOR if the guild has the feature PRUNE_REQUIRES_ADMIN.
    """
    days = body.days or wire.PRUNE_DAYS_DEFAULT
    sent_roles = body.include_roles or []
    included_role_ids = rules.parse_included_role_ids(sent_roles) if isinstance(sent_roles, str) else sent_roles
    user_ids = _prunable_ids(call, guild_id, days, included_role_ids)
    actions.prune(call, guild_id, user_ids, days)
    return wire.PruneResult(pruned=None if body.compute_prune_count in (False, "false") else len(user_ids))
