"""Rows of lobbies, of who is in them, and of what was said."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from hubbub.protocol import wire as json
from hubbub.server.core.store import Tx, places

BATCH = 500
"""How many ids go into one IN list."""


class LobbyRow(NamedTuple):
    """A lobby as we keep it."""

    id: int
    application_id: int
    metadata: str | None
    flags: int
    idle_timeout_seconds: int
    idle_ms: int | None = None
    """Since when nobody is connected; None while somebody is."""
    by_secret: int = 0
    """Made by players, who come and go as they like."""
    secret: str | None = None
    secret_expires_ms: int | None = None
    override_event_webhooks_url: str | None = None
    linked_channel_id: int | None = None


class MemberRow(NamedTuple):
    """A user in a lobby."""

    lobby_id: int
    user_id: int
    application_id: int
    metadata: str | None = None
    flags: int = 0
    additional_name: str | None = None


class MessageRow(NamedTuple):
    """What was said in a lobby."""

    lobby_id: int
    id: int
    channel_id: int
    author_id: int
    type: int
    content: str
    flags: int
    application_id: int | None = None
    additional_name: str | None = None
    metadata: str | None = None
    moderation_metadata: str | None = None
    edited_ms: int | None = None


_LOBBY = ", ".join(LobbyRow._fields)
_MEMBER = ", ".join(MemberRow._fields)
_MESSAGE = ", ".join(MessageRow._fields)


def text(value: dict[str, str] | None) -> str | None:
    """Metadata as it is kept."""
    return None if value is None else json.encode(value).decode()


def words(value: str | None) -> dict[str, str] | None:
    """Metadata as it is shown."""
    return None if value is None else json.decode(value, dict[str, str])


# Lobbies


def find(tx: Tx, lobby_id: int) -> LobbyRow | None:
    """A lobby, or None."""
    return tx.find(LobbyRow, f"SELECT {_LOBBY} FROM lobbies WHERE id = ?", lobby_id)


def find_by_secret(tx: Tx, application_id: int, secret: str) -> LobbyRow | None:
    """The lobby that a secret leads to, or led to while it held."""
    return tx.find(
        LobbyRow, f"SELECT {_LOBBY} FROM lobbies WHERE application_id = ? AND secret = ?", application_id, secret
    )


def insert(tx: Tx, row: LobbyRow) -> bool:
    """Keep a new lobby; False when its secret is taken."""
    return bool(tx.run(f"INSERT INTO lobbies ({_LOBBY}) VALUES ({places(row)}) ON CONFLICT DO NOTHING", *row))


def update(tx: Tx, row: LobbyRow) -> None:
    """Keep what changed of a lobby."""
    assignments = ", ".join(f"{name} = ?" for name in LobbyRow._fields if name != "id")
    tx.run(f"UPDATE lobbies SET {assignments} WHERE id = ?", *row[1:], row.id)


def expire_secret(tx: Tx, lobby_id: int) -> None:
    """Let nobody new in by a lobby's secret, and let its words be used again."""
    tx.run("UPDATE lobbies SET secret = NULL WHERE id = ?", lobby_id)


def set_idle(tx: Tx, lobby_ids: Sequence[int], idle_ms: int | None) -> None:
    """Note since when nobody is in some lobbies, or that somebody is."""
    tx.run(f"UPDATE lobbies SET idle_ms = ? WHERE id IN ({places(lobby_ids)})", idle_ms, *lobby_ids)


def delete(tx: Tx, lobby_id: int) -> None:
    """Remove a lobby with all that is in it."""
    for table, column in (("lobby_messages", "lobby_id"), ("lobby_members", "lobby_id"), ("lobbies", "id")):
        tx.run(f"DELETE FROM {table} WHERE {column} = ?", lobby_id)


def list_of_application(tx: Tx, application_id: int) -> list[LobbyRow]:
    """Every lobby of an application."""
    return tx.fetch(LobbyRow, f"SELECT {_LOBBY} FROM lobbies WHERE application_id = ?", application_id)


def list_of_channels(tx: Tx, channel_ids: Iterable[int]) -> list[LobbyRow]:
    """The lobbies linked to some channels."""
    wanted, found = list(channel_ids), list[LobbyRow]()
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        found += tx.fetch(LobbyRow, f"SELECT {_LOBBY} FROM lobbies WHERE linked_channel_id IN ({places(some)})", *some)
    return found


def list_of_user(tx: Tx, application_id: int, user_id: int) -> list[LobbyRow]:
    """The lobbies of an application that a user is in."""
    columns = ", ".join(f"l.{name}" for name in LobbyRow._fields)
    return tx.fetch(
        LobbyRow,
        f"SELECT {columns} FROM lobby_members m JOIN lobbies l ON l.id = m.lobby_id "
        "WHERE m.user_id = ? AND m.application_id = ? ORDER BY l.id",
        user_id,
        application_id,
    )


# Members


