"""HTTP handlers for channels and their permission overwrites.

PATCH and DELETE of a channel may address a thread, so the threads slice handles them."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final

from msgspec import UNSET, Raw

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import THREAD_TYPES, ChannelType, OverwriteType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channel_overwrites
from hubbub.protocol.resources import channels as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.channels import actions, rules, store, thread_members, views
from hubbub.server.places.channels.store import ChannelRow, GuildTraits, OverwriteRow
from hubbub.server.places.standing import ChannelAccess, GuildAccess, access


@handles(wire.GET_CHANNEL)
def get_channel(call: Call, channel_id: ChannelId) -> wire.AnyChannel:
    """Get a channel.

    A thread includes the caller's own membership if they joined it."""
    row = _require_channel_row(call, channel_id)
    if row.type in THREAD_TYPES:
        membership = thread_members.find(call.tx, row.id, call.user_id)
        return views.thread(row, member=UNSET if membership is None else views.thread_member(membership))
    if row.guild_id is None:
        return actions.private_channel_for(call, row, call.user_id)
    return views.channel(row, store.list_overwrites(call.tx, row.id))


@handles(wire.LIST_GUILD_CHANNELS)
def list_guild_channels(call: Call, guild_id: GuildId, query: wire.ListGuildChannels) -> list[wire.Channel] | Raw:
    """List guild channels.

    Threads are not included. Channels the caller cannot see are left out; until 16 November 2026 bots receive all
    channels."""
    standing = access.get_guild_standing(call, guild_id)
    rows = store.list_guild_channel_values(call.tx, guild_id)
    overwrites_by_channel = store.find_overwrites_of_guild(call.tx, guild_id)
    # spec/dated-changes.md#2.9 concerns bots only: users and their bearer tokens never saw hidden channels.
    if not call.actor.is_bot or changes.CHANNEL_OBFUSCATION.is_active(call.now_ms):
        visible_permissions = access.filter_visible(
            standing,
            map(_visibility_values, rows),
            _bits_by_target(overwrites_by_channel),
            with_parents=not call.actor.is_bot,
        )
        rows = [row for row in rows if row[0] in visible_permissions]
    if query.with_can_link_lobby:
        return _list_linkable_channels(call, standing, [ChannelRow(*row) for row in rows], overwrites_by_channel)
    encoded_channels = [views.encoded_channel(row, tuple(overwrites_by_channel.get(row[0], ()))) for row in rows]
    return Raw(b"[" + b",".join(encoded_channels) + b"]")


_visibility_values: Final = itemgetter(*(ChannelRow._fields.index(field) for field in ("id", "type", "parent_id")))


def _bits_by_target(
    overwrites_by_channel: Mapping[int, Sequence[OverwriteRow]],
) -> dict[int, dict[int, tuple[int, int]]]:
    """Return the allow and deny bits of overwrites by channel ID, and by role or user ID."""
    return {
        channel_id: {overwrite.target_id: (overwrite.allow, overwrite.deny) for overwrite in overwrites}
        for channel_id, overwrites in overwrites_by_channel.items()
    }


def _list_linkable_channels(
    call: Call,
    standing: GuildAccess,
    rows: Sequence[ChannelRow],
    overwrites_by_channel: Mapping[int, Sequence[OverwriteRow]],
) -> list[wire.Channel]:
    """Return channels with the fields that tell whether a lobby can be linked."""
    permissions_by_channel = access.visible_channels(call.tx, standing)
    everyone_permissions = store.read_role_permissions(call.tx, standing.guild_id)
    channel_views = []
    for row in rows:
        overwrites = overwrites_by_channel.get(row.id, [])
        channel = views.channel(row, overwrites)
        channel.can_link_lobby = rules.can_link_lobby(row, permissions_by_channel.get(row.id, 0))
        channel.is_viewable_and_writeable_by_all_members = rules.is_open_to_all(
            standing.guild_id, everyone_permissions, overwrites
        )
        channel_views.append(channel)
    return channel_views


