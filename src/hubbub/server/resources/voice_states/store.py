"""Rows of voice states, of what a voice channel has only while people are in it, of calls elsewhere, and of tickets."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, UserId
from hubbub.server.core.store import Tx, places
from hubbub.server.core.voice import Ticket


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


def list_of_user(tx: Tx, user_id: int) -> list[VoiceStateRow]:
    """Where one user is connected."""
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE user_id = ?", user_id)


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


def delete_guild(tx: Tx, guild_id: int) -> None:
    """Forget everything of a guild."""
    for table in ("voice_states", "voice_channels"):
        tx.run(f"DELETE FROM {table} WHERE guild_id = ?", guild_id)
    for table in ("voice_tickets", "voice_failures"):
        tx.run(f"DELETE FROM {table} WHERE server_id = ?", guild_id)


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
    for table in ("voice_states", "voice_channels", "call_states", "voice_tickets", "voice_servers", "voice_failures"):
        tx.run(f"DELETE FROM {table}")


# Calls of lobbies and of private channels


class CallKind(IntEnum):
    """Whose call it is, where it is not a guild's channel's."""

    LOBBY = 1
    PRIVATE = 2


class CallStateRow(NamedTuple):
    """A user's connection to the call of a lobby or of a private channel."""

    call_id: Snowflake
    """The lobby or the channel."""
    user_id: UserId
    kind: int
    session_id: str
    """Made from the gateway session's id, which others must not learn."""
    self_deaf: int
    self_mute: int
    self_video: int
    joined_ms: int


_CALLS = ", ".join(CallStateRow._fields)


def find_caller(tx: Tx, call_id: int, user_id: int) -> CallStateRow | None:
    """How somebody is in a call, or None."""
    return tx.find(
        CallStateRow, f"SELECT {_CALLS} FROM call_states WHERE call_id = ? AND user_id = ?", call_id, user_id
    )


def callers(tx: Tx, call_ids: Sequence[int]) -> dict[int, list[CallStateRow]]:
    """Who is in some calls, in the order in which they came; calls with nobody in them are absent."""
    found: dict[int, list[CallStateRow]] = {}
    for start in range(0, len(call_ids), 500):
        some = call_ids[start : start + 500]
        for row in tx.fetch(
            CallStateRow,
            f"SELECT {_CALLS} FROM call_states WHERE call_id IN ({places(some)}) ORDER BY joined_ms, user_id",
            *some,
        ):
            found.setdefault(row.call_id, []).append(row)
    return found


def calls_of_user(tx: Tx, user_id: int) -> list[CallStateRow]:
    """The calls that somebody is in."""
    return tx.fetch(CallStateRow, f"SELECT {_CALLS} FROM call_states WHERE user_id = ? ORDER BY joined_ms", user_id)


def all_callers(tx: Tx) -> list[CallStateRow]:
    """Everybody in any call."""
    return tx.fetch(CallStateRow, f"SELECT {_CALLS} FROM call_states")


def put_caller(tx: Tx, row: CallStateRow) -> None:
    """Keep how somebody is in a call."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in CallStateRow._fields[2:])
    tx.run(
        f"INSERT INTO call_states ({_CALLS}) VALUES ({places(row)}) ON CONFLICT (call_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_caller(tx: Tx, call_id: int, user_id: int) -> None:
    """They are in it no more."""
    tx.run("DELETE FROM call_states WHERE call_id = ? AND user_id = ?", call_id, user_id)


# Tickets and voice servers


class TicketRow(NamedTuple):
    """What lets somebody into the voice server."""

    server_id: int
    """A guild, a lobby or a private channel."""
    user_id: int
    channel_id: int
    """Whose call it is: a guild's channel, or the same again."""
    session_id: str
    token_hash: bytes
    server: str | None


