"""Role connections: data of applications about their users, and linked roles, which require such data."""

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
"""Maximum number of metadata records per application."""
METADATA_KEY_LENGTH_MAX = 50
METADATA_NAME_LENGTH_MAX = 100
METADATA_DESCRIPTION_LENGTH_MAX = 200
METADATA_VALUE_LENGTH_MAX = 100
PLATFORM_NAME_LENGTH_MAX = 50
PLATFORM_USERNAME_LENGTH_MAX = 100
ALTERNATIVES_MAX = 5
"""Maximum number of alternative requirement sets of a linked role. The specification gives no value (decisions/0025)."""
REQUIREMENTS_MAX = 15
"""Maximum number of requirements in one set. The specification gives no value (decisions/0025)."""

MetadataKey = Annotated[str, Meta(min_length=1, max_length=METADATA_KEY_LENGTH_MAX, pattern="^[a-z0-9_]+$")]
MetadataName = Annotated[str, Meta(min_length=1, max_length=METADATA_NAME_LENGTH_MAX)]
MetadataDescription = Annotated[str, Meta(min_length=1, max_length=METADATA_DESCRIPTION_LENGTH_MAX)]
MetadataValue = Annotated[str, Meta(min_length=1, max_length=METADATA_VALUE_LENGTH_MAX)]


class RoleConnectionMetadata(Struct, kw_only=True, omit_defaults=True):
    """A metadata record: the declaration of a value that an application provides about its users, and its comparison."""

    type: RoleConnectionMetadataType
    """Type of the value and of its comparison with the value that a guild requires."""
    key: str
    """Key of the record; lowercase letters, digits and underscores."""
    name: str
    """Name of the record."""
    description: str
    """Description of the record."""
    name_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the name by locale; null or absent for none."""
    description_localizations: dict[str, str] | None | UnsetType = UNSET
    """Translations of the description by locale; null or absent for none."""


class SetRoleConnectionMetadata(Struct, kw_only=True):
    """A metadata record to store."""

    type: RoleConnectionMetadataType
    """Type of the value and of its comparison with the value that a guild requires."""
    key: MetadataKey
    """Key of the record; lowercase letters, digits and underscores, unique within the application."""
    name: MetadataName
    """Name of the record."""
    description: MetadataDescription
    """Description of the record."""
    name_localizations: dict[str, MetadataName | None] | None | UnsetType = UNSET
    """Translations of the name by locale; null or absent for none."""
    description_localizations: dict[str, MetadataDescription | None] | None | UnsetType = UNSET
    """Translations of the description by locale; null or absent for none."""


class RoleConnection(Struct, kw_only=True):
    """The data of an application about one user."""

    platform_name: str | UnsetType = UNSET
    """Name of the application's own platform; absent if none is set."""
    platform_username: str | None = None
    """Username of the user on the application's own platform; null if none is set."""
    metadata: dict[str, str] = {}
    """Values by metadata key, as strings."""


class SetRoleConnection(Struct, kw_only=True):
    """The data of an application about one user, which replaces the stored data."""

    platform_name: Annotated[str, Meta(max_length=PLATFORM_NAME_LENGTH_MAX)] | None | UnsetType = UNSET
    """Name of the application's own platform; absent or null removes it."""
    platform_username: Annotated[str, Meta(max_length=PLATFORM_USERNAME_LENGTH_MAX)] | None | UnsetType = UNSET
    """Username of the user on the application's own platform; absent or null removes it."""
    metadata: (
        Annotated[dict[str, MetadataValue | int | float | bool], Meta(max_length=METADATA_RECORDS_MAX)]
        | None
        | UnsetType
    ) = UNSET
    """Values by metadata key: an integer, an ISO 8601 time, or 0 or 1 for a boolean; null or absent for none.

    Numbers and booleans are stored as strings.
    """


class RoleConnectionRequirement(Struct, kw_only=True):
    """One condition of a linked role.

    Without a metadata field, the user only needs to have connected the application.
    """

    application_id: ApplicationId
    """ID of the application that provides the data."""
    connection_type: Literal["application"] = "application"
    """Type of the connection; always `application`."""
    connection_metadata_field: MetadataKey | None = None
    """Key of the metadata record to compare; null if the user only needs to have connected the application."""
    value: MetadataValue | None = None
    """Value to compare with; null together with `connection_metadata_field`."""


