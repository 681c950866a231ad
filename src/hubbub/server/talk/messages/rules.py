"""Rules for sending, reading, forwarding, editing, crossposting and deleting messages."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import (
    FORUM_TYPES,
    USER_MESSAGE_TYPES,
    ChannelType,
    InGameMessages,
    MessageType,
    VerificationLevel,
)
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire
from hubbub.server.core import new_accounts, quotas
from hubbub.server.core.call import Call
from hubbub.server.core.denials import PermissionDenied
from hubbub.server.identity import applications, relationships, user_settings
from hubbub.server.places import channels
from hubbub.server.places.standing import ChannelAccess, ChannelRef, access
from hubbub.server.talk.attachments import StoredAttachment
from hubbub.server.talk.messages import authors, ports, store, views
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import Author, MessageRow

PartialViews = Sequence[tuple[frozenset[int], wire.DispatchedMessage]]
"""Sets of users who may read only some parts of a message, each with its redacted message."""

MESSAGE_CHANNEL_TYPES: Final = frozenset(
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

ACCOUNT_AGE_MIN_MS: Final = 5 * 60_000
"""Minimum account age in milliseconds for verification level MEDIUM and above."""
MEMBERSHIP_AGE_MIN_MS: Final = 10 * 60_000
"""Minimum membership age in milliseconds for verification level HIGH and above."""

FORWARDED_BYTES_MAX: Final = 100 << 20
"""Maximum number of attachment bytes that a user can forward within `FORWARDED_BYTES_WINDOW_MS` (spec/http.md#1.14)."""
FORWARDED_BYTES_WINDOW_MS: Final = 60_000
_UPLOAD_MAX_MS: Final = 120_000
"""Maximum time from the start of an upload to the creation of the message that contains it, in milliseconds."""
_LINK_PATTERN: Final = re.compile(r"https?://|\bwww\.", re.IGNORECASE)
_CLOCK_DIFFERENCE_MAX_MS: Final = 1000
"""Maximum time by which the ID of a message may precede the ID of its attachment, in milliseconds."""


def require_can_send(call: Call, channel_access: ChannelAccess) -> Author:
    """Return the caller as an author; raise unless they may send messages in the channel."""
    channel = channel_access.channel
    if channel.type not in MESSAGE_CHANNEL_TYPES:
        raise (errors.CANNOT_SEND_IN_FORUM if channel.type in FORUM_TYPES else errors.CANNOT_SEND_IN_CHANNEL)()
    # In threads, the bit of SEND_MESSAGES already represents SEND_MESSAGES_IN_THREADS.
    if not channel_access.allowed & Permissions.SEND_MESSAGES:
        raise PermissionDenied(channel_access.build_denial(Permissions.SEND_MESSAGES))
    author = require_author(call, channel)
    if channel.guild_id is None:
        _require_reachable(call, channel)
    else:
        if channel.locked and not channel_access.can(Permissions.MANAGE_THREADS):
            raise errors.THREAD_LOCKED()
        if author.verification_level:
            _require_verified(call, channel_access, author)
    return author


def require_author(call: Call, channel: ChannelRef, user_id: int | None = None) -> Author:
    """Return a user, by default the caller, as a message author with their membership.

    Raise UNKNOWN_USER if the user does not exist."""
    author = authors.find_channel_author(call.tx, channel.id, call.user_id if user_id is None else user_id)
    if author is None:
        raise errors.UNKNOWN_USER()
    return author


def _require_verified(call: Call, channel_access: ChannelAccess, author: Author) -> None:
    """Raise unless a member without roles meets the guild's verification level."""
    if (
        author.user.bot
        or channel_access.guild is None
        or len(channel_access.guild.permissions_by_role) > 1
        or channel_access.guild.is_owner
    ):
        return
    level = author.verification_level
    joined_ms = call.now_ms if author.member is None else author.member.joined_ms
    is_verified = bool(author.user.verified)
    if level >= VerificationLevel.MEDIUM:
        is_verified = is_verified and call.now_ms - Snowflake(author.user.id).created_ms >= ACCOUNT_AGE_MIN_MS
    if level >= VerificationLevel.HIGH:
        is_verified = is_verified and call.now_ms - joined_ms >= MEMBERSHIP_AGE_MIN_MS
    if not is_verified:
        raise errors.VERIFICATION_LEVEL_TOO_HIGH()


def _require_reachable(call: Call, channel: ChannelRef) -> None:
    """Raise unless the recipients of a direct message can be messaged.

    Bots need a mutual guild and cannot message bots; `ports.check_direct_message` applies the other rules."""
    if channel.type != ChannelType.DM:
        return
    for user_id, is_bot in store.list_recipients(call.tx, channel.id):
        if user_id == call.user_id:
            continue
        if call.actor.is_bot:
            if is_bot:
                raise errors.CANNOT_MESSAGE_USER()
            if not store.have_mutual_guild(call.tx, call.user_id, user_id):
                raise errors.NO_MUTUAL_GUILDS()
        ports.check_direct_message(call, user_id)


def require_links_allowed(call: Call, author: Author, texts: Iterable[str]) -> None:
    """Reject links of a new account (decisions/0138). Messages of apps and webhooks are not limited."""
    if call.config.protection.allow_new_account_links or not new_accounts.is_limited(call):
        return
    if author.user.id == call.user_id and author.webhook_id is None and any(map(_LINK_PATTERN.search, texts)):
        wait_text = new_accounts.describe_wait(call)
        raise errors.AUTO_MODERATION_BLOCKED_MESSAGE(message=f"A new account cannot send links. {wait_text}")


def find_in_game_families(call: Call, user_ids: Sequence[int]) -> dict[int, frozenset[int]]:
    """Return the IDs of the application families in which each user of a DM receives its messages (spec/sdk.md#9.3).

    The result has no entry for users who receive the messages in all applications."""
    family_ids_by_user: dict[int, frozenset[int]] = {}
    for user_id, settings in user_settings.find_many(call.tx, user_ids).items():
        setting = settings.slayer_sdk_receive_dms_in_game
        if setting == InGameMessages.NONE:
            family_ids_by_user[user_id] = frozenset()
        elif setting == InGameMessages.USERS_WITH_GAME:
            other_id = next((recipient_id for recipient_id in user_ids if recipient_id != user_id), user_id)
            family_ids_by_user[user_id] = frozenset(
                relationships.PlayerDirectory(call.tx, (other_id,)).find_family_ids(other_id)
            )
    return family_ids_by_user


def is_slowmode_applied(call: Call, channel_access: ChannelAccess) -> bool:
    """Return whether slowmode applies to the caller: never to bots, nor to users who may bypass it."""
    if not channel_access.channel.rate_limit_per_user or call.actor.is_bot:
        return False
    bypass_permissions = Permissions.BYPASS_SLOWMODE if changes.BYPASS_SLOWMODE_INTRODUCED.is_active(call.now_ms) else 0
    if not changes.PERMISSION_SPLITS.is_active(call.now_ms):
        bypass_permissions |= Permissions.MANAGE_MESSAGES | Permissions.MANAGE_CHANNELS | Permissions.MANAGE_THREADS
    return not channel_access.allowed & bypass_permissions


def require_slowmode_elapsed(call: Call, channel_access: ChannelAccess) -> None:
    """Raise SLOWMODE_RATE_LIMIT if the caller sent a message too recently."""
    channel = channel_access.channel
    wait_ms = channels.usage.compute_slow_mode_wait_ms(
        call.tx, channel.id, call.user_id, "message", channel.rate_limit_per_user, call.now_ms
    )
    if wait_ms:
        raise errors.SLOWMODE_RATE_LIMIT(retry_after=wait_ms / 1000, **{"global": False})


def require_message_channel(channel_access: ChannelAccess) -> None:
    """Raise if the channel cannot contain messages, or if the caller may not connect to a voice channel."""
    if channel_access.channel.type not in MESSAGE_CHANNEL_TYPES:
        raise errors.CANNOT_SEND_IN_CHANNEL()
    if channel_access.channel.is_voice:
        channel_access.require(Permissions.CONNECT)


def can_read_history(channel_access: ChannelAccess) -> bool:
    """Return whether the caller may read the channel's history; False where `require_message_channel` raises."""
    required_permissions = Permissions.READ_MESSAGE_HISTORY | (
        Permissions.CONNECT if channel_access.channel.is_voice else 0
    )
    return channel_access.channel.type in MESSAGE_CHANNEL_TYPES and channel_access.can(required_permissions)


def require_repliable(channel_access: ChannelAccess, reference: wire.MessageReferenceRequest) -> None:
    """Raise unless the caller may reply to messages of the channel and the reference is to the channel."""
    if not channel_access.can(Permissions.READ_MESSAGE_HISTORY):
        raise errors.REPLY_NEEDS_READ_MESSAGE_HISTORY()
    if reference.channel_id and reference.channel_id != channel_access.channel.id:
        raise errors.invalid("message_reference", *errors.reply_other_channel())


def require_forwardable(call: Call, source_channel: ChannelRef, row: MessageRow) -> None:
    """Raise unless the caller may forward the message."""
    if row.type not in wire.FORWARDABLE_TYPES or json_columns.extra(row).poll is not None:
        raise errors.INVALID_MESSAGE_TYPE()
    # Forwarding a forward copies its snapshot, so the snapshot must be readable.
    parts = json_columns.snapshots(row) or (row,)
    if changes.FORWARD_READABLE_CONTENT.is_active(call.now_ms) and not all(
        views.can_read(call.actor, part, source_channel.guild_id) for part in parts
    ):
        raise errors.FORWARD_NEEDS_READABLE_CONTENT()


def require_forward_quota(call: Call) -> None:
    """Raise RATE_LIMITED if the caller forwarded too many messages or bytes recently.

    The limit applies only if the `rate_limits` setting is "real"."""
    if call.config.rate_limits != "real":
        return
    window_ms = round(wire.FORWARD_LIMIT.seconds * 1000)
    forwards = store.list_forwards_since(call.tx, call.user_id, Snowflake.at(call.now_ms - FORWARDED_BYTES_WINDOW_MS))
    recent_ids = [
        message_id for message_id, _ in forwards if Snowflake(message_id).created_ms > call.now_ms - window_ms
    ]
    if len(recent_ids) >= wire.FORWARD_LIMIT.calls:
        _raise_rate_limited(Snowflake(recent_ids[0]).created_ms + window_ms - call.now_ms)
    if sum(json_columns.forwarded_bytes(snapshots_json) for _, snapshots_json in forwards) > FORWARDED_BYTES_MAX:
        oldest_id, _ = forwards[0]
        _raise_rate_limited(Snowflake(oldest_id).created_ms + FORWARDED_BYTES_WINDOW_MS - call.now_ms)


def _raise_rate_limited(remaining_ms: int) -> None:
    raise errors.RATE_LIMITED(retry_after=max(1, remaining_ms) / 1000, **{"global": False})


def require_can_edit(call: Call, channel_access: ChannelAccess, row: MessageRow, body: wire.UpdateMessage) -> None:
    """Raise unless the caller may edit the message. Callers other than the author may only suppress embeds."""
    require_unarchived(channel_access)
    if channel_access.channel.locked and not channel_access.can(Permissions.MANAGE_THREADS):
        raise errors.THREAD_LOCKED()
    changes_only_flags = body.flags is not UNSET and not _changes_content(call, body)
    if row.author_id != call.user_id:
        if not changes_only_flags:
            raise errors.CANNOT_EDIT_OTHERS_MESSAGE()
        access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_MESSAGES)
        return
    if row.type not in USER_MESSAGE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()
    if body.sticker_ids:
        raise errors.CANNOT_EDIT_STICKERS()
    if _changes_content(call, body):
        if row.flags & MessageFlags.IS_VOICE_MESSAGE:
            raise errors.VOICE_MESSAGE_CANNOT_EDIT()
        if row.extra is not None and json_columns.extra(row).poll is not None:
            raise errors.POLL_CANNOT_EDIT()


