"""Permission checks for private calls."""

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
    ref = access.find_channel(tx, channel_id)
    if ref is None or ref.type not in PRIVATE_TYPES or user_id not in channels.recipients_of(tx, channel_id):
        return None
    return ref


def require_private_channel(call: Call, channel_id: int) -> ChannelRef:
    """Return a private channel that the caller is a recipient of, or raise an error."""
    channel_access = access.channel(call, channel_id)
    if channel_access.channel.type not in PRIVATE_TYPES:
        raise errors.WRONG_CHANNEL_TYPE()
    return channel_access.channel


def can_call(tx: Tx, channel: ChannelRef, user_id: int) -> bool:
    """Return whether a user may call in a private channel: always in a group, otherwise only between friends."""
    if channel.type == ChannelType.GROUP_DM:
        return True
    others = [each for each in channels.recipients_of(tx, channel.id) if each != user_id]
    return bool(others) and all(
        relationships.are_friends(tx, user_id, each) and not relationships.is_blocked_between(tx, user_id, each)
        for each in others
    )


def list_ringable(
    call: Call, channel: ChannelRef, named: Sequence[int] | None, participants: Collection[int]
) -> list[int]:
    """Return the users to ring: those named, or all recipients who are not in the call.

    Bots have no private calls. A user who blocked the caller, or is blocked by them, is skipped silently."""
    present = [each for each in channels.recipients_of(call.tx, channel.id) if each != call.user_id]
    if named is not None and not set(named) <= set(present):
        raise errors.INVALID_RECIPIENTS()
    wanted = [each for each in (present if named is None else dict.fromkeys(named)) if each not in participants]
    found = users.find_many(call.tx, wanted)
    if named is not None and any(found[each].bot for each in wanted if each in found):
        raise errors.INVALID_RECIPIENTS()
    return [
        each
        for each in wanted
        if each in found and not found[each].bot and not relationships.is_blocked_between(call.tx, call.user_id, each)
    ]
