"""Update read states and publish them to the user's other sessions."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity import users
from hubbub.server.places import channels
from hubbub.server.talk.read_states import store


def mark(call: Call, wanted: Mapping[ChannelId, MessageId], *, allow_backward: bool = False) -> None:
    """Set read states.

    A read state only moves forward, since clients may report in any order. With `allow_backward` it may also move backward, which
    a user requests explicitly."""
    before = store.find_many(call.tx, call.user_id, wanted)
    moved = {
        channel_id: message_id
        for channel_id, message_id in wanted.items()
        if channel_id not in before
        or message_id > before[channel_id]
        or (allow_backward and message_id != before[channel_id])
    }
    store.put(call.tx, call.user_id, moved)
    for channel_id, message_id in moved.items():
        payload = wire.MessageAcked(
            channel_id=channel_id, message_id=message_id, manual=True if allow_backward else UNSET
        )
        call.tx.emit(wire.MESSAGE_ACK, payload, Audience.of_users(call.user_id))


def forget_channels(call: Call, signal: channels.ChannelsDeleted) -> None:
    """Delete the read states of deleted channels."""
    store.delete_channels(call.tx, signal.channel_ids)


def forget(call: Call, signal: users.UserDeleted) -> None:
    """Delete the read states of a deleted user."""
    store.delete(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's read states for the export of their data."""
    entries = [
        {"channel_id": str(each.id), "last_message_id": str(each.last_message_id)}
        for each in store.list_all(call.tx, user_id)
    ]
    return {"read_states": entries}
