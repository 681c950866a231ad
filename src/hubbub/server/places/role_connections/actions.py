"""Store role connections and update the linked roles of members."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId
from hubbub.protocol.resources.role_connections import RoleConnectionMetadata, RoleConnectionRequirement
from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core.call import Call
from hubbub.server.identity.users import UserDeleted
from hubbub.server.places import members, roles
from hubbub.server.places.guilds import GuildDeleted
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
    linked = store.list_linked_of_user(call.tx, user_id)
    if not linked:
        return
    connections = store.list_of_user(call.tx, user_id)
    known = store.find_metadata(call.tx, connections)
    by_guild: dict[int, dict[int, bool]] = {}
    for role in linked:
        by_guild.setdefault(role.guild_id, {})[role.role_id] = rules.qualifies(role, connections, known, call.now)
    for guild_id, wanted in by_guild.items():
        found = members.find(call.tx, guild_id, user_id)
        if found is not None:
            set_roles(call, found, wanted)


def set_roles(call: Call, member: Membership, wanted: dict[int, bool]) -> None:
    """Assign or remove a member's roles without an audit log entry, since no user acts (spec/http.md#4.10)."""
    role_ids = {role for role in member.roles if wanted.get(role, True)} | {role for role, on in wanted.items() if on}
    members.change(call, member, member.row, role_ids, logged=False)


def set_requirements(call: Call, row: RoleRow, alternatives: Sequence[Sequence[RoleConnectionRequirement]]) -> None:
    """Set the requirements of a linked role. Without alternatives it becomes an ordinary role."""
    tags = codec.decode(row.tags, RoleTags) if row.tags else RoleTags()
    if alternatives:
        text = codec.encode(alternatives).decode()
        store.put_linked(call.tx, LinkedRoleRow(RoleId(row.id), row.guild_id, text))
        tags.guild_connections = None
    else:
        store.delete_linked(call.tx, row.id)
        tags.guild_connections = UNSET
    encoded = None if tags == RoleTags() else codec.encode(tags).decode()
    roles.change(call, row, row._replace(tags=encoded))


def forget_role(call: Call, signal: RoleDeleted) -> None:
    """Delete the requirements of a deleted role."""
    store.delete_linked(call.tx, signal.role_id)


def forget_guild(call: Call, signal: GuildDeleted) -> None:
    """Delete the linked roles of a deleted guild."""
    store.delete_linked_of_guild(call.tx, signal.guild_id)


def forget_user(call: Call, signal: UserDeleted) -> None:
    """Delete the role connections of a deleted user."""
    store.delete_of_user(call.tx, signal.user_id)
