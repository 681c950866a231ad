"""SQL for the channels, overwrites, recipients and slowmodes tables.

Channel types in SQL: 4 category, 10 to 12 threads, 15 and 16 forum and media channels (`ChannelType`)."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

from hubbub.protocol.enums import THREAD_TYPES, ChannelType
from hubbub.protocol.numbers import INT32_MAX
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import GUILD_RECORD, TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places import guilds
from hubbub.server.places.standing import ChannelRef, channel_ref

TABLES: Final = (
    "channels",
    "overwrites",
    "recipients",
    "slowmodes",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="channels.owner_id",
        erasure=Erasure.WRITTEN,
        reason="A thread with messages of other users stays with another title.",
        export="threads",
    ),
    PersonalColumn(column="overwrites.target_id", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD),
    PersonalColumn(
        column="recipients.user_id",
        erasure=Erasure.KEPT,
        reason="A direct message channel stays with the other user.",
        export="private_channels",
    ),
    PersonalColumn(column="slowmodes.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "guilds": "features and tier that decide channel types and limits",
    "messages": "the last message of a channel, joined in its row: a port takes half as long again",
    "roles": "overwrite targets exist; permissions of @everyone",
    "users": "overwrite targets exist; bots are left out of private channel partners",
}
"""Tables of other slices that this slice reads, with the reason."""


RECENT_CHANNELS_MAX: Final = 200
"""Maximum number of a user's newest private channels whose recipients receive a change of the user's profile."""

SlowModeKind = Literal["message", "thread"]
"""Action that slow mode limits: sending a message or creating a thread. Each has its own interval."""


class ChannelRow(NamedTuple):
    """A channel of any kind: guild channel, thread or private channel.

    Text channels use only the fields up to `last_message_id`, all guild channels those up to `icon`: queries for them omit the
    others, which then have their default values."""

    id: int
    type: int
    guild_id: int | None = None
    name: str | None = None
    topic: str | None = None
    position: int = 0
    parent_id: int | None = None
    nsfw: int = 0
    rate_limit_per_user: int = 0
    default_auto_archive_duration: int | None = None
    default_thread_rate_limit_per_user: int | None = None
    flags: int = 0
    owner_id: int | None = None
    application_id: int | None = None
    last_pin_ms: int | None = None
    linked_lobby: str | None = None
    """JSON of a `LinkedLobby`; None if no lobby is linked."""
    last_message_id: int | None = None
    """ID of the newest message, or of the newest post in forums. The queries compute it; the table has no such column."""
    bitrate: int | None = None
    user_limit: int | None = None
    rtc_region: str | None = None
    video_quality_mode: int | None = None
    default_sort_order: int | None = None
    default_forum_layout: int | None = None
    default_tag_setting: str | None = None
    default_reaction_emoji: str | None = None
    """JSON of a `DefaultReaction`."""
    available_tags: str | None = None
    """JSON list of `ForumTag`."""
    icon: str | None = None
    archived: int = 0
    archive_changed_ms: int | None = None
    auto_archive_duration: int | None = None
    locked: int = 0
    invitable: int | None = None
    message_count: int = 0
    total_message_sent: int = 0
    member_count: int = 0
    applied_tags: str | None = None
    """JSON list of tag IDs; None outside forums."""
    created_ms: int | None = None
    """Creation time of a thread in Unix milliseconds; None for other channels.

    It cannot be derived from the ID, because a thread started from a message has the ID of the message."""


class OverwriteRow(NamedTuple):
    """The permissions that one channel allows and denies to a role or member."""

    channel_id: int
    target_id: int
    type: int
    """Value of an `OverwriteType`."""
    allow: int
    deny: int


_NEWEST_MESSAGE_SQL: Final = "(SELECT MAX(m.id) FROM messages m WHERE m.channel_id = c.id)"
_NEWEST_MESSAGE_OR_POST_SQL: Final = (
    "CASE WHEN c.type IN (15, 16) THEN (SELECT MAX(t.id) FROM channels t WHERE t.parent_id = c.id) "
    f"ELSE {_NEWEST_MESSAGE_SQL} END"
)
COLUMNS: Final = ", ".join(
    _NEWEST_MESSAGE_OR_POST_SQL if field == "last_message_id" else f"c.{field}" for field in ChannelRow._fields
)
"""Columns to select `FROM channels c` for a `ChannelRow`."""
_GUILD_CHANNEL_COLUMNS: Final = ", ".join(
    _NEWEST_MESSAGE_OR_POST_SQL if field == "last_message_id" else f"c.{field}"
    for field in ChannelRow._fields[: ChannelRow._fields.index("archived")]
)
"""Columns to select `FROM channels c` for a `ChannelRow` of a guild channel. Fewer columns make the query faster."""
_LIST_GUILD_CHANNELS: Final = (
    f"SELECT {_GUILD_CHANNEL_COLUMNS} FROM channels c WHERE c.guild_id = ? AND c.type NOT IN (10, 11, 12)"
    " ORDER BY c.position, c.id"
)
TEXT_COLUMNS: Final = ", ".join(
    _NEWEST_MESSAGE_SQL if field == "last_message_id" else f"c.{field}"
    for field in ChannelRow._fields[: ChannelRow._fields.index("bitrate")]
)
"""Columns to select `FROM channels c` for a `ChannelRow` of a text channel."""

_STORED_FIELDS: Final = tuple(field for field in ChannelRow._fields if field != "last_message_id")
"""Fields of `ChannelRow` that are columns of the table."""
_stored_values: Final = attrgetter(*_STORED_FIELDS)
_ref_values: Final = attrgetter(*ChannelRef._fields)


def to_ref(row: ChannelRow) -> ChannelRef:
    """Return the part of a channel that access checks need."""
    return channel_ref(_ref_values(row))


_OVERWRITE_COLUMNS: Final = "o.channel_id, o.target_id, o.type, o.allow, o.deny"


def find(tx: Tx, channel_id: int) -> ChannelRow | None:
    return tx.find(ChannelRow, f"SELECT {COLUMNS} FROM channels c WHERE c.id = ?", channel_id)


def find_many(tx: Tx, channel_ids: Iterable[int]) -> dict[int, ChannelRow]:
    """Return the existing channels among `channel_ids`, by ID."""
    unique_ids = list(dict.fromkeys(channel_ids))
    rows_by_id: dict[int, ChannelRow] = {}
    for batch in batches(unique_ids):
        for row in tx.all(f"SELECT {COLUMNS} FROM channels c WHERE c.id IN ({placeholders(batch)})", *batch):
            rows_by_id[row[0]] = ChannelRow(*row)
    return rows_by_id


def list_guild_channels(tx: Tx, guild_id: int) -> list[ChannelRow]:
    """List the channels of a guild without threads, by position and ID."""
    return tx.fetch(ChannelRow, _LIST_GUILD_CHANNELS, guild_id)


def list_guild_channel_values(tx: Tx, guild_id: int) -> list[tuple[Any, ...]]:
    """Return the rows of `list_guild_channels` as tuples of the values of a `ChannelRow`, without the fields of threads."""
    return tx.all(_LIST_GUILD_CHANNELS, guild_id)


def count_guild_threads(tx: Tx, guild_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM channels WHERE guild_id = ? AND type IN (10, 11, 12)", guild_id))


def list_children(tx: Tx, category_id: int) -> list[ChannelRow]:
    """List the channels in a category, by position and ID."""
    return tx.fetch(
        ChannelRow, f"SELECT {COLUMNS} FROM channels c WHERE c.parent_id = ? ORDER BY c.position, c.id", category_id
    )


def count_guild_channels(tx: Tx, guild_id: int) -> int:
    """Return the number of channels in a guild, without threads."""
    return int(tx.value("SELECT COUNT(*) FROM channels WHERE guild_id = ? AND type NOT IN (10, 11, 12)", guild_id) or 0)


def count_children(tx: Tx, category_id: int) -> int:
    """Return the number of channels in a category."""
    return int(tx.value("SELECT COUNT(*) FROM channels WHERE parent_id = ?", category_id) or 0)


def next_position(tx: Tx, guild_id: int, *, is_category: bool) -> int:
    """Return the position after the last category, or after the last other channel, of a guild."""
    types = [ChannelType.GUILD_CATEGORY] if is_category else [ChannelType.GUILD_CATEGORY, *sorted(THREAD_TYPES)]
    type_condition = f"type {'IN' if is_category else 'NOT IN'} ({placeholders(types)})"
    last_position = tx.value(
        f"SELECT MAX(position) FROM channels WHERE guild_id = ? AND {type_condition}", guild_id, *map(int, types)
    )
    return 0 if last_position is None else min(int(last_position) + 1, INT32_MAX)


def insert(tx: Tx, row: ChannelRow) -> None:
    tx.run(
        f"INSERT INTO channels ({', '.join(_STORED_FIELDS)}) VALUES ({placeholders(_STORED_FIELDS)})",
        *_stored_values(row),
    )


def update(tx: Tx, before: ChannelRow, after: ChannelRow) -> None:
    """Update the columns that differ between two states of one channel."""
    changed_fields = [field for field in _STORED_FIELDS if getattr(before, field) != getattr(after, field)]
    if changed_fields:
        tx.run(
            f"UPDATE channels SET {', '.join(f'{field} = ?' for field in changed_fields)} WHERE id = ?",
            *(getattr(after, field) for field in changed_fields),
            after.id,
        )


def set_last_pin(tx: Tx, channel_id: int, pinned_ms: int | None) -> None:
    """Store when a message was last pinned in a channel, in Unix milliseconds; None clears the time."""
    tx.run("UPDATE channels SET last_pin_ms = ? WHERE id = ?", pinned_ms, channel_id)


def delete(tx: Tx, channel_id: int) -> None:
    """Delete a channel and its overwrites."""
    tx.run("DELETE FROM overwrites WHERE channel_id = ?", channel_id)
    tx.run("DELETE FROM channels WHERE id = ?", channel_id)


def list_guild_channel_ids(tx: Tx, guild_id: int) -> list[int]:
    """List the IDs of every channel and thread of a guild, in ascending order."""
    return [channel_id for (channel_id,) in tx.all("SELECT id FROM channels WHERE guild_id = ? ORDER BY id", guild_id)]


def delete_guild_channels(tx: Tx, guild_id: int) -> None:
    """Delete every channel and thread of a guild."""
    tx.run("DELETE FROM overwrites WHERE channel_id IN (SELECT id FROM channels WHERE guild_id = ?)", guild_id)
    tx.run("DELETE FROM channels WHERE guild_id = ?", guild_id)


def list_overwrites(tx: Tx, channel_id: int) -> list[OverwriteRow]:
    """List the overwrites of a channel, by target ID."""
    return tx.fetch(
        OverwriteRow,
        f"SELECT {_OVERWRITE_COLUMNS} FROM overwrites o WHERE o.channel_id = ? ORDER BY o.target_id",
        channel_id,
    )


def find_overwrites_of_guild(tx: Tx, guild_id: int) -> dict[int, list[OverwriteRow]]:
    """Return every overwrite in a guild, by channel ID."""
    return _group_by_channel(
        tx.fetch(
            OverwriteRow,
            f"SELECT {_OVERWRITE_COLUMNS} FROM channels c JOIN overwrites o ON o.channel_id = c.id WHERE c.guild_id = ?"
            " ORDER BY o.target_id",
            guild_id,
        )
    )


def find_overwrites_of_channels(tx: Tx, channel_ids: Sequence[int]) -> dict[int, list[OverwriteRow]]:
    """Return the overwrites of the given channels, by channel ID. Channels without overwrites are omitted."""
    if not channel_ids:
        return {}
    return _group_by_channel(
        tx.fetch(
            OverwriteRow,
            f"SELECT {_OVERWRITE_COLUMNS} FROM overwrites o WHERE o.channel_id IN ({placeholders(channel_ids)}) "
            "ORDER BY o.target_id",
            *channel_ids,
        )
    )


def _group_by_channel(rows: Iterable[OverwriteRow]) -> dict[int, list[OverwriteRow]]:
    rows_by_channel: dict[int, list[OverwriteRow]] = {}
    for row in rows:
        rows_by_channel.setdefault(row.channel_id, []).append(row)
    return rows_by_channel


def count_overwrites(tx: Tx, guild_id: int) -> int:
    """Return the number of overwrites of all channels in a guild."""
    sql = "SELECT COUNT(*) FROM overwrites WHERE channel_id IN (SELECT id FROM channels WHERE guild_id = ?)"
    return int(tx.value(sql, guild_id))


def replace_overwrites(tx: Tx, channel_id: int, rows: Sequence[OverwriteRow]) -> None:
    tx.run("DELETE FROM overwrites WHERE channel_id = ?", channel_id)
    if rows:
        tx.run_many(
            "INSERT INTO overwrites (channel_id, target_id, type, allow, deny) VALUES (?, ?, ?, ?, ?)",
            [(channel_id, *row[1:]) for row in rows],
        )


def delete_overwrites(tx: Tx, channel_ids: Sequence[int], target_id: int) -> None:
    """Delete the overwrites of a role or member in the given channels, of which there must be at least one."""
    tx.run(
        f"DELETE FROM overwrites WHERE target_id = ? AND channel_id IN ({placeholders(channel_ids)})",
        target_id,
        *channel_ids,
    )


def list_ids_with_overwrite(tx: Tx, guild_id: int, target_id: int) -> list[int]:
    """List the IDs of the channels of a guild with an overwrite for a role or member."""
    rows = tx.all(
        "SELECT c.id FROM overwrites o JOIN channels c ON c.id = o.channel_id WHERE o.target_id = ? AND c.guild_id = ?",
        target_id,
        guild_id,
    )
    return [channel_id for (channel_id,) in rows]


def find_overwrite_targets(tx: Tx, guild_id: int, target_ids: Sequence[int]) -> tuple[set[int], set[int]]:
    """Return the IDs among `target_ids` that are roles of the guild, and the IDs that are users, members or not."""
    if not target_ids:
        return set(), set()
    id_placeholders = placeholders(target_ids)
    role_rows = tx.all(f"SELECT id FROM roles WHERE guild_id = ? AND id IN ({id_placeholders})", guild_id, *target_ids)
    user_rows = tx.all(f"SELECT id FROM users WHERE id IN ({id_placeholders})", *target_ids)
    return {row[0] for row in role_rows}, {row[0] for row in user_rows}


def read_role_permissions(tx: Tx, role_id: int) -> int:
    """Return the permissions of a role, or 0 if it does not exist. The @everyone role has the guild's ID."""
    return int(tx.value("SELECT permissions FROM roles WHERE id = ?", role_id) or 0)


