"""HTTP handlers that update and delete channels of any kind.

A channel may be a thread, so these handlers belong to the threads slice; other channels are delegated to lower slices.
"""

from typing import Any

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import FORUM_TYPES, MessageType
from hubbub.protocol.flags import ChannelFlags
from hubbub.protocol.ids import ChannelId, TagId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk import direct_messages, messages
from hubbub.server.talk.threads import actions, ports, rules, views


@handles(wire.UPDATE_CHANNEL)
def update_channel(call: Call, channel_id: ChannelId, body: wire.UpdateChannel) -> wire.AnyChannel:
    """Update a channel.

    The channel is a guild channel, a thread or a group channel; the allowed fields depend on its type.

    A guild channel requires MANAGE_CHANNELS, and its `permission_overwrites` MANAGE_ROLES.

    A thread requires MANAGE_THREADS. Without it, in a thread that is not locked, the creator may change `name`,
    `archived` and `auto_archive_duration`, and the `applied_tags` of a forum post; members of the thread, and callers
    who may send messages in it, may unarchive it.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        return _update_group(call, channel_access, body)
    if channel_access.channel.is_thread:
        return _update_thread(call, channel_access, body)
    return channels.thread_channels.update_guild_channel(call, channel_access, body)


@handles(wire.DELETE_CHANNEL)
def delete_channel(call: Call, channel_id: ChannelId) -> wire.AnyChannel:
    """Delete a channel or a thread, or close a private channel.

    A guild channel requires MANAGE_CHANNELS, a thread MANAGE_THREADS.
    """
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.guild is None:
        return direct_messages.close_channel(call, channel_id)
    if channel_access.channel.is_thread:
        access.require_channel(call, channel_id, Permissions.MANAGE_THREADS)
        row = _get_channel(call, channel_id)
        view = views.thread(row, channels.thread_members.find(call.tx, row.id, call.user_id))
        actions.delete(call, row)
        return view
    return channels.thread_channels.delete_guild_channel(call, channel_access)


def _update_group(call: Call, channel_access: ChannelAccess, body: wire.UpdateChannel) -> wire.AnyChannel:
    row = _get_channel(call, channel_access.channel.id)
    updated_row = channels.thread_channels.update_group(call, row, body)
    if updated_row.name != row.name:
        message_type = MessageType.CHANNEL_NAME_CHANGE
        messages.system_messages.create_system_message(
            call, channel_access.channel, message_type, call.user_id, content=updated_row.name or ""
        )
    if updated_row.icon != row.icon:
        messages.system_messages.create_system_message(
            call, channel_access.channel, MessageType.CHANNEL_ICON_CHANGE, call.user_id
        )
    return channels.private_channels.private_channel_for(call, updated_row, call.user_id)


def _update_thread(call: Call, channel_access: ChannelAccess, body: wire.UpdateChannel) -> wire.AnyChannel:
    row = _get_channel(call, channel_access.channel.id)
    rules.require_can_edit(call, channel_access, row, body)
    updated_row = row._replace(**_changed_columns(call, channel_access, row, body))
    if row.archived and not updated_row.archived:
        rules.require_active_thread_quota(call, channel_access.guild_id, row.type)
    is_renamed = updated_row.name != row.name
    if is_renamed:
        channels.thread_channels.consume_rename_quota(call, row)
        ports.check_title(call, channel_access, updated_row.name or "")
    updated_row = actions.update(call, row, updated_row)
    if is_renamed and not updated_row.archived:
        # `channel_access` was read before this request may have unarchived the thread, so pass the new state.
        message_type = MessageType.CHANNEL_NAME_CHANGE
        messages.system_messages.create_system_message(
            call,
            channel_access.channel._replace(archived=0),
            message_type,
            call.user_id,
            content=updated_row.name or "",
        )
    return views.thread(_get_channel(call, row.id), channels.thread_members.find(call.tx, row.id, call.user_id))


def _changed_columns(
    call: Call, channel_access: ChannelAccess, row: ChannelRow, body: wire.UpdateChannel
) -> dict[str, Any]:
    """Return the columns of a thread that a request changes, after validation."""
    changed_columns: dict[str, Any] = {}
    if isinstance(body.name, str):
        changed_columns["name"] = body.name.strip()
        if not changed_columns["name"]:
            raise errors.invalid("name", *errors.bad_length(1, wire.CHANNEL_NAME_MAX))
    for field_name in ("archived", "locked", "invitable"):
        requested_value = getattr(body, field_name)
        if isinstance(requested_value, bool) and (
            field_name != "invitable" or channel_access.channel.is_private_thread
        ):
            changed_columns[field_name] = int(requested_value)
    if isinstance(body.auto_archive_duration, int):
        changed_columns["auto_archive_duration"] = int(body.auto_archive_duration)
    if body.rate_limit_per_user is not UNSET:
        changed_columns["rate_limit_per_user"] = body.rate_limit_per_user or 0
    if body.flags is UNSET and body.applied_tags is UNSET:
        return changed_columns
    forum = channels.find(call.tx, row.parent_id or 0)
    if body.flags is not UNSET:
        pinned_bit = (body.flags or 0) & ChannelFlags.PINNED
        if pinned_bit and not row.flags & ChannelFlags.PINNED:
            rules.require_pinnable(call, row, forum)
        changed_columns["flags"] = row.flags & ~ChannelFlags.PINNED | pinned_bit
    if body.applied_tags is not UNSET:
        if forum is None or forum.type not in FORUM_TYPES:
            raise errors.WRONG_CHANNEL_TYPE()
        applied_tags = codec.decode(row.applied_tags or "[]", list[TagId])
        is_moderator = channel_access.can(Permissions.MANAGE_THREADS)
        tag_ids = rules.require_tags(forum, body.applied_tags or [], applied_tags, is_moderator=is_moderator)
        changed_columns["applied_tags"] = codec.encode(tag_ids).decode()
    return changed_columns


def _get_channel(call: Call, channel_id: int) -> ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row
