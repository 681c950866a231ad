"""Actions of `hubbub admin` that search, show, suspend, delete, restore and transfer guilds."""

import argparse

from hubbub.protocol import codec
from hubbub.protocol.resources import guild_administration as wire
from hubbub.protocol.resources.administration import PAGE_LIMIT_MAX
from hubbub.server.commands.admin_actions import (
    AdminError,
    action,
    format_search_results,
    require_grace_days,
    require_guild,
    require_user,
)
from hubbub.server.core.call import Call
from hubbub.server.places import guild_administration
from hubbub.server.talk import file_administration


@action("list-guilds")
def list_guilds(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the guilds that match a search."""
    query = wire.SearchGuilds(
        query=arguments.query,
        state=None if arguments.state is None else wire.GuildState(arguments.state),
        limit=PAGE_LIMIT_MAX,
    )
    rows = guild_administration.search(call, query)
    lines = [f"{row.id} {row.name} ({row.member_count} members)" for row in rows]
    return format_search_results(lines, "guilds")


@action("show-guild")
def show_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the owner and the usage counts of a guild."""
    guild = guild_administration.guild_details(call, require_guild(call, arguments.guild_id))
    quota_bytes = file_administration.guild_storage(call, guild.id).quota_bytes
    lines = [
        f"name: {guild.name}",
        f"owner: {guild.owner_name or int(guild.owner_id)}",
        f"members: {guild.member_count}",
        f"channels: {guild.channel_count}",
        f"threads: {guild.thread_count}",
        f"messages: {guild.message_count}",
        f"storage: {guild.storage_bytes}{'' if quota_bytes is None else f' of {quota_bytes}'} bytes",
    ]
    if guild.suspension is not None:
        lines.append(f"suspended: {guild.suspension.reason}")
    if guild.deletion is not None:
        lines.append(f"deleted at: {guild.deletion.due_at}")
    return lines


@action("suspend-guild")
def suspend_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Make a guild unavailable to its members."""
    guild = require_guild(call, arguments.guild_id)
    guild_administration.suspend(call, guild, reason=arguments.reason)
    return [f"Suspended {guild.name}; it is unavailable to its members."]


@action("unsuspend-guild")
def unsuspend_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Lift the suspension of a guild."""
    guild = require_guild(call, arguments.guild_id)
    if not guild_administration.unsuspend(call, guild, reason=arguments.reason):
        raise AdminError(f"{guild.name} is not suspended")
    return [f"{guild.name} is available again."]


@action("delete-guild")
def delete_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Suspend a guild and schedule its deletion."""
    guild = require_guild(call, arguments.guild_id)
    row = guild_administration.schedule_deletion(
        call, guild, reason=arguments.reason, grace_days=require_grace_days(arguments)
    )
    return [
        f"{guild.name} is suspended. The guild and its messages are deleted at {codec.timestamp(row.due_ms or 0)}.",
        f"Until then, hubbub admin restore-guild {guild.id} cancels the deletion.",
    ]


@action("restore-guild")
def restore_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Cancel the deletion of a guild."""
    guild = require_guild(call, arguments.guild_id)
    if not guild_administration.restore(call, guild, reason=arguments.reason):
        raise AdminError(f"{guild.name} is not being deleted")
    return [f"Restored {guild.name}."]


@action("transfer-guild")
def transfer_guild(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Make another member the owner of a guild."""
    guild = require_guild(call, arguments.guild_id)
    user = require_user(call, arguments.username)
    guild_administration.transfer(call, guild, user.id, reason=arguments.reason)
    return [f"{user.username} is now the owner of {guild.name}."]
