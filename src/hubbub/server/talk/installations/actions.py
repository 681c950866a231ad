"""Install and uninstall applications in guilds: write, audit, publish."""

from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.webhooks import WEBHOOK_NAME_MAX
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.identity.oauth2 import InstallationRequested, InstallationRow, WebhookRequested
from hubbub.server.places import guilds, integrations, members, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.members import MemberRemoved
from hubbub.server.places.standing import access
from hubbub.server.talk import webhooks
from hubbub.server.talk.installations import rules

WEBHOOK_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS


def install(call: Call, request: InstallationRequested) -> None:
    """Install an application in a guild, with its bot if the `bot` scope was requested.

    If the application is already installed, only its scopes are updated."""
    rules.require_installable(call, request)
    row, guild_id = request.application, request.guild_id
    if request.execute:
        new = oauth2.upsert_installation(
            call.tx,
            InstallationRow(
                application_id=row.id,
                integration_type=0,
                target_id=guild_id,
                user_id=call.user_id,
                scopes=" ".join(scope for scope in request.scopes if scope in (Scope.BOT, Scope.APPLICATIONS_COMMANDS)),
                created_ms=call.now,
            ),
        )
        membership = None
        if Scope.BOT in request.scopes and row.bot_id is not None:
            # spec/webhooks-and-interactions.md#8.4: a bot that requests no permissions gets no role.
            membership = members.add(call, guild_id, row.bot_id, permissions=request.permissions or None)
        if new or membership is not None:
            changes = [AuditLogChange(key="name", new_value=row.name), AuditLogChange(key="type", new_value="discord")]
            audit.record(call, guild_id, AuditLogAction.INTEGRATION_CREATE, target_id=row.id, changes=changes)
        if new and Scope.BOT not in request.scopes:
            integrations.publish_created(call, guild_id, row, None, request.scopes)
    guild = guilds.find(call.tx, guild_id)
    if guild is not None and (request.execute or _is_there(call, request)):
        request.guild = guilds.guild(call.tx, guild, roles.list_of_guild(call.tx, guild_id), now=call.now)


def _is_there(call: Call, request: InstallationRequested) -> bool:
    return oauth2.find_installation(call.tx, request.application.id, 0, request.guild_id) is not None


def create_webhook(call: Call, request: WebhookRequested) -> None:
    """Create an application-owned webhook in a channel where the caller has MANAGE_WEBHOOKS."""
    channel = access.require_channel(call, request.channel_id, WEBHOOK_PERMISSIONS).channel
    guild_id = webhooks.require_webhook_channel(channel)
    if request.execute:
        name = request.application.name[:WEBHOOK_NAME_MAX]
        webhook = webhooks.create(
            call, channel, guild_id, name, request.application.icon, application_id=request.application.id
        )
        request.webhook = webhooks.with_token(call, webhook)


def member_removed(call: Call, signal: MemberRemoved) -> None:
    """Uninstall the application of a bot that left the guild."""
    row = applications.find_by_bot(call.tx, signal.user_id)
    if row is not None:
        oauth2.delete_installation(call.tx, row.id, 0, signal.guild_id)


def guild_deleted(call: Call, signal: GuildDeleted) -> None:
    """Delete the installations of a deleted guild."""
    oauth2.delete_installations(call.tx, signal.guild_id)


def application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Uninstall a deleted application from guilds it was in without a bot; its bot's departure handles the others."""
    for installed in oauth2.list_guild_installations(call.tx, signal.row.id):
        oauth2.delete_installation(call.tx, signal.row.id, 0, installed.target_id)
        integrations.publish_deleted(call, installed.target_id, signal.row)
