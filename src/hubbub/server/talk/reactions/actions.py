"""Add, remove, reassign and export reactions, and publish their events."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import ReactionType
from hubbub.protocol.ids import ChannelId, EmojiId, MessageId, UserId
from hubbub.protocol.resources import reactions as wire
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.server.core.call import Call
from hubbub.server.identity.imports import ImportedMessageKey
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.reactions import store
from hubbub.server.talk.reactions.store import ReactionRow

BATCH_SIZE: Final = 100
"""Number of reactions that one transaction of the deletion of an account deletes."""


def add(call: Call, channel: ChannelRef, message: MessageRow, row: ReactionRow) -> None:
    """Add the reaction `row` to a message. Do nothing if it exists."""
    if not store.insert(call.tx, row._replace(channel_id=channel.id)):
        return
    messages.changes.set_reacted(call.tx, channel.id, message.id, True)
    payload = wire.ReactionAdded(
        user_id=UserId(row.user_id),
        channel_id=channel.id,
        message_id=MessageId(message.id),
        emoji=_partial_emoji(row),
        burst=bool(row.burst),
        type=row.burst,
        # The author of a webhook's message is not a user.
        message_author_id=UserId(message.author_id) if message.is_user_authored else UNSET,
    )
    if row.burst == ReactionType.BURST:
        payload.burst_colors = []
    if channel.guild_id is not None:
        payload.guild_id = channel.guild_id
        member = members.views.find_views(call.tx, channel.guild_id, [row.user_id]).get(row.user_id)
        if member is not None:
            payload.member = member
    call.tx.emit(wire.MESSAGE_REACTION_ADD, payload, messages.audience(call, channel))


def remove(call: Call, channel: ChannelRef, message: MessageRow, existing_reaction: ReactionRow, user_id: int) -> None:
    """Remove a user's reactions with the emoji of `existing_reaction`, which is any user's reaction to the message.

    Do nothing if the user has none."""
    burst_values = store.delete_user_reactions(call.tx, message.id, existing_reaction.emoji, user_id)
    if not burst_values:
        return
    _update_reacted_flag(call, channel, message.id)
    for burst in burst_values:
        _publish_removal(call, channel, existing_reaction._replace(user_id=user_id, burst=burst))


def delete_by_user(call: Call, user_id: UserId) -> bool:
    """Delete a batch of a user's reactions and publish their removal. Return whether the user may have more reactions.

    The removal of a reaction that an earlier version stored is not published, because its channel is unknown."""
    rows = store.list_by_user(call.tx, user_id, BATCH_SIZE)
    channels_by_id: dict[int, ChannelRef | None] = {}
    for row in rows:
        store.delete_user_reactions(call.tx, row.message_id, row.emoji, user_id)
        if row.channel_id is None:
            continue
        if row.channel_id not in channels_by_id:
            channels_by_id[row.channel_id] = access.find_channel(call.tx, row.channel_id)
        if (channel := channels_by_id[row.channel_id]) is not None:
            _update_reacted_flag(call, channel, row.message_id)
            _publish_removal(call, channel, row)
    return len(rows) == BATCH_SIZE


def _publish_removal(call: Call, channel: ChannelRef, row: ReactionRow) -> None:
    payload = wire.ReactionRemoved(
        user_id=UserId(row.user_id),
        channel_id=channel.id,
        message_id=MessageId(row.message_id),
        emoji=_partial_emoji(row),
        burst=bool(row.burst),
        type=row.burst,
        guild_id=channel.guild_id or UNSET,
    )
    call.tx.emit(wire.MESSAGE_REACTION_REMOVE, payload, messages.audience(call, channel))


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's reactions for the export of their data."""
    return {
        "reactions": [
            {
                "message_id": str(row.message_id),
                "channel_id": None if row.channel_id is None else str(row.channel_id),
                "emoji": row.emoji_name,
                "emoji_id": None if row.emoji_id is None else str(row.emoji_id),
                "created_at": codec.timestamp(row.created_ms),
            }
            for row in store.list_by_user(call.tx, user_id)
        ]
    }


def clear(call: Call, channel: ChannelRef, message: MessageRow) -> None:
    """Remove all reactions from a message."""
    if not store.delete_message_reactions(call.tx, message.id):
        return
    _update_reacted_flag(call, channel, message.id)
    payload = wire.ReactionsCleared(
        channel_id=channel.id, message_id=MessageId(message.id), guild_id=channel.guild_id or UNSET
    )
    call.tx.emit(wire.MESSAGE_REACTION_REMOVE_ALL, payload, messages.audience(call, channel))


def clear_emoji(call: Call, channel: ChannelRef, message: MessageRow, existing_reaction: ReactionRow) -> None:
    """Remove all reactions with the emoji of `existing_reaction` from a message."""
    store.delete_emoji_reactions(call.tx, message.id, existing_reaction.emoji)
    _update_reacted_flag(call, channel, message.id)
    payload = wire.EmojiReactionsCleared(
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message.id),
        guild_id=channel.guild_id or UNSET,
        emoji=_partial_emoji(existing_reaction),
    )
    call.tx.emit(wire.MESSAGE_REACTION_REMOVE_EMOJI, payload, messages.audience(call, channel))


def _update_reacted_flag(call: Call, channel: ChannelRef, message_id: int) -> None:
    """Record that a message has no reactions left, if so, because reads of such messages skip the reactions table."""
    if not store.has_any(call.tx, message_id):
        messages.changes.set_reacted(call.tx, channel.id, message_id, False)


def _partial_emoji(row: ReactionRow) -> PartialEmoji:
    return PartialEmoji(
        id=None if row.emoji_id is None else EmojiId(row.emoji_id),
        name=row.emoji_name,
        animated=True if row.animated else UNSET,
    )


def on_messages_deleted(call: Call, signal: messages.signals.MessagesDeleted) -> None:
    """Delete the reactions to deleted messages."""
    store.delete_reactions_to_messages(call.tx, [row.id for row in signal.rows if row.reacted])


def on_messages_imported(call: Call, signal: messages.signals.MessagesImported) -> None:
    """Store the channel of imported reactions."""
    store.set_channels(call.tx, [(row.channel_id, row.id) for row in signal.rows if row.reacted])


def reassign_reactions(
    call: Call, guild_id: int, keys: Sequence[ImportedMessageKey], placeholder_id: UserId, user_id: UserId
) -> None:
    """Transfer the reactions of a placeholder account to a user."""
    store.reassign(call.tx, [key.message_id for key in keys], placeholder_id, user_id)
