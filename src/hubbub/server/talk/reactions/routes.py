"""HTTP handlers for reactions."""

from hubbub.protocol.enums import ReactionType
from hubbub.protocol.ids import ChannelId, MessageId, UserId
from hubbub.protocol.resources import reactions as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.reactions import actions, emoji, rules, store


@handles(wire.LIST_MESSAGE_REACTIONS_BY_EMOJI)
def list_message_reactions_by_emoji(
    call: Call, channel_id: ChannelId, message_id: MessageId, emoji_name: str, query: wire.ListReactions
) -> list[User]:
    """List the users who reacted with an emoji.

    Users are ordered by ID."""
    messages.history.get(call.tx, channel_id, message_id)
    emoji_key = emoji.parse(emoji_name)
    rules.resolve_reaction(call.tx, message_id, emoji_key)
    user_ids = store.list_user_ids(call.tx, message_id, emoji_key.key, int(query.type), query.after or 0, query.limit)
    users_by_id = users.find_many(call.tx, user_ids)
    return [users.user_view(users_by_id[user_id]) for user_id in user_ids if user_id in users_by_id]


@handles(wire.ADD_MY_MESSAGE_REACTION)
def add_my_message_reaction(
    call: Call, channel_id: ChannelId, message_id: MessageId, emoji_name: str, query: wire.AddReaction
) -> None:
    """Add a reaction to a message.

    The caller needs ADD_REACTIONS unless the message already has a reaction with this emoji."""
    channel_access, message = _load_message(call, channel_id, message_id)
    emoji_key = emoji.parse(emoji_name)
    rules.require_not_read_only(channel_access)
    rules.require_not_blocked(call, message)
    if query.type == ReactionType.BURST:
        rules.require_can_burst(call)
    existing_reaction = store.find_one(call.tx, message_id, emoji_key.key)
    if existing_reaction is None:
        existing_reaction = rules.require_new_emoji(call, channel_access, message_id, emoji_key)
    row = existing_reaction._replace(user_id=call.user_id, burst=int(query.type), created_ms=call.now_ms)
    actions.add(call, channel_access.channel, message, row)


@handles(wire.DELETE_MY_MESSAGE_REACTION)
def delete_my_message_reaction(call: Call, channel_id: ChannelId, message_id: MessageId, emoji_name: str) -> None:
    """Remove the current user's reaction from a message."""
    channel_access, message = _load_message(call, channel_id, message_id)
    existing_reaction = rules.resolve_reaction(call.tx, message_id, emoji.parse(emoji_name))
    if existing_reaction is not None:
        actions.remove(call, channel_access.channel, message, existing_reaction, call.user_id)


@handles(wire.DELETE_USER_MESSAGE_REACTION)
def delete_user_message_reaction(
    call: Call, channel_id: ChannelId, message_id: MessageId, emoji_name: str, user_id: UserId
) -> None:
    """Remove a user's reaction from a message.

    The caller needs MANAGE_MESSAGES."""
    channel_access, message = _load_message_as_moderator(call, channel_id, message_id)
    existing_reaction = rules.resolve_reaction(call.tx, message_id, emoji.parse(emoji_name))
    if existing_reaction is not None:
        actions.remove(call, channel_access.channel, message, existing_reaction, user_id)


@handles(wire.DELETE_ALL_MESSAGE_REACTIONS)
def delete_all_message_reactions(call: Call, channel_id: ChannelId, message_id: MessageId) -> None:
    """Remove all reactions from a message.

    The caller needs MANAGE_MESSAGES."""
    channel_access, message = _load_message_as_moderator(call, channel_id, message_id)
    actions.clear(call, channel_access.channel, message)


@handles(wire.DELETE_ALL_MESSAGE_REACTIONS_BY_EMOJI)
def delete_all_message_reactions_by_emoji(
    call: Call, channel_id: ChannelId, message_id: MessageId, emoji_name: str
) -> None:
    """Remove all reactions with one emoji from a message.

    The caller needs MANAGE_MESSAGES."""
    channel_access, message = _load_message_as_moderator(call, channel_id, message_id)
    existing_reaction = rules.resolve_reaction(call.tx, message_id, emoji.parse(emoji_name))
    if existing_reaction is not None:
        actions.clear_emoji(call, channel_access.channel, message, existing_reaction)


def _load_message(call: Call, channel_id: ChannelId, message_id: MessageId) -> tuple[ChannelAccess, MessageRow]:
    """Return the caller's access to a channel that is not archived, and a message of the channel."""
    channel_access = access.get_channel_standing(call, channel_id)
    message = messages.history.get(call.tx, channel_id, message_id)
    rules.require_open(channel_access)
    return channel_access, message


def _load_message_as_moderator(
    call: Call, channel_id: ChannelId, message_id: MessageId
) -> tuple[ChannelAccess, MessageRow]:
    """Return the caller's access to a channel in which they may remove other users' reactions, and a message of the channel."""
    channel_access = access.get_channel_standing(call, channel_id)
    message = messages.history.get(call.tx, channel_id, message_id)
    rules.require_moderator(call, channel_access)
    rules.require_open(channel_access)
    return channel_access, message
