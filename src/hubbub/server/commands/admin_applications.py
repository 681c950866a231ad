"""Actions of `hubbub admin` that search, show, disable, enable, delete and restore applications."""

import argparse

from hubbub.protocol import codec
from hubbub.protocol.resources import application_administration as wire
from hubbub.protocol.resources.administration import PAGE_LIMIT_MAX
from hubbub.server.commands.admin_actions import (
    AdminError,
    action,
    format_search_results,
    require_application,
    require_grace_days,
)
from hubbub.server.core.call import Call
from hubbub.server.identity import application_administration


@action("list-applications")
def list_applications(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the applications that match a search."""
    query = wire.SearchApplications(query=arguments.query, disabled=arguments.disabled, limit=PAGE_LIMIT_MAX)
    rows = application_administration.search(call, query)
    lines = [f"{int(row.id)} {row.name}" + (" (disabled)" if row.disabled else "") for row in rows]
    return format_search_results(lines, "applications")


@action("show-application")
def show_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the owner and the usage counts of an application."""
    row = require_application(call, arguments.application_id)
    application = application_administration.application_details(call, row)
    lines = [
        f"name: {application.name}",
        f"owner: {application.owner_name or int(application.owner_id)}",
        f"guilds: {application.guild_count}",
        f"authorizations: {application.user_authorization_count}",
        f"installations: {application.user_install_count}",
        f"commands: {application.command_count}",
        f"tokens: {application.token_count}",
    ]
    if application.disabled is not None:
        lines.append(f"disabled: {application.disabled.reason}")
    if application.deletion is not None:
        lines.append(f"deleted at: {application.deletion.due_at}")
    return lines


@action("disable-application")
def disable_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Disable an application, so that its tokens are rejected."""
    row = require_application(call, arguments.application_id)
    application_administration.disable(call, row, reason=arguments.reason)
    return [f"Disabled {row.name}; its tokens are refused."]


@action("enable-application")
def enable_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Enable a disabled application, so that its tokens are accepted again."""
    row = require_application(call, arguments.application_id)
    if not application_administration.enable(call, row, reason=arguments.reason):
        raise AdminError(f"{row.name} is not disabled")
    return [f"Enabled {row.name}; its tokens are accepted again."]


@action("delete-application")
def delete_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Disable an application and schedule its deletion."""
    row = require_application(call, arguments.application_id)
    deletion = application_administration.schedule_deletion(
        call,
        row,
        reason=arguments.reason,
        grace_days=require_grace_days(arguments),
        includes_messages=arguments.delete_messages,
    )
    return [
        f"{row.name} is disabled and is deleted at {codec.timestamp(deletion.due_ms)}.",
        f"Until then, hubbub admin restore-application {int(row.id)} cancels the deletion.",
    ]


@action("restore-application")
def restore_application(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Cancel the deletion of an application."""
    row = require_application(call, arguments.application_id)
    if not application_administration.restore(call, row, reason=arguments.reason):
        raise AdminError(f"{row.name} is not being deleted")
    return [f"Restored {row.name}."]
