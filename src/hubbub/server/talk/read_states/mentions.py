"""Mentions of users, roles and guilds: stored once per target, listed, and counted for read states (decisions/0103)."""

from collections.abc import Collection, Mapping
from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import messages as wire_messages
from hubbub.protocol.resources import read_states as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import relationships
from hubbub.server.places import members
from hubbub.server.places.standing import ChannelAccess, access
from hubbub.server.talk import messages, notification_settings
from hubbub.server.talk.messages.signals import MessageCreated, MessagesDeleted
from hubbub.server.talk.read_states import store
from hubbub.server.talk.read_states.store import MentionTarget

MENTION_LIFETIME_MS: Final = 90 * 24 * 3_600_000
"""Age in milliseconds up to which mentions are counted and listed."""
MENTION_ROWS_PER_QUERY: Final = 300
"""Maximum number of rows that one query reads. One message has fewer rows for the targets of a user, so each query makes
progress."""
MESSAGE_ID_MAX: Final = 2**63 - 1


def on_message_created(call: Call, signal: MessageCreated) -> None:
    """Store the mentions of a new message: one row for each user and role, and one for @everyone."""
    row, channel = signal.row, signal.channel
    if not (signal.mentions or signal.mention_roles or row.mention_everyone):
        return
    target_ids: list[int] = [*signal.mentions, *signal.mention_roles]
    if row.mention_everyone and channel.guild_id is not None:
        target_ids.append(channel.guild_id)
    store.insert_mentions(call.tx, dict.fromkeys(target_ids), row, channel.guild_id)


def on_messages_deleted(call: Call, signal: MessagesDeleted) -> None:
    """Delete the mentions of deleted messages."""
    message_ids = [row.id for row in signal.rows if row.mentions or row.mention_roles or row.mention_everyone]
    store.delete_mentions(call.tx, signal.channel.id, message_ids)


def list_read_states(call: Call, channel_id: int | None = None) -> list[wire.ReadState]:
    """Return the read states of the caller with the counts of their unread mentions, of all channels or of one."""
    last_read_ids = store.find_last_ids(call.tx, call.user_id, channel_id)
    memberships = _list_memberships(call)
    joined_ids = {guild_id: joined_id for guild_id, joined_id, _ in memberships}
    counts, guild_ids = _count_unread(call, last_read_ids, memberships, channel_id)
    read_states = [
        wire.ReadState(
            id=ChannelId(read_channel_id),
            last_message_id=MessageId(last_read_id),
            mention_count=counts.pop(read_channel_id, 0),
        )
        for read_channel_id, last_read_id in last_read_ids.items()
    ]
    # Channels without a read state: in a guild, everything before the user joined counts as read.
    read_states += [
        wire.ReadState(
            id=ChannelId(read_channel_id),
            last_message_id=MessageId(joined_ids.get(guild_ids[read_channel_id], 0)),
            mention_count=count,
        )
        for read_channel_id, count in sorted(counts.items())
    ]
    return read_states


_Memberships = list[tuple[int, int, tuple[int, ...]]]
"""Guilds of a user: guild ID, lowest message ID after joining, and role IDs."""


def _list_memberships(call: Call) -> _Memberships:
    """Return the guilds of the caller."""
    return [
        (guild_id, Snowflake.at(joined_ms), role_ids)
        for guild_id, joined_ms, role_ids in members.list_memberships(call.tx, call.user_id)
    ]


def _list_targets(
    call: Call, memberships: _Memberships, *, includes_roles: bool = True, includes_everyone: bool = True
) -> list[MentionTarget]:
    """Return the targets whose mentions concern the caller: the caller, their roles and their guilds."""
    targets = [MentionTarget(call.user_id, notification_settings.DIRECT_MENTION, 0)]
    for guild_id, joined_id, role_ids in memberships:
        if includes_everyone:
            targets.append(MentionTarget(guild_id, notification_settings.EVERYONE_MENTION, joined_id))
        if includes_roles:
            targets += [MentionTarget(role_id, notification_settings.ROLE_MENTION, joined_id) for role_id in role_ids]
    return targets


