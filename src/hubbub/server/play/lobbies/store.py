"""SQL for the lobbies, lobby_members and lobby_messages tables."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "lobbies",
    "lobby_members",
    "lobby_messages",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="lobby_members.user_id", erasure=Erasure.DELETED, export="lobbies"),
    PersonalColumn(column="lobby_messages.author_id", erasure=Erasure.WRITTEN, export="lobby_messages"),
)
"""Columns of these tables that contain IDs of users."""


class LobbyRow(NamedTuple):
    """A lobby of an application, with its idle time, secret and linked channel."""

    id: int
    application_id: int
    metadata: str | None
    """Metadata as JSON, or None."""
    flags: int
    """Bits of `LobbyFlags`."""
    idle_timeout_seconds: int
    idle_ms: int | None = None
    """Start of the idle time in Unix milliseconds; None while a member is connected."""
    by_secret: int = 0
    """1 if the lobby was created with a secret, so that users may join with it and leave; otherwise 0."""
    secret: str | None = None
    """The secret that users join with; None if there is none or it was cleared after it expired."""
    secret_expires_ms: int | None = None
    """Unix milliseconds when the secret expires or expired; None if the lobby was created without a secret."""
    override_event_webhooks_url: str | None = None
    """URL that receives the lobby's webhook events, or None for the application's own URL."""
    linked_channel_id: int | None = None


class LobbyMemberRow(NamedTuple):
    """The membership of a user in a lobby."""

    lobby_id: int
    user_id: int
    application_id: int
    """The application of the lobby."""
    metadata: str | None = None
    """Metadata as JSON, or None."""
    flags: int = 0
    """Bits of `LobbyMemberFlags`."""
    additional_name: str | None = None
    """Additional display name, such as the name of the player's character, or None."""


class LobbyMessageRow(NamedTuple):
    """A message of a lobby, or the lobby's copy of a message of the linked channel."""

    lobby_id: int
    id: int
    channel_id: int
    """The linked channel that contains the message, or the lobby's own ID."""
    author_id: int
    type: int
    content: str
    flags: int
    application_id: int | None = None
    additional_name: str | None = None
    metadata: str | None = None
    """Metadata as JSON, or None."""
    moderation_metadata: str | None = None
    """Moderation metadata as JSON, or None."""
    edited_ms: int | None = None
    """Time of the last edit in Unix milliseconds, or None."""


_LOBBY_COLUMNS = ", ".join(LobbyRow._fields)
_MEMBER_COLUMNS = ", ".join(LobbyMemberRow._fields)
_MESSAGE_COLUMNS = ", ".join(LobbyMessageRow._fields)


def encode_metadata(metadata: dict[str, str] | None) -> str | None:
    """Encode metadata for storage; None stays None."""
    return None if metadata is None else codec.encode(metadata).decode()


def decode_metadata(metadata_json: str | None) -> dict[str, str] | None:
    """Decode stored metadata; None stays None."""
    return None if metadata_json is None else codec.decode(metadata_json, dict[str, str])


# Lobbies


def find(tx: Tx, lobby_id: int) -> LobbyRow | None:
    """Return a lobby, or None if it does not exist."""
    return tx.find(LobbyRow, f"SELECT {_LOBBY_COLUMNS} FROM lobbies WHERE id = ?", lobby_id)


def find_by_secret(tx: Tx, application_id: int, secret: str) -> LobbyRow | None:
    """Return the lobby with a secret, whether or not the secret has expired, or None."""
    return tx.find(
        LobbyRow,
        f"SELECT {_LOBBY_COLUMNS} FROM lobbies WHERE application_id = ? AND secret = ?",
        application_id,
        secret,
    )


def insert(tx: Tx, row: LobbyRow) -> bool:
    """Insert a lobby; return False if its ID or secret is taken."""
    return bool(
        tx.run(f"INSERT INTO lobbies ({_LOBBY_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT DO NOTHING", *row)
    )


def update(tx: Tx, row: LobbyRow) -> None:
    """Update all columns of a lobby."""
    assignments = ", ".join(f"{name} = ?" for name in LobbyRow._fields if name != "id")
    tx.run(f"UPDATE lobbies SET {assignments} WHERE id = ?", *row[1:], row.id)


def clear_secret(tx: Tx, lobby_id: int) -> None:
    """Clear a lobby's secret, so that users can no longer join with it and another lobby can use it."""
    tx.run("UPDATE lobbies SET secret = NULL WHERE id = ?", lobby_id)


