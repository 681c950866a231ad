"""Open and close private channels, show hidden ones again, and add and remove group recipients."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType, MessageType
from hubbub.protocol.ids import ChannelId, UserId
from hubbub.protocol.resources import channels as channel_wire
from hubbub.protocol.resources import direct_messages as wire
from hubbub.protocol.resources.channels import PrivateChannel
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity import users
from hubbub.server.identity.users import UserRow
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.talk import messages
from hubbub.server.talk.direct_messages import rules, store
from hubbub.server.talk.direct_messages.signals import RecipientAdded, RecipientRemoving


def open_direct_channel(call: Call, other_user: UserRow) -> PrivateChannel:
    """Return the caller's direct message channel with a user. Create it or show it in the caller's list if necessary.

    The other user is not notified before the first message."""
    channel_id = store.find_direct_channel_id(call.tx, call.user_id, other_user.id)
    if channel_id is None:
        row = ChannelRow(id=call.new_id(ChannelId), type=ChannelType.DM)
        channels.creation.insert(call.tx, row)
        store.insert_direct_channel(call.tx, call.user_id, other_user.id, row.id)
        channels.private_channels.add_recipient(call.tx, row.id, call.user_id)
        channels.private_channels.add_recipient(call.tx, row.id, other_user.id, is_hidden=True)
        became_visible = True
    else:
        row = _get_channel(call, channel_id)
        became_visible = channels.private_channels.unhide_for(call.tx, channel_id, call.user_id)
    view = channels.private_channels.private_channel(row, [users.user_view(other_user)])
    if became_visible and not call.actor.is_bot:
        call.tx.emit(channel_wire.CHANNEL_CREATE, view, UserAudience.of(call.user_id))
    return view


def open_group(call: Call, other_ids: Sequence[int], nicks: Mapping[int, str | None]) -> PrivateChannel:
    """Create a group of the caller and the users `other_ids`, with nicknames by user ID.

    A bot's group belongs to its application."""
    row = ChannelRow(
        id=call.new_id(ChannelId),
        type=ChannelType.GROUP_DM,
        owner_id=call.user_id,
        application_id=call.actor.application_id if call.actor.is_bot else None,
    )
    channels.creation.insert(call.tx, row)
    recipient_ids = [call.user_id, *other_ids]
    for user_id in recipient_ids:
        channels.private_channels.add_recipient(call.tx, row.id, user_id, nick=nicks.get(user_id))
    for user_id in recipient_ids:
        _publish_created(call, row, user_id)
    return channels.private_channels.private_channel_for(call, row, call.user_id)


def _publish_created(call: Call, row: ChannelRow, user_id: int) -> None:
    """Publish CHANNEL_CREATE to one recipient. Bots lack the intent for it (spec/gateway.md#5)."""
    view = channels.private_channels.private_channel_for(call, row, user_id)
    call.tx.emit(channel_wire.CHANNEL_CREATE, view, UserAudience.of(user_id))


def on_message_created(call: Call, signal: messages.signals.MessageCreated) -> None:
    """Show a private channel again to recipients who have hidden it, before the new message is published."""
    if signal.channel.guild_id is not None:
        return
    recipients = store.list_recipients_who_hid(call.tx, signal.channel.id)
    if not recipients:
        return
    row = _get_channel(call, signal.channel.id)
    for user_id, is_bot in recipients:
        channels.private_channels.unhide_for(call.tx, row.id, user_id)
        if not is_bot:
            _publish_created(call, row, user_id)


def add_to_group(call: Call, group: ChannelRow, user: UserRow, nick: str | None) -> bool:
    """Add a user to a group, with a nickname or None. Return False if they are already in it."""
    recipient_ids = store.find_recipient_ids(call.tx, [group.id])[group.id]
    if user.id in recipient_ids:
        return False
    rules.require_group_size(len(recipient_ids) + 1)
    channels.private_channels.add_recipient(call.tx, group.id, user.id, nick=nick)
    payload = wire.ChannelRecipientChange(
        channel_id=ChannelId(group.id), user=users.user_view(user), nick=nick or UNSET
    )
    call.tx.emit(wire.CHANNEL_RECIPIENT_ADD, payload, UserAudience.of(*recipient_ids))
    _publish_created(call, group, user.id)
    messages.system_messages.create_system_message(
        call,
        channels.joined_channels.to_ref(group),
        MessageType.RECIPIENT_ADD,
        call.user_id,
        mentioned_user_ids=(user.id,),
    )
    call.notify(RecipientAdded(channel_id=group.id, user_id=user.id))
    return True


