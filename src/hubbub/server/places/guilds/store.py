"""SQL for guilds and their suspensions, and the rows of channels and overwrites that are created with a guild."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.ids import WIDE_MAX
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, escape_pattern, placeholders

TABLES: Final = ("guild_suspensions", "guilds")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="guild_suspensions.operator_id", erasure=Erasure.KEPT, reason=OPERATOR_RECORD, omission=OPERATOR_RECORD
    ),
    PersonalColumn(
        column="guilds.owner_id",
        erasure=Erasure.REJECTED,
        reason="The owner must transfer or delete the guild first.",
        export="guilds",
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "members": "membership checks, counts and IDs, without loading whole member rows",
}
"""Tables of other slices that this slice reads, with the reason."""


class GuildRow(NamedTuple):
    """A guild without its auto moderation bits (`set_moderation_rule_bits`). Images are hashes."""

    id: int
    name: str
    owner_id: int
    application_id: int | None = None
    icon: str | None = None
    splash: str | None = None
    discovery_splash: str | None = None
    banner: str | None = None
    description: str | None = None
    afk_channel_id: int | None = None
    afk_timeout: int = 300
    """Idle time in seconds after which a member is moved to the AFK channel."""
    verification_level: int = 0
    default_message_notifications: int = 0
    explicit_content_filter: int = 0
    mfa_level: int = 0
    nsfw_level: int = 0
    system_channel_id: int | None = None
    system_channel_flags: int = 0
    rules_channel_id: int | None = None
    public_updates_channel_id: int | None = None
    safety_alerts_channel_id: int | None = None
    preferred_locale: str = "en-US"
    premium_tier: int = 0
    premium_subscription_count: int = 0
    premium_progress_bar_enabled: int = 0
    vanity_url_code: str | None = None
    features: str = "[]"
    """JSON list of feature names."""
    widget_enabled: int = 0
    widget_channel_id: int | None = None
    incidents: str | None = None
    """JSON of `IncidentsData`."""
    member_count: int = 0
    suspension_reason: str | None = None
    """Reason why an operator suspended the guild, whose members then have no access; None if it is not suspended."""

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, decoded from `features`."""
        return codec.decode(self.features, list[str])


def with_feature(row: GuildRow, feature: str, is_enabled: bool) -> GuildRow:
    """Return a guild row with a feature added, or removed if `is_enabled` is False."""
    other_features = {name for name in row.feature_names if name != feature}
    return row._replace(
        features=codec.encode(sorted(other_features | {str(feature)} if is_enabled else other_features)).decode()
    )


class SuspensionRow(NamedTuple):
    """The suspension of a guild by an operator."""

    guild_id: int
    operator_id: int | None
    """ID of the operator; None for the command line."""
    created_ms: int
    due_ms: int | None = None
    """Time at which the guild is deleted, in Unix milliseconds; None for a suspension only."""
    is_from_deletion: int = 0
    """Whether the scheduled deletion of the guild caused the suspension; a restoration then ends it. Column `has_suspended`."""


class NewChannel(NamedTuple):
    """A channel that is created with a guild. Its other columns have their default values."""

    id: int
    name: str
    type: int = 0
    position: int = 0
    parent_id: int | None = None
    topic: str | None = None
    nsfw: int = 0
    rate_limit_per_user: int = 0
    bitrate: int | None = None
    user_limit: int | None = None


class NewOverwrite(NamedTuple):
    """An overwrite of a channel created with a guild."""

    channel_id: int
    target_id: int
    type: int
    allow: int
    deny: int


COLUMNS = ", ".join(GuildRow._fields)
_SUSPENSION_COLUMNS = ("guild_id", "operator_id", "created_ms", "due_ms", "has_suspended")
"""Columns of `SuspensionRow`, in the order of its fields."""
_PREFIXED_COLUMNS = ", ".join(f"g.{field}" for field in GuildRow._fields)


def find(tx: Tx, guild_id: int) -> GuildRow | None:
    return tx.find(GuildRow, f"SELECT {COLUMNS} FROM guilds WHERE id = ?", guild_id)


def find_many(tx: Tx, guild_ids: Iterable[int]) -> dict[int, GuildRow]:
    """Return the existing guilds among `guild_ids`, by ID."""
    distinct_ids = list(dict.fromkeys(guild_ids))
    if not distinct_ids:
        return {}
    rows = tx.fetch(GuildRow, f"SELECT {COLUMNS} FROM guilds WHERE id IN ({placeholders(distinct_ids)})", *distinct_ids)
    return {row.id: row for row in rows}