def consume_edit_quotas(call: Call, row: MessageRow) -> None:
    """Count an edit against the limits for old messages (error 30046) and crossposted messages (error 20022), or raise."""
    if call.now_ms - row.created_ms > wire.OLD_MESSAGE_AGE.total_seconds() * 1000:
        quotas.consume_quota(call, "old edit", row.channel_id, wire.OLD_EDIT_LIMIT, user_id=call.user_id)
    if row.flags & MessageFlags.CROSSPOSTED:
        quotas.consume_quota(call, "published edit", row.channel_id, wire.ANNOUNCEMENT_EDIT_LIMIT, user_id=call.user_id)


def _changes_content(call: Call, body: wire.UpdateMessage) -> bool:
    return bool(call.files) or any(
        getattr(body, field) is not UNSET
        for field in ("content", "embeds", "components", "attachments", "allowed_mentions")
    )


def require_unarchived(channel_access: ChannelAccess) -> None:
    """Raise THREAD_ARCHIVED in an archived thread, whose messages cannot change (spec/http.md#3.3)."""
    if channel_access.channel.archived:
        raise errors.THREAD_ARCHIVED()


def require_can_delete(call: Call, channel_access: ChannelAccess, row: MessageRow) -> None:
    """Raise unless the caller may delete the message."""
    if row.author_id != call.user_id or row.type == MessageType.AUTO_MODERATION_ACTION:
        if channel_access.guild is None:
            raise errors.CANNOT_EXECUTE_ON_DM()
        access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_MESSAGES)
    if row.type in wire.UNDELETABLE_TYPES:
        raise errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE()
    require_unarchived(channel_access)


