"""HTTP handlers for role connections, the metadata records of applications, and linked roles."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import ApplicationId, GuildId, RoleId
from hubbub.protocol.resources import integrations
from hubbub.protocol.resources import role_connections as wire
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications, oauth2
from hubbub.server.places import members, roles
from hubbub.server.places.members import Membership
from hubbub.server.places.role_connections import actions, rules, store
from hubbub.server.places.role_connections.store import LinkedRoleRow, RoleConnectionRow
from hubbub.server.places.roles import RoleRow
from hubbub.server.places.standing import access


@handles(wire.GET_APPLICATION_ROLE_CONNECTIONS_METADATA)
def get_application_role_connections_metadata(
    call: Call, application_id: ApplicationId
) -> list[wire.RoleConnectionMetadata]:
    """List an application's role connection metadata records."""
    applications.access.require_manager(call, application_id)
    return store.find_metadata(call.tx, [application_id]).get(application_id, [])


@handles(wire.UPDATE_APPLICATION_ROLE_CONNECTIONS_METADATA)
def update_application_role_connections_metadata(
    call: Call, application_id: ApplicationId, body: wire.MetadataRecords
) -> list[wire.RoleConnectionMetadata]:
    """Replace an application's role connection metadata records."""
    applications.access.require_manager(call, application_id)
    records = rules.build_records(body or [])
    actions.set_metadata(call, application_id, records)
    return records


@handles(wire.GET_APPLICATION_USER_ROLE_CONNECTION)
def get_application_user_role_connection(call: Call, application_id: ApplicationId) -> wire.RoleConnection:
    """Get the current user's role connection for an application."""
    rules.require_own_application(call, application_id)
    row = store.find(call.tx, call.user_id, application_id)
    return wire.RoleConnection() if row is None else _connection_view(row)


@handles(wire.UPDATE_APPLICATION_USER_ROLE_CONNECTION)
def update_application_user_role_connection(
    call: Call, application_id: ApplicationId, body: wire.SetRoleConnection
) -> wire.RoleConnection:
    """Update the current user's role connection for an application.

    Fields that are left out are cleared. The user's linked roles are updated in every guild."""
    rules.require_own_application(call, application_id)
    metadata_values = rules.encode_values(body.metadata or {})
    rules.require_valid_values(store.find_metadata(call.tx, [application_id]).get(application_id, []), metadata_values)
    row = RoleConnectionRow(
        user_id=call.user_id,
        application_id=application_id,
        platform_name=body.platform_name or None,
        platform_username=body.platform_username or None,
        metadata=codec.encode(metadata_values).decode(),
    )
    actions.set_connection(call, row)
    return _connection_view(row)


@handles(wire.DELETE_APPLICATION_USER_ROLE_CONNECTION)
def delete_application_user_role_connection(call: Call, application_id: ApplicationId) -> None:
    """Delete the current user's role connection for an application.

    The user's linked roles are updated in every guild."""
    rules.require_own_application(call, application_id)
    actions.delete_connection(call, call.user_id, application_id)


@handles(wire.GET_GUILD_ROLE_CONNECTIONS_CONFIGURATION)
def get_guild_role_connections_configuration(
    call: Call, guild_id: GuildId, role_id: RoleId
) -> list[list[wire.RoleConnectionRequirement]]:
    """Get the requirements of a linked role.

    The list is empty for an ordinary role."""
    access.get_guild_standing(call, guild_id)
    _require_role(call, guild_id, role_id)
    row = store.find_linked(call.tx, role_id)
    return [] if row is None else row.alternatives


@handles(wire.UPDATE_GUILD_ROLE_CONNECTIONS_CONFIGURATION)
def update_guild_role_connections_configuration(
    call: Call, guild_id: GuildId, role_id: RoleId, body: wire.RoleConnectionConfiguration
) -> list[list[wire.RoleConnectionRequirement]]:
    """Set the requirements of a linked role.

    An empty list makes it an ordinary role."""
    standing = access.get_guild_standing(call, guild_id)
    row = _require_role(call, guild_id, role_id)
    if row.is_everyone or row.managed:
        raise errors.INVALID_ROLE()
    if not standing.outranks_role(row.rank):
        raise PermissionDenied(Denial(guild_id=guild_id, role_id=role_id, action="change"))
    application_ids = {requirement.application_id for requirements in body for requirement in requirements}
    if any(applications.find(call.tx, application_id) is None for application_id in application_ids):
        raise errors.UNKNOWN_APPLICATION()
    rules.require_valid_configuration(body, store.find_metadata(call.tx, application_ids))
    actions.set_requirements(call, row, body)
    return body


