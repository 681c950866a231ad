"""Applications come into guilds: write, audit, publish."""

from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.protocol.resources.webhooks import WEBHOOK_NAME_MAX
from hubbub.server.core import access, audit
from hubbub.server.core.call import Call
from hubbub.server.resources import applications, guilds, integrations, members, oauth2, roles, webhooks
from hubbub.server.resources.applications import ApplicationDeleting
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.installations import rules
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.oauth2 import InstallationAsked, InstallationRow, WebhookAsked

KEEPING = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS


def install(call: Call, asked: InstallationAsked) -> None:
    """Bring an application into a guild, with its bot if that is asked for; one that is there already only gets its scopes."""
    rules.require_installable(call, asked)
    row, guild_id = asked.application, asked.guild_id
    if asked.act:
        new = oauth2.keep_installation(
            call.tx,
            InstallationRow(
                application_id=row.id,
                integration_type=0,
                target_id=guild_id,
                user_id=call.user_id,
                scopes=" ".join(scope for scope in asked.scopes if scope in (Scope.BOT, Scope.APPLICATIONS_COMMANDS)),
                created_ms=call.now,
            ),
        )
        joined = None
        if Scope.BOT in asked.scopes and row.bot_id is not None:
            # http.md 8.4: no permissions, no role.
            joined = members.add(call, guild_id, row.bot_id, permissions=asked.permissions or None)
        if new or joined is not None:
            traits = [AuditLogChange(key="name", new_value=row.name), AuditLogChange(key="type", new_value="discord")]
            audit.record(call, guild_id, AuditLogAction.INTEGRATION_CREATE, target_id=row.id, changes=traits)
        if new and Scope.BOT not in asked.scopes:
            integrations.came(call, guild_id, row, None, asked.scopes)
    guild = guilds.find(call.tx, guild_id)
    if guild is not None and (asked.act or _is_there(call, asked)):
        asked.guild = guilds.guild(call.tx, guild, roles.list_of_guild(call.tx, guild_id), now=call.now)


def _is_there(call: Call, asked: InstallationAsked) -> bool:
    return oauth2.find_installation(call.tx, asked.application.id, 0, asked.guild_id) is not None


def make_webhook(call: Call, asked: WebhookAsked) -> None:
    """Give an application a webhook of its own in a channel that the caller manages."""
    channel = access.require_channel(call, asked.channel_id, KEEPING).channel
    guild_id = webhooks.require_holding(channel)
    if asked.act:
        name = asked.application.name[:WEBHOOK_NAME_MAX]
        made = webhooks.create(
            call, channel, guild_id, name, asked.application.icon, application_id=asked.application.id
        )
        asked.webhook = webhooks.with_token(call, made)


def member_removed(call: Call, fact: MemberRemoved) -> None:
    """A bot went: its application is no longer installed."""
    row = applications.find_by_bot(call.tx, fact.user_id)
    if row is not None:
        oauth2.delete_installation(call.tx, row.id, 0, fact.guild_id)


def guild_deleted(call: Call, fact: GuildDeleted) -> None:
    """A guild is going, and what was installed there."""
    oauth2.delete_installations(call.tx, fact.guild_id)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes from the guilds that it was in without a bot; a bot has left by itself."""
    for installed in oauth2.list_guild_installations(call.tx, fact.row.id):
        oauth2.delete_installation(call.tx, fact.row.id, 0, installed.target_id)
        integrations.went(call, installed.target_id, fact.row)
