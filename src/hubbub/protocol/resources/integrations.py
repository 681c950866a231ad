"""Integrations: applications installed in a guild."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, IntegrationExpireBehavior
from hubbub.protocol.ids import ApplicationId, GuildId, IntegrationId
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members, roles
from hubbub.protocol.resources.users import User

INTEGRATIONS_MAX: Final = 50
"""Maximum number of integrations that a response lists."""


class IntegrationAccount(Struct, kw_only=True):
    """The account of an integration, which is the application itself."""

    id: str
    """ID of the account, which is the application's ID."""
    name: str | None
    """Name of the account, which is the application's name; never null, although the public API allows null."""


class IntegrationApplication(Struct, kw_only=True):
    """The public fields of an integration's application."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Icon hash of the application; null if it has no icon."""
    description: str
    """Description of the application."""
    summary: str = ""
    """Deprecated: always empty; kept because discord.py reads the key."""
    type: None = None
    """Type of the application; always null."""
    bot: User | UnsetType = UNSET
    """Bot user of the application; absent if the bot is not in the guild."""


class Integration(Struct, kw_only=True):
    """An application installed in a guild."""

    id: IntegrationId
    """ID of the integration."""
    name: str | None
    """Name of the integration, which is the application's name; never null, although the public API allows null."""
    type: str = "discord"
    """Type of the integration; `discord` is the value by which client libraries recognize applications."""
    enabled: bool = True
    """Whether the integration is enabled; always true."""
    account: IntegrationAccount
    """Account of the integration."""
    application: IntegrationApplication
    """Application that is installed."""
    scopes: list[str]
    """OAuth2 scopes that were granted to the application in the guild: `bot` and `applications.commands`."""
    user: User | UnsetType = UNSET
    """User who installed the application; always absent."""


class IntegrationGuild(Struct, kw_only=True):
    """The guild that an application was added to, as the list of integrations shows it."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    icon: str | None
    """Icon hash of the guild; null if it has no icon."""


class AddedIntegration(Struct, kw_only=True):
    """An application that the current user added to a guild."""

    guild: IntegrationGuild
    """Guild in which the application is installed."""
    integration: Integration
    """Integration of the application in the guild."""
    can_delete: bool
    """Whether the current user may delete the integration, which requires MANAGE_GUILD in the guild."""


class PartialIntegration(Struct, kw_only=True):
    """The subset of an integration included in the audit log."""

    id: IntegrationId
    """ID of the integration."""
    type: str = "discord"
    """Type of the integration; always `discord`."""
    name: str | None
    """Name of the integration, which is the application's name; never null, although the public API allows null."""
    account: IntegrationAccount
    """Account of the integration."""
    application_id: ApplicationId
    """ID of the application."""


class GuildIntegration(Integration, kw_only=True):
    """An integration in gateway events, with the ID of its guild."""

    guild_id: GuildId
    """ID of the guild."""


class IntegrationDeleted(Struct, kw_only=True):
    """An integration that was removed from a guild."""

    id: IntegrationId
    """ID of the integration."""
    guild_id: GuildId
    """ID of the guild."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the application; never absent."""


class GuildIntegrations(Struct, kw_only=True):
    """A guild whose integrations changed."""

    guild_id: GuildId
    """ID of the guild."""


class CreateIntegration(Struct, kw_only=True):
    """Request body for integrating a connected account, whose subscribers become members; always rejected."""

    type: str
    """Type of the connected account."""
    id: str
    """ID of the connected account."""


class UpdateIntegration(Struct, kw_only=True):
    """Request body for updating an integrated account; always rejected."""

    expire_behavior: IntegrationExpireBehavior | None | UnsetType = UNSET
    """Effect of an expired subscription on the member."""
    expire_grace_period: Int32 | None | UnsetType = UNSET
    """Days until `expire_behavior` is applied."""
    enable_emoticons: bool | None | UnsetType = UNSET
    """Whether the emoticons of the external service are synchronized."""


INTEGRATION_CREATE = Event(
    "INTEGRATION_CREATE",
    GuildIntegration,
    "Sent when an application is installed in a guild.",
    intents=Intents.GUILD_INTEGRATIONS,
)
INTEGRATION_UPDATE = Event(
    "INTEGRATION_UPDATE",
    GuildIntegration,
    "Sent when an integration of a guild changes.",
    intents=Intents.GUILD_INTEGRATIONS,
)
INTEGRATION_DELETE = Event(
    "INTEGRATION_DELETE",
    IntegrationDeleted,
    "Sent when an application is removed from a guild.",
    intents=Intents.GUILD_INTEGRATIONS,
)
GUILD_INTEGRATIONS_UPDATE = Event(
    "GUILD_INTEGRATIONS_UPDATE",
    GuildIntegrations,
    "Sent when any integration of a guild is added, changed or removed.",
    intents=Intents.GUILD_INTEGRATIONS,
)

_MANAGE_ERRORS: Final = (
    errors.UNKNOWN_GUILD,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
)
_INTEGRATION_ERRORS: Final = (*_MANAGE_ERRORS, errors.UNKNOWN_INTEGRATION, errors.INVALID_FORM_BODY)

LIST_MY_INTEGRATIONS = Operation("GET", "/users/@me/integrations", result=list[AddedIntegration], auth=Auth.USER)

LIST_GUILD_INTEGRATIONS = Operation(
    "GET",
    "/guilds/{guild_id}/integrations",
    result=list[Integration],
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGE_ERRORS,
)

# The next three operations are for integrations of external accounts, which do not exist: only applications can be
# integrated (decisions/0035). Users receive UNKNOWN_INTEGRATION, or INVALID_FORM_BODY for the integration of an application;
# bots receive BOTS_CANNOT_USE_ENDPOINT (spec/http.md#5).
CREATE_GUILD_INTEGRATION = Operation(
    "POST",
    "/guilds/{guild_id}/integrations",
    body=CreateIntegration,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_INTEGRATION_ERRORS,
)
UPDATE_GUILD_INTEGRATION = Operation(
    "PATCH",
    "/guilds/{guild_id}/integrations/{integration_id}",
    body=UpdateIntegration,
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_INTEGRATION_ERRORS,
)
SYNC_GUILD_INTEGRATION = Operation(
    "POST",
    "/guilds/{guild_id}/integrations/{integration_id}/sync",
    auth=Auth.USER,
    needs=Permissions.MANAGE_GUILD,
    raises=_INTEGRATION_ERRORS,
)

# Deleting an integration also removes its bot and the role of the bot.
DELETE_GUILD_INTEGRATION = Operation(
    "DELETE",
    "/guilds/{guild_id}/integrations/{integration_id}",
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGE_ERRORS, errors.UNKNOWN_INTEGRATION),
    emits=(
        INTEGRATION_DELETE,
        GUILD_INTEGRATIONS_UPDATE,
        members.GUILD_MEMBER_REMOVE,
        roles.GUILD_ROLE_DELETE,
    ),
    audits=(AuditLogAction.MEMBER_KICK, AuditLogAction.INTEGRATION_DELETE, AuditLogAction.ROLE_DELETE),
)