def put_ticket(tx: Tx, row: TicketRow) -> None:
    """Keep a ticket in place of an older one."""
    names = TicketRow._fields
    assignments = ", ".join(f"{name} = excluded.{name}" for name in names[2:])
    tx.run(
        f"INSERT INTO voice_tickets ({', '.join(names)}) VALUES ({places(row)}) "
        f"ON CONFLICT (server_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_ticket(tx: Tx, server_id: int, user_id: int) -> None:
    """Forget a ticket."""
    tx.run("DELETE FROM voice_tickets WHERE server_id = ? AND user_id = ?", server_id, user_id)


_TICKETS = (
    "SELECT t.server_id, t.user_id, t.channel_id, t.session_id, t.token_hash, t.server, "
    "s.self_mute, k.self_mute, s.suppress, m.mute, s.self_deaf, k.self_deaf, m.deaf, c.type, f.failures FROM voice_tickets t "
    "LEFT JOIN voice_states s ON s.guild_id = t.server_id AND s.user_id = t.user_id "
    "LEFT JOIN call_states k ON k.call_id = t.server_id AND k.user_id = t.user_id "
    "LEFT JOIN members m ON m.guild_id = t.server_id AND m.user_id = t.user_id "
    "LEFT JOIN channels c ON c.id = t.channel_id "
    "LEFT JOIN voice_failures f ON f.server_id = t.server_id AND f.user_id = t.user_id "
    "WHERE (s.user_id IS NOT NULL OR k.user_id IS NOT NULL) AND "
)


def find_ticket(tx: Tx, token_hash: bytes) -> Ticket | None:
    """The ticket of a token, with what the voice server must know of its owner."""
    return _ticket(tx.one(_TICKETS + "t.token_hash = ?", token_hash))


def ticket_of(tx: Tx, server_id: int, user_id: int) -> Ticket | None:
    """The ticket of somebody in a guild, lobby or private channel."""
    return _ticket(tx.one(_TICKETS + "t.server_id = ? AND t.user_id = ?", server_id, user_id))


def _ticket(row: tuple[Any, ...] | None) -> Ticket | None:
    if row is None:
        return None
    server_id, user_id, channel_id, session_id, token_hash, server, *states, kind, failures = row
    return Ticket(
        server_id=Snowflake(server_id),
        user_id=UserId(user_id),
        channel_id=Snowflake(channel_id),
        session_id=session_id,
        token_hash=bytes(token_hash),
        server=server,
        silent=any(states[:4]),
        deaf=any(states[4:]),
        stage=kind == ChannelType.GUILD_STAGE_VOICE,
        failures=failures or 0,
    )


def server_of(tx: Tx, channel_id: int) -> str | None:
    """The voice server that those in a channel were sent to."""
    server: str | None = tx.value(
        "SELECT server FROM voice_tickets WHERE channel_id = ? AND server IS NOT NULL LIMIT 1", channel_id
    )
    return server


def list_of_server(tx: Tx, server: str) -> list[VoiceStateRow]:
    """Everybody in a guild who was sent to a voice server."""
    columns = ", ".join(f"s.{name}" for name in VoiceStateRow._fields)
    return tx.fetch(
        VoiceStateRow,
        f"SELECT {columns} FROM voice_tickets t JOIN voice_states s ON s.guild_id = t.server_id AND s.user_id = t.user_id "
        "WHERE t.server = ? ORDER BY s.joined_ms, s.user_id",
        server,
    )


def callers_of_server(tx: Tx, server: str) -> list[CallStateRow]:
    """The same of calls outside guilds."""
    columns = ", ".join(f"s.{name}" for name in CallStateRow._fields)
    return tx.fetch(
        CallStateRow,
        f"SELECT {columns} FROM voice_tickets t JOIN call_states s ON s.call_id = t.server_id AND s.user_id = t.user_id "
        "WHERE t.server = ? ORDER BY s.joined_ms, s.user_id",
        server,
    )


def put_server(tx: Tx, endpoint: str, now: int) -> None:
    """A voice server is there."""
    tx.run(
        "INSERT INTO voice_servers (endpoint, seen_ms) VALUES (?, ?) "
        "ON CONFLICT (endpoint) DO UPDATE SET seen_ms = excluded.seen_ms",
        endpoint,
        now,
    )


def delete_server(tx: Tx, endpoint: str) -> None:
    """A voice server is gone."""
    tx.run("DELETE FROM voice_servers WHERE endpoint = ?", endpoint)


def servers(tx: Tx) -> dict[str, int]:
    """Every voice server, and when it was last there."""
    return {row[0]: row[1] for row in tx.all("SELECT endpoint, seen_ms FROM voice_servers")}


def failures(tx: Tx, server_id: int, user_id: int) -> tuple[int, int]:
    """How often the voice server refused somebody, and when it last did."""
    row = tx.one(
        "SELECT failures, failed_ms FROM voice_failures WHERE server_id = ? AND user_id = ?", server_id, user_id
    )
    return (0, 0) if row is None else (row[0], row[1])


def failed_at(tx: Tx, user_id: int) -> list[int]:
    """Where the voice server refused somebody lately; the table is as good as empty."""
    return [row[0] for row in tx.all("SELECT server_id FROM voice_failures WHERE user_id = ?", user_id)]


def forget_failures(tx: Tx, before_ms: int) -> None:
    """Forget refusals that count no more."""
    tx.run("DELETE FROM voice_failures WHERE failed_ms < ?", before_ms)


def put_failures(tx: Tx, server_id: int, user_id: int, count: int, now: int) -> None:
    """Keep how often; 0 forgets it."""
    if not count:
        tx.run("DELETE FROM voice_failures WHERE server_id = ? AND user_id = ?", server_id, user_id)
        return
    tx.run(
        "INSERT INTO voice_failures (server_id, user_id, failures, failed_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (server_id, user_id) DO UPDATE SET failures = excluded.failures, failed_ms = excluded.failed_ms",
        server_id,
        user_id,
        count,
        now,
    )
