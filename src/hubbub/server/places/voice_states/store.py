"""SQL for voice states, the status and start time of voice channels, calls outside guilds, tickets and voice servers."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, UserId
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import SESSION, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.core.voice import VoiceTicket

TABLES: Final = (
    "call_states",
    "voice_channels",
    "voice_failures",
    "voice_servers",
    "voice_states",
    "voice_tickets",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="call_states.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
    PersonalColumn(column="voice_failures.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
    PersonalColumn(column="voice_states.user_id", erasure=Erasure.DELETED, omission=SESSION),
    PersonalColumn(column="voice_tickets.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "user limit and type of a voice channel, joined with the voice state",
    "members": "mute and deafen of a member, joined with the voice state",
}
"""Tables of other slices that this slice reads, with the reason."""


class VoiceStateRow(NamedTuple):
    """A user's connection to a guild's voice channel."""

    guild_id: GuildId
    user_id: UserId
    channel_id: ChannelId
    session_id: str
    """ID derived from the gateway session ID, which must stay secret."""
    self_deaf: int
    self_mute: int
    self_video: int
    self_stream: int
    suppress: int
    """1 if the user may not speak, for example in the audience of a stage."""
    request_to_speak_ms: int | None
    """Time of the request to speak on a stage in Unix milliseconds; None without a request."""
    joined_ms: int


COLUMNS = ", ".join(VoiceStateRow._fields)


def find(tx: Tx, guild_id: int, user_id: int) -> VoiceStateRow | None:
    return tx.find(
        VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE guild_id = ? AND user_id = ?", guild_id, user_id
    )


def are_together(tx: Tx, user_id: int, other_user_id: int) -> bool:
    """Return whether two users are in the same voice channel."""
    row = tx.value(
        "SELECT 1 FROM voice_states a JOIN voice_states b ON b.channel_id = a.channel_id "
        "WHERE a.user_id = ? AND b.user_id = ? LIMIT 1",
        user_id,
        other_user_id,
    )
    return row is not None


def list_guild_states(tx: Tx, guild_id: int) -> list[VoiceStateRow]:
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE guild_id = ?", guild_id)


def list_session_states(tx: Tx, user_id: int, session_id: str) -> list[VoiceStateRow]:
    """Return the voice states of a gateway session."""
    return tx.fetch(
        VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE user_id = ? AND session_id = ?", user_id, session_id
    )


def list_user_states(tx: Tx, user_id: int) -> list[VoiceStateRow]:
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states WHERE user_id = ?", user_id)


def list_channel_states(tx: Tx, channel_ids: Sequence[int]) -> list[VoiceStateRow]:
    """Return the voice states of the given channels. The states of one channel are in the order of joining."""
    rows: list[VoiceStateRow] = []
    for batch in batches(channel_ids):
        rows += tx.fetch(
            VoiceStateRow,
            f"SELECT {COLUMNS} FROM voice_states WHERE channel_id IN ({placeholders(batch)}) ORDER BY joined_ms, user_id",
            *batch,
        )
    return rows


def list_all(tx: Tx) -> list[VoiceStateRow]:
    return tx.fetch(VoiceStateRow, f"SELECT {COLUMNS} FROM voice_states")


def put(tx: Tx, row: VoiceStateRow) -> None:
    """Insert or update a voice state; a user has at most one in each guild."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in VoiceStateRow._fields[2:])
    tx.run(
        f"INSERT INTO voice_states ({COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (guild_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete(tx: Tx, guild_id: int, user_id: int) -> None:
    tx.run("DELETE FROM voice_states WHERE guild_id = ? AND user_id = ?", guild_id, user_id)


def count_connected(tx: Tx, channel_id: int) -> int:
    """Return the number of users connected to a channel."""
    count: int = tx.value("SELECT COUNT(*) FROM voice_states WHERE channel_id = ?", channel_id)
    return count


def count_speakers(tx: Tx, channel_id: int) -> int:
    """Return the number of users in a channel who are not suppressed."""
    count: int = tx.value("SELECT COUNT(*) FROM voice_states WHERE channel_id = ? AND suppress = 0", channel_id)
    return count


def read_user_limit(tx: Tx, channel_id: int) -> int:
    """Return the user limit of a channel; 0 means unlimited."""
    return tx.value("SELECT user_limit FROM channels WHERE id = ?", channel_id) or 0


class VoiceChannelRow(NamedTuple):
    """The status and start time of a voice channel, deleted when the last user leaves."""

    channel_id: ChannelId
    guild_id: GuildId
    status: str | None
    started_ms: int | None
    """Time when the first user joined, in Unix milliseconds; None if only a status is set."""


def find_channel(tx: Tx, channel_id: int) -> VoiceChannelRow | None:
    """Return the status and start time of a voice channel, or None if it has neither."""
    return tx.find(
        VoiceChannelRow,
        "SELECT channel_id, guild_id, status, started_ms FROM voice_channels WHERE channel_id = ?",
        channel_id,
    )


def list_channels(tx: Tx, guild_id: int) -> list[VoiceChannelRow]:
    """Return the status and start time of a guild's voice channels that have them."""
    return tx.fetch(
        VoiceChannelRow,
        "SELECT channel_id, guild_id, status, started_ms FROM voice_channels WHERE guild_id = ?",
        guild_id,
    )


def delete_guild_states(tx: Tx, guild_id: int) -> None:
    """Delete the voice states of a guild, its channels' status and start time, its tickets and rejection counts."""
    for table in ("voice_states", "voice_channels"):
        tx.run(f"DELETE FROM {table} WHERE guild_id = ?", guild_id)
    for table in ("voice_tickets", "voice_failures"):
        tx.run(f"DELETE FROM {table} WHERE server_id = ?", guild_id)


def put_channel(tx: Tx, row: VoiceChannelRow) -> None:
    """Insert or update the status and start time of a voice channel."""
    tx.run(
        "INSERT INTO voice_channels (channel_id, guild_id, status, started_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (channel_id) DO UPDATE SET status = excluded.status, started_ms = excluded.started_ms",
        *row,
    )


def delete_channel(tx: Tx, channel_id: int) -> None:
    """Delete the status and start time of a voice channel."""
    tx.run("DELETE FROM voice_channels WHERE channel_id = ?", channel_id)


def delete_all(tx: Tx) -> None:
    """Delete all rows of all tables of this slice."""
    for table in ("voice_states", "voice_channels", "call_states", "voice_tickets", "voice_servers", "voice_failures"):
        tx.run(f"DELETE FROM {table}")


# Calls of lobbies and of private channels


class VoiceCallKind(IntEnum):
    """The kind of a voice call outside a guild: the call of a lobby, or of a private channel."""

    LOBBY = 1
    PRIVATE = 2


class VoiceCallParticipantRow(NamedTuple):
    """A participant in the voice call of a lobby or a private channel."""

    voice_call_id: Snowflake
    """The ID of the lobby or private channel; the column is `call_id`."""
    user_id: UserId
    kind: int
    """Value of `VoiceCallKind`."""
    session_id: str
    """ID derived from the gateway session ID, which must stay secret."""
    self_deaf: int
    self_mute: int
    self_video: int
    joined_ms: int


_PARTICIPANT_COLUMNS = ", ".join(("call_id", *VoiceCallParticipantRow._fields[1:]))


def find_participant(tx: Tx, voice_call_id: int, user_id: int) -> VoiceCallParticipantRow | None:
    return tx.find(
        VoiceCallParticipantRow,
        f"SELECT {_PARTICIPANT_COLUMNS} FROM call_states WHERE call_id = ? AND user_id = ?",
        voice_call_id,
        user_id,
    )


def find_participants(tx: Tx, voice_call_ids: Sequence[int]) -> dict[int, list[VoiceCallParticipantRow]]:
    """Return the participants of voice calls by voice call ID, in order of joining.

    Voice calls without participants are absent."""
    participants_by_voice_call: dict[int, list[VoiceCallParticipantRow]] = {}
    for batch in batches(voice_call_ids):
        for row in tx.fetch(
            VoiceCallParticipantRow,
            f"SELECT {_PARTICIPANT_COLUMNS} FROM call_states WHERE call_id IN ({placeholders(batch)}) ORDER BY joined_ms, user_id",
            *batch,
        ):
            participants_by_voice_call.setdefault(row.voice_call_id, []).append(row)
    return participants_by_voice_call


def list_participations_of_user(tx: Tx, user_id: int) -> list[VoiceCallParticipantRow]:
    """Return a user's participant rows in voice calls outside guilds, in order of joining."""
    return tx.fetch(
        VoiceCallParticipantRow,
        f"SELECT {_PARTICIPANT_COLUMNS} FROM call_states WHERE user_id = ? ORDER BY joined_ms",
        user_id,
    )


def list_all_participants(tx: Tx) -> list[VoiceCallParticipantRow]:
    return tx.fetch(VoiceCallParticipantRow, f"SELECT {_PARTICIPANT_COLUMNS} FROM call_states")


def put_participant(tx: Tx, row: VoiceCallParticipantRow) -> None:
    """Insert or update a participant."""
    assignments = ", ".join(f"{name} = excluded.{name}" for name in VoiceCallParticipantRow._fields[2:])
    tx.run(
        f"INSERT INTO call_states ({_PARTICIPANT_COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (call_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_participant(tx: Tx, voice_call_id: int, user_id: int) -> None:
    tx.run("DELETE FROM call_states WHERE call_id = ? AND user_id = ?", voice_call_id, user_id)


# Tickets and voice servers


class TicketRow(NamedTuple):
    """A credential with which a user connects to the voice server."""

    server_id: int
    """The ID of a guild, lobby or private channel."""
    user_id: int
    channel_id: int
    """The ID of a guild's channel, otherwise the same as `server_id`."""
    session_id: str
    token_hash: bytes
    server: str | None
    """Endpoint of the voice server; None if none was available."""


def put_ticket(tx: Tx, row: TicketRow) -> None:
    """Insert a ticket, or replace the user's earlier ticket for the guild, lobby or private channel."""
    columns = TicketRow._fields
    assignments = ", ".join(f"{name} = excluded.{name}" for name in columns[2:])
    tx.run(
        f"INSERT INTO voice_tickets ({', '.join(columns)}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (server_id, user_id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_ticket(tx: Tx, server_id: int, user_id: int) -> None:
    """Delete a user's ticket for a guild, lobby or private channel."""
    tx.run("DELETE FROM voice_tickets WHERE server_id = ? AND user_id = ?", server_id, user_id)


_SELECT_TICKETS = (
    "SELECT t.server_id, t.user_id, t.channel_id, t.session_id, t.token_hash, t.server, "
    "s.self_mute, k.self_mute, s.suppress, m.mute, s.self_deaf, k.self_deaf, m.deaf, c.type, f.failures FROM voice_tickets t "
    "LEFT JOIN voice_states s ON s.guild_id = t.server_id AND s.user_id = t.user_id "
    "LEFT JOIN call_states k ON k.call_id = t.server_id AND k.user_id = t.user_id "
    "LEFT JOIN members m ON m.guild_id = t.server_id AND m.user_id = t.user_id "
    "LEFT JOIN channels c ON c.id = t.channel_id "
    "LEFT JOIN voice_failures f ON f.server_id = t.server_id AND f.user_id = t.user_id "
    "WHERE (s.user_id IS NOT NULL OR k.user_id IS NOT NULL) AND "
)


def find_ticket(tx: Tx, token_hash: bytes) -> VoiceTicket | None:
    """Return the ticket of a token with the state that the voice server needs, or None."""
    return _ticket_from_row(tx.one(_SELECT_TICKETS + "t.token_hash = ?", token_hash))


def find_ticket_of_user(tx: Tx, server_id: int, user_id: int) -> VoiceTicket | None:
    """Return a user's ticket for a guild, lobby or private channel, or None."""
    return _ticket_from_row(tx.one(_SELECT_TICKETS + "t.server_id = ? AND t.user_id = ?", server_id, user_id))


def _ticket_from_row(row: tuple[Any, ...] | None) -> VoiceTicket | None:
    if row is None:
        return None
    server_id, user_id, channel_id, session_id, token_hash, server, *mute_and_deaf_columns, channel_type, failures = row
    guild_self_mute, call_self_mute, suppress, mute, guild_self_deaf, call_self_deaf, deaf = mute_and_deaf_columns
    return VoiceTicket(
        server_id=Snowflake(server_id),
        user_id=UserId(user_id),
        channel_id=Snowflake(channel_id),
        session_id=session_id,
        token_hash=bytes(token_hash),
        endpoint=server,
        is_silent=any((guild_self_mute, call_self_mute, suppress, mute)),
        is_suppressed=bool(suppress),
        is_deaf=any((guild_self_deaf, call_self_deaf, deaf)),
        is_stage=channel_type == ChannelType.GUILD_STAGE_VOICE,
        failures=failures or 0,
    )


def find_server_endpoint(tx: Tx, channel_id: int) -> str | None:
    """Return the endpoint of the voice server that the participants of a channel use, or None."""
    server: str | None = tx.value(
        "SELECT server FROM voice_tickets WHERE channel_id = ? AND server IS NOT NULL LIMIT 1", channel_id
    )
    return server


def list_server_states(tx: Tx, endpoint: str) -> list[VoiceStateRow]:
    """Return the voice states of guild members on a voice server."""
    columns = ", ".join(f"s.{name}" for name in VoiceStateRow._fields)
    return tx.fetch(
        VoiceStateRow,
        f"SELECT {columns} FROM voice_tickets t JOIN voice_states s ON s.guild_id = t.server_id AND s.user_id = t.user_id "
        "WHERE t.server = ? ORDER BY s.joined_ms, s.user_id",
        endpoint,
    )


def list_participants_of_server(tx: Tx, endpoint: str) -> list[VoiceCallParticipantRow]:
    """Return the participants of voice calls outside guilds on a voice server."""
    columns = ", ".join(f"s.{name}" for name in ("call_id", *VoiceCallParticipantRow._fields[1:]))
    return tx.fetch(
        VoiceCallParticipantRow,
        f"SELECT {columns} FROM voice_tickets t JOIN call_states s ON s.call_id = t.server_id AND s.user_id = t.user_id "
        "WHERE t.server = ? ORDER BY s.joined_ms, s.user_id",
        endpoint,
    )


def put_server(tx: Tx, endpoint: str, now_ms: int) -> None:
    """Record a heartbeat of a voice server at `now_ms` (Unix milliseconds)."""
    tx.run(
        "INSERT INTO voice_servers (endpoint, seen_ms) VALUES (?, ?) "
        "ON CONFLICT (endpoint) DO UPDATE SET seen_ms = excluded.seen_ms",
        endpoint,
        now_ms,
    )


def delete_server(tx: Tx, endpoint: str) -> None:
    tx.run("DELETE FROM voice_servers WHERE endpoint = ?", endpoint)


def find_server_heartbeats(tx: Tx) -> dict[str, int]:
    """Return the time of the last heartbeat of every voice server in Unix milliseconds, by endpoint."""
    return {row[0]: row[1] for row in tx.all("SELECT endpoint, seen_ms FROM voice_servers")}


def find_failures(tx: Tx, server_id: int, user_id: int) -> tuple[int, int]:
    """Return the number of rejections of a user by the voice server, and the time of the last rejection in Unix milliseconds.

    Both are 0 if there was no rejection."""
    row = tx.one(
        "SELECT failures, failed_ms FROM voice_failures WHERE server_id = ? AND user_id = ?", server_id, user_id
    )
    return (0, 0) if row is None else (row[0], row[1])


def list_failed_server_ids(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of guilds, lobbies and private channels whose voice server recently rejected a user."""
    return [row[0] for row in tx.all("SELECT server_id FROM voice_failures WHERE user_id = ?", user_id)]


def delete_expired_failures(tx: Tx, before_ms: int) -> None:
    """Delete the counts of rejected connections if the last rejection was before `before_ms` (Unix milliseconds)."""
    tx.run("DELETE FROM voice_failures WHERE failed_ms < ?", before_ms)


def put_failures(tx: Tx, server_id: int, user_id: int, failure_count: int, now_ms: int) -> None:
    """Set the number of rejected connections; 0 deletes the row.

    `now_ms` (Unix milliseconds) is the time of the last rejection."""
    if not failure_count:
        tx.run("DELETE FROM voice_failures WHERE server_id = ? AND user_id = ?", server_id, user_id)
        return
    tx.run(
        "INSERT INTO voice_failures (server_id, user_id, failures, failed_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (server_id, user_id) DO UPDATE SET failures = excluded.failures, failed_ms = excluded.failed_ms",
        server_id,
        user_id,
        failure_count,
        now_ms,
    )
