"""Install and uninstall applications in guilds, and create webhooks of applications."""

from hubbub.protocol import errors
from hubbub.protocol.enums import ApplicationIntegrationType, AuditLogAction, Scope
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.webhooks import WEBHOOK_NAME_MAX, Webhook
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.oauth2.installations import InstallationRequest, InstallationRow
from hubbub.server.places import guilds, integrations, members, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import webhooks
from hubbub.server.talk.installations import rules

WEBHOOK_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS
"""Permissions that a user needs in a channel to install a webhook."""


def install(call: Call, request: InstallationRequest) -> Guild:
    """Install an application in a guild, with its bot if the `bot` scope was requested.

    If the application is already installed, its scopes are updated, and its bot is added if it was requested and is not
    a member yet."""
    permissions = rules.require_grantable_permissions(call, request)
    application, guild_id = request.application, request.guild_id
    is_new = oauth2.installations.upsert_installation(
        call.tx,
        InstallationRow(
            application_id=application.id,
            integration_type=ApplicationIntegrationType.GUILD_INSTALL,
            target_id=guild_id,
            user_id=call.user_id,
            scopes=" ".join(scope for scope in request.scopes if scope in (Scope.BOT, Scope.APPLICATIONS_COMMANDS)),
            created_ms=call.now_ms,
        ),
    )
    membership = None
    if Scope.BOT in request.scopes and application.bot_id is not None:
        # spec/webhooks-and-interactions.md#8.4: a bot that requests no permissions gets no role.
        membership = members.membership.add(call, guild_id, application.bot_id, permissions=permissions or None)
    if is_new or membership is not None:
        changes = [
            AuditLogChange(key="name", new_value=application.name),
            AuditLogChange(key="type", new_value="discord"),
        ]
        audit.record(call, guild_id, AuditLogAction.INTEGRATION_CREATE, target_id=application.id, changes=changes)
    if is_new and Scope.BOT not in request.scopes:
        integrations.publish_created(call, guild_id, application, None, request.scopes)
    return _get_guild(call, guild_id)


def find_installed_guild(call: Call, application_id: int, guild_id: GuildId) -> Guild | None:
    """Return a guild if the application is installed there, otherwise None."""
    if (
        oauth2.installations.find_installation(
            call.tx, application_id, ApplicationIntegrationType.GUILD_INSTALL, guild_id
        )
        is None
    ):
        return None
    return _get_guild(call, guild_id)


def _get_guild(call: Call, guild_id: GuildId) -> Guild:
    """Return the wire model of a guild, or raise UNKNOWN_GUILD."""
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return guilds.guild(call.tx, row, roles.list_guild_roles(call.tx, guild_id), now_ms=call.now_ms)


def check_webhook_channel(call: Call, channel_id: int) -> None:
    """Raise unless the caller may create webhooks in a channel."""
    _load_webhook_channel(call, channel_id)


def _load_webhook_channel(call: Call, channel_id: int) -> tuple[ChannelRef, GuildId]:
    """Return a channel in which the caller may create webhooks, with its guild ID; otherwise raise."""
    channel = access.require_channel(call, channel_id, WEBHOOK_PERMISSIONS).channel
    return channel, webhooks.require_webhook_channel(channel)


def create_webhook(call: Call, application: ApplicationRow, channel_id: int) -> Webhook:
    """Create a webhook of an application in a channel. Raise unless the caller may create webhooks there."""
    channel, guild_id = _load_webhook_channel(call, channel_id)
    name = application.name[:WEBHOOK_NAME_MAX]
    webhook = webhooks.create(call, channel, guild_id, name, application.icon, application_id=application.id)
    return webhooks.webhook_with_token(call, webhook)


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Uninstall the application of a bot that left the guild or was removed."""
    row = applications.find_by_bot(call.tx, signal.user_id)
    if row is not None:
        oauth2.installations.delete_installation(
            call.tx, row.id, ApplicationIntegrationType.GUILD_INSTALL, signal.guild_id
        )


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the installations of a deleted guild."""
    oauth2.installations.delete_installations(call.tx, signal.guild_id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Uninstall an application, before it is deleted, from the guilds in which it has no bot.

    Its other installations were already deleted by `on_member_removed`, when its bot was removed from the guilds."""
    for installation in oauth2.installations.list_application_guild_installations(call.tx, signal.row.id):
        oauth2.installations.delete_installation(
            call.tx, signal.row.id, ApplicationIntegrationType.GUILD_INSTALL, installation.target_id
        )
        integrations.publish_deleted(call, installation.target_id, signal.row)