def add_invited_user(call: Call, channel_id: int, user_id: int) -> None:
    """Add a user who accepted an invite to a group."""
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    add_to_group(call, _get_channel(call, channel_id), user, None)


def remove_from_group(call: Call, group: ChannelRow, user: UserRow) -> PrivateChannel:
    """Remove a user from a group and return the group as it was before. An empty group is deleted."""
    view = channels.private_channels.private_channel_for(call, group, user.id)
    call.notify(RecipientRemoving(channel_id=group.id, user_id=user.id))
    if not channels.private_channels.remove_recipient(call.tx, group.id, user.id):
        raise errors.UNKNOWN_USER()
    call.tx.emit(channel_wire.CHANNEL_DELETE, view, UserAudience.of(user.id))
    if _finish_removal(call, group, user):
        messages.system_messages.create_system_message(
            call,
            channels.joined_channels.to_ref(group),
            MessageType.RECIPIENT_REMOVE,
            call.user_id,
            mentioned_user_ids=(user.id,),
        )
    return view


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Remove a deleted user from every group. Direct messages stay visible to the other user."""
    user = users.find(call.tx, signal.user_id)
    if user is None:
        return
    for group in store.list_group_channels(call.tx, signal.user_id):
        call.notify(RecipientRemoving(channel_id=group.id, user_id=user.id))
        channels.private_channels.remove_recipient(call.tx, group.id, user.id)
        _finish_removal(call, group, user)


def publish_moved(call: Call, row: ChannelRow, user_id: int, other_ids: Sequence[int]) -> None:
    """Publish a private channel in which a user replaced another: created for the user, updated for the others."""
    _publish_created(call, row, user_id)
    for other_id in other_ids:
        if other_id != user_id:
            view = channels.private_channels.private_channel_for(call, row, other_id)
            call.tx.emit(channel_wire.CHANNEL_UPDATE, view, UserAudience.of(other_id))


def _finish_removal(call: Call, group: ChannelRow, user: UserRow) -> bool:
    """Publish the removal and transfer ownership if the owner left, or delete the group if it is empty.

    Return whether the group still exists."""
    remaining_ids = store.find_recipient_ids(call.tx, [group.id]).get(group.id, [])
    if not remaining_ids:
        call.notify(channels.signals.ChannelsDeleting(guild_id=None, channel_ids=(group.id,)))
        channels.private_channels.delete_group(call.tx, group.id)
        return False
    payload = wire.ChannelRecipientChange(channel_id=ChannelId(group.id), user=users.user_view(user))
    call.tx.emit(wire.CHANNEL_RECIPIENT_REMOVE, payload, UserAudience.of(*remaining_ids))
    if group.owner_id == user.id:
        transferred_group = group._replace(owner_id=remaining_ids[0])
        channels.update(call.tx, group, transferred_group)
        for user_id in remaining_ids:
            view = channels.private_channels.private_channel_for(call, transferred_group, user_id)
            call.tx.emit(channel_wire.CHANNEL_UPDATE, view, UserAudience.of(user_id))
    return True


def close_channel(call: Call, channel_id: int) -> PrivateChannel:
    """Close a private channel for the caller: hide a direct message channel until the next message, leave a group."""
    row = _get_channel(call, channel_id)
    if row.type != ChannelType.GROUP_DM:
        return channels.private_channels.close(call, row)
    caller = users.find(call.tx, call.user_id)
    if caller is None:
        raise errors.UNKNOWN_USER()
    return remove_from_group(call, row, caller)


def _get_channel(call: Call, channel_id: int) -> ChannelRow:
    row = channels.find(call.tx, channel_id)
    if row is None:
        raise errors.UNKNOWN_CHANNEL()
    return row


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's private channels for the export of their data."""
    rows = store.list_channels(call.tx, user_id)
    recipient_ids_by_channel = store.find_recipient_ids(call.tx, [row.id for row in rows])
    return {
        "private_channels": [
            {
                "id": str(int(row.id)),
                "type": row.type,
                "name": row.name,
                "recipient_ids": [str(recipient_id) for recipient_id in recipient_ids_by_channel.get(row.id, ())],
            }
            for row in rows
        ]
    }