def _count_unread(
    call: Call, last_read_ids: Mapping[int, int], memberships: _Memberships, channel_id: int | None
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the number of unread mentions and the guild ID by channel ID; the guild ID of private channels is 0."""
    blocked_ids = relationships.list_blocked_ids(call.tx, call.user_id)
    ignored_author_ids = {call.user_id, *blocked_ids}
    joined_ids = {guild_id: joined_id for guild_id, joined_id, _ in memberships}
    floor_id = Snowflake.at(call.now_ms - MENTION_LIFETIME_MS)
    kinds_by_message: dict[tuple[int, int], int] = {}
    for target, mention in store.list_mentions_since(call.tx, _list_targets(call, memberships), floor_id, channel_id):
        if mention.author_id in ignored_author_ids or (mention.guild_id and mention.guild_id not in joined_ids):
            continue
        if mention.message_id > last_read_ids.get(mention.channel_id, joined_ids.get(mention.guild_id or 0, 0)):
            key = (mention.channel_id, mention.message_id)
            kinds_by_message[key] = kinds_by_message.get(key, 0) | target.kind
    private_counts = _count_private(call, last_read_ids, ignored_author_ids, channel_id)
    channel_ids = {unread_channel_id for unread_channel_id, _ in kinds_by_message} | private_counts.keys()
    paths_by_channel = notification_settings.find_channel_paths(call.tx, channel_ids)
    rules = notification_settings.find_rules(call.tx, [call.user_id], call.now_ms)[call.user_id]
    counts: dict[int, int] = {}
    for (unread_channel_id, _), kinds in kinds_by_message.items():
        if unread_channel_id in paths_by_channel and rules.counts_as_mention(
            paths_by_channel[unread_channel_id], kinds
        ):
            counts[unread_channel_id] = counts.get(unread_channel_id, 0) + 1
    # These counts include the messages with mentions; if the channel is muted, only messages with mentions count.
    counts |= {
        unread_channel_id: count
        for unread_channel_id, count in private_counts.items()
        if rules.counts_as_mention(paths_by_channel[unread_channel_id], notification_settings.PRIVATE_MESSAGE)
    }
    visible_counts = {
        unread_channel_id: count
        for unread_channel_id, count in counts.items()
        if _find_access(call, unread_channel_id) is not None
    }
    return visible_counts, {
        unread_channel_id: paths_by_channel[unread_channel_id].guild_id for unread_channel_id in visible_counts
    }


def _count_private(
    call: Call, last_read_ids: Mapping[int, int], ignored_author_ids: Collection[int], channel_id: int | None
) -> dict[int, int]:
    """Return the number of unread messages in the caller's private channels, by channel ID."""
    private_channel_ids = store.list_private_channel_ids(call.tx, call.user_id)
    last_read_ids_by_channel = {
        private_channel_id: last_read_ids.get(private_channel_id, 0)
        for private_channel_id in private_channel_ids
        if channel_id in (None, private_channel_id)
    }
    return messages.history.count_after(
        call.tx, last_read_ids_by_channel, ignored_author_ids, wire.PRIVATE_MENTION_COUNT_MAX
    )


def _find_access(call: Call, channel_id: int) -> ChannelAccess | None:
    """Return the caller's standing in a channel, or None if they cannot see it."""
    try:
        return access.get_channel_standing(call, channel_id)
    except errors.ApiError:
        return None


def list_mentions(call: Call, query: wire.ListMentions) -> list[wire_messages.Message]:
    """Return a page of messages that mention the caller, newest first, without messages that the caller cannot read."""
    ignored_author_ids = {call.user_id, *relationships.list_blocked_ids(call.tx, call.user_id)}
    memberships = _list_memberships(call)
    guild_ids = {guild_id for guild_id, _, _ in memberships}
    targets = _list_targets(call, memberships, includes_roles=query.roles, includes_everyone=query.everyone)
    after_id = Snowflake.at(call.now_ms - MENTION_LIFETIME_MS)
    before_id: int = MESSAGE_ID_MAX if query.before is None else query.before
    rows_by_id: dict[int, messages.MessageRow] = {}
    access_by_channel: dict[int, ChannelAccess | None] = {}
    while len(rows_by_id) < query.limit:
        mention_page = store.list_newest_mentions(
            call.tx,
            targets,
            after_id=after_id,
            before_id=before_id,
            guild_id=query.guild_id,
            limit=MENTION_ROWS_PER_QUERY,
        )
        relevant_mentions = [
            mention
            for target, mention in mention_page
            if mention.message_id > target.floor_id
            and mention.author_id not in ignored_author_ids
            and (mention.guild_id is None or mention.guild_id in guild_ids)
        ]
        rows_by_id |= _find_readable(call, relevant_mentions, access_by_channel)
        if len(mention_page) < MENTION_ROWS_PER_QUERY:
            break
        # The last message may have more rows, so the next query includes it.
        before_id = mention_page[-1][1].message_id + 1
    newest_rows = [rows_by_id[message_id] for message_id in sorted(rows_by_id, reverse=True)[: query.limit]]
    return _build_views(call, newest_rows, access_by_channel)


def _find_readable(
    call: Call, mentions: Collection[store.Mention], access_by_channel: dict[int, ChannelAccess | None]
) -> dict[int, messages.MessageRow]:
    """Return the messages of mentions that the caller can read, by ID; add the channels' standings to `access_by_channel`."""
    message_ids_by_channel: dict[int, set[int]] = {}
    for mention in mentions:
        message_ids_by_channel.setdefault(mention.channel_id, set()).add(mention.message_id)
    rows_by_id: dict[int, messages.MessageRow] = {}
    for channel_id, message_ids in message_ids_by_channel.items():
        if channel_id not in access_by_channel:
            access_by_channel[channel_id] = _find_access(call, channel_id)
        channel_access = access_by_channel[channel_id]
        if channel_access is not None and channel_access.can(Permissions.READ_MESSAGE_HISTORY):
            rows_by_id |= messages.history.find_many(call.tx, channel_id, message_ids)
    return rows_by_id


def _build_views(
    call: Call, rows: Collection[messages.MessageRow], access_by_channel: Mapping[int, ChannelAccess | None]
) -> list[wire_messages.Message]:
    """Build the views of messages of several guilds in the order of the rows."""
    rows_by_guild: dict[GuildId | None, list[messages.MessageRow]] = {}
    for row in rows:
        channel_access = access_by_channel[row.channel_id]
        assert channel_access is not None
        rows_by_guild.setdefault(channel_access.channel.guild_id, []).append(row)
    views_by_id: dict[int, wire_messages.Message] = {
        view.id: view
        for guild_id, guild_rows in rows_by_guild.items()
        for view in messages.views.messages(call, guild_rows, guild_id=guild_id)
    }
    return [views_by_id[row.id] for row in rows]
