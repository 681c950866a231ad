"""SQL for the member_roles table, which assigns roles to members."""

from collections.abc import Iterable, Sequence
from typing import Final

from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("member_roles",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="member_roles.user_id", erasure=Erasure.DELETED, export="guilds"),)
"""Columns of these tables that contain IDs of users."""


def assign(tx: Tx, guild_id: int, user_id: int, role_ids: Iterable[int]) -> None:
    """Add roles to a member."""
    rows = [(guild_id, user_id, role_id) for role_id in role_ids]
    if rows:
        tx.run_many(
            "INSERT INTO member_roles (guild_id, user_id, role_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows
        )


def unassign(tx: Tx, guild_id: int, user_id: int, role_ids: Sequence[int]) -> None:
    """Remove roles from a member."""
    if role_ids:
        tx.run(
            f"DELETE FROM member_roles WHERE guild_id = ? AND user_id = ? AND role_id IN ({placeholders(role_ids)})",
            guild_id,
            user_id,
            *role_ids,
        )


def unassign_all(tx: Tx, guild_id: int, user_ids: Sequence[int]) -> None:
    """Remove all roles from the members `user_ids`, of which there must be at least one."""
    tx.run(
        f"DELETE FROM member_roles WHERE guild_id = ? AND user_id IN ({placeholders(user_ids)})", guild_id, *user_ids
    )
