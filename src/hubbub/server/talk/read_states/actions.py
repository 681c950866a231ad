"""Update, export and delete read states and mentions, and publish changed read states to the user's sessions."""

from collections.abc import Mapping, Sequence
from typing import Any

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity import users
from hubbub.server.identity.imports import ImportedMessageKey
from hubbub.server.places import channels, guilds
from hubbub.server.talk import messages
from hubbub.server.talk.read_states import mentions, store


def mark_read(
    call: Call, message_ids_by_channel: Mapping[ChannelId, MessageId], *, allows_backward: bool = False
) -> None:
    """Set the read states of the caller; `message_ids_by_channel` has the ID of the last read message by channel ID.

    A lower message ID than the stored one is ignored, since clients may report in any order, unless `allows_backward` is set,
    which clients request when a user marks a message as unread."""
    current_ids = store.find_many(call.tx, call.user_id, message_ids_by_channel)
    changed_ids = {
        channel_id: message_id
        for channel_id, message_id in message_ids_by_channel.items()
        if channel_id not in current_ids
        or message_id > current_ids[channel_id]
        or (allows_backward and message_id != current_ids[channel_id])
    }
    store.put(call.tx, call.user_id, changed_ids)
    for channel_id, message_id in changed_ids.items():
        payload = wire.MessageAcked(channel_id=channel_id, message_id=message_id)
        if allows_backward:
            payload.manual = True
            payload.mention_count = sum(state.mention_count for state in mentions.list_read_states(call, channel_id))
        call.tx.emit(wire.MESSAGE_ACK, payload, UserAudience.of(call.user_id))


def on_guild_imported(call: Call, signal: guilds.creation.GuildImported) -> None:
    """Mark the messages of an imported guild as read by its owner."""
    last_ids = {
        ChannelId(row.id): MessageId(row.last_message_id)
        for row in channels.list_guild_channels(call.tx, signal.guild_id)
        if row.last_message_id is not None
    }
    store.put(call.tx, signal.owner_id, last_ids)


def on_messages_imported(call: Call, signal: messages.signals.MessagesImported) -> None:
    """Store the mentions of users in imported messages.

    Mentions of roles are not stored: they are older than the membership of every user who can log in, so they are never unread."""
    for row in signal.rows:
        if row.mentions is not None:
            store.insert_mentions(call.tx, codec.decode(row.mentions, list[UserId]), row, signal.guild_id)


def on_channels_deleting(call: Call, signal: channels.signals.ChannelsDeleting) -> None:
    """Delete the read states and mentions of deleted channels."""
    store.delete_channel_states(call.tx, signal.channel_ids)
    store.delete_channel_mentions(call.tx, signal.channel_ids)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the read states and mentions of a deleted user."""
    store.delete_user_states(call.tx, signal.user_id)
    store.delete_user_mentions(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's read states for the export of their data."""
    read_states = [
        {"channel_id": str(channel_id), "last_message_id": str(message_id)}
        for channel_id, message_id in store.find_last_ids(call.tx, user_id).items()
    ]
    return {"read_states": read_states}


def reassign_mentions(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Transfer the mentions of a placeholder account to a user."""
    store.reassign_mentions(call.tx, [key.message_id for key in keys], placeholder_id, user_id)
