"""SQL for auto moderation rules, quarantined members, and the messages and mentions that spam checks count."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.enums import AutoModerationEventType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import ChannelId, RoleId, Snowflake
from hubbub.protocol.resources.auto_moderation import Action, TriggerMetadata
from hubbub.server.core.personal_data import GUILD_RECORD, TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places import guilds

TABLES: Final = (
    "auto_moderation_rules",
    "mention_counts",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="auto_moderation_rules.creator_id", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD
    ),
    PersonalColumn(
        column="mention_counts.user_id",
        erasure=Erasure.EXPIRES,
        reason="Kept for the time window of the rule.",
        omission=TECHNICAL,
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "guild of a user's messages",
    "guilds": "bits for what the enabled rules check",
    "members": "quarantined members, and profiles in moderated guilds",
    "messages": "recent messages of a user for spam detection",
}
"""Tables of other slices that this slice reads, with the reason."""


class RuleRow(NamedTuple):
    """An auto moderation rule as stored, with lists and metadata as JSON."""

    guild_id: int
    id: int
    name: str
    creator_id: int
    event_type: int
    trigger_type: int
    trigger_metadata: str
    """JSON of `TriggerMetadata`."""
    actions: str
    """JSON list of `Action`."""
    enabled: int
    exempt_roles: str = "[]"
    """JSON list of role IDs."""
    exempt_channels: str = "[]"
    """JSON list of channel IDs."""

    @property
    def metadata(self) -> TriggerMetadata:
        """The decoded trigger metadata."""
        return codec.decode(self.trigger_metadata, TriggerMetadata)

    @property
    def action_list(self) -> list[Action]:
        """The decoded actions."""
        return codec.decode(self.actions, list[Action])

    @property
    def exempt_role_ids(self) -> list[RoleId]:
        """The decoded IDs of the roles whose members are exempt."""
        return codec.decode(self.exempt_roles, list[RoleId])

    @property
    def exempt_channel_ids(self) -> list[ChannelId]:
        """The decoded IDs of the channels in which the rule does not apply."""
        return codec.decode(self.exempt_channels, list[ChannelId])


class RecentMessage(NamedTuple):
    """A message of a user that a spam check compares with a new one."""

    id: int
    content: str


RULE_COLUMNS: Final = ", ".join(RuleRow._fields)

CHECKS_MESSAGES: Final = 1
"""Bit of `guilds.moderated`: an enabled rule of the guild checks messages."""
CHECKS_MEMBERS: Final = 2
"""Bit of `guilds.moderated`: an enabled rule of the guild checks member profiles."""
_BIT_BY_EVENT_TYPE: Final = {
    AutoModerationEventType.MESSAGE_SEND: CHECKS_MESSAGES,
    AutoModerationEventType.MEMBER_UPDATE: CHECKS_MEMBERS,
}


def find(tx: Tx, guild_id: int, rule_id: int) -> RuleRow | None:
    return tx.find(
        RuleRow, f"SELECT {RULE_COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND id = ?", guild_id, rule_id
    )


def list_guild_rules(tx: Tx, guild_id: int) -> list[RuleRow]:
    """List the rules of a guild, oldest first."""
    return tx.fetch(
        RuleRow, f"SELECT {RULE_COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? ORDER BY id", guild_id
    )


def find_many(tx: Tx, guild_id: int, rule_ids: Sequence[int]) -> list[RuleRow]:
    """List the rules of a guild with the given IDs, oldest first. Unknown IDs are skipped."""
    if not rule_ids:
        return []
    return tx.fetch(
        RuleRow,
        f"SELECT {RULE_COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND id IN ({placeholders(rule_ids)}) ORDER BY id",
        guild_id,
        *rule_ids,
    )


def list_enabled(tx: Tx, guild_id: int, event_type: int) -> list[RuleRow]:
    """List the enabled rules of a guild for an event type, oldest first."""
    return tx.fetch(
        RuleRow,
        f"SELECT {RULE_COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND enabled = 1 AND event_type = ? ORDER BY id",
        guild_id,
        event_type,
    )


def count_by_trigger(tx: Tx, guild_id: int, trigger_type: int) -> int:
    """Return the number of rules of a trigger type in a guild."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM auto_moderation_rules WHERE guild_id = ? AND trigger_type = ?", guild_id, trigger_type
        )
    )


def insert(tx: Tx, row: RuleRow) -> None:
    tx.run(f"INSERT INTO auto_moderation_rules ({RULE_COLUMNS}) VALUES ({placeholders(row)})", *row)
    _update_moderation_rule_bits(tx, row.guild_id)