class GuildTraits(NamedTuple):
    """The columns of a guild that its channels depend on."""

    features: str
    """JSON list of feature names."""
    premium_tier: int
    rules_channel_id: int | None
    public_updates_channel_id: int | None


def find_guild_traits(tx: Tx, guild_id: int) -> GuildTraits | None:
    """Return the columns that a guild's channels depend on, or None if the guild does not exist."""
    return tx.find(
        GuildTraits,
        "SELECT features, premium_tier, rules_channel_id, public_updates_channel_id FROM guilds WHERE id = ?",
        guild_id,
    )


def list_recipient_ids(tx: Tx, channel_id: int) -> list[int]:
    """List the user IDs of all users in a private channel, in ascending order."""
    return [
        user_id
        for (user_id,) in tx.all("SELECT user_id FROM recipients WHERE channel_id = ? ORDER BY user_id", channel_id)
    ]


def hide_for(tx: Tx, channel_id: int, user_id: int) -> None:
    """Hide a private channel from one of its recipients."""
    tx.run("UPDATE recipients SET hidden = 1 WHERE channel_id = ? AND user_id = ?", channel_id, user_id)


def list_partner_ids(tx: Tx, user_id: int) -> set[int]:
    """Return the IDs of users who share a private channel with a user and have not hidden it.

    Only the user's RECENT_CHANNELS_MAX newest private channels count. Bots are left out."""
    rows = tx.all(
        "SELECT o.user_id FROM recipients o JOIN users u ON u.id = o.user_id WHERE o.channel_id IN "
        "(SELECT channel_id FROM recipients WHERE user_id = ? ORDER BY channel_id DESC LIMIT ?) "
        "AND o.user_id <> ? AND o.hidden = 0 AND u.bot = 0",
        user_id,
        RECENT_CHANNELS_MAX,
        user_id,
    )
    return {row[0] for row in rows}


