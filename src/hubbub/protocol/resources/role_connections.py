"""Role connections: what an application knows about its users, and the roles that guilds give for it."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, RoleConnectionMetadataType
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.members import GUILD_MEMBER_UPDATE
from hubbub.protocol.resources.roles import GUILD_ROLE_UPDATE

METADATA_RECORDS_MAX = 5
METADATA_KEY_MAX = 50
METADATA_NAME_MAX = 100
METADATA_DESCRIPTION_MAX = 200
METADATA_VALUE_MAX = 100
PLATFORM_NAME_MAX = 50
PLATFORM_USERNAME_MAX = 100
ALTERNATIVES_MAX = 5
"""How many sets of requirements a linked role may have. Open in the spec."""
REQUIREMENTS_MAX = 15
"""How many requirements one set may have. Open in the spec."""

MetadataKey = Annotated[str, Meta(min_length=1, max_length=METADATA_KEY_MAX, pattern="^[a-z0-9_]+$")]
MetadataName = Annotated[str, Meta(min_length=1, max_length=METADATA_NAME_MAX)]
MetadataDescription = Annotated[str, Meta(min_length=1, max_length=METADATA_DESCRIPTION_MAX)]
MetadataValue = Annotated[str, Meta(min_length=1, max_length=METADATA_VALUE_MAX)]


class RoleConnectionMetadata(Struct, kw_only=True, omit_defaults=True):
    """One thing that an application can tell of a user, and how it is compared."""

    type: RoleConnectionMetadataType
    key: str
    name: str
    description: str
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    description_localizations: dict[str, str] | None | UnsetType = UNSET


class SetRoleConnectionMetadata(Struct, kw_only=True):
    """One record of a new list."""

    type: RoleConnectionMetadataType
    key: MetadataKey
    name: MetadataName
    description: MetadataDescription
    name_localizations: dict[str, MetadataName | None] | None | UnsetType = UNSET
    description_localizations: dict[str, MetadataDescription | None] | None | UnsetType = UNSET


class RoleConnection(Struct, kw_only=True):
    """What an application tells of a user."""

    platform_name: str | UnsetType = UNSET
    """What the platform calls itself."""
    platform_username: str | None = None
    metadata: dict[str, str] = {}


class SetRoleConnection(Struct, kw_only=True):
    """What an application tells of a user from now on."""

    platform_name: Annotated[str, Meta(max_length=PLATFORM_NAME_MAX)] | None | UnsetType = UNSET
    platform_username: Annotated[str, Meta(max_length=PLATFORM_USERNAME_MAX)] | None | UnsetType = UNSET
    metadata: Annotated[dict[str, MetadataValue], Meta(max_length=METADATA_RECORDS_MAX)] | None | UnsetType = UNSET
    """Values by the keys of the application's records, as text: a whole number, an ISO 8601 time, 0 or 1."""


class Requirement(Struct, kw_only=True):
    """One condition of a linked role: that an application vouches for the user at all, or for a value."""

    application_id: ApplicationId
    connection_type: Literal["application"] = "application"
    connection_metadata_field: MetadataKey | None = None
    """The key of the record; its type says how the value is compared."""
    value: MetadataValue | None = None


MetadataRecords = Annotated[list[SetRoleConnectionMetadata], Meta(max_length=METADATA_RECORDS_MAX)] | None
Configuration = Annotated[
    list[Annotated[list[Requirement], Meta(min_length=1, max_length=REQUIREMENTS_MAX)]],
    Meta(max_length=ALTERNATIVES_MAX),
]
"""Alternatives, of each of which all requirements must hold; none: the role is an ordinary one."""

_OWN = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

GET_APPLICATION_ROLE_CONNECTIONS_METADATA = Operation(
    "GET",
    "/applications/{application_id}/role-connections/metadata",
    result=list[RoleConnectionMetadata],
    raises=_OWN,
)

UPDATE_APPLICATION_ROLE_CONNECTIONS_METADATA = Operation(
    "PUT",
    "/applications/{application_id}/role-connections/metadata",
    body=MetadataRecords,  # type: ignore[arg-type]
    result=list[RoleConnectionMetadata],
    raises=(*_OWN, errors.INVALID_FORM_BODY),
)

GET_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "GET",
    "/users/@me/applications/{application_id}/role-connection",
    result=RoleConnection,
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=_OWN,
)

UPDATE_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "PUT",
    "/users/@me/applications/{application_id}/role-connection",
    body=SetRoleConnection,
    result=RoleConnection,
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=(*_OWN, errors.INVALID_FORM_BODY),
    emits=(GUILD_MEMBER_UPDATE,),
)

DELETE_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "DELETE",
    "/users/@me/applications/{application_id}/role-connection",
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=_OWN,
    emits=(GUILD_MEMBER_UPDATE,),
)

# First-party: how a guild links a role, and how a member who qualifies asks for it (decisions/0025).
_ROLE = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_ROLE)

GET_GUILD_ROLE_CONNECTIONS_CONFIGURATION = Operation(
    "GET",
    "/guilds/{guild_id}/roles/{role_id}/connections/configuration",
    result=list[list[Requirement]],
    raises=_ROLE,
)

UPDATE_GUILD_ROLE_CONNECTIONS_CONFIGURATION = Operation(
    "PUT",
    "/guilds/{guild_id}/roles/{role_id}/connections/configuration",
    body=Configuration,
    result=list[list[Requirement]],
    needs=Permissions.MANAGE_ROLES,
    raises=(
        *_ROLE,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_ROLE,
        errors.UNKNOWN_APPLICATION,
        errors.INVALID_FORM_BODY,
    ),
    emits=(GUILD_ROLE_UPDATE,),
    audits=(AuditLogAction.ROLE_UPDATE,),
)

ASSIGN_GUILD_ROLE_CONNECTION = Operation(
    "POST",
    "/guilds/{guild_id}/roles/{role_id}/connections/assign",
    auth=Auth.USER,
    raises=(*_ROLE, errors.INVALID_ROLE, errors.MISSING_PERMISSIONS, errors.UNKNOWN_MEMBER),
    emits=(GUILD_MEMBER_UPDATE,),
)

UNASSIGN_GUILD_ROLE_CONNECTION = Operation(
    "POST",
    "/guilds/{guild_id}/roles/{role_id}/connections/unassign",
    auth=Auth.USER,
    raises=(*_ROLE, errors.INVALID_ROLE, errors.UNKNOWN_MEMBER),
    emits=(GUILD_MEMBER_UPDATE,),
)