@handles(wire.LIST_GUILD_LINKABLE_APPLICATIONS)
def list_guild_linkable_applications(call: Call, guild_id: GuildId) -> list[wire.LinkableApplication]:
    """List the applications of a guild that linked roles can require.

    These are the applications in the guild with metadata records or a verification URL, and those that a linked role of the
    guild requires. `connection` is the data about the caller."""
    access.get_guild_standing(call, guild_id)
    installed_ids = [
        *members.shared_guilds.list_application_ids(call.tx, guild_id, integrations.INTEGRATIONS_MAX),
        *(row.application_id for row in oauth2.installations.list_by_target(call.tx, guild_id)),
    ]
    required_ids = {
        requirement.application_id
        for linked_role in store.list_linked_of_guild(call.tx, guild_id)
        for requirements in linked_role.alternatives
        for requirement in requirements
    }
    rows_by_id = applications.find_many(call.tx, [*installed_ids, *required_ids])
    records_by_id = store.find_metadata(call.tx, rows_by_id)
    connections_by_id = store.find_user_connections(call.tx, call.user_id)
    linkable_applications = []
    for application_id, row in sorted(rows_by_id.items()):
        verification_url = applications.settings.decode_settings(row).role_connections_verification_url
        if application_id not in required_ids and application_id not in records_by_id and verification_url is None:
            continue
        connection = connections_by_id.get(application_id)
        linkable_applications.append(
            wire.LinkableApplication(
                id=ApplicationId(application_id),
                name=row.name,
                icon=row.icon,
                role_connections_verification_url=verification_url,
                metadata=records_by_id.get(application_id, []),
                connection=None if connection is None else _connection_view(connection),
            )
        )
    return linkable_applications


@handles(wire.ASSIGN_GUILD_ROLE_CONNECTION)
def assign_guild_role_connection(call: Call, guild_id: GuildId, role_id: RoleId) -> None:
    """Assign a linked role to the current user.

    The user must meet the role's requirements."""
    linked_role, member = _require_linked_role_and_member(call, guild_id, role_id)
    connections_by_application = store.find_user_connections(call.tx, call.user_id)
    if not rules.qualifies(
        linked_role, connections_by_application, store.find_metadata(call.tx, connections_by_application), call.now_ms
    ):
        raise PermissionDenied(Denial(reason="The connections of {caller} do not meet the requirements of the role."))
    actions.set_roles(call, member, {role_id: True})


@handles(wire.UNASSIGN_GUILD_ROLE_CONNECTION)
def unassign_guild_role_connection(call: Call, guild_id: GuildId, role_id: RoleId) -> None:
    """Remove a linked role from the current user."""
    _, member = _require_linked_role_and_member(call, guild_id, role_id)
    actions.set_roles(call, member, {role_id: False})


def _require_role(call: Call, guild_id: GuildId, role_id: RoleId) -> RoleRow:
    row = roles.find(call.tx, guild_id, role_id)
    if row is None:
        raise errors.UNKNOWN_ROLE()
    return row


def _require_linked_role_and_member(call: Call, guild_id: GuildId, role_id: RoleId) -> tuple[LinkedRoleRow, Membership]:
    """Return a linked role and the caller's membership; raise if the role is not linked."""
    access.get_guild_standing(call, guild_id)
    _require_role(call, guild_id, role_id)
    linked_role = store.find_linked(call.tx, role_id)
    if linked_role is None:
        raise errors.INVALID_ROLE()
    member = members.find(call.tx, guild_id, call.user_id)
    if member is None:
        raise errors.UNKNOWN_MEMBER()
    return linked_role, member


def _connection_view(row: RoleConnectionRow) -> wire.RoleConnection:
    return wire.RoleConnection(
        # The public API has no null for this field, unlike for `platform_username`.
        platform_name=UNSET if row.platform_name is None else row.platform_name,
        platform_username=row.platform_username,
        metadata=row.values,
    )
