"""Who may call whom."""

from collections.abc import Collection, Sequence

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.server.core import access
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import channels, relationships, users

PRIVATE = frozenset({ChannelType.DM, ChannelType.GROUP_DM})


def find_place(tx: Tx, channel_id: int, user_id: int) -> ChannelRef | None:
    """A private channel that somebody is in, or None."""
    ref = access.find_channel(tx, channel_id)
    if ref is None or ref.type not in PRIVATE or user_id not in channels.recipients_of(tx, channel_id):
        return None
    return ref


def require_place(call: Call, channel_id: int) -> ChannelRef:
    """A private channel that the caller is in."""
    here = access.channel(call, channel_id)
    if here.channel.type not in PRIVATE:
        raise errors.WRONG_CHANNEL_TYPE()
    return here.channel


def can_call(tx: Tx, channel: ChannelRef, user_id: int) -> bool:
    """Whether somebody in a private channel may call there: in a group always, of two people who are friends."""
    if channel.type == ChannelType.GROUP_DM:
        return True
    others = [each for each in channels.recipients_of(tx, channel.id) if each != user_id]
    return bool(others) and all(
        relationships.are_friends(tx, user_id, each) and not relationships.is_blocked_between(tx, user_id, each)
        for each in others
    )


def ringable(call: Call, channel: ChannelRef, named: Sequence[int] | None, inside: Collection[int]) -> list[int]:
    """Whom the caller may ring of those named, or of all who are not in the call. Bots have no private calls; who blocked the
    caller, or was blocked by them, is not rung, and nobody learns of it."""
    present = [each for each in channels.recipients_of(call.tx, channel.id) if each != call.user_id]
    if named is not None and not set(named) <= set(present):
        raise errors.INVALID_RECIPIENTS()
    wanted = [each for each in (present if named is None else dict.fromkeys(named)) if each not in inside]
    people = users.find_many(call.tx, wanted)
    if named is not None and any(people[each].bot for each in wanted if each in people):
        raise errors.INVALID_RECIPIENTS()
    return [
        each
        for each in wanted
        if each in people and not people[each].bot and not relationships.is_blocked_between(call.tx, call.user_id, each)
    ]
