"""What applications tell of users: write, and let linked roles follow."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol import wire as json
from hubbub.protocol.ids import RoleId
from hubbub.protocol.resources.role_connections import Requirement, RoleConnectionMetadata
from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core.call import Call
from hubbub.server.resources import members, roles
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.members import Membership
from hubbub.server.resources.role_connections import rules, store
from hubbub.server.resources.role_connections.store import LinkedRoleRow, RoleConnectionRow
from hubbub.server.resources.roles import RoleDeleted, RoleRow
from hubbub.server.resources.users import UserDeleted


def set_metadata(call: Call, application_id: int, records: list[RoleConnectionMetadata]) -> None:
    """Replace what an application can tell; who wears a role for it keeps it until told anew."""
    store.put_metadata(call.tx, application_id, records)


def tell(call: Call, row: RoleConnectionRow) -> None:
    """Keep what an application tells of a user, and let their linked roles follow."""
    store.put(call.tx, row)
    _follow(call, row.user_id)


def forget(call: Call, user_id: int, application_id: int) -> None:
    """Forget what an application told of a user, and let their linked roles follow."""
    if store.delete(call.tx, user_id, application_id):
        _follow(call, user_id)


def _follow(call: Call, user_id: int) -> None:
    """Give and take linked roles in every guild a user is in, as what is told of them now says."""
    linked = store.linked_of_user(call.tx, user_id)
    if not linked:
        return
    told = store.list_of_user(call.tx, user_id)
    known = store.metadata(call.tx, told)
    by_guild: dict[int, dict[int, bool]] = {}
    for role in linked:
        by_guild.setdefault(role.guild_id, {})[role.role_id] = rules.qualifies(role, told, known, call.now)
    for guild_id, wanted in by_guild.items():
        found = members.find(call.tx, guild_id, user_id)
        if found is not None:
            set_worn(call, found, wanted)


def set_worn(call: Call, member: Membership, wanted: dict[int, bool]) -> None:
    """Give a member the roles that are wanted and take those that are not. Nobody did it, so no audit entry (http.md 4.10)."""
    worn = {role for role in member.roles if wanted.get(role, True)} | {role for role, on in wanted.items() if on}
    members.change(call, member, member.row, worn, logged=False)


def link(call: Call, row: RoleRow, alternatives: Sequence[Sequence[Requirement]]) -> None:
    """Say what a role requires; without alternatives it is an ordinary one."""
    tags = json.decode(row.tags, RoleTags) if row.tags else RoleTags()
    if alternatives:
        text = json.encode(alternatives).decode()
        store.put_linked(call.tx, LinkedRoleRow(RoleId(row.id), row.guild_id, text))
        tags.guild_connections = None
    else:
        store.delete_linked(call.tx, row.id)
        tags.guild_connections = UNSET
    kept = None if tags == RoleTags() else json.encode(tags).decode()
    roles.change(call, row, row._replace(tags=kept))


def forget_role(call: Call, fact: RoleDeleted) -> None:
    """What a role required goes with it."""
    store.delete_linked(call.tx, fact.role_id)


def forget_guild(call: Call, fact: GuildDeleted) -> None:
    """What its roles required goes with a guild."""
    store.delete_linked_of_guild(call.tx, fact.guild_id)


def forget_user(call: Call, fact: UserDeleted) -> None:
    """A person is gone, and what applications told of them."""
    store.delete_of_user(call.tx, fact.user_id)
