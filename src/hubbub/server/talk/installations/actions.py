"""Install and uninstall applications in guilds: write, audit, publish."""

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.webhooks import WEBHOOK_NAME_MAX, Webhook
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, oauth2
from hubbub.server.identity.applications import ApplicationDeleting, ApplicationRow
from hubbub.server.identity.oauth2 import InstallationRequest, InstallationRow
from hubbub.server.places import guilds, integrations, members, roles
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.members import MemberRemoved
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import webhooks
from hubbub.server.talk.installations import rules

WEBHOOK_PERMISSIONS = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS


def install(call: Call, request: InstallationRequest) -> Guild:
    """Install an application in a guild, with its bot if the `bot` scope was requested.

    If the application is already installed, only its scopes are updated."""
    permissions = rules.check_installation(call, request)
    row, guild_id = request.application, request.guild_id
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
        membership = members.add(call, guild_id, row.bot_id, permissions=permissions or None)
    if new or membership is not None:
        changes = [AuditLogChange(key="name", new_value=row.name), AuditLogChange(key="type", new_value="discord")]
        audit.record(call, guild_id, AuditLogAction.INTEGRATION_CREATE, target_id=row.id, changes=changes)
    if new and Scope.BOT not in request.scopes:
        integrations.publish_created(call, guild_id, row, None, request.scopes)
    return _guild(call, guild_id)


def find_installed_guild(call: Call, application_id: int, guild_id: GuildId) -> Guild | None:
    """Return a guild if the application is installed there, otherwise None."""
    if oauth2.find_installation(call.tx, application_id, 0, guild_id) is None:
        return None
    return _guild(call, guild_id)


def _guild(call: Call, guild_id: GuildId) -> Guild:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return guilds.guild(call.tx, row, roles.list_of_guild(call.tx, guild_id), now=call.now)


def check_webhook_channel(call: Call, channel_id: int) -> None:
    """Raise unless the caller may create webhooks in a channel."""
    _require_webhook_channel(call, channel_id)


def _require_webhook_channel(call: Call, channel_id: int) -> tuple[ChannelRef, GuildId]:
    channel = access.require_channel(call, channel_id, WEBHOOK_PERMISSIONS).channel
    return channel, webhooks.require_webhook_channel(channel)


def create_webhook(call: Call, application: ApplicationRow, channel_id: int) -> Webhook:
    """Create an application-owned webhook in a channel where the caller has MANAGE_WEBHOOKS."""
    channel, guild_id = _require_webhook_channel(call, channel_id)
    name = application.name[:WEBHOOK_NAME_MAX]
    webhook = webhooks.create(call, channel, guild_id, name, application.icon, application_id=application.id)
    return webhooks.with_token(call, webhook)


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