def search(
    tx: Tx, text: str, *, only_suspended: bool, only_deleting: bool, after_id: int, limit: int
) -> list[GuildRow]:
    """Return guilds with IDs above `after_id`, by ascending ID.

    `text` is a part of the name in any case, or the whole ID of the guild or its owner; empty matches all guilds.
    If `only_suspended`, return only suspended guilds; if `only_deleting`, only guilds with a scheduled deletion."""
    where, parameters = "g.id > ?", list[object]([after_id])
    if text:
        pattern = f"%{escape_pattern(text.lower())}%"
        match_conditions = ["LOWER(g.name) LIKE ? ESCAPE '\\'"]
        parameters.append(pattern)
        if text.isascii() and text.isdigit() and int(text) <= WIDE_MAX:
            match_conditions.append("g.id = ? OR g.owner_id = ?")
            parameters += [int(text), int(text)]
        where += f" AND ({' OR '.join(match_conditions)})"
    if only_suspended:
        where += " AND g.suspension_reason IS NOT NULL"
    if only_deleting:
        where += " AND EXISTS (SELECT 1 FROM guild_suspensions s WHERE s.guild_id = g.id AND s.due_ms IS NOT NULL)"
    return tx.fetch(
        GuildRow, f"SELECT {_PREFIXED_COLUMNS} FROM guilds g WHERE {where} ORDER BY g.id LIMIT ?", *parameters, limit
    )


def find_suspension(tx: Tx, guild_id: int) -> SuspensionRow | None:
    return tx.find(
        SuspensionRow, f"SELECT {', '.join(_SUSPENSION_COLUMNS)} FROM guild_suspensions WHERE guild_id = ?", guild_id
    )


def upsert_suspension(tx: Tx, row: SuspensionRow, reason: str) -> None:
    """Store the suspension of a guild, or replace it, and store its reason in the row of the guild."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in _SUSPENSION_COLUMNS[1:])
    tx.run(
        f"INSERT INTO guild_suspensions ({', '.join(_SUSPENSION_COLUMNS)}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (guild_id) DO UPDATE SET {assignments}",
        *row,
    )
    tx.run("UPDATE guilds SET suspension_reason = ? WHERE id = ?", reason, row.guild_id)


def delete_suspension(tx: Tx, guild_id: int) -> None:
    """Delete the suspension of a guild, and its reason from the row of the guild."""
    tx.run("DELETE FROM guild_suspensions WHERE guild_id = ?", guild_id)
    tx.run("UPDATE guilds SET suspension_reason = NULL WHERE id = ?", guild_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None


def find_pending_flag(tx: Tx, guild_id: int, user_id: int) -> int | None:
    """Return 1 if a member has yet to pass membership screening, 0 if not, or None if the user is not a member."""
    pending: int | None = tx.value("SELECT pending FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
    return pending


def list_user_guild_ids(tx: Tx, user_id: int) -> list[int]:
    """List the IDs of the guilds of a user, in ascending order."""
    rows = tx.all("SELECT guild_id FROM members WHERE user_id = ? ORDER BY guild_id", user_id)
    return [guild_id for (guild_id,) in rows]


def count_user_guilds(tx: Tx, user_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM members WHERE user_id = ?", user_id))


def list_user_guilds(tx: Tx, user_id: int, *, before: int | None, after: int | None, limit: int) -> list[GuildRow]:
    """Return a page of a user's guilds by ascending ID. `before` takes precedence over `after`."""
    select = f"SELECT {_PREFIXED_COLUMNS} FROM members m JOIN guilds g ON g.id = m.guild_id WHERE m.user_id = ?"
    if before is not None:
        rows = tx.fetch(GuildRow, f"{select} AND g.id < ? ORDER BY g.id DESC LIMIT ?", user_id, before, limit)
        return rows[::-1]
    return tx.fetch(GuildRow, f"{select} AND g.id > ? ORDER BY g.id LIMIT ?", user_id, after or 0, limit)


def list_member_ids(tx: Tx, guild_id: int) -> list[int]:
    return [user_id for (user_id,) in tx.all("SELECT user_id FROM members WHERE guild_id = ?", guild_id)]


