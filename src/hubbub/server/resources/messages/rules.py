"""Who may speak where, and do what with which message."""

from collections.abc import Sequence
from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType, InGameMessages, MessageType, VerificationLevel
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import access as core_access
from hubbub.server.core import quotas
from hubbub.server.core.access import ChannelAccess, ChannelRef
from hubbub.server.core.call import Call
from hubbub.server.resources import relationships, user_settings
from hubbub.server.resources.messages import columns, store, views
from hubbub.server.resources.messages.facts import DirectMessageDrafted
from hubbub.server.resources.messages.records import Author, MessageRow

SPOKEN_IN: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.DM,
        ChannelType.GUILD_VOICE,
        ChannelType.GROUP_DM,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.ANNOUNCEMENT_THREAD,
        ChannelType.PUBLIC_THREAD,
        ChannelType.PRIVATE_THREAD,
        ChannelType.GUILD_STAGE_VOICE,
    }
)
FORUMS: Final = frozenset({ChannelType.GUILD_FORUM, ChannelType.GUILD_MEDIA})

# http.md 1.7: a system message cannot be replied to; these are what somebody said, or what an app said for them.
SAID: Final = frozenset(
    {MessageType.DEFAULT, MessageType.REPLY, MessageType.CHAT_INPUT_COMMAND, MessageType.CONTEXT_MENU_COMMAND}
)

REGISTERED_MS: Final = 5 * 60_000
"""Level MEDIUM and above: how long one must have been registered."""
JOINED_MS: Final = 10 * 60_000
"""Level HIGH and above: how long one must have been a member."""

FORWARDED_BYTES_MAX: Final = 100 << 20
FORWARDED_BYTES_MS: Final = 60_000
"""http.md 1.14: forwards are also limited by the attachments they carry."""


def require_send(call: Call, access: ChannelAccess) -> Author:
    """The caller as an author who may speak in a channel, or why not."""
    channel = access.channel
    if channel.type not in SPOKEN_IN:
        raise (errors.CANNOT_SEND_IN_FORUM if channel.type in FORUMS else errors.CANNOT_SEND_IN_CHANNEL)()
    # In threads this bit already stands for SEND_MESSAGES_IN_THREADS.
    if not access.allowed & Permissions.SEND_MESSAGES:
        raise errors.MISSING_PERMISSIONS()
    author = require_author(call, channel)
    if channel.guild_id is None:
        _require_reachable(call, channel)
    else:
        if channel.locked and not access.can(Permissions.MANAGE_THREADS):
            raise errors.THREAD_LOCKED()
        if author.verification_level:
            _require_verified(call, access, author)
    return author


def require_author(call: Call, channel: ChannelRef, user_id: int | None = None) -> Author:
    """A user about to speak, with their membership."""
    author = store.find_author(call.tx, channel.guild_id, call.user_id if user_id is None else user_id)
    if author is None:
        raise errors.UNKNOWN_USER()
    return author


def _require_verified(call: Call, access: ChannelAccess, author: Author) -> None:
    """What a guild demands of people who have no role in it."""
    if author.user.bot or access.guild is None or len(access.guild.roles) > 1 or access.guild.owns:
        return
    level = author.verification_level
    joined_ms = call.now if author.member is None else author.member.joined_ms
    met = bool(author.user.verified)
    if level >= VerificationLevel.MEDIUM:
        met = met and call.now - Snowflake(author.user.id).created_ms >= REGISTERED_MS
    if level >= VerificationLevel.HIGH:
        met = met and call.now - joined_ms >= JOINED_MS
    if not met:
        raise errors.VERIFICATION_LEVEL_TOO_HIGH()


def _require_reachable(call: Call, channel: ChannelRef) -> None:
    """A bot reaches people it shares a guild with, and no other bot; others may have more to say about it."""
    if channel.type != ChannelType.DM:
        return
    for user_id, bot in store.recipients(call.tx, channel.id):
        if user_id == call.user_id:
            continue
        if call.actor.is_bot:
            if bot:
                raise errors.CANNOT_MESSAGE_USER()
            if not store.share_a_guild(call.tx, call.user_id, user_id):
                raise errors.NO_MUTUAL_GUILDS()
        call.tell(DirectMessageDrafted(channel=channel, recipient_id=UserId(user_id)))


