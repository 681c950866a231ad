"""Integrations: the applications that a guild has let in."""

from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members, roles
from hubbub.protocol.resources.users import User

INTEGRATIONS_MAX: Final = 50
"""So many are listed."""

ExpireBehavior = Literal[0, 1]
"""0 takes the role away, 1 the member."""


class IntegrationAccount(Struct, kw_only=True):
    """What the other side calls it; for an application, itself."""

    id: str
    name: str | None


class IntegrationApplication(Struct, kw_only=True):
    """The application, as anybody may see it."""

    id: ApplicationId
    name: str
    icon: str | None
    description: str
    summary: str = ""
    """Gone from the documents, yet discord.py indexes it."""
    type: None = None
    bot: User | UnsetType = UNSET


class Integration(Struct, kw_only=True):
    """An application in a guild."""

    id: IntegrationId
    name: str | None
    type: str = "discord"
    """The word that client libraries know applications by."""
    enabled: bool = True
    account: IntegrationAccount
    application: IntegrationApplication
    scopes: list[str]
    user: User | UnsetType = UNSET
    """Who let it in; absent where that is not known."""


class PartialIntegration(Struct, kw_only=True):
    """The little of an integration that the audit log tells."""

    id: IntegrationId
    type: str = "discord"
    name: str | None
    account: IntegrationAccount
    application_id: ApplicationId


class GuildIntegration(Integration, kw_only=True):
    """An integration as events carry it, with its guild and without the user."""

    guild_id: GuildId


class IntegrationDeleted(Struct, kw_only=True):
    """An application is no longer in a guild."""

    id: IntegrationId
    guild_id: GuildId
    application_id: ApplicationId | UnsetType = UNSET


class GuildIntegrations(Struct, kw_only=True):
    """Something about the integrations of a guild changed."""

    guild_id: GuildId


class CreateIntegration(Struct, kw_only=True):
    """One of one's connections that shall bring its subscribers."""

    type: str
    id: str


class UpdateIntegration(Struct, kw_only=True):
    """What happens to those whose subscription ends."""

    expire_behavior: ExpireBehavior | None | UnsetType = UNSET
    expire_grace_period: Int32 | None | UnsetType = UNSET
    enable_emoticons: bool | None | UnsetType = UNSET


INTEGRATION_CREATE = Event("INTEGRATION_CREATE", GuildIntegration, intents=Intents.GUILD_INTEGRATIONS)
INTEGRATION_UPDATE = Event("INTEGRATION_UPDATE", GuildIntegration, intents=Intents.GUILD_INTEGRATIONS)
INTEGRATION_DELETE = Event("INTEGRATION_DELETE", IntegrationDeleted, intents=Intents.GUILD_INTEGRATIONS)
GUILD_INTEGRATIONS_UPDATE = Event("GUILD_INTEGRATIONS_UPDATE", GuildIntegrations, intents=Intents.GUILD_INTEGRATIONS)

_MANAGED: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_NAMED: Final = (*_MANAGED, errors.UNKNOWN_INTEGRATION, errors.INVALID_FORM_BODY)

LIST_GUILD_INTEGRATIONS = Operation(
    "GET",
    "/guilds/{guild_id}/integrations",
    result=list[Integration],
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGED,
)

# http.md 5: accounts elsewhere whose subscribers a guild lets in. Applications are all that we integrate (decisions/0035), so
# people find none; bots may not ask.
CREATE_GUILD_INTEGRATION = Operation(
    "POST",
    "/guilds/{guild_id}/integrations",
    body=CreateIntegration,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_NAMED,
)
UPDATE_GUILD_INTEGRATION = Operation(
    "PATCH",
    "/guilds/{guild_id}/integrations/{integration_id}",
    body=UpdateIntegration,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_NAMED,
)
SYNC_GUILD_INTEGRATION = Operation(
    "POST",
    "/guilds/{guild_id}/integrations/{integration_id}/sync",
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_NAMED,
)

# The bot goes, and its role with it.
DELETE_GUILD_INTEGRATION = Operation(
    "DELETE",
    "/guilds/{guild_id}/integrations/{integration_id}",
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGED, errors.UNKNOWN_INTEGRATION),
    emits=(
        INTEGRATION_DELETE,
        GUILD_INTEGRATIONS_UPDATE,
        members.GUILD_MEMBER_REMOVE,
        roles.GUILD_ROLE_DELETE,
    ),
    audits=(AuditLogAction.MEMBER_KICK, AuditLogAction.INTEGRATION_DELETE, AuditLogAction.ROLE_DELETE),
)
