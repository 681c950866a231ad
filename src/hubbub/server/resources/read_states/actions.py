"""Marks are set, and the person's other clients hear of it."""

from collections.abc import Mapping

from msgspec import UNSET

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import channels, users
from hubbub.server.resources.read_states import store


def mark(call: Call, wanted: Mapping[ChannelId, MessageId], *, back: bool = False) -> None:
    """Set marks. They go forward: two clients may tell in any order; `back` is what a person decides by hand."""
    before = store.find_some(call.tx, call.user_id, wanted)
    moved = {
        channel_id: message_id
        for channel_id, message_id in wanted.items()
        if channel_id not in before or message_id > before[channel_id] or (back and message_id != before[channel_id])
    }
    store.put(call.tx, call.user_id, moved)
    for channel_id, message_id in moved.items():
        told = wire.MessageAcked(channel_id=channel_id, message_id=message_id, manual=True if back else UNSET)
        call.tx.emit(wire.MESSAGE_ACK, told, Audience.of_users(call.user_id))


def forget_channels(call: Call, fact: channels.ChannelsDeleted) -> None:
    """Channels are gone, and so is what was read there."""
    store.delete_channels(call.tx, fact.channel_ids)


def forget(call: Call, fact: users.UserDeleted) -> None:
    """An account is gone, and what it read."""
    store.delete(call.tx, fact.user_id)


def harvest(call: Call, asked: users.DataAsked) -> None:
    """How far a person has read, for their copy of all that is kept of them."""
    asked.records["read_states"] = [
        {"channel_id": str(each.id), "last_message_id": str(each.last_message_id)}
        for each in store.list_all(call.tx, asked.user_id)
    ]