def members_of(tx: Tx, lobby_ids: Iterable[int]) -> dict[int, list[MemberRow]]:
    """Who is in some lobbies, in the order of their ids."""
    wanted = list(lobby_ids)
    found: dict[int, list[MemberRow]] = {lobby_id: [] for lobby_id in wanted}
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        for row in tx.all(
            f"SELECT {_MEMBER} FROM lobby_members WHERE lobby_id IN ({places(some)}) ORDER BY user_id", *some
        ):
            found[row[0]].append(MemberRow(*row))
    return found


def members(tx: Tx, lobby_id: int) -> list[MemberRow]:
    """Who is in a lobby."""
    return members_of(tx, (lobby_id,))[lobby_id]


def member_ids(tx: Tx, lobby_id: int) -> list[int]:
    """The users in a lobby."""
    return [row[0] for row in tx.all("SELECT user_id FROM lobby_members WHERE lobby_id = ?", lobby_id)]


def find_member(tx: Tx, lobby_id: int, user_id: int) -> MemberRow | None:
    """A user's membership, or None."""
    return tx.find(
        MemberRow, f"SELECT {_MEMBER} FROM lobby_members WHERE lobby_id = ? AND user_id = ?", lobby_id, user_id
    )


def put_member(tx: Tx, row: MemberRow) -> None:
    """Keep a membership, new or changed."""
    tx.run(
        f"INSERT INTO lobby_members ({_MEMBER}) VALUES ({places(row)}) ON CONFLICT (lobby_id, user_id) DO UPDATE SET "
        "metadata = excluded.metadata, flags = excluded.flags, additional_name = excluded.additional_name",
        *row,
    )


def delete_member(tx: Tx, lobby_id: int, user_id: int) -> bool:
    """End a membership; whether there was one."""
    return tx.run("DELETE FROM lobby_members WHERE lobby_id = ? AND user_id = ?", lobby_id, user_id) > 0


def count_lobbies(tx: Tx, application_id: int, user_ids: Collection[int]) -> dict[int, int]:
    """In how many lobbies of an application each of these users is; who is in none is absent."""
    if not user_ids:
        return {}
    rows = tx.all(
        f"SELECT user_id, COUNT(*) FROM lobby_members WHERE user_id IN ({places(user_ids)}) AND application_id = ? "
        "GROUP BY user_id",
        *user_ids,
        application_id,
    )
    return {row[0]: int(row[1]) for row in rows}


def memberships(tx: Tx, user_id: int, application_ids: Sequence[int] | None = None) -> list[MemberRow]:
    """Every lobby a user is in, of some applications or of all."""
    where, more = "", tuple[int, ...]()
    if application_ids is not None:
        where, more = f" AND application_id IN ({places(application_ids)})", tuple(application_ids)
    return tx.fetch(
        MemberRow, f"SELECT {_MEMBER} FROM lobby_members WHERE user_id = ?{where} ORDER BY lobby_id", user_id, *more
    )


# Messages


def insert_message(tx: Tx, row: MessageRow) -> None:
    """Keep what was said."""
    tx.run(f"INSERT INTO lobby_messages ({_MESSAGE}) VALUES ({places(row)})", *row)


def replace_message(tx: Tx, row: MessageRow) -> None:
    """Keep a message that turned out to be the linked channel's too."""
    tx.run(
        "UPDATE lobby_messages SET channel_id = ?, type = ? WHERE lobby_id = ? AND id = ?",
        row.channel_id,
        row.type,
        row.lobby_id,
        row.id,
    )
    update_message(tx, row)


def find_message(tx: Tx, lobby_id: int, message_id: int) -> MessageRow | None:
    """A message of a lobby, or None."""
    return tx.find(
        MessageRow, f"SELECT {_MESSAGE} FROM lobby_messages WHERE lobby_id = ? AND id = ?", lobby_id, message_id
    )


def newest_messages(tx: Tx, lobby_id: int, limit: int, since_id: int) -> list[MessageRow]:
    """The last messages of a lobby that are not too old, newest first."""
    return tx.fetch(
        MessageRow,
        f"SELECT {_MESSAGE} FROM lobby_messages WHERE lobby_id = ? AND id > ? ORDER BY id DESC LIMIT ?",
        lobby_id,
        since_id,
        limit,
    )


def update_message(tx: Tx, row: MessageRow) -> None:
    """Keep what changed of a message."""
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
    """Remove messages; those that were there."""
    rows = tx.all(
        f"DELETE FROM lobby_messages WHERE lobby_id = ? AND id IN ({places(message_ids)}) RETURNING id",
        lobby_id,
        *message_ids,
    )
    return sorted(row[0] for row in rows)


def forget_messages(tx: Tx, lobby_id: int, before_id: int) -> int | None:
    """Remove what nobody can read any more; the id of the oldest that is left."""
    tx.run("DELETE FROM lobby_messages WHERE lobby_id = ? AND id <= ?", lobby_id, before_id)
    oldest: int | None = tx.value("SELECT MIN(id) FROM lobby_messages WHERE lobby_id = ?", lobby_id)
    return oldest


def move_messages(tx: Tx, source_id: int, user_id: int) -> None:
    """Let what one account said be another's."""
    tx.run("UPDATE lobby_messages SET author_id = ? WHERE author_id = ?", user_id, source_id)