def heard_in_games(call: Call, people: Sequence[int]) -> dict[int, frozenset[int]]:
    """Who of the two in a direct channel hears what is said there in some families' games only (sdk.md 9.3)."""
    heard: dict[int, frozenset[int]] = {}
    for user_id, settings in user_settings.find_some(call.tx, people).items():
        decided = settings.slayer_sdk_receive_dms_in_game
        if decided == InGameMessages.NONE:
            heard[user_id] = frozenset()
        elif decided == InGameMessages.USERS_WITH_GAME:
            other = next((each for each in people if each != user_id), user_id)
            heard[user_id] = frozenset(relationships.Cast(call.tx, (other,)).families(other))
    return heard


def is_slowed(call: Call, access: ChannelAccess) -> bool:
    """Whether slowmode holds for the caller here: bots are never slowed, others unless they may bypass it."""
    if not access.channel.rate_limit_per_user or call.actor.is_bot:
        return False
    bits = Permissions.BYPASS_SLOWMODE if changes.BYPASS_SLOWMODE_INTRODUCED.active(call.now) else 0
    if not changes.PERMISSION_SPLITS.active(call.now):
        bits |= Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS
    return not access.allowed & bits


def require_patience(call: Call, access: ChannelAccess) -> None:
    """Raise SLOWMODE_RATE_LIMIT for one who spoke too lately."""
    last_ms = store.last_spoke(call.tx, access.channel.id, call.user_id)
    if last_ms is None or last_ms > call.now:
        return
    left_ms = last_ms + access.channel.rate_limit_per_user * 1000 - call.now
    if left_ms > 0:
        raise errors.SLOWMODE_RATE_LIMIT(retry_after=left_ms / 1000, **{"global": False})


def require_history(call: Call, access: ChannelAccess) -> bool:
    """Whether the caller may read what was said here; raises where nothing is ever said, or they are not let in."""
    if access.channel.type not in SPOKEN_IN:
        raise errors.CANNOT_SEND_IN_CHANNEL()
    if access.channel.is_voice:
        access.require(Permissions.CONNECT)
    return access.can(Permissions.READ_MESSAGE_HISTORY)


def can_read_history(access: ChannelAccess) -> bool:
    """Whether the caller may read what was said here, where something is said; in voice channels they must be let in."""
    bits = Permissions.READ_MESSAGE_HISTORY | (Permissions.CONNECT if access.channel.is_voice else 0)
    return access.channel.type in SPOKEN_IN and access.can(bits)


def require_repliable(access: ChannelAccess, reference: wire.MessageReferenceRequest) -> None:
    """Raise unless the caller may reply here to a message of this channel."""
    if not access.can(Permissions.READ_MESSAGE_HISTORY):
        raise errors.REPLY_NEEDS_READ_MESSAGE_HISTORY()
    if reference.channel_id and reference.channel_id != access.channel.id:
        raise errors.invalid("message_reference", *errors.reply_other_channel())


def require_forwardable(call: Call, source: ChannelRef, row: MessageRow) -> None:
    """Raise unless a message can be forwarded, by this caller."""
    if row.type not in wire.FORWARDABLE_TYPES or columns.extra(row).poll is not None:
        raise errors.INVALID_MESSAGE_TYPE()
    # A forward is carried on as its snapshot, so that is what is read.
    carried = columns.snapshots(row) or (row,)
    if changes.FORWARD_READABLE_CONTENT.active(call.now) and not all(
        views.readable(call.actor, each, source.guild_id) for each in carried
    ):
        raise errors.FORWARD_NEEDS_READABLE_CONTENT()