def count_online(tx: Tx, guilds: Sequence[GuildRow], online_ids: Collection[int]) -> dict[int, int]:
    """Return the number of members of each guild whose user ID is in `online_ids`, by guild ID.

    Read either the members of the guilds or the memberships of the online users, whichever are fewer."""
    online_counts = {guild.id: 0 for guild in guilds}
    guild_ids = list(online_counts)
    if sum(guild.member_count for guild in guilds) < len(online_ids):
        sql = f"SELECT guild_id, user_id FROM members WHERE guild_id IN ({placeholders(guild_ids)})"
        for guild_id, user_id in tx.all(sql, *guild_ids) if guild_ids else ():
            online_counts[guild_id] += user_id in online_ids
        return online_counts
    for batch in batches(list(online_ids) if guild_ids else ()):
        for guild_id, count in tx.all(
            f"SELECT guild_id, COUNT(*) FROM members WHERE guild_id IN ({placeholders(guild_ids)}) "
            f"AND user_id IN ({placeholders(batch)}) GROUP BY guild_id",
            *guild_ids,
            *batch,
        ):
            online_counts[guild_id] += count
    return online_counts


def insert(tx: Tx, row: GuildRow) -> None:
    tx.run(f"INSERT INTO guilds ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, before: GuildRow, after: GuildRow) -> None:
    """Update the columns that differ between two states of one guild."""
    changed_fields = [field for field in GuildRow._fields if getattr(before, field) != getattr(after, field)]
    if changed_fields:
        tx.run(
            f"UPDATE guilds SET {', '.join(f'{field} = ?' for field in changed_fields)} WHERE id = ?",
            *(getattr(after, field) for field in changed_fields),
            after.id,
        )


def delete(tx: Tx, guild_id: int) -> None:
    """Delete the rows of a guild and its suspension."""
    tx.run("DELETE FROM guild_suspensions WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM guilds WHERE id = ?", guild_id)


def owns_any_guild(tx: Tx, user_id: int) -> bool:
    """Return whether a user owns a guild of which the user is a member."""
    owned_guild = tx.value(
        "SELECT 1 FROM members m JOIN guilds g ON g.id = m.guild_id WHERE m.user_id = ? AND g.owner_id = ? LIMIT 1",
        user_id,
        user_id,
    )
    return owned_guild is not None


_CHANNEL_REFERENCE_COLUMNS: Final = (
    "afk_channel_id",
    "system_channel_id",
    "rules_channel_id",
    "public_updates_channel_id",
    "safety_alerts_channel_id",
    "widget_channel_id",
)


def clear_channel_references(tx: Tx, guild_id: int, channel_id: int) -> bool:
    """Clear the columns of a guild that refer to a channel. Return whether there were any."""
    assignments = ", ".join(
        f"{column} = CASE WHEN {column} = ? THEN NULL ELSE {column} END" for column in _CHANNEL_REFERENCE_COLUMNS
    )
    reference_condition = " OR ".join(f"{column} = ?" for column in _CHANNEL_REFERENCE_COLUMNS)
    channel_id_parameters = [channel_id] * len(_CHANNEL_REFERENCE_COLUMNS)
    return (
        tx.run(
            f"UPDATE guilds SET {assignments} WHERE id = ? AND ({reference_condition})",
            *channel_id_parameters,
            guild_id,
            *channel_id_parameters,
        )
        > 0
    )


def recount_members(tx: Tx, guild_id: int) -> None:
    """Set the stored member count of a guild to the number of its members."""
    tx.run(
        "UPDATE guilds SET member_count = (SELECT COUNT(*) FROM members m WHERE m.guild_id = guilds.id) WHERE id = ?",
        guild_id,
    )


def adjust_member_count(tx: Tx, guild_id: int, change: int) -> None:
    """Add `change`, which may be negative, to the member count of a guild."""
    tx.run("UPDATE guilds SET member_count = member_count + ? WHERE id = ?", change, guild_id)


def set_moderation_rule_bits(tx: Tx, guild_id: int, rule_bits: int) -> None:
    """Store the bit set of the kinds of auto moderation rules that are enabled in a guild. Column `moderated`."""
    tx.run("UPDATE guilds SET moderated = ? WHERE id = ? AND moderated <> ?", rule_bits, guild_id, rule_bits)