class LinkableApplication(Struct, kw_only=True):
    """An application of a guild whose data about users linked roles can require."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Icon hash of the application; null if it has no icon."""
    role_connections_verification_url: str | None
    """URL where users connect their account; null if none."""
    metadata: list[RoleConnectionMetadata]
    """Metadata records of the application."""
    connection: RoleConnection | None
    """Data of the application about the current user; null if the user has not connected an account."""


MetadataRecords = Annotated[list[SetRoleConnectionMetadata], Meta(max_length=METADATA_RECORDS_MAX)] | None
RoleConnectionConfiguration = Annotated[
    list[Annotated[list[RoleConnectionRequirement], Meta(min_length=1, max_length=REQUIREMENTS_MAX)]],
    Meta(max_length=ALTERNATIVES_MAX),
]
"""Alternative sets of requirements; a member must meet all requirements of one set.
An empty list makes the role an ordinary one.
"""

_APPLICATION_ERRORS = (errors.UNKNOWN_APPLICATION, errors.NOT_AUTHORIZED_ON_APPLICATION)

GET_APPLICATION_ROLE_CONNECTIONS_METADATA = Operation(
    "GET",
    "/applications/{application_id}/role-connections/metadata",
    result=list[RoleConnectionMetadata],
    raises=_APPLICATION_ERRORS,
)

UPDATE_APPLICATION_ROLE_CONNECTIONS_METADATA = Operation(
    "PUT",
    "/applications/{application_id}/role-connections/metadata",
    body=MetadataRecords,  # type: ignore[arg-type]
    result=list[RoleConnectionMetadata],
    raises=(*_APPLICATION_ERRORS, errors.INVALID_FORM_BODY),
)

GET_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "GET",
    "/users/@me/applications/{application_id}/role-connection",
    result=RoleConnection,
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=_APPLICATION_ERRORS,
)

UPDATE_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "PUT",
    "/users/@me/applications/{application_id}/role-connection",
    body=SetRoleConnection,
    result=RoleConnection,
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=(*_APPLICATION_ERRORS, errors.INVALID_FORM_BODY),
    emits=(GUILD_MEMBER_UPDATE,),
)

DELETE_APPLICATION_USER_ROLE_CONNECTION = Operation(
    "DELETE",
    "/users/@me/applications/{application_id}/role-connection",
    auth=Auth.BEARER,
    scopes=("role_connections.write",),
    raises=_APPLICATION_ERRORS,
    emits=(GUILD_MEMBER_UPDATE,),
)

# First-party: linking a role, and assigning a linked role to the caller (decisions/0025).
_ROLE_ERRORS = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_ROLE)

GET_GUILD_ROLE_CONNECTIONS_CONFIGURATION = Operation(
    "GET",
    "/guilds/{guild_id}/roles/{role_id}/connections/configuration",
    result=list[list[RoleConnectionRequirement]],
    raises=_ROLE_ERRORS,
)

UPDATE_GUILD_ROLE_CONNECTIONS_CONFIGURATION = Operation(
    "PUT",
    "/guilds/{guild_id}/roles/{role_id}/connections/configuration",
    body=RoleConnectionConfiguration,
    result=list[list[RoleConnectionRequirement]],
    needs=Permissions.MANAGE_ROLES,
    raises=(
        *_ROLE_ERRORS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.INVALID_ROLE,
        errors.UNKNOWN_APPLICATION,
        errors.INVALID_FORM_BODY,
    ),
    emits=(GUILD_ROLE_UPDATE,),
    audits=(AuditLogAction.ROLE_UPDATE,),
)

LIST_GUILD_LINKABLE_APPLICATIONS = Operation(
    "GET",
    "/guilds/{guild_id}/role-connections/applications",
    result=list[LinkableApplication],
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

ASSIGN_GUILD_ROLE_CONNECTION = Operation(
    "POST",
    "/guilds/{guild_id}/roles/{role_id}/connections/assign",
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.INVALID_ROLE, errors.MISSING_PERMISSIONS, errors.UNKNOWN_MEMBER),
    emits=(GUILD_MEMBER_UPDATE,),
)

UNASSIGN_GUILD_ROLE_CONNECTION = Operation(
    "POST",
    "/guilds/{guild_id}/roles/{role_id}/connections/unassign",
    auth=Auth.USER,
    raises=(*_ROLE_ERRORS, errors.INVALID_ROLE, errors.UNKNOWN_MEMBER),
    emits=(GUILD_MEMBER_UPDATE,),
)
