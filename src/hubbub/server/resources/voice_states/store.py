"""Rows of voice states, and of what a voice channel has only while people are in it."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from hubbub.protocol.ids import ChannelId, GuildId, UserId
from hubbub.server.core.store import Tx, places


class VoiceStateRow(NamedTuple):
    """A user's connection to a guild's voice channel."""

    guild_id: GuildId
    user_id: UserId
    channel_id: ChannelId
    session_id: str
    """Made from the gateway session's id, which others must not learn."""
    self_deaf: int
    self_mute: int
    self_video: int
    self_stream: int
    suppress: int
    request_to_speak_ms: int | None
    joined_ms: int


COLUMNS = ", ".join(VoiceStateRow._fields)


def voice_session_id(gateway_session_id: str) -> str:
    """The session id that voice states show."""
    return hashlib.sha256(f"voice {gateway_session_id}".encode()).hexdigest()[:32]


def find(tx: Tx, guild_id: int, user_id: int) -> VoiceStateRow | None:
    """A user's voice state in a guild, or None."""
    return tx.find(
        VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE guild_id = ? AND user_id = ?", guild_id, user_id
    )


def are_together(tx: Tx, one: int, other: int) -> bool:
    """Whether two users are in one voice channel."""
    found = tx.value(
        "SELECT 1 FROM voice_states a JOIN voice_states b ON b.channel_id = a.channel_id "
        "WHERE a.user_id = ? AND b.user_id = ? LIMIT 1",
        one,
        other,
    )
    return found is not None


def list_of_guild(tx: Tx, guild_id: int) -> list[VoiceStateRow]:
    """Everybody connected in a guild."""
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE guild_id = ?", guild_id)


def list_of_session(tx: Tx, user_id: int, session_id: str) -> list[VoiceStateRow]:
    """What one gateway session holds."""
    return tx.fetch(
        VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE user_id = ? AND session_id = ?", user_id, session_id
    )


def list_of_channels(tx: Tx, channel_ids: Sequence[int]) -> list[VoiceStateRow]:
    """Everybody connected to one of these channels."""
    found: list[VoiceStateRow] = []
    for start in range(0, len(channel_ids), 500):
        some = channel_ids[start : start + 500]
        found += tx.fetch(
            VoiceStateRow,
            f"SELECT {COLUMNS} FROM voice_states WHERE channel_id IN ({places(some)}) ORDER BY joined_ms, user_id",
            *some,
        )
    return found


def everywhere(tx: Tx) -> list[VoiceStateRow]:
    """Everybody connected anywhere."""
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states")


def put(tx: Tx, row: VoiceStateRow) -> None:
    """Keep a voice state; a user has one per guild."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in VoiceStateRow._fields[2:])
    tx.run(
        f"INSERT INTO voice_states ({COLUMNS}) VALUES ({places(row)}) ON CONFLICT (guild_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete(tx: Tx, guild_id: int, user_id: int) -> None:
    """Forget a voice state."""
    tx.run("DELETE FROM voice_states WHERE guild_id = ? AND user_id = ?", guild_id, user_id)


def connected(tx: Tx, channel_id: int) -> int:
    """How many are connected to a channel."""
    count: int = tx.value("SELECT COUNT(*) FROM voice_states WHERE channel_id = ?", channel_id)
    return count


def speakers(tx: Tx, channel_id: int) -> int:
    """How many in a channel are not held back from speaking."""
    count: int = tx.value("SELECT COUNT(*) FROM voice_states WHERE channel_id = ? AND suppress = 0", channel_id)
    return count


def user_limit(tx: Tx, channel_id: int) -> int:
    """How many a channel admits; 0 is no limit."""
    return tx.value("SELECT user_limit FROM channels WHERE id = ?", channel_id) or 0


class VoiceChannelRow(NamedTuple):
    """What a voice channel has while people are in it."""

    channel_id: ChannelId
    guild_id: GuildId
    status: str | None
    started_ms: int | None


def find_channel(tx: Tx, channel_id: int) -> VoiceChannelRow | None:
    """A voice channel's ephemeral side, or None when it has none."""
    return tx.find(
        VoiceChannelRow,
        "SELECT channel_id, guild_id, status, started_ms FROM voice_channels WHERE channel_id = ?",
        channel_id,
    )


def list_channels(tx: Tx, guild_id: int) -> list[VoiceChannelRow]:
    """Those of a guild."""
    return tx.fetch(
        VoiceChannelRow,
        "SELECT channel_id, guild_id, status, started_ms FROM voice_channels WHERE guild_id = ?",
        guild_id,
    )


def put_channel(tx: Tx, row: VoiceChannelRow) -> None:
    """Keep a voice channel's ephemeral side."""
    tx.run(
        "INSERT INTO voice_channels (channel_id, guild_id, status, started_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (channel_id) DO UPDATE SET status = excluded.status, started_ms = excluded.started_ms",
        *row,
    )


def delete_channel(tx: Tx, channel_id: int) -> None:
    """Forget it."""
    tx.run("DELETE FROM voice_channels WHERE channel_id = ?", channel_id)


def clear(tx: Tx) -> None:
    """Nobody is connected any more."""
    tx.run("DELETE FROM voice_states")
    tx.run("DELETE FROM voice_channels")
