"""SQL for webhooks, the key of their tokens, and the copies of crossposted messages."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.server.core import meta
from hubbub.server.core.batches import distinct_batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "crossposts",
    "webhooks",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="webhooks.user_id",
        erasure=Erasure.CLEARED,
        reason="The webhook belongs to the channel.",
        export="webhooks",
    ),
)
"""Columns of these tables that contain IDs of users."""


_TOKEN_KEY_NAME: Final = "webhook_key"
"""Name under which the database stores the key of webhook tokens."""


class WebhookRow(NamedTuple):
    """An incoming webhook, or the follower webhook of a channel that follows an announcement channel."""

    id: int
    type: int
    guild_id: int
    channel_id: int
    user_id: int | None
    """ID of the user who created the webhook, or None."""
    name: str
    avatar: str | None = None
    """Image hash of the avatar, or None."""
    application_id: int | None = None
    """ID of the application that owns the webhook, or None."""
    salt: str | None = None
    """Salt of the token; None for a webhook without a token."""
    source_guild_id: int | None = None
    """ID of the guild that a follower webhook follows; None for other types."""
    source_channel_id: int | None = None
    """ID of the channel that a follower webhook follows; None for other types."""


class Crosspost(NamedTuple):
    """The record of a copy of a crossposted message."""

    message_id: int
    channel_id: int


WEBHOOK_COLUMNS: Final = ", ".join(WebhookRow._fields)


def find(tx: Tx, webhook_id: int) -> WebhookRow | None:
    return tx.find(WebhookRow, f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE id = ?", webhook_id)


def find_many(tx: Tx, webhook_ids: Iterable[int]) -> list[WebhookRow]:
    """Return the webhooks with the given IDs that exist, by ascending ID within each batch."""
    rows: list[WebhookRow] = []
    for batch in distinct_batches(webhook_ids):
        sql = f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE id IN ({placeholders(batch)}) ORDER BY id"
        rows += tx.fetch(WebhookRow, sql, *batch)
    return rows


def map_owner_ids(tx: Tx, webhook_ids: Iterable[int]) -> dict[int, int]:
    """Return the IDs of the applications that own the webhooks with the given IDs, by the ID of the webhook."""
    return {row.id: row.application_id for row in find_many(tx, webhook_ids) if row.application_id is not None}


def list_channel_webhooks(tx: Tx, channel_id: int) -> list[WebhookRow]:
    """Return a channel's webhooks, oldest first."""
    return tx.fetch(WebhookRow, f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE channel_id = ? ORDER BY id", channel_id)


def list_guild_webhooks(tx: Tx, guild_id: int) -> list[WebhookRow]:
    """Return a guild's webhooks, oldest first."""
    return tx.fetch(WebhookRow, f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE guild_id = ? ORDER BY id", guild_id)


def count_channel_webhooks(tx: Tx, channel_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM webhooks WHERE channel_id = ?", channel_id))


def count_guild_webhooks(tx: Tx, guild_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM webhooks WHERE guild_id = ?", guild_id))


def insert(tx: Tx, row: WebhookRow) -> None:
    tx.run(f"INSERT INTO webhooks ({WEBHOOK_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: WebhookRow) -> None:
    """Update the name, avatar and channel of a webhook."""
    tx.run(
        "UPDATE webhooks SET name = ?, avatar = ?, channel_id = ? WHERE id = ?",
        row.name,
        row.avatar,
        row.channel_id,
        row.id,
    )


def delete(tx: Tx, webhook_id: int) -> None:
    tx.run("DELETE FROM webhooks WHERE id = ?", webhook_id)


def delete_channel_webhooks(tx: Tx, channel_ids: Iterable[int]) -> None:
    """Delete the webhooks of channels, and the records of copies from and in the channels."""
    for batch in distinct_batches(channel_ids):
        id_placeholders = placeholders(batch)
        tx.run(f"DELETE FROM webhooks WHERE channel_id IN ({id_placeholders})", *batch)
        tx.run(f"DELETE FROM crossposts WHERE channel_id IN ({id_placeholders})", *batch)
        tx.run(f"DELETE FROM crossposts WHERE source_channel_id IN ({id_placeholders})", *batch)


# Followers


def find_follower(tx: Tx, source_channel_id: int, channel_id: int) -> WebhookRow | None:
    """Return the webhook by which one channel follows another, or None."""
    return tx.find(
        WebhookRow,
        f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE source_channel_id = ? AND channel_id = ? ORDER BY id LIMIT 1",
        source_channel_id,
        channel_id,
    )


def list_followers(tx: Tx, source_channel_id: int, after_id: int, limit: int) -> list[WebhookRow]:
    """Return a page of the webhooks that follow a channel, with IDs above `after_id`, by ascending ID."""
    return tx.fetch(
        WebhookRow,
        f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE source_channel_id = ? AND id > ? ORDER BY id LIMIT ?",
        source_channel_id,
        after_id,
        limit,
    )


def insert_crosspost(tx: Tx, source_channel_id: int, source_message_id: int, copy: Crosspost) -> None:
    """Insert the record of a copy of a crossposted message."""
    tx.run(
        "INSERT INTO crossposts (source_channel_id, source_message_id, message_id, channel_id) VALUES (?, ?, ?, ?)",
        source_channel_id,
        source_message_id,
        *copy,
    )


def list_crossposts(
    tx: Tx, source_channel_id: int, source_message_id: int, after_id: int, limit: int
) -> list[Crosspost]:
    """Return a page of the copies of a message, with IDs above `after_id`, by ascending ID."""
    return tx.fetch(
        Crosspost,
        "SELECT message_id, channel_id FROM crossposts WHERE source_channel_id = ? AND source_message_id = ? "
        "AND message_id > ? ORDER BY message_id LIMIT ?",
        source_channel_id,
        source_message_id,
        after_id,
        limit,
    )


def delete_crossposts_by_source(tx: Tx, source_channel_id: int, source_message_id: int) -> None:
    """Delete the records of all copies of a message."""
    tx.run(
        "DELETE FROM crossposts WHERE source_channel_id = ? AND source_message_id = ?",
        source_channel_id,
        source_message_id,
    )


def delete_crossposts_by_copy(tx: Tx, channel_id: int, message_ids: Sequence[int]) -> None:
    """Delete the records of copies that were deleted."""
    for batch in distinct_batches(message_ids):
        sql = f"DELETE FROM crossposts WHERE channel_id = ? AND message_id IN ({placeholders(batch)})"
        tx.run(sql, channel_id, *batch)


# Token key


def find_token_key(tx: Tx) -> bytes | None:
    """Return the HMAC key from which webhook tokens are derived, or None if it was not created yet."""
    return meta.find_key(tx, _TOKEN_KEY_NAME)


def find_or_create_token_key(tx: Tx) -> bytes:
    """Return the HMAC key from which webhook tokens are derived; create it if it does not exist."""
    return meta.find_or_create_key(tx, _TOKEN_KEY_NAME)


def list_by_creator(tx: Tx, user_id: int) -> list[WebhookRow]:
    """Return the webhooks that a user created, oldest first."""
    return tx.fetch(WebhookRow, f"SELECT {WEBHOOK_COLUMNS} FROM webhooks WHERE user_id = ? ORDER BY id", user_id)


def clear_creator(tx: Tx, user_id: int) -> None:
    """Remove a deleted user from the webhooks that they created."""
    tx.run("UPDATE webhooks SET user_id = NULL WHERE user_id = ?", user_id)