@handles(wire.CREATE_GUILD_CHANNEL)
def create_guild_channel(call: Call, guild_id: GuildId, body: wire.CreateGuildChannel) -> wire.Channel:
    """Create a guild channel."""
    standing = access.get_guild_standing(call, guild_id)
    guild = _require_guild_traits(call, guild_id)
    form = FormErrors()
    channel_type = int(body.type or ChannelType.GUILD_TEXT)
    rules.check_type(channel_type, guild, form)
    if body.parent_id:
        rules.require_parent(call, ChannelRow(0, channel_type, guild_id), body.parent_id, form, "parent_id")
    overwrites: list[OverwriteRow] | None = None
    if isinstance(body.permission_overwrites, list) and body.permission_overwrites:
        overwrites = rules.build_overwrites(call, guild_id, 0, body.permission_overwrites, form)
        rules.require_permitted_new_overwrites(call, standing, body.parent_id or None, overwrites)
    return actions.create(call, guild_id, body, guild=guild, overwrites=overwrites, form=form)


def update_guild_channel(call: Call, channel_access: ChannelAccess, body: wire.UpdateChannel) -> wire.Channel:
    """Update a guild channel; called by the handler of PATCH /channels/{channel_id}."""
    channel_access = access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_CHANNELS)
    if body.permission_overwrites is not UNSET:
        access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_ROLES)
    row = _require_channel_row(call, channel_access.channel.id)
    guild = _require_guild_traits(call, channel_access.guild_id)
    old_overwrites = store.list_overwrites(call.tx, row.id)
    form = FormErrors()
    after = row
    if isinstance(body.type, ChannelType) and body.type != row.type:
        rules.require_allowed_type_change(row, body.type, guild)
        after = after._replace(type=int(body.type))
    if body.parent_id is not UNSET and (body.parent_id or None) != row.parent_id:
        if row.parent_id is not None:
            access.require_channel(call, row.parent_id, Permissions.MANAGE_CHANNELS)
        if body.parent_id:
            rules.require_parent(call, row, body.parent_id, form, "parent_id")
        after = after._replace(parent_id=body.parent_id or None)
    if isinstance(body.position, int):
        after = after._replace(position=body.position)
    new_overwrites: list[OverwriteRow] | None = None
    if body.permission_overwrites is not UNSET:
        new_overwrites = rules.build_overwrites(
            call, channel_access.guild_id, row.id, body.permission_overwrites or [], form
        )
        rules.require_permitted_overwrites(channel_access, old_overwrites, new_overwrites)
    rules.check_emojis(call, after, body, form)
    after = rules.apply_body(after, body, guild, form, lambda: call.new_id(TagId))
    form.raise_if_any()
    if (after.name, after.topic) != (row.name, row.topic):
        rules.consume_rename_quota(call, row)
    return actions.update(call, row, after, old_overwrites, new_overwrites)


def delete_guild_channel(call: Call, channel_access: ChannelAccess) -> wire.Channel:
    """Delete a guild channel; called by the handler of DELETE /channels/{channel_id}.

    Raise if the guild is a community that requires the channel."""
    access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_CHANNELS)
    row = _require_channel_row(call, channel_access.channel.id)
    if rules.is_required_by_community(_require_guild_traits(call, channel_access.guild_id), row.id):
        raise errors.CANNOT_DELETE_COMMUNITY_CHANNEL()
    return actions.delete(call, row, store.list_overwrites(call.tx, row.id))


