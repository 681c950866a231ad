"""Rules for private calls: access to the channel, permission to call, and the recipients to ring."""

from collections.abc import Collection, Sequence

from hubbub.protocol import errors
from hubbub.protocol.enums import PRIVATE_TYPES, ChannelType
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import relationships, users
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelRef, access


def find_private_channel(tx: Tx, channel_id: int, user_id: int) -> ChannelRef | None:
    """Return a private channel that the user is a recipient of, or None."""
    channel = access.find_channel(tx, channel_id)
    if (
        channel is None
        or channel.type not in PRIVATE_TYPES
        or user_id not in channels.private_channels.list_recipient_ids(tx, channel_id)
    ):
        return None
    return channel


def require_private_channel(call: Call, channel_id: int) -> ChannelRef:
    """Return a private channel that the caller is a recipient of, or raise an error."""
    channel_access = access.get_channel_standing(call, channel_id)
    if channel_access.channel.type not in PRIVATE_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access.channel


def can_call(tx: Tx, channel: ChannelRef, user_id: int) -> bool:
    """Return whether a user may call in a private channel: always in a group, otherwise only between friends."""
    if channel.type == ChannelType.GROUP_DM:
        return True
    other_ids = [
        other_id for other_id in channels.private_channels.list_recipient_ids(tx, channel.id) if other_id != user_id
    ]
    return bool(other_ids) and all(
        relationships.are_friends(tx, user_id, other_id) and not relationships.is_blocked_between(tx, user_id, other_id)
        for other_id in other_ids
    )


def list_ringable_ids(
    call: Call, channel: ChannelRef, requested_ids: Sequence[int] | None, participant_ids: Collection[int]
) -> list[int]:
    """Return the IDs of the users to ring: the users `requested_ids`, or all recipients if None, who are not in the call.

    `participant_ids` are the IDs of the users in the call. Raise INVALID_RECIPIENTS if `requested_ids` contains a bot, the
    caller, or a user who is not a recipient. A user who blocked the caller, or is blocked by the caller, is skipped
    without an error."""
    recipient_ids = [
        recipient_id
        for recipient_id in channels.private_channels.list_recipient_ids(call.tx, channel.id)
        if recipient_id != call.user_id
    ]
    if requested_ids is not None and not set(requested_ids) <= set(recipient_ids):
        raise errors.INVALID_RECIPIENTS()
    target_ids = [
        recipient_id
        for recipient_id in (recipient_ids if requested_ids is None else dict.fromkeys(requested_ids))
        if recipient_id not in participant_ids
    ]
    users_by_id = users.find_many(call.tx, target_ids)
    if requested_ids is not None and any(
        users_by_id[recipient_id].bot for recipient_id in target_ids if recipient_id in users_by_id
    ):
        raise errors.INVALID_RECIPIENTS()
    return [
        recipient_id
        for recipient_id in target_ids
        if recipient_id in users_by_id
        and not users_by_id[recipient_id].bot
        and not relationships.is_blocked_between(call.tx, call.user_id, recipient_id)
    ]