def require_can_crosspost(call: Call, channel_access: ChannelAccess, row: MessageRow) -> None:
    """Raise unless the caller may crosspost the message."""
    if channel_access.channel.type != ChannelType.GUILD_ANNOUNCEMENT:
        raise errors.WRONG_CHANNEL_TYPE()
    if row.author_id != call.user_id:
        access.require_channel(call, channel_access.channel.id, Permissions.MANAGE_MESSAGES)
    if row.type != MessageType.DEFAULT or row.flags & MessageFlags.IS_CROSSPOST:
        raise errors.INVALID_MESSAGE_TYPE()
    if row.flags & MessageFlags.CROSSPOSTED:
        raise errors.ALREADY_CROSSPOSTED()


def has_attachment(call: Call, channel_id: int, attachment_id: int, filename: str) -> bool:
    """Return whether a message of a channel contains an attachment; only messages sent right after the upload are searched.

    Forwards, and messages to which a later edit added the attachment, are not found, which bounds the cost."""
    created_ms = Snowflake(attachment_id).created_ms
    first_id = Snowflake.at(created_ms - _CLOCK_DIFFERENCE_MAX_MS)
    last_id = Snowflake.at(created_ms + _UPLOAD_MAX_MS)
    return any(
        (attachment.id, attachment.filename) == (attachment_id, filename)
        for attachments_json in store.list_attachments_between(call.tx, channel_id, first_id, last_id)
        for attachment in codec.decode(attachments_json, list[StoredAttachment])
    )


