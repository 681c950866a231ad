"""HTTP handlers for uploaded files and storage quotas."""

from hubbub.protocol import errors
from hubbub.protocol.ids import AttachmentId, GuildId, UserId
from hubbub.protocol.resources import file_administration as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.talk.file_administration import actions, views
from hubbub.server.talk.messages import files


@handles(wire.GET_STORAGE, long=True)
def get_storage(call: Call) -> wire.StorageSummary:
    """Get the storage of the server by accounts and guilds."""
    return views.storage_summary(call)


@handles(wire.LIST_FILES, long=True)
def list_files(call: Call, query: wire.ListFiles) -> list[wire.AdministeredFile]:
    """List uploaded files, largest first."""
    last_file = None if query.after is None else files.find(call.tx, query.after)
    if query.after is not None and last_file is None:
        return []
    rows = files.list_largest(
        call.tx,
        guild_id=query.guild_id,
        owner_id=query.owner_id,
        name_part=query.name.strip(),
        before=None if last_file is None else (last_file.size, last_file.id),
        limit=query.limit,
    )
    return views.file_list(call, rows)


@handles(wire.ADMINISTRATIVELY_DELETE_FILE)
def administratively_delete_file(call: Call, attachment_id: AttachmentId, body: wire.DeleteFile) -> None:
    """Delete a file of a message.

    The message loses the attachment. The content of the file is deleted, also for URLs that were signed before.
    """
    row = files.find(call.tx, attachment_id)
    if row is None:
        raise errors.NOT_FOUND()
    actions.delete_file(call, row, reason=body.reason)


@handles(wire.GET_USER_STORAGE)
def get_user_storage(call: Call, user_id: UserId) -> wire.StorageUsage:
    """Get the storage and the quota of an account."""
    _require_user(call, user_id)
    return views.user_storage(call, user_id)


@handles(wire.SET_USER_QUOTA)
def set_user_quota(call: Call, user_id: UserId, body: wire.SetQuota) -> wire.StorageUsage:
    """Set the storage quota of an account."""
    user = _require_user(call, user_id)
    actions.set_quota(call, "user", user.id, user.username, body.bytes, reason=body.reason)
    return views.user_storage(call, user_id)


@handles(wire.GET_GUILD_STORAGE)
def get_guild_storage(call: Call, guild_id: GuildId) -> wire.StorageUsage:
    """Get the storage and the quota of a guild."""
    _require_guild(call, guild_id)
    return views.guild_storage(call, guild_id)


@handles(wire.SET_GUILD_QUOTA)
def set_guild_quota(call: Call, guild_id: GuildId, body: wire.SetQuota) -> wire.StorageUsage:
    """Set the storage quota of a guild."""
    guild = _require_guild(call, guild_id)
    actions.set_quota(call, "guild", guild.id, guild.name, body.bytes, reason=body.reason)
    return views.guild_storage(call, guild_id)


def _require_user(call: Call, user_id: UserId) -> users.UserRow:
    row = users.find(call.tx, user_id)
    if row is None:
        raise errors.UNKNOWN_USER()
    return row


def _require_guild(call: Call, guild_id: GuildId) -> guilds.GuildRow:
    row = guilds.find(call.tx, guild_id)
    if row is None:
        raise errors.UNKNOWN_GUILD()
    return row