def update(tx: Tx, row: RuleRow) -> None:
    assignments = ", ".join(f"{field} = ?" for field in RuleRow._fields[2:])
    tx.run(
        f"UPDATE auto_moderation_rules SET {assignments} WHERE guild_id = ? AND id = ?", *row[2:], row.guild_id, row.id
    )
    _update_moderation_rule_bits(tx, row.guild_id)


def delete(tx: Tx, row: RuleRow) -> None:
    tx.run("DELETE FROM auto_moderation_rules WHERE guild_id = ? AND id = ?", row.guild_id, row.id)
    _update_moderation_rule_bits(tx, row.guild_id)


def delete_guild_rules(tx: Tx, guild_id: int) -> None:
    """Delete the rules and mention counts of a guild."""
    tx.run("DELETE FROM auto_moderation_rules WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM mention_counts WHERE guild_id = ?", guild_id)


def _update_moderation_rule_bits(tx: Tx, guild_id: int) -> None:
    """Update `guilds.moderated` from the enabled rules."""
    rows = tx.all("SELECT DISTINCT event_type FROM auto_moderation_rules WHERE guild_id = ? AND enabled = 1", guild_id)
    bits = sum(_BIT_BY_EVENT_TYPE[AutoModerationEventType(event_type)] for (event_type,) in rows)
    guilds.maintenance.set_moderation_rule_bits(tx, guild_id, bits)


def has_rules_for(tx: Tx, guild_id: int, checked_bit: int) -> bool:
    """Return whether an enabled rule of a guild checks messages (`CHECKS_MESSAGES`) or members (`CHECKS_MEMBERS`)."""
    return bool((tx.value("SELECT moderated FROM guilds WHERE id = ?", guild_id) or 0) & checked_bit)


def list_guild_ids_with_profile_rules(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of a user's guilds that have enabled profile rules."""
    rows = tx.all(
        "SELECT g.id FROM members m JOIN guilds g ON g.id = m.guild_id "
        "WHERE m.user_id = ? AND (g.moderated & ?) <> 0 ORDER BY g.id",
        user_id,
        CHECKS_MEMBERS,
    )
    return [row[0] for row in rows]


def list_quarantined_ids(tx: Tx, guild_id: int, after_user_id: int, limit: int) -> list[int]:
    """Return a page of the IDs of members quarantined for their profile: IDs above `after_user_id`, in ascending order."""
    rows = tx.all(
        "SELECT user_id FROM members WHERE guild_id = ? AND user_id > ? AND (flags & ?) <> 0 ORDER BY user_id LIMIT ?",
        guild_id,
        after_user_id,
        MemberFlags.AUTOMOD_QUARANTINED,
        limit,
    )
    return [row[0] for row in rows]


def is_quarantined(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Return whether a member is quarantined for their profile."""
    flags = tx.value("SELECT flags FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
    return bool((flags or 0) & MemberFlags.AUTOMOD_QUARANTINED)


def list_messages_since(tx: Tx, guild_id: int, user_id: int, since_ms: int, limit: int) -> list[RecentMessage]:
    """List at most `limit` messages of a user in a guild since `since_ms` (Unix milliseconds), newest first."""
    return tx.fetch(
        RecentMessage,
        "SELECT m.id, m.content FROM messages m JOIN channels c ON c.id = m.channel_id "
        "WHERE m.author_id = ? AND m.id >= ? AND c.guild_id = ? ORDER BY m.id DESC LIMIT ?",
        user_id,
        int(Snowflake.at(since_ms)),
        guild_id,
        limit,
    )


def record_mentions(tx: Tx, guild_id: int, message_id: int, user_id: int, mention_count: int, since_ms: int) -> None:
    """Store the number of mentions in a message, and delete the counts of messages that were created before `since_ms`.

    `since_ms` is in Unix milliseconds."""
    tx.run("DELETE FROM mention_counts WHERE guild_id = ? AND message_id < ?", guild_id, int(Snowflake.at(since_ms)))
    tx.run(
        "INSERT INTO mention_counts (guild_id, message_id, user_id, mentions) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (guild_id, message_id) DO UPDATE SET mentions = excluded.mentions",
        guild_id,
        message_id,
        user_id,
        mention_count,
    )


def list_mention_sums_since(tx: Tx, guild_id: int, since_ms: int) -> list[tuple[int, int]]:
    """Return (user ID, sum of stored mentions) of each author of messages since `since_ms` (Unix milliseconds)."""
    rows = tx.all(
        "SELECT user_id, SUM(mentions) FROM mention_counts WHERE guild_id = ? AND message_id >= ? GROUP BY user_id",
        guild_id,
        int(Snowflake.at(since_ms)),
    )
    return [(row[0], int(row[1])) for row in rows]