def set_idle(tx: Tx, lobby_ids: Sequence[int], idle_ms: int | None) -> None:
    """Set the Unix milliseconds when some lobbies became idle, or None to mark them as active."""
    tx.run(f"UPDATE lobbies SET idle_ms = ? WHERE id IN ({placeholders(lobby_ids)})", idle_ms, *lobby_ids)


def delete(tx: Tx, lobby_id: int) -> None:
    """Delete a lobby with its members and messages."""
    for table, column in (("lobby_messages", "lobby_id"), ("lobby_members", "lobby_id"), ("lobbies", "id")):
        tx.run(f"DELETE FROM {table} WHERE {column} = ?", lobby_id)


def list_application_lobbies(tx: Tx, application_id: int) -> list[LobbyRow]:
    return tx.fetch(LobbyRow, f"SELECT {_LOBBY_COLUMNS} FROM lobbies WHERE application_id = ?", application_id)


def list_linked_lobbies(tx: Tx, channel_ids: Iterable[int]) -> list[LobbyRow]:
    """Return the lobbies linked to some channels."""
    listed_ids, rows = list(channel_ids), list[LobbyRow]()
    for batch in batches(listed_ids):
        rows += tx.fetch(
            LobbyRow, f"SELECT {_LOBBY_COLUMNS} FROM lobbies WHERE linked_channel_id IN ({placeholders(batch)})", *batch
        )
    return rows


def list_user_lobbies(tx: Tx, application_id: int, user_id: int) -> list[LobbyRow]:
    """Return the lobbies of an application that a user is in, by ascending ID."""
    columns = ", ".join(f"l.{name}" for name in LobbyRow._fields)
    return tx.fetch(
        LobbyRow,
        f"SELECT {columns} FROM lobby_members m JOIN lobbies l ON l.id = m.lobby_id "
        "WHERE m.user_id = ? AND m.application_id = ? ORDER BY l.id",
        user_id,
        application_id,
    )


def list_user_lobbies_in_all_applications(tx: Tx, user_id: int) -> list[LobbyRow]:
    """Return the lobbies of all applications that a user is in, by ascending application ID and lobby ID."""
    columns = ", ".join(f"l.{name}" for name in LobbyRow._fields)
    return tx.fetch(
        LobbyRow,
        f"SELECT {columns} FROM lobby_members m JOIN lobbies l ON l.id = m.lobby_id "
        "WHERE m.user_id = ? ORDER BY l.application_id, l.id",
        user_id,
    )


# Members


def list_members_by_lobby(tx: Tx, lobby_ids: Iterable[int]) -> dict[int, list[LobbyMemberRow]]:
    """Return the members of some lobbies by lobby ID, each list in ascending order of user IDs."""
    listed_ids = list(lobby_ids)
    members_by_lobby: dict[int, list[LobbyMemberRow]] = {lobby_id: [] for lobby_id in listed_ids}
    for batch in batches(listed_ids):
        for row in tx.all(
            f"SELECT {_MEMBER_COLUMNS} FROM lobby_members WHERE lobby_id IN ({placeholders(batch)}) ORDER BY user_id",
            *batch,
        ):
            members_by_lobby[row[0]].append(LobbyMemberRow(*row))
    return members_by_lobby


def list_members(tx: Tx, lobby_id: int) -> list[LobbyMemberRow]:
    return list_members_by_lobby(tx, (lobby_id,))[lobby_id]


def list_member_ids(tx: Tx, lobby_id: int) -> list[int]:
    """Return the user IDs of a lobby's members."""
    return [row[0] for row in tx.all("SELECT user_id FROM lobby_members WHERE lobby_id = ?", lobby_id)]


def find_member(tx: Tx, lobby_id: int, user_id: int) -> LobbyMemberRow | None:
    """Return a user's membership in a lobby, or None if the user is not a member."""
    return tx.find(
        LobbyMemberRow,
        f"SELECT {_MEMBER_COLUMNS} FROM lobby_members WHERE lobby_id = ? AND user_id = ?",
        lobby_id,
        user_id,
    )


def upsert_member(tx: Tx, row: LobbyMemberRow) -> None:
    tx.run(
        f"INSERT INTO lobby_members ({_MEMBER_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (lobby_id, user_id) DO UPDATE SET "
        "metadata = excluded.metadata, flags = excluded.flags, additional_name = excluded.additional_name",
        *row,
    )


def delete_member(tx: Tx, lobby_id: int, user_id: int) -> bool:
    """Delete a membership; return whether it existed."""
    return tx.run("DELETE FROM lobby_members WHERE lobby_id = ? AND user_id = ?", lobby_id, user_id) > 0