def increment_message_counts(tx: Tx, thread_id: int) -> None:
    """Increment `message_count` and `total_message_sent` of a thread."""
    tx.run(
        "UPDATE channels SET message_count = message_count + 1, total_message_sent = total_message_sent + 1 WHERE id = ?",
        thread_id,
    )


def subtract_message_count(tx: Tx, thread_id: int, deleted_count: int) -> None:
    """Subtract `deleted_count` from the message count of a thread, to at least 0. `total_message_sent` stays unchanged."""
    tx.run(
        "UPDATE channels SET message_count = CASE WHEN message_count > ? THEN message_count - ? ELSE 0 END WHERE id = ?",
        deleted_count,
        deleted_count,
        thread_id,
    )


def delete_threads(tx: Tx, thread_ids: Iterable[int]) -> None:
    """Delete the rows of threads. IDs of other channels are ignored."""
    for batch in batches(list(thread_ids)):
        tx.run(f"DELETE FROM channels WHERE id IN ({placeholders(batch)}) AND type IN (10, 11, 12)", *batch)


def compute_slow_mode_wait_ms(
    tx: Tx, channel_id: int, user_id: int, kind: SlowModeKind, interval_seconds: int, now_ms: int
) -> int:
    """Return how long a user must wait until the next message or thread in a channel with slow mode, in milliseconds.

    `interval_seconds` is the interval of the channel. The last use may be later than `now_ms`: the clocks of processes differ, and
    `now_ms` is read before the transaction. A last use that is a whole interval ahead is ignored: the clock was set back."""
    last_ms: int | None = tx.value(
        "SELECT last_ms FROM slowmodes WHERE channel_id = ? AND user_id = ? AND kind = ?", channel_id, user_id, kind
    )
    interval_ms = interval_seconds * 1000
    if last_ms is None or abs(now_ms - last_ms) >= interval_ms:
        return 0
    return min(last_ms + interval_ms - now_ms, interval_ms)


