"""Create, change and delete guild channels and their overwrites, split permissions, and change and close private channels."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId, TagId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import channels as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience, UserAudience
from hubbub.server.identity import users
from hubbub.server.places import guilds, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels import permission_split, rules, store, views
from hubbub.server.places.channels.signals import ChannelsDeleting, LinkedChannelRenamed
from hubbub.server.places.channels.store import ChannelRow, GuildTraits, OverwriteRow

AUDITED_FIELDS: Final = (
    "name",
    "type",
    "topic",
    "position",
    "parent_id",
    "nsfw",
    "rate_limit_per_user",
    "bitrate",
    "user_limit",
    "rtc_region",
    "video_quality_mode",
    "default_auto_archive_duration",
    "default_thread_rate_limit_per_user",
    "default_reaction_emoji",
    "default_sort_order",
    "default_forum_layout",
    "default_tag_setting",
    "available_tags",
    "flags",
)
"""Fields whose changes the audit log records. Overwrites have their own entries."""


def create(
    call: Call,
    guild_id: int,
    body: wire.CreateGuildChannel,
    *,
    guild: GuildTraits | None = None,
    channel_id: int | None = None,
    overwrites: Sequence[OverwriteRow] | None = None,
    form: FormErrors | None = None,
    new_tag_id: Callable[[], TagId] | None = None,
    is_published: bool = True,
) -> wire.Channel:
    """Create a channel without permission checks.

    `guild` is read if None. `channel_id` is generated if None, and IDs of forum tags if `new_tag_id` is None. If `overwrites`
    is None, the channel gets the overwrites of its category. `form` contains the errors that the caller found; the function
    adds the errors of the body and raises all of them. With `is_published=False`, for example while a world is loaded,
    there is no audit log entry and no event."""
    form = form or FormErrors()
    guild = guild or store.find_guild_traits(call.tx, guild_id)
    if guild is None:
        raise errors.UNKNOWN_GUILD()
    channel_type = int(body.type or ChannelType.GUILD_TEXT)
    row = ChannelRow(
        id=channel_id or call.new_id(ChannelId), type=channel_type, guild_id=guild_id, parent_id=body.parent_id or None
    )
    rules.check_emojis(call, row, body, form)
    row = rules.apply_body(row, body, guild, form, new_tag_id or (lambda: call.new_id(TagId)))
    form.raise_if_any()
    if store.count_guild_channels(call.tx, guild_id) >= wire.GUILD_CHANNELS_MAX:
        raise errors.MAX_CHANNELS()
    if isinstance(body.position, int):
        row = row._replace(position=body.position)
    else:
        is_category = channel_type == ChannelType.GUILD_CATEGORY
        row = row._replace(position=store.next_position(call.tx, guild_id, is_category=is_category))
    if overwrites is None:
        overwrites = [] if row.parent_id is None else store.list_overwrites(call.tx, row.parent_id)
    guilds.ports.check_names(call, (row.name or "",))
    store.insert(call.tx, row)
    overwrites = [overwrite._replace(channel_id=row.id) for overwrite in overwrites]
    store.replace_overwrites(call.tx, row.id, overwrites)
    _require_overwrite_capacity(call, guild_id, added_count=len(overwrites))
    view = views.channel(row, overwrites)
    if is_published:
        changes = audit.differences(None, view, (*AUDITED_FIELDS, "permission_overwrites"))
        audit.record(call, guild_id, AuditLogAction.CHANNEL_CREATE, target_id=row.id, changes=changes)
        publish(call, wire.CHANNEL_CREATE, row, view)
    return view


def publish(call: Call, event: Event[Any], row: ChannelRow, view: wire.Channel) -> None:
    """Publish an event about a channel to its guild.

    The gateway obfuscates the channel for sessions that cannot see it (spec/gateway.md#5.1)."""
    call.tx.emit(event, view, GuildAudience(row.guild_id or 0), refresh="channels", subject_id=row.id)


def update(
    call: Call,
    before: ChannelRow,
    after: ChannelRow,
    old_overwrites: Sequence[OverwriteRow],
    new_overwrites: Sequence[OverwriteRow] | None = None,
) -> wire.Channel:
    """Store, audit and publish a changed channel and its overwrites, and update synced children.

    `old_overwrites` and `new_overwrites` are the overwrites before and after the change; `new_overwrites` is None if they
    are unchanged."""
    new_overwrites = old_overwrites if new_overwrites is None else new_overwrites
    view = views.channel(after, new_overwrites)
    guild_id = before.guild_id or 0
    if after.name != before.name:
        guilds.ports.check_names(call, (after.name or "",))
    if after != before:
        store.update(call.tx, before, after)
        changes = audit.differences(views.channel(before, old_overwrites), view, AUDITED_FIELDS)
        audit.record(call, guild_id, AuditLogAction.CHANNEL_UPDATE, target_id=after.id, changes=changes)
    has_overwrite_changes = rules.bits_by_target(new_overwrites) != rules.bits_by_target(old_overwrites)
    if has_overwrite_changes:
        store.replace_overwrites(call.tx, after.id, new_overwrites)
        _record_overwrites(call, after, old_overwrites, new_overwrites)
    if after != before or has_overwrite_changes:
        publish(call, wire.CHANNEL_UPDATE, after, view)
    if after.linked_lobby is not None and after.name != before.name:
        call.notify(LinkedChannelRenamed(after.id))
    if has_overwrite_changes and after.type == ChannelType.GUILD_CATEGORY:
        _sync_children(call, after.id, old_overwrites, new_overwrites)
    if has_overwrite_changes:
        _require_overwrite_capacity(call, guild_id, added_count=len(new_overwrites) - len(old_overwrites))
    return view


def _require_overwrite_capacity(call: Call, guild_id: int, *, added_count: int) -> None:
    """Raise if overwrites were added and the guild's channels together exceed the overwrite limit."""
    if added_count > 0 and store.count_overwrites(call.tx, guild_id) > wire.GUILD_OVERWRITES_MAX:
        raise errors.GUILD_CHANNELS_TOO_LARGE()


def link_lobby(call: Call, channel_id: int, lobby: wire.LinkedLobby | None) -> wire.Channel:
    """Link a channel to a lobby, or unlink it if `lobby` is None."""
    row = store.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    after = row._replace(linked_lobby=None if lobby is None else codec.encode(lobby).decode())
    return update(call, row, after, store.list_overwrites(call.tx, channel_id))


def _sync_children(
    call: Call, category_id: int, old_overwrites: Sequence[OverwriteRow], new_overwrites: Sequence[OverwriteRow]
) -> None:
    """Copy a category's new overwrites to the children that had the same overwrites as the category (spec/http.md#2.2)."""
    children = store.list_children(call.tx, category_id)
    overwrites_by_channel = store.find_overwrites_of_channels(call.tx, [child.id for child in children])
    old_bits = rules.bits_by_target(old_overwrites)
    for child in children:
        if rules.bits_by_target(overwrites_by_channel.get(child.id, [])) == old_bits:
            child_overwrites = [overwrite._replace(channel_id=child.id) for overwrite in new_overwrites]
            store.replace_overwrites(call.tx, child.id, child_overwrites)
            publish(call, wire.CHANNEL_UPDATE, child, views.channel(child, child_overwrites))


def _record_overwrites(
    call: Call, row: ChannelRow, old_overwrites: Sequence[OverwriteRow], new_overwrites: Sequence[OverwriteRow]
) -> None:
    """Record one audit entry for each created, changed or deleted overwrite."""
    old_by_target = {overwrite.target_id: overwrite for overwrite in old_overwrites}
    new_by_target = {overwrite.target_id: overwrite for overwrite in new_overwrites}
    changed_ids = [
        target_id
        for target_id in old_by_target.keys() | new_by_target.keys()
        if old_by_target.get(target_id) != new_by_target.get(target_id)
    ]
    roles_by_id = roles.find_many(call.tx, row.guild_id or 0, changed_ids)
    for target_id in sorted(changed_ids):
        old_overwrite, new_overwrite = old_by_target.get(target_id), new_by_target.get(target_id)
        action = (
            AuditLogAction.CHANNEL_OVERWRITE_CREATE
            if old_overwrite is None
            else AuditLogAction.CHANNEL_OVERWRITE_DELETE
            if new_overwrite is None
            else AuditLogAction.CHANNEL_OVERWRITE_UPDATE
        )
        any_overwrite = new_overwrite or old_overwrite
        options: dict[str, object] = {"id": target_id, "type": any_overwrite.type if any_overwrite else 0}
        if target_id in roles_by_id:
            options["role_name"] = roles_by_id[target_id].name
        audit.record(
            call,
            row.guild_id or 0,
            action,
            target_id=row.id,
            changes=audit.differences(
                old_overwrite and views.overwrite(old_overwrite), new_overwrite and views.overwrite(new_overwrite)
            ),
            options=options,
        )


def put_overwrite(call: Call, row: ChannelRow, old_overwrites: Sequence[OverwriteRow], overwrite: OverwriteRow) -> None:
    """Set the overwrite of a role or member in a channel. `old_overwrites` are the channel's current overwrites."""
    other_overwrites = [
        old_overwrite for old_overwrite in old_overwrites if old_overwrite.target_id != overwrite.target_id
    ]
    new_overwrites = sorted([*other_overwrites, overwrite], key=lambda new_overwrite: new_overwrite.target_id)
    update(call, row, row, old_overwrites, new_overwrites)


def delete_overwrite(call: Call, row: ChannelRow, old_overwrites: Sequence[OverwriteRow], target_id: int) -> None:
    """Delete the overwrite of a role or member in a channel. `old_overwrites` are the channel's current overwrites."""
    update(
        call, row, row, old_overwrites, [overwrite for overwrite in old_overwrites if overwrite.target_id != target_id]
    )


def split_permissions(call: Call, guild_id: int) -> tuple[int, int]:
    """Add the permissions that were split off older permissions (`permission_split`) to a guild's roles and overwrites.

    Return the number of changed roles and the number of changed overwrites. Overwrites that a channel copies from its
    changed category are not counted."""
    added_bits = changed_role_count = changed_overwrite_count = 0
    for role in roles.list_guild_roles(call.tx, guild_id):
        permissions = role.permissions | permission_split.implied_bits(role.permissions)
        if permissions != role.permissions:
            roles.update(call, role, role._replace(permissions=permissions))
            added_bits |= permissions & ~role.permissions
            changed_role_count += 1
    for channel in store.list_guild_channels(call.tx, guild_id):
        # Read one channel at a time: changing a category also changes its synced children.
        old_overwrites = store.list_overwrites(call.tx, channel.id)
        new_overwrites = [permission_split.split(overwrite) for overwrite in old_overwrites]
        if new_overwrites != old_overwrites:
            update(call, channel, channel, old_overwrites, new_overwrites)
            for old_overwrite, new_overwrite in zip(old_overwrites, new_overwrites, strict=True):
                changed_overwrite_count += old_overwrite != new_overwrite
                added_bits |= (new_overwrite.allow & ~old_overwrite.allow) | (new_overwrite.deny & ~old_overwrite.deny)
    for bit, action in permission_split.SPLIT_AUDIT_ACTIONS:
        if added_bits & bit:
            audit.record(call, guild_id, action, target_id=guild_id)
    return changed_role_count, changed_overwrite_count


def delete(call: Call, row: ChannelRow, overwrites: Sequence[OverwriteRow]) -> wire.Channel:
    """Delete a guild channel. Children of a category stay, without a parent."""
    guild_id = row.guild_id or 0
    view = views.channel(row, overwrites)
    children = store.list_children(call.tx, row.id) if row.type == ChannelType.GUILD_CATEGORY else []
    call.notify(ChannelsDeleting(guild_id=guild_id, channel_ids=(row.id,)))
    store.delete(call.tx, row.id)
    was_referenced = guilds.maintenance.clear_channel_references(call.tx, guild_id, row.id)
    changes = audit.differences(view, None, (*AUDITED_FIELDS, "permission_overwrites"))
    audit.record(call, guild_id, AuditLogAction.CHANNEL_DELETE, target_id=row.id, changes=changes)
    publish(call, wire.CHANNEL_DELETE, row, view)
    guild = guilds.find(call.tx, guild_id) if was_referenced else None
    if guild is not None:
        guilds.publish_update(
            call, guilds.guild(call.tx, guild, roles.list_guild_roles(call.tx, guild_id), now_ms=call.now_ms)
        )
    overwrites_by_channel = store.find_overwrites_of_channels(call.tx, [child.id for child in children])
    for child in children:
        updated_child = child._replace(parent_id=None)
        store.update(call.tx, child, updated_child)
        child_view = views.channel(updated_child, overwrites_by_channel.get(child.id, []))
        publish(call, wire.CHANNEL_UPDATE, updated_child, child_view)
    return view


def private_channel_for(call: Call, row: ChannelRow, user_id: int) -> wire.PrivateChannel:
    """Build a private channel for one of its members. Its recipients are the other members."""
    other_ids = [other_id for other_id in store.list_recipient_ids(call.tx, row.id) if other_id != user_id]
    users_by_id = users.find_many(call.tx, other_ids)
    return views.private_channel(
        row,
        [
            users.user_view(users_by_id[other_id]) if other_id in users_by_id else users.deleted_user(other_id)
            for other_id in other_ids
        ],
    )


def close(call: Call, row: ChannelRow) -> wire.PrivateChannel:
    """Hide a private channel from the caller until the next message, and publish CHANNEL_DELETE to the caller."""
    store.hide_for(call.tx, row.id, call.user_id)
    view = private_channel_for(call, row, call.user_id)
    call.tx.emit(wire.CHANNEL_DELETE, view, UserAudience.of(call.user_id))
    return view


def update_group(call: Call, before: ChannelRow, body: wire.UpdateChannel) -> ChannelRow:
    """Change the name or icon of a group, and publish it to each member.

    Raise CANNOT_EXECUTE_ON_DM for other private channels."""
    if before.type != ChannelType.GROUP_DM:
        raise errors.CANNOT_EXECUTE_ON_DM()
    after = before
    if body.name is not UNSET:
        after = after._replace(name=(body.name or "").strip() or None)
    if body.icon is not UNSET:
        after = after._replace(icon=body.icon.hash if body.icon else None)
    if after != before:
        store.update(call.tx, before, after)
        for user_id in store.list_recipient_ids(call.tx, after.id):
            call.tx.emit(wire.CHANNEL_UPDATE, private_channel_for(call, after, user_id), UserAudience.of(user_id))
    return after


def on_role_deleted(call: Call, signal: roles.RoleDeleted) -> None:
    """Delete a deleted role's overwrites and publish the affected channels."""
    channel_ids = store.list_ids_with_overwrite(call.tx, signal.guild_id, signal.role_id)
    if not channel_ids:
        return
    store.delete_overwrites(call.tx, channel_ids, signal.role_id)
    rows_by_id = store.find_many(call.tx, channel_ids)
    overwrites_by_channel = store.find_overwrites_of_channels(call.tx, channel_ids)
    for row in rows_by_id.values():
        publish(call, wire.CHANNEL_UPDATE, row, views.channel(row, overwrites_by_channel.get(row.id, [])))


def on_guild_deleting(call: Call, signal: guilds.GuildDeleting) -> None:
    """Delete the channels and threads of a guild that is being deleted."""
    channel_ids = store.list_guild_channel_ids(call.tx, signal.guild_id)
    if channel_ids:
        call.notify(ChannelsDeleting(guild_id=signal.guild_id, channel_ids=tuple(channel_ids)))
    store.delete_guild_channels(call.tx, signal.guild_id)


def insert_initial(
    call: Call,
    guild_id: int,
    channels: Sequence[guilds.creation.NewChannel],
    overwrites: Sequence[guilds.creation.NewOverwrite],
) -> None:
    """Insert the initial channels of a new guild and their overwrites without events; GUILD_CREATE contains them."""
    store.insert_initial(call.tx, guild_id, channels, overwrites)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the slow mode times of a deleted user."""
    store.delete_slow_mode_uses(call.tx, signal.user_id)