@handles(wire.BULK_UPDATE_GUILD_CHANNELS)
def bulk_update_guild_channels(call: Call, guild_id: GuildId, body: list[wire.ChannelPosition]) -> None:
    """Reorder guild channels.

    At most one channel can move to another category in one request."""
    rows_by_id = {row.id: row for row in store.list_guild_channels(call.tx, guild_id)}
    overwrites_by_channel = store.find_overwrites_of_guild(call.tx, guild_id)
    form = FormErrors()
    planned_changes: list[tuple[ChannelRow, ChannelRow, list[OverwriteRow]]] = []
    moved_count = 0
    for index, channel_position in enumerate(body):
        row = rows_by_id.get(channel_position.id)
        if row is None:
            raise errors.UNKNOWN_CHANNEL()
        if any(before.id == row.id for before, _, _ in planned_changes):
            form.add((index, "id"), *errors.duplicate())
        after = row
        if isinstance(channel_position.position, int):
            after = after._replace(position=channel_position.position)
        if channel_position.parent_id is not UNSET and (channel_position.parent_id or None) != row.parent_id:
            moved_count += 1
            access.require_channel(call, row.id, Permissions.MANAGE_CHANNELS)
            if row.parent_id is not None:
                access.require_channel(call, row.parent_id, Permissions.MANAGE_CHANNELS)
            if channel_position.parent_id:
                rules.require_parent(call, row, channel_position.parent_id, form, (index, "parent_id"))
            after = after._replace(parent_id=channel_position.parent_id or None)
        new_overwrites = overwrites_by_channel.get(row.id, [])
        if channel_position.lock_permissions is True and after.parent_id is not None:
            channel_access = access.require_channel(
                call, row.id, Permissions.MANAGE_CHANNELS | Permissions.MANAGE_ROLES
            )
            new_overwrites = [
                overwrite._replace(channel_id=row.id) for overwrite in overwrites_by_channel.get(after.parent_id, [])
            ]
            rules.require_permitted_overwrites(channel_access, overwrites_by_channel.get(row.id, []), new_overwrites)
        planned_changes.append((row, after, new_overwrites))
    if moved_count > 1:
        raise errors.PARENT_CHANGED_MORE_THAN_ONCE()
    form.raise_if_any()
    # Update the channels in the order of IDs, because concurrent requests must lock the rows in the same order.
    for row, after, new_overwrites in sorted(planned_changes, key=lambda change: change[0].id):
        actions.update(call, row, after, overwrites_by_channel.get(row.id, []), new_overwrites)


@handles(wire.SET_CHANNEL_PERMISSION_OVERWRITE)
def set_channel_permission_overwrite(
    call: Call, channel_id: ChannelId, overwrite_id: Snowflake, body: channel_overwrites.SetChannelPermissionOverwrite
) -> None:
    """Set a channel permission overwrite."""
    channel_access, row = _require_overwritable_channel(call, channel_id)
    role_ids, user_ids = store.find_overwrite_targets(call.tx, channel_access.guild_id, [overwrite_id])
    overwrite_type = rules.resolve_overwrite_type(body.type, bool(role_ids))
    if overwrite_id not in (role_ids if overwrite_type == OverwriteType.ROLE else user_ids):
        raise errors.UNKNOWN_PERMISSION_OVERWRITE()
    allow, deny = (body.allow or 0) & Permissions.ALL, (body.deny or 0) & Permissions.ALL
    overwrite = OverwriteRow(row.id, overwrite_id, overwrite_type, allow, deny)
    old_overwrites = store.list_overwrites(call.tx, row.id)
    other_overwrites = [old_overwrite for old_overwrite in old_overwrites if old_overwrite.target_id != overwrite_id]
    rules.require_permitted_overwrites(channel_access, old_overwrites, [*other_overwrites, overwrite])
    if len(other_overwrites) >= wire.OVERWRITES_MAX:
        raise errors.MAX_CHANNEL_OVERWRITES()
    actions.put_overwrite(call, row, old_overwrites, overwrite)


@handles(wire.DELETE_CHANNEL_PERMISSION_OVERWRITE)
def delete_channel_permission_overwrite(call: Call, channel_id: ChannelId, overwrite_id: Snowflake) -> None:
    """Delete a channel permission overwrite."""
    channel_access, row = _require_overwritable_channel(call, channel_id)
    old_overwrites = store.list_overwrites(call.tx, row.id)
    remaining_overwrites = [overwrite for overwrite in old_overwrites if overwrite.target_id != overwrite_id]
    if len(remaining_overwrites) == len(old_overwrites):
        raise errors.UNKNOWN_PERMISSION_OVERWRITE()
    rules.require_permitted_overwrites(channel_access, old_overwrites, remaining_overwrites)
    actions.delete_overwrite(call, row, old_overwrites, overwrite_id)


def _require_overwritable_channel(call: Call, channel_id: ChannelId) -> tuple[ChannelAccess, ChannelRow]:
    """Return a channel that can have overwrites, with the caller's access; raise for threads and private channels."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    if channel_access.channel.is_thread:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access, _require_channel_row(call, channel_id)


def _require_channel_row(call: Call, channel_id: int) -> ChannelRow:
    row = store.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row


def _require_guild_traits(call: Call, guild_id: int) -> GuildTraits:
    guild = store.find_guild_traits(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    return guild
