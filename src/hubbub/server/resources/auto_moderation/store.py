"""Rows of rules, and what their checks count."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AutoModerationEventType
from hubbub.protocol.flags import MemberFlags
from hubbub.protocol.ids import ChannelId, RoleId, Snowflake
from hubbub.protocol.resources.auto_moderation import Action, TriggerMetadata
from hubbub.server.core.store import Tx, places


class RuleRow(NamedTuple):
    """A rule as we keep it."""

    guild_id: int
    id: int
    name: str
    creator_id: int
    event_type: int
    trigger_type: int
    trigger_metadata: str
    """JSON of TriggerMetadata."""
    actions: str
    """JSON of Actions."""
    enabled: int
    exempt_roles: str = "[]"
    exempt_channels: str = "[]"

    @property
    def metadata(self) -> TriggerMetadata:
        """What it looks for."""
        return json.decode(self.trigger_metadata, TriggerMetadata)

    @property
    def action_list(self) -> list[Action]:
        """What it does."""
        return json.decode(self.actions, list[Action])

    @property
    def exempt_role_ids(self) -> list[RoleId]:
        """Whose wearers it does not look at."""
        return json.decode(self.exempt_roles, list[RoleId])

    @property
    def exempt_channel_ids(self) -> list[ChannelId]:
        """Where it does not look."""
        return json.decode(self.exempt_channels, list[ChannelId])


class Spoken(NamedTuple):
    """Something that somebody said lately."""

    id: int
    content: str


COLUMNS: Final = ", ".join(RuleRow._fields)

MESSAGES: Final = 1
MEMBERS: Final = 2
"""Bits of `guilds.moderated`: what a guild's enabled rules look at."""
_LOOKS_AT: Final = {AutoModerationEventType.MESSAGE_SEND: MESSAGES, AutoModerationEventType.MEMBER_UPDATE: MEMBERS}


def find(tx: Tx, guild_id: int, rule_id: int) -> RuleRow | None:
    """A rule of a guild, or None."""
    return tx.find(
        RuleRow, f"SELECT {COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND id = ?", guild_id, rule_id
    )


def list_of_guild(tx: Tx, guild_id: int) -> list[RuleRow]:
    """A guild's rules, oldest first."""
    return tx.fetch(RuleRow, f"SELECT {COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? ORDER BY id", guild_id)


def find_many(tx: Tx, guild_id: int, rule_ids: Sequence[int]) -> list[RuleRow]:
    """Those of these rules that are there, oldest first."""
    if not rule_ids:
        return []
    return tx.fetch(
        RuleRow,
        f"SELECT {COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND id IN ({places(rule_ids)}) ORDER BY id",
        guild_id,
        *rule_ids,
    )


def list_enabled(tx: Tx, guild_id: int, event_type: int) -> list[RuleRow]:
    """The rules that look at something now, oldest first."""
    return tx.fetch(
        RuleRow,
        f"SELECT {COLUMNS} FROM auto_moderation_rules WHERE guild_id = ? AND enabled = 1 AND event_type = ? ORDER BY id",
        guild_id,
        event_type,
    )


def count(tx: Tx, guild_id: int, trigger_type: int) -> int:
    """How many rules of a kind a guild has."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM auto_moderation_rules WHERE guild_id = ? AND trigger_type = ?", guild_id, trigger_type
        )
    )


def insert(tx: Tx, row: RuleRow) -> None:
    """Keep a new rule."""
    tx.run(f"INSERT INTO auto_moderation_rules ({COLUMNS}) VALUES ({places(row)})", *row)
    _note(tx, row.guild_id)


def update(tx: Tx, row: RuleRow) -> None:
    """Keep what changed of a rule."""
    settings = ", ".join(f"{field} = ?" for field in RuleRow._fields[2:])
    tx.run(f"UPDATE auto_moderation_rules SET {settings} WHERE guild_id = ? AND id = ?", *row[2:], row.guild_id, row.id)
    _note(tx, row.guild_id)


def delete(tx: Tx, row: RuleRow) -> None:
    """Remove a rule."""
    tx.run("DELETE FROM auto_moderation_rules WHERE guild_id = ? AND id = ?", row.guild_id, row.id)
    _note(tx, row.guild_id)


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Remove all that is kept for a guild."""
    tx.run("DELETE FROM auto_moderation_rules WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM mention_counts WHERE guild_id = ?", guild_id)


