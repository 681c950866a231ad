"""Permission and validity checks for reactions."""

from hubbub.protocol import errors
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import reactions as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import READ_ONLY_REASON, Denial, PermissionDenied
from hubbub.server.core.store import Tx
from hubbub.server.identity import relationships, users
from hubbub.server.places.expressions import emojis
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.reactions import store
from hubbub.server.talk.reactions.emoji import ReactionEmoji
from hubbub.server.talk.reactions.store import ReactionRow


def require_open(channel_access: ChannelAccess) -> None:
    """Raise THREAD_ARCHIVED if the channel is an archived thread, whose reactions cannot change (spec/http.md#3.3)."""
    if channel_access.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_not_read_only(channel_access: ChannelAccess) -> None:
    """Raise MISSING_PERMISSIONS for members who are timed out, pending or quarantined.

    These members have read-only access, so they may not add to existing reactions either (decisions/0016)."""
    if channel_access.guild is not None and channel_access.guild.is_read_only:
        raise PermissionDenied(Denial(reason=READ_ONLY_REASON))


def require_new_emoji(call: Call, channel_access: ChannelAccess, message_id: int, emoji: ReactionEmoji) -> ReactionRow:
    """Return a reaction without user and time for an emoji that is new on a message, or raise an error.

    The caller needs ADD_REACTIONS and access to a custom emoji; a message has at most twenty different emoji (spec/http.md#3.4)."""
    template = ReactionRow(message_id, emoji.key, 0, 0, emoji.id, emoji.name, 0, 0)
    if emoji.id is None:
        channel_access.require(Permissions.ADD_REACTIONS)
    else:
        # An unknown emoji is reported before a missing permission.
        if emojis.find(call.tx, emoji.id) is None:
            raise errors.UNKNOWN_EMOJI()
        channel_access.require(Permissions.ADD_REACTIONS)
        custom_emoji = emojis.require_usable_emoji(call, channel_access, emoji.id)
        template = template._replace(emoji_name=custom_emoji.name, animated=custom_emoji.animated)
    if store.count_emojis(call.tx, message_id) >= wire.REACTIONS_MAX:
        raise errors.MAX_REACTIONS()
    return template


def require_not_blocked(call: Call, message: MessageRow) -> None:
    """Raise REACTION_BLOCKED if the author of the message blocked the caller, who may also be a bot (spec/http.md#1.9)."""
    relationship = relationships.find(call.tx, message.author_id, call.user_id)
    if relationship is not None and relationship.type == RelationshipType.BLOCKED:
        raise errors.REACTION_BLOCKED()


def require_can_burst(call: Call) -> None:
    """Raise BURST_REACTIONS_UNAVAILABLE unless the caller is a user with premium (spec/http.md#1.9)."""
    user = None if call.actor.is_bot else users.find(call.tx, call.user_id)
    if user is None or not user.premium_type:
        raise errors.BURST_REACTIONS_UNAVAILABLE()


def require_moderator(call: Call, channel_access: ChannelAccess) -> None:
    """Raise an error unless the caller may remove other users' reactions, which is not possible in private channels."""
    if channel_access.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_MESSAGES)


def resolve_reaction(tx: Tx, message_id: int, emoji: ReactionEmoji) -> ReactionRow | None:
    """Return any user's reaction with an emoji to a message, or None.

    Raise UNKNOWN_EMOJI for a custom emoji without reactions on the message."""
    reaction = store.find_one(tx, message_id, emoji.key)
    if reaction is None and emoji.id is not None:
        raise errors.UNKNOWN_EMOJI()
    return reaction