def require_forwards_left(call: Call) -> None:
    """Raise RATE_LIMITED for one who forwarded too much lately, by number or by bytes."""
    if call.config.rate_limits != "real":
        return
    window_ms = round(wire.FORWARD_LIMIT.seconds * 1000)
    lately = store.forwards_since(call.tx, call.user_id, Snowflake.at(call.now - FORWARDED_BYTES_MS))
    recent = [each for each, _ in lately if Snowflake(each).created_ms > call.now - window_ms]
    if len(recent) >= wire.FORWARD_LIMIT.calls:
        _refuse(Snowflake(recent[0]).created_ms + window_ms - call.now)
    if sum(columns.forwarded_bytes(kept) for _, kept in lately) > FORWARDED_BYTES_MAX:
        _refuse(Snowflake(lately[0][0]).created_ms + FORWARDED_BYTES_MS - call.now)


def _refuse(left_ms: int) -> None:
    raise errors.RATE_LIMITED(retry_after=max(1, left_ms) / 1000, **{"global": False})


def require_edit(call: Call, access: ChannelAccess, row: MessageRow, body: wire.UpdateMessage) -> bool:
    """Whether the caller edits as the author; others may only suppress embeds, and raise CANNOT_EDIT_OTHERS_MESSAGE else."""
    require_open(access)
    if access.channel.locked and not access.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()
    only_flags = body.flags is not UNSET and not _changes_content(call, body)
    if row.author_id != call.user_id:
        if not only_flags:
            raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
        core_access.require_channel(call, access.channel.id, Permissions.MANAGE_MESSAGES)
        return False
    if row.type not in SAID:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()
    if body.sticker_ids:
        raise errors.CANNOT_EDIT_STICKERS()
    if _changes_content(call, body):
        if row.flags & MessageFlags.IS_VOICE_MESSAGE:
            raise errors.VOICE_MESSAGE_CANNOT_EDIT()
        if row.extra is not None and columns.extra(row).poll is not None:
            raise errors.POLL_CANNOT_EDIT()
    return True


def count_edit(call: Call, row: MessageRow) -> None:
    """Hold an edit against the limits of old messages (30046) and of published ones (20022)."""
    if call.now - row.created_ms > wire.OLD_MESSAGE_AGE.total_seconds() * 1000:
        quotas.take(call, "old edit", row.channel_id, wire.OLD_EDIT_LIMIT, user_id=call.user_id)
    if row.flags & MessageFlags.CROSSPOSTED:
        quotas.take(call, "published edit", row.channel_id, wire.ANNOUNCEMENT_EDIT_LIMIT, user_id=call.user_id)


def _changes_content(call: Call, body: wire.UpdateMessage) -> bool:
    return bool(call.files) or any(
        getattr(body, name) is not UNSET
        for name in ("content", "embeds", "components", "attachments", "allowed_mentions")
    )


def require_open(access: ChannelAccess) -> None:
    """Raise THREAD_ARCHIVED in a thread that is closed: its messages stay as they are (http.md 3.3)."""
    if access.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_delete(call: Call, access: ChannelAccess, row: MessageRow) -> None:
    """Raise unless the caller may delete a message."""
    if row.author_id != call.user_id or row.type == MessageType.AUTO_MODERATION_ACTION:
        if access.guild is None:
            raise errors.CANNOT_EXECUTE_ON_DM()
        core_access.require_channel(call, access.channel.id, Permissions.MANAGE_MESSAGES)
    if row.type in wire.UNDELETABLE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()
    require_open(access)


def require_crosspost(call: Call, access: ChannelAccess, row: MessageRow) -> None:
    """Raise unless the caller may publish a message to the channels that follow."""
    if access.channel.type != ChannelType.GUILD_ANNOUNCEMENT:
        raise errors.WRONG_CHANNEL_TYPE()
    if row.author_id != call.user_id:
        core_access.require_channel(call, access.channel.id, Permissions.MANAGE_MESSAGES)
    if row.type != MessageType.DEFAULT or row.flags & MessageFlags.IS_CROSSPOST:
        raise errors.INVALID_MESSAGE_TYPE()
    if row.flags & MessageFlags.CROSSPOSTED:
        raise errors.ALREADY_CROSSPOSTED()