def _note(tx: Tx, guild_id: int) -> None:
    """Write beside the guild what its rules look at now."""
    found = tx.all("SELECT DISTINCT event_type FROM auto_moderation_rules WHERE guild_id = ? AND enabled = 1", guild_id)
    bits = sum(_LOOKS_AT[AutoModerationEventType(event_type)] for (event_type,) in found)
    tx.run("UPDATE guilds SET moderated = ? WHERE id = ? AND moderated <> ?", bits, guild_id, bits)


def looks_at(tx: Tx, guild_id: int, what: int) -> bool:
    """Whether some rule of a guild looks at messages, or at members."""
    return bool((tx.value("SELECT moderated FROM guilds WHERE id = ?", guild_id) or 0) & what)


def guilds_watching_members(tx: Tx, user_id: int) -> list[int]:
    """The guilds of a user whose rules look at members' names."""
    rows = tx.all(
        "SELECT g.id FROM members m JOIN guilds g ON g.id = m.guild_id WHERE m.user_id = ? AND g.moderated >= ? ORDER BY g.id",
        user_id,
        MEMBERS,
    )
    return [row[0] for row in rows]


def quarantined(tx: Tx, guild_id: int, after: int, limit: int) -> list[int]:
    """Members who are quarantined for their profile, by ascending id."""
    rows = tx.all(
        "SELECT user_id FROM members WHERE guild_id = ? AND user_id > ? AND (flags & ?) <> 0 ORDER BY user_id LIMIT ?",
        guild_id,
        after,
        MemberFlags.AUTOMOD_QUARANTINED,
        limit,
    )
    return [row[0] for row in rows]


def is_quarantined(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Whether a member is quarantined for their profile."""
    flags = tx.value("SELECT flags FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id)
    return bool((flags or 0) & MemberFlags.AUTOMOD_QUARANTINED)


def said_since(tx: Tx, guild_id: int, user_id: int, since_ms: int, limit: int) -> list[Spoken]:
    """What somebody said in a guild since a moment, newest first."""
    return tx.fetch(
        Spoken,
        "SELECT m.id, m.content FROM messages m JOIN channels c ON c.id = m.channel_id "
        "WHERE m.author_id = ? AND m.id >= ? AND c.guild_id = ? ORDER BY m.id DESC LIMIT ?",
        user_id,
        int(Snowflake.at(since_ms)),
        guild_id,
        limit,
    )


def count_mentions(tx: Tx, guild_id: int, message_id: int, user_id: int, mentions: int, since_ms: int) -> None:
    """Note that somebody mentioned others, and forget what was noted before a moment."""
    tx.run("DELETE FROM mention_counts WHERE guild_id = ? AND message_id < ?", guild_id, int(Snowflake.at(since_ms)))
    tx.run(
        "INSERT INTO mention_counts (guild_id, message_id, user_id, mentions) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (guild_id, message_id) DO UPDATE SET mentions = excluded.mentions",
        guild_id,
        message_id,
        user_id,
        mentions,
    )


def mentioned_since(tx: Tx, guild_id: int, since_ms: int) -> list[tuple[int, int]]:
    """How many mentions each member made in a guild since a moment."""
    rows = tx.all(
        "SELECT user_id, SUM(mentions) FROM mention_counts WHERE guild_id = ? AND message_id >= ? GROUP BY user_id",
        guild_id,
        int(Snowflake.at(since_ms)),
    )
    return [(row[0], int(row[1])) for row in rows]
