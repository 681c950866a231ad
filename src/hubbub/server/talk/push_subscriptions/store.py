"""SQL for push subscriptions, and the VAPID key of the server."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.server.core import meta
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.query_cache import CachedQuery
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("push_subscriptions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="push_subscriptions.user_id", erasure=Erasure.DELETED, export="push_subscriptions"),
)
"""Columns of these tables that contain IDs of users."""

_KEY_NAME: Final = "vapid_key"
_SELECT_ANY: Final = CachedQuery("SELECT 1 FROM push_subscriptions LIMIT 1")


class PushSubscriptionRow(NamedTuple):
    """A Web Push subscription of a browser, with the keys that encrypt notifications for it."""

    id: int
    user_id: int
    token_id: int
    """ID of the token of the login session that subscribed."""
    endpoint: str
    p256dh: str
    auth: str
    created_ms: int


_COLUMNS: Final = ", ".join(PushSubscriptionRow._fields)


def find_key(tx: Tx) -> bytes | None:
    """Return the private VAPID key, or None before it was created."""
    return meta.find_key(tx, _KEY_NAME)


def insert_key(tx: Tx, vapid_key: bytes) -> None:
    """Store the private VAPID key, unless there is one."""
    meta.insert(tx, _KEY_NAME, vapid_key.hex())


def prefetch_any(tx: Tx) -> None:
    """Prefetch the query of `has_any`, in a transaction that does not write subscriptions."""
    tx.prefetch(_SELECT_ANY, survives_writes=True)


def has_any(tx: Tx) -> bool:
    """Return whether any browser is subscribed."""
    return tx.value(_SELECT_ANY) is not None


def find(tx: Tx, subscription_id: int) -> PushSubscriptionRow | None:
    return tx.find(PushSubscriptionRow, f"SELECT {_COLUMNS} FROM push_subscriptions WHERE id = ?", subscription_id)


def find_by_endpoint(tx: Tx, endpoint: str) -> PushSubscriptionRow | None:
    return tx.find(PushSubscriptionRow, f"SELECT {_COLUMNS} FROM push_subscriptions WHERE endpoint = ?", endpoint)


def list_by_users(tx: Tx, user_ids: Iterable[int]) -> list[PushSubscriptionRow]:
    """Return the subscriptions of users, in the order of their IDs within each batch of users."""
    rows: list[PushSubscriptionRow] = []
    for batch in batches(user_ids):
        sql = f"SELECT {_COLUMNS} FROM push_subscriptions WHERE user_id IN ({placeholders(batch)}) ORDER BY id"
        rows += tx.fetch(PushSubscriptionRow, sql, *batch)
    return rows


def list_user_ids(tx: Tx) -> list[int]:
    return [row[0] for row in tx.all("SELECT DISTINCT user_id FROM push_subscriptions ORDER BY user_id")]


def insert(tx: Tx, row: PushSubscriptionRow) -> None:
    tx.run(f"INSERT INTO push_subscriptions ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: PushSubscriptionRow) -> None:
    """Update the token and the keys of a subscription."""
    sql = "UPDATE push_subscriptions SET token_id = ?, p256dh = ?, auth = ? WHERE id = ?"
    tx.run(sql, row.token_id, row.p256dh, row.auth, row.id)


def delete(tx: Tx, subscription_ids: Iterable[int]) -> None:
    for batch in batches(subscription_ids):
        tx.run(f"DELETE FROM push_subscriptions WHERE id IN ({placeholders(batch)})", *batch)


def delete_by_user(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM push_subscriptions WHERE user_id = ?", user_id)