def count_lobbies(tx: Tx, application_id: int, user_ids: Collection[int]) -> dict[int, int]:
    """Return the number of an application's lobbies that each user is in; users in none are absent."""
    if not user_ids:
        return {}
    rows = tx.all(
        f"SELECT user_id, COUNT(*) FROM lobby_members WHERE user_id IN ({placeholders(user_ids)}) AND application_id = ? "
        "GROUP BY user_id",
        *user_ids,
        application_id,
    )
    return {row[0]: int(row[1]) for row in rows}


def list_memberships(tx: Tx, user_id: int, application_ids: Sequence[int] | None = None) -> list[LobbyMemberRow]:
    """Return a user's memberships in lobbies of some applications, or of all if `application_ids` is None."""
    application_condition, parameters = "", tuple[int, ...]()
    if application_ids is not None:
        application_condition, parameters = (
            f" AND application_id IN ({placeholders(application_ids)})",
            tuple(application_ids),
        )
    return tx.fetch(
        LobbyMemberRow,
        f"SELECT {_MEMBER_COLUMNS} FROM lobby_members WHERE user_id = ?{application_condition} ORDER BY lobby_id",
        user_id,
        *parameters,
    )


# Messages


def insert_message(tx: Tx, row: LobbyMessageRow) -> None:
    tx.run(f"INSERT INTO lobby_messages ({_MESSAGE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find_message(tx: Tx, lobby_id: int, message_id: int) -> LobbyMessageRow | None:
    """Return a message of a lobby, or None if it does not exist."""
    return tx.find(
        LobbyMessageRow,
        f"SELECT {_MESSAGE_COLUMNS} FROM lobby_messages WHERE lobby_id = ? AND id = ?",
        lobby_id,
        message_id,
    )


def list_newest_messages(tx: Tx, lobby_id: int, limit: int, since_id: int) -> list[LobbyMessageRow]:
    """Return the newest messages after an ID, newest first."""
    return tx.fetch(
        LobbyMessageRow,
        f"SELECT {_MESSAGE_COLUMNS} FROM lobby_messages WHERE lobby_id = ? AND id > ? ORDER BY id DESC LIMIT ?",
        lobby_id,
        since_id,
        limit,
    )


def update_message(tx: Tx, row: LobbyMessageRow) -> None:
    """Update the mutable columns of a message."""
    tx.run(
        "UPDATE lobby_messages SET content = ?, flags = ?, moderation_metadata = ?, edited_ms = ? "
        "WHERE lobby_id = ? AND id = ?",
        row.content,
        row.flags,
        row.moderation_metadata,
        row.edited_ms,
        row.lobby_id,
        row.id,
    )


def delete_messages(tx: Tx, lobby_id: int, message_ids: Sequence[int]) -> list[int]:
    """Delete messages; return the IDs of those that existed."""
    rows = tx.all(
        f"DELETE FROM lobby_messages WHERE lobby_id = ? AND id IN ({placeholders(message_ids)}) RETURNING id",
        lobby_id,
        *message_ids,
    )
    return sorted(row[0] for row in rows)


def delete_messages_up_to(tx: Tx, lobby_id: int, last_id: int) -> int | None:
    """Delete the messages of a lobby up to an ID, inclusive; return the ID of the oldest remaining one, or None."""
    tx.run("DELETE FROM lobby_messages WHERE lobby_id = ? AND id <= ?", lobby_id, last_id)
    oldest_id: int | None = tx.value("SELECT MIN(id) FROM lobby_messages WHERE lobby_id = ?", lobby_id)
    return oldest_id


def reassign_messages(tx: Tx, old_user_id: int, new_user_id: int) -> None:
    """Change the author of all messages of one user to another user."""
    tx.run("UPDATE lobby_messages SET author_id = ? WHERE author_id = ?", new_user_id, old_user_id)


def list_by_author(tx: Tx, user_id: int, limit: int | None = None) -> list[LobbyMessageRow]:
    """Return the messages of a user in all lobbies, at most `limit` unless it is None."""
    sql = f"SELECT {_MESSAGE_COLUMNS} FROM lobby_messages WHERE author_id = ? ORDER BY lobby_id, id"
    return (
        tx.fetch(LobbyMessageRow, sql, user_id)
        if limit is None
        else tx.fetch(LobbyMessageRow, f"{sql} LIMIT ?", user_id, limit)
    )
