"""Adding and removing reactions: write, publish."""

from msgspec import UNSET

from hubbub.protocol.enums import ReactionType
from hubbub.protocol.ids import ChannelId, EmojiId, MessageId, UserId
from hubbub.protocol.resources import reactions as wire
from hubbub.protocol.resources.emojis import PartialEmoji
from hubbub.server.core.access import ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources import members, messages
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.reactions import store
from hubbub.server.resources.reactions.store import ReactionRow


def add(call: Call, channel: ChannelRef, message: MessageRow, row: ReactionRow) -> None:
    """Keep a reaction of the caller; nothing happens when it was there."""
    if not store.insert(call.tx, row):
        return
    messages.set_reacted(call.tx, channel.id, message.id, True)
    payload = wire.ReactionAdded(
        user_id=UserId(row.user_id),
        channel_id=channel.id,
        message_id=MessageId(message.id),
        emoji=_partial(row),
        burst=bool(row.burst),
        type=row.burst,
        # A webhook's message has no user for an author.
        message_author_id=UserId(message.author_id) if message.of_user else UNSET,
    )
    if row.burst == ReactionType.BURST:
        payload.burst_colors = []
    if channel.guild_id is not None:
        payload.guild_id = channel.guild_id
        member = members.find_views(call.tx, channel.guild_id, [row.user_id]).get(row.user_id)
        if member is not None:
            payload.member = member
    call.tx.emit(wire.MESSAGE_REACTION_ADD, payload, messages.audience(call, channel))


def remove(call: Call, channel: ChannelRef, message: MessageRow, standing: ReactionRow, user_id: int) -> None:
    """Take a user's reaction away; nothing happens when there is none."""
    kinds = store.delete_one(call.tx, message.id, standing.emoji, user_id)
    if not kinds:
        return
    _settle(call, channel, message)
    audience = messages.audience(call, channel)
    for burst in kinds:
        payload = wire.ReactionRemoved(
            user_id=UserId(user_id),
            channel_id=channel.id,
            message_id=MessageId(message.id),
            emoji=_partial(standing),
            burst=bool(burst),
            type=burst,
            guild_id=channel.guild_id or UNSET,
        )
        call.tx.emit(wire.MESSAGE_REACTION_REMOVE, payload, audience)


def clear(call: Call, channel: ChannelRef, message: MessageRow) -> None:
    """Take all reactions of a message away."""
    if not store.delete_of_message(call.tx, message.id):
        return
    _settle(call, channel, message)
    payload = wire.ReactionsCleared(
        channel_id=channel.id, message_id=MessageId(message.id), guild_id=channel.guild_id or UNSET
    )
    call.tx.emit(wire.MESSAGE_REACTION_REMOVE_ALL, payload, messages.audience(call, channel))


def clear_emoji(call: Call, channel: ChannelRef, message: MessageRow, standing: ReactionRow) -> None:
    """Take all reactions of one emoji away."""
    store.delete_of_emoji(call.tx, message.id, standing.emoji)
    _settle(call, channel, message)
    payload = wire.EmojiReactionsCleared(
        channel_id=ChannelId(channel.id),
        message_id=MessageId(message.id),
        guild_id=channel.guild_id or UNSET,
        emoji=_partial(standing),
    )
    call.tx.emit(wire.MESSAGE_REACTION_REMOVE_EMOJI, payload, messages.audience(call, channel))


def _settle(call: Call, channel: ChannelRef, message: MessageRow) -> None:
    """A message without reactions is read without looking for them."""
    if not store.has_any(call.tx, message.id):
        messages.set_reacted(call.tx, channel.id, message.id, False)


def _partial(row: ReactionRow) -> PartialEmoji:
    return PartialEmoji(
        id=None if row.emoji_id is None else EmojiId(row.emoji_id),
        name=row.emoji_name,
        animated=True if row.animated else UNSET,
    )
