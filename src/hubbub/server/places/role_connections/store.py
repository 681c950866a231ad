"""SQL for the role_connection_metadata, role_connections and linked_roles tables."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.resources.role_connections import RoleConnectionMetadata, RoleConnectionRequirement
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "linked_roles",
    "role_connection_metadata",
    "role_connections",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="role_connections.user_id", erasure=Erasure.DELETED, export="role_connections"),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "members": "linked roles in the guilds of a user",
}
"""Tables of other slices that this slice reads, with the reason."""


class RoleConnectionRow(NamedTuple):
    """The role connection of a user with an application."""

    user_id: int
    application_id: int
    platform_name: str | None
    platform_username: str | None
    metadata: str
    """JSON object of metadata values by key."""

    @property
    def values(self) -> dict[str, str]:
        """The metadata values by key, decoded from `metadata`."""
        return codec.decode(self.metadata, dict[str, str])


class LinkedRoleRow(NamedTuple):
    """A role that members receive when they meet its requirements."""

    role_id: int
    guild_id: int
    configuration: str
    """JSON list of alternatives, each a list of `RoleConnectionRequirement`."""

    @property
    def alternatives(self) -> list[list[RoleConnectionRequirement]]:
        """The alternative sets of requirements, decoded from `configuration`. A member must meet one set."""
        return codec.decode(self.configuration, list[list[RoleConnectionRequirement]])


_CONNECTION_COLUMNS = ", ".join(RoleConnectionRow._fields)
_LINKED_COLUMNS = ", ".join(LinkedRoleRow._fields)


def find_metadata(tx: Tx, application_ids: Iterable[int]) -> dict[int, list[RoleConnectionMetadata]]:
    """Return metadata records by application ID. Applications without records are left out."""
    distinct_ids = list(dict.fromkeys(application_ids))
    if not distinct_ids:
        return {}
    rows = tx.all(
        f"SELECT application_id, records FROM role_connection_metadata WHERE application_id IN ({placeholders(distinct_ids)})",
        *distinct_ids,
    )
    return {row[0]: codec.decode(row[1], list[RoleConnectionMetadata]) for row in rows}


def put_metadata(tx: Tx, application_id: int, records: list[RoleConnectionMetadata]) -> None:
    """Insert or replace the records of an application."""
    tx.run(
        "INSERT INTO role_connection_metadata (application_id, records) VALUES (?, ?) "
        "ON CONFLICT (application_id) DO UPDATE SET records = excluded.records",
        application_id,
        codec.encode(records).decode(),
    )


def find(tx: Tx, user_id: int, application_id: int) -> RoleConnectionRow | None:
    return tx.find(
        RoleConnectionRow,
        f"SELECT {_CONNECTION_COLUMNS} FROM role_connections WHERE user_id = ? AND application_id = ?",
        user_id,
        application_id,
    )


def find_user_connections(tx: Tx, user_id: int) -> dict[int, RoleConnectionRow]:
    """Return all connections of a user, by application ID."""
    rows = tx.fetch(RoleConnectionRow, f"SELECT {_CONNECTION_COLUMNS} FROM role_connections WHERE user_id = ?", user_id)
    return {row.application_id: row for row in rows}


def put(tx: Tx, row: RoleConnectionRow) -> None:
    """Insert or update a connection."""
    tx.run(
        f"INSERT INTO role_connections ({_CONNECTION_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (user_id, application_id) DO UPDATE SET platform_name = excluded.platform_name, "
        "platform_username = excluded.platform_username, metadata = excluded.metadata",
        *row,
    )


def delete(tx: Tx, user_id: int, application_id: int) -> bool:
    """Delete a connection and return whether it existed."""
    return bool(
        tx.run("DELETE FROM role_connections WHERE user_id = ? AND application_id = ?", user_id, application_id)
    )


def find_linked(tx: Tx, role_id: int) -> LinkedRoleRow | None:
    return tx.find(LinkedRoleRow, f"SELECT {_LINKED_COLUMNS} FROM linked_roles WHERE role_id = ?", role_id)


def list_linked_of_user(tx: Tx, user_id: int) -> list[LinkedRoleRow]:
    """Return the linked roles of all guilds that a user is in."""
    columns = ", ".join(f"l.{field}" for field in LinkedRoleRow._fields)
    return tx.fetch(
        LinkedRoleRow,
        f"SELECT {columns} FROM members m JOIN linked_roles l ON l.guild_id = m.guild_id WHERE m.user_id = ? "
        "ORDER BY l.guild_id, l.role_id",
        user_id,
    )


def list_linked_of_guild(tx: Tx, guild_id: int) -> list[LinkedRoleRow]:
    """Return the linked roles of a guild."""
    return tx.fetch(
        LinkedRoleRow, f"SELECT {_LINKED_COLUMNS} FROM linked_roles WHERE guild_id = ? ORDER BY role_id", guild_id
    )


def put_linked(tx: Tx, row: LinkedRoleRow) -> None:
    """Insert or update the requirements of a role."""
    tx.run(
        f"INSERT INTO linked_roles ({_LINKED_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (role_id) DO UPDATE SET configuration = excluded.configuration",
        *row,
    )


def delete_linked(tx: Tx, role_id: int) -> None:
    """Delete the requirements of a role."""
    tx.run("DELETE FROM linked_roles WHERE role_id = ?", role_id)


def delete_linked_of_guild(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM linked_roles WHERE guild_id = ?", guild_id)


def delete_user_connections(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM role_connections WHERE user_id = ?", user_id)


def list_user_connections(tx: Tx, user_id: int) -> list[RoleConnectionRow]:
    """Return a user's role connections with all applications."""
    return tx.fetch(
        RoleConnectionRow,
        f"SELECT {_CONNECTION_COLUMNS} FROM role_connections WHERE user_id = ? ORDER BY application_id",
        user_id,
    )
