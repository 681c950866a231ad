"""Who may react, and with what."""

from hubbub.protocol import errors
from hubbub.protocol.enums import RelationshipType
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import reactions as wire
from hubbub.server.core import access
from hubbub.server.core.access import ChannelAccess
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import emojis, relationships, users
from hubbub.server.resources.messages import MessageRow
from hubbub.server.resources.reactions import store
from hubbub.server.resources.reactions.emoji import EmojiKey
from hubbub.server.resources.reactions.store import ReactionRow


def require_open(here: ChannelAccess) -> None:
    """http.md 3.3: reactions come and go only while a thread is not archived."""
    if here.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_active(here: ChannelAccess) -> None:
    """Who is timed out or pending only reads, so they do not even join in a reaction that is there (decisions/0016)."""
    if here.guild is not None and here.guild.only_reads:
        raise errors.MISSING_PERMISSIONS()


def require_first(call: Call, here: ChannelAccess, message_id: int, emoji: EmojiKey) -> ReactionRow:
    """http.md 3.4: the first to use an emoji needs ADD_REACTIONS, and must be able to use it if it is a custom one; a message has
    at most twenty of them. Answers how it will look."""
    look = ReactionRow(message_id, emoji.key, 0, 0, emoji.id, emoji.name, 0, 0)
    if emoji.id is None:
        here.require(Permissions.ADD_REACTIONS)
    else:
        # What nobody knows is unknown before anything is forbidden.
        if emojis.find(call.tx, emoji.id) is None:
            raise errors.UNKNOWN_EMOJI()
        here.require(Permissions.ADD_REACTIONS)
        custom = emojis.require_use(call, here, emoji.id)
        look = look._replace(emoji_name=custom.name, animated=custom.animated)
    if store.count_emojis(call.tx, message_id) >= wire.REACTIONS_MAX:
        raise errors.MAX_REACTIONS()
    return look


def require_welcome(call: Call, message: MessageRow) -> None:
    """Whom an author blocks, bot or not, does not react to their messages (http.md 1.9)."""
    known = relationships.find(call.tx, message.author_id, call.user_id)
    if known is not None and known.type == RelationshipType.BLOCKED:
        raise errors.REACTION_BLOCKED()


def require_burst(call: Call) -> None:
    """Burst reactions are for people with premium (http.md 1.9)."""
    person = None if call.actor.is_bot else users.find(call.tx, call.user_id)
    if person is None or not person.premium_type:
        raise errors.BURST_REACTIONS_UNAVAILABLE()


def require_moderator(call: Call, here: ChannelAccess) -> None:
    """Others' reactions are a moderator's business, and a conversation has no moderators."""
    if here.guild is None:
        raise errors.CANNOT_EXECUTE_ON_DM()
    access.require_channel(call, here.channel.id, Permissions.MANAGE_MESSAGES)


def find_standing(tx: Tx, message_id: int, emoji: EmojiKey) -> ReactionRow | None:
    """How an emoji looks on a message, None where it is not; a custom one that is not there is unknown."""
    found = store.find_one(tx, message_id, emoji.key)
    if found is None and emoji.id is not None:
        raise errors.UNKNOWN_EMOJI()
    return found
