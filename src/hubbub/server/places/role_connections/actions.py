"""Store metadata records, role connections and requirements of roles, and update the linked roles of members."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId, UserId
from hubbub.protocol.resources.role_connections import RoleConnectionMetadata, RoleConnectionRequirement
from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core.call import Call
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places import members, roles
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members import Membership
from hubbub.server.places.role_connections import rules, store
from hubbub.server.places.role_connections.store import LinkedRoleRow, RoleConnectionRow
from hubbub.server.places.roles import RoleDeleted, RoleRow


def set_metadata(call: Call, application_id: int, records: list[RoleConnectionMetadata]) -> None:
    """Replace an application's metadata records.

    Members keep their linked roles until the application next updates their connections."""
    store.put_metadata(call.tx, application_id, records)


def set_connection(call: Call, row: RoleConnectionRow) -> None:
    """Store a user's role connection and update their linked roles."""
    store.put(call.tx, row)
    _update_linked_roles(call, row.user_id)


def delete_connection(call: Call, user_id: int, application_id: int) -> None:
    """Delete a user's role connection and update their linked roles."""
    if store.delete(call.tx, user_id, application_id):
        _update_linked_roles(call, user_id)


def _update_linked_roles(call: Call, user_id: int) -> None:
    """Assign and remove linked roles in every guild of a user, according to their current connections."""
    linked_roles = store.list_linked_of_user(call.tx, user_id)
    if not linked_roles:
        return
    connections_by_application = store.find_user_connections(call.tx, user_id)
    records_by_application = store.find_metadata(call.tx, connections_by_application)
    assignments_by_guild: dict[int, dict[int, bool]] = {}
    for linked_role in linked_roles:
        assignments_by_guild.setdefault(linked_role.guild_id, {})[linked_role.role_id] = rules.qualifies(
            linked_role, connections_by_application, records_by_application, call.now_ms
        )
    for guild_id, is_assigned_by_role in assignments_by_guild.items():
        membership = members.find(call.tx, guild_id, user_id)
        if membership is not None:
            set_roles(call, membership, is_assigned_by_role)


def set_roles(call: Call, member: Membership, is_assigned_by_role: dict[int, bool]) -> None:
    """Assign or remove roles of a member. `is_assigned_by_role` maps the ID of a role to True if it is to be assigned.

    Roles that are not in the mapping stay unchanged. No audit log entry is written (spec/http.md#4.10)."""
    role_ids = {role_id for role_id in member.role_ids if is_assigned_by_role.get(role_id, True)} | {
        role_id for role_id, is_assigned in is_assigned_by_role.items() if is_assigned
    }
    members.membership.update(call, member, member.row, role_ids, is_audited=False)


def set_requirements(call: Call, row: RoleRow, alternatives: Sequence[Sequence[RoleConnectionRequirement]]) -> None:
    """Set the requirements of a linked role. Without alternatives it becomes an ordinary role.

    A member qualifies if they meet all requirements of any alternative."""
    tags = codec.decode(row.tags, RoleTags) if row.tags else RoleTags()
    if alternatives:
        configuration = codec.encode(alternatives).decode()
        store.put_linked(call.tx, LinkedRoleRow(RoleId(row.id), row.guild_id, configuration))
        tags.guild_connections = None
    else:
        store.delete_linked(call.tx, row.id)
        tags.guild_connections = UNSET
    encoded_tags = None if tags == RoleTags() else codec.encode(tags).decode()
    roles.update(call, row, row._replace(tags=encoded_tags))


def on_role_deleted(call: Call, signal: RoleDeleted) -> None:
    """Delete the requirements of a deleted role."""
    store.delete_linked(call.tx, signal.role_id)


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the linked roles of a deleted guild."""
    store.delete_linked_of_guild(call.tx, signal.guild_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the role connections of a deleted user."""
    store.delete_user_connections(call.tx, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's role connections for the export of their data."""
    return {
        "role_connections": [
            export_row(row, "user_id", "metadata") | {"metadata": row.values}
            for row in store.list_user_connections(call.tx, user_id)
        ]
    }