def record_slow_mode_use(tx: Tx, channel_id: int, user_id: int, kind: SlowModeKind, now_ms: int) -> None:
    """Record that a user sent a message or created a thread in a channel with slow mode at `now_ms` (Unix milliseconds)."""
    tx.run(
        "INSERT INTO slowmodes (channel_id, user_id, kind, last_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (channel_id, user_id, kind) DO UPDATE SET last_ms = excluded.last_ms",
        channel_id,
        user_id,
        kind,
        now_ms,
    )


def add_recipient(tx: Tx, channel_id: int, user_id: int, *, nick: str | None = None, is_hidden: bool = False) -> bool:
    """Add a recipient to a private channel, which `is_hidden` hides from them. Return False if the user is already in it."""
    return (
        tx.run(
            "INSERT INTO recipients (channel_id, user_id, nick, hidden) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (channel_id, user_id) DO NOTHING",
            channel_id,
            user_id,
            nick,
            int(is_hidden),
        )
        > 0
    )


def remove_recipient(tx: Tx, channel_id: int, user_id: int) -> bool:
    """Remove a recipient from a private channel. Return False if the user was not in it."""
    return tx.run("DELETE FROM recipients WHERE channel_id = ? AND user_id = ?", channel_id, user_id) > 0


def unhide_for(tx: Tx, channel_id: int, user_id: int) -> bool:
    """Unhide a private channel for a recipient. Return False if it was not hidden."""
    return (
        tx.run(
            "UPDATE recipients SET hidden = 0 WHERE channel_id = ? AND user_id = ? AND hidden = 1", channel_id, user_id
        )
        > 0
    )


