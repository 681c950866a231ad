"""Rows of webhooks, the key that their tokens are made with, and the copies of crossposted messages."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from hubbub.server.core.store import Tx, places

BATCH: Final = 500
"""How many ids go into one IN list."""

_KEY: Final = "webhook_key"


class WebhookRow(NamedTuple):
    """A webhook as we keep it."""

    id: int
    type: int
    guild_id: int
    channel_id: int
    user_id: int | None
    """Who made it."""
    name: str
    avatar: str | None = None
    application_id: int | None = None
    """The application whose bot made it."""
    salt: str | None = None
    """What its token is made of, with the key; None for one that has no token."""
    source_guild_id: int | None = None
    source_channel_id: int | None = None
    """What a follower follows."""


class Crosspost(NamedTuple):
    """A copy of a crossposted message."""

    message_id: int
    channel_id: int


COLUMNS: Final = ", ".join(WebhookRow._fields)


def find(tx: Tx, webhook_id: int) -> WebhookRow | None:
    """A webhook, or None."""
    return tx.find(WebhookRow, f"SELECT {COLUMNS} FROM webhooks WHERE id = ?", webhook_id)


def find_many(tx: Tx, webhook_ids: Iterable[int]) -> list[WebhookRow]:
    """The webhooks there are of these, the oldest first."""
    found: list[WebhookRow] = []
    for some in _batches(webhook_ids):
        sql = f"SELECT {COLUMNS} FROM webhooks WHERE id IN ({places(some)}) ORDER BY id"
        found += tx.fetch(WebhookRow, sql, *some)
    return found


def list_of_channel(tx: Tx, channel_id: int) -> list[WebhookRow]:
    """A channel's webhooks, the oldest first."""
    return tx.fetch(WebhookRow, f"SELECT {COLUMNS} FROM webhooks WHERE channel_id = ? ORDER BY id", channel_id)


def list_of_guild(tx: Tx, guild_id: int) -> list[WebhookRow]:
    """A guild's webhooks, the oldest first."""
    return tx.fetch(WebhookRow, f"SELECT {COLUMNS} FROM webhooks WHERE guild_id = ? ORDER BY id", guild_id)


def count_of_channel(tx: Tx, channel_id: int) -> int:
    """How many webhooks a channel has."""
    return int(tx.value("SELECT COUNT(*) FROM webhooks WHERE channel_id = ?", channel_id))


def count_of_guild(tx: Tx, guild_id: int) -> int:
    """How many webhooks a guild has."""
    return int(tx.value("SELECT COUNT(*) FROM webhooks WHERE guild_id = ?", guild_id))


def insert(tx: Tx, row: WebhookRow) -> None:
    """Keep a new webhook."""
    tx.run(f"INSERT INTO webhooks ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: WebhookRow) -> None:
    """Keep what changed of a webhook."""
    tx.run(
        "UPDATE webhooks SET name = ?, avatar = ?, channel_id = ? WHERE id = ?",
        row.name,
        row.avatar,
        row.channel_id,
        row.id,
    )


def delete(tx: Tx, webhook_id: int) -> None:
    """Remove a webhook."""
    tx.run("DELETE FROM webhooks WHERE id = ?", webhook_id)


def delete_of_channels(tx: Tx, channel_ids: Iterable[int]) -> None:
    """Remove the webhooks of channels that go, and what is known of copies from and in them."""
    for some in _batches(channel_ids):
        listed = places(some)
        tx.run(f"DELETE FROM webhooks WHERE channel_id IN ({listed})", *some)
        tx.run(f"DELETE FROM crossposts WHERE channel_id IN ({listed})", *some)
        tx.run(f"DELETE FROM crossposts WHERE source_channel_id IN ({listed})", *some)


# Followers


def find_follower(tx: Tx, source_channel_id: int, channel_id: int) -> WebhookRow | None:
    """The webhook that brings one channel's announcements to another, or None."""
    return tx.find(
        WebhookRow,
        f"SELECT {COLUMNS} FROM webhooks WHERE source_channel_id = ? AND channel_id = ? ORDER BY id LIMIT 1",
        source_channel_id,
        channel_id,
    )


def followers(tx: Tx, source_channel_id: int, after: int, limit: int) -> list[WebhookRow]:
    """Some webhooks that follow a channel, by id."""
    return tx.fetch(
        WebhookRow,
        f"SELECT {COLUMNS} FROM webhooks WHERE source_channel_id = ? AND id > ? ORDER BY id LIMIT ?",
        source_channel_id,
        after,
        limit,
    )


def insert_crosspost(tx: Tx, source_channel_id: int, source_message_id: int, copy: Crosspost) -> None:
    """Remember where a copy is."""
    tx.run(
        "INSERT INTO crossposts (source_channel_id, source_message_id, message_id, channel_id) VALUES (?, ?, ?, ?)",
        source_channel_id,
        source_message_id,
        *copy,
    )


def crossposts(tx: Tx, source_channel_id: int, source_message_id: int, after: int, limit: int) -> list[Crosspost]:
    """Some copies of a message, by id."""
    return tx.fetch(
        Crosspost,
        "SELECT message_id, channel_id FROM crossposts WHERE source_channel_id = ? AND source_message_id = ? "
        "AND message_id > ? ORDER BY message_id LIMIT ?",
        source_channel_id,
        source_message_id,
        after,
        limit,
    )


def forget_source(tx: Tx, source_channel_id: int, source_message_id: int) -> None:
    """Forget the copies of a message that is gone."""
    tx.run(
        "DELETE FROM crossposts WHERE source_channel_id = ? AND source_message_id = ?",
        source_channel_id,
        source_message_id,
    )


def forget_copies(tx: Tx, channel_id: int, message_ids: Sequence[int]) -> None:
    """Forget copies that are gone themselves."""
    for some in _batches(message_ids):
        sql = f"DELETE FROM crossposts WHERE channel_id = ? AND message_id IN ({places(some)})"
        tx.run(sql, channel_id, *some)


# The key


def find_key(tx: Tx) -> bytes | None:
    """The key of all tokens, or None while there was never a webhook."""
    kept: str | None = tx.value("SELECT value FROM meta WHERE name = ?", _KEY)
    return None if kept is None else bytes.fromhex(kept)


def get_key(tx: Tx) -> bytes:
    """The key of all tokens, made with the first webhook."""
    key = find_key(tx)
    if key is None:
        key = secrets.token_bytes(32)
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", _KEY, key.hex())
        key = find_key(tx) or key
    return key


def _batches(values: Iterable[int]) -> Iterator[list[int]]:
    wanted = list(dict.fromkeys(values))
    for start in range(0, len(wanted), BATCH):
        yield wanted[start : start + BATCH]