def find_reader_ids(call: Call, row: MessageRow, mentioned_user_ids: Iterable[int]) -> frozenset[int]:
    """Return the IDs of the users who may read a message itself without the message content intent (spec/gateway.md#5.2).

    They are the author, the bot of its application, and the mentioned users."""
    # The author of an interaction response is already the app's bot: both have the ID of the application.
    has_other_bot = row.application_id is not None and row.application_id != row.author_id
    application = applications.find(call.tx, row.application_id or 0) if has_other_bot else None
    bot_ids = () if application is None or application.bot_id is None else (application.bot_id,)
    return frozenset((row.author_id, *bot_ids, *mentioned_user_ids))


def split_readers(
    call: Call,
    row: MessageRow,
    related_data: views.RelatedData,
    payload: wire.DispatchedMessage,
    reader_ids: frozenset[int],
) -> tuple[frozenset[int], PartialViews]:
    """Return the IDs of the bots that may read all parts of a message, and redacted messages for other bots.

    Parts are the message itself and the messages that it replies to or forwards. `reader_ids` are the IDs of the users who
    may read the message itself."""
    reader_ids_by_part = [reader_ids]
    for part in views.list_parts(related_data, row)[1:]:
        if isinstance(part, MessageRow):
            reader_ids_by_part.append(find_reader_ids(call, part, json_columns.mentions(part)))
        else:
            reader_ids_by_part.append(frozenset((part.author_id, *part.mentions)))
    user_ids_by_readable_parts: dict[tuple[bool, ...], set[int]] = {}
    for user_id in frozenset[int]().union(*reader_ids_by_part):
        user = related_data.users.get(user_id)
        # Users may read everything and need no redacted message.
        if user is None or user.bot:
            user_ids_by_readable_parts.setdefault(
                tuple(user_id in part_reader_ids for part_reader_ids in reader_ids_by_part), set()
            ).add(user_id)
    full_reader_ids = frozenset(user_ids_by_readable_parts.pop((True,) * len(reader_ids_by_part), ()))
    return full_reader_ids, [
        (frozenset(user_ids), views.redact_parts(payload, iter(readable_parts)))
        for readable_parts, user_ids in user_ids_by_readable_parts.items()
    ]