def replace_recipient(tx: Tx, channel_id: int, user_id: int, new_user_id: int) -> None:
    """Replace the recipient `user_id` of a private channel by the user `new_user_id`."""
    tx.run("UPDATE recipients SET user_id = ? WHERE channel_id = ? AND user_id = ?", new_user_id, channel_id, user_id)


def hide_for_all(tx: Tx, channel_id: int) -> None:
    """Hide a private channel from every recipient."""
    tx.run("UPDATE recipients SET hidden = 1 WHERE channel_id = ?", channel_id)


def delete_group(tx: Tx, channel_id: int) -> None:
    """Delete the row of a group that has no recipients."""
    tx.run("DELETE FROM channels WHERE id = ?", channel_id)


def insert_initial(
    tx: Tx,
    guild_id: int,
    channels: Sequence[guilds.creation.NewChannel],
    overwrites: Sequence[guilds.creation.NewOverwrite],
) -> None:
    """Insert the channels and overwrites of a new guild."""
    columns = ", ".join(("guild_id", *guilds.creation.NewChannel._fields))
    tx.run_many(
        f"INSERT INTO channels ({columns}) VALUES (?, {placeholders(guilds.creation.NewChannel._fields)})",
        [(guild_id, *channel) for channel in channels],
    )
    tx.run_many("INSERT INTO overwrites (channel_id, target_id, type, allow, deny) VALUES (?, ?, ?, ?, ?)", overwrites)


def delete_slow_mode_uses(tx: Tx, user_id: int) -> None:
    """Delete the times of a user's last messages in channels with slow mode."""
    tx.run("DELETE FROM slowmodes WHERE user_id = ?", user_id)
