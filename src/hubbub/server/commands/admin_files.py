"""Actions of `hubbub admin` on uploaded files and storage quotas."""

import argparse

from hubbub.protocol.resources import administration
from hubbub.protocol.resources.file_administration import QUOTA_BYTES_MAX, StorageOwner
from hubbub.server.commands.admin_actions import AdminError, action, parse_id, require_guild, require_user
from hubbub.server.core.call import Call
from hubbub.server.talk import file_administration, messages


@action("storage")
def show_storage(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the storage of the server, and the accounts and guilds with the most files."""
    storage = file_administration.storage_summary(call)
    return [
        f"total: {storage.bytes} bytes in {storage.file_count} files",
        *(f"account {_describe(owner)}" for owner in storage.accounts),
        *(f"guild {_describe(owner)}" for owner in storage.guilds),
    ]


@action("list-files")
def list_files(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the largest files, of all users and guilds or of a given one, with a given part of the name."""
    rows = messages.files.list_largest(
        call.tx,
        guild_id=None if arguments.guild is None else require_guild(call, arguments.guild).id,
        owner_id=None if arguments.user is None else require_user(call, arguments.user).id,
        name_part=arguments.name.strip(),
        before=None,
        limit=administration.PAGE_LIMIT_MAX,
    )
    lines = [f"{row.id} {row.size} bytes {row.filename} (channel {row.channel_id})" for row in rows]
    return lines or ["No files found."]


@action("delete-file")
def delete_file(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Delete a file of a message."""
    row = messages.files.find(call.tx, parse_id(arguments.file_id))
    if row is None:
        raise AdminError(f"there is no file {arguments.file_id}")
    file_administration.delete_file(call, row, reason=arguments.reason)
    return [f"Deleted {row.filename}."]


@action("set-quota")
def set_quota(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Set the storage quota of an account or guild, or restore the default quota."""
    quota_bytes = None
    if arguments.bytes != "default":
        if not (arguments.bytes.isascii() and arguments.bytes.isdigit() and len(arguments.bytes) < 20):
            raise AdminError(f"{arguments.bytes} is not a number of bytes")
        quota_bytes = int(arguments.bytes)
    if quota_bytes is not None and quota_bytes > QUOTA_BYTES_MAX:
        raise AdminError(f"the quota must be at most {QUOTA_BYTES_MAX} bytes")
    if arguments.user is not None:
        user = require_user(call, arguments.user)
        target_kind, target_id, target_name = "user", int(user.id), user.username
    else:
        guild = require_guild(call, arguments.guild)
        target_kind, target_id, target_name = "guild", guild.id, guild.name
    file_administration.set_quota(call, target_kind, target_id, target_name, quota_bytes, reason=arguments.reason)
    return [
        f"{target_name} has the default quota."
        if quota_bytes is None
        else f"{target_name} has a quota of {quota_bytes} bytes."
    ]


def _describe(owner: StorageOwner) -> str:
    return f"{owner.name or int(owner.id)}: {owner.bytes} bytes in {owner.file_count} files"
