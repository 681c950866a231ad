"""Uploaded files of messages: their sizes, and the quotas of accounts and guilds."""

from hubbub.protocol import errors
from hubbub.protocol.images import format_bytes
from hubbub.server.core.call import Call
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.guild_administration import GuildUsage
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk.messages import store as message_store
from hubbub.server.talk.messages.content import json_columns
from hubbub.server.talk.messages.content.records import MessageRow
from hubbub.server.talk.messages.files import store
from hubbub.server.talk.messages.files.store import (
    FileRow,
    OwnerUsage,
    Usage,
    find,
    find_quota,
    list_largest,
    list_largest_guilds,
    list_largest_owners,
    read_guild_usage,
    read_owner_usage,
    read_total_usage,
    set_quota,
)
from hubbub.server.talk.messages.signals import MessagesImported

__all__ = [
    "FileRow",
    "OwnerUsage",
    "Usage",
    "compute_guild_usage",
    "resolve_owner_quota",
    "find",
    "find_quota",
    "resolve_guild_quota",
    "read_guild_usage",
    "list_largest_guilds",
    "list_largest",
    "list_largest_owners",
    "read_owner_usage",
    "set_quota",
    "read_total_usage",
]


def record(call: Call, channel: ChannelRef, row: MessageRow) -> None:
    """Record the files of a message. Raise if new files exceed the quota of the author or of the guild."""
    rows = _build_rows(row, channel.guild_id)
    uploaded_ids = {int(upload.attachment_id) for upload in call.files}
    if new_bytes := sum(file.size for file in rows if file.id in uploaded_ids):
        _require_quotas(call, channel, row, new_bytes)
    store.insert(call.tx, rows)


def on_messages_imported(call: Call, signal: MessagesImported) -> None:
    """Record the files of imported messages, which may exceed quotas."""
    for row in signal.rows:
        if row.attachments is not None:
            store.insert(call.tx, _build_rows(row, signal.guild_id))


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the storage quota of a deleted user."""
    store.delete_quota(call.tx, signal.user_id)


def _build_rows(row: MessageRow, guild_id: int | None) -> list[FileRow]:
    return [
        FileRow(int(file.id), row.channel_id, row.id, guild_id, row.author_id, file.size, file.filename)
        for file in json_columns.attachments(row)
    ]


def compute_guild_usage(call: Call, guild_id: int) -> GuildUsage:
    """Return the number of messages in a guild and the size of its uploaded files in bytes."""
    return GuildUsage(
        message_count=message_store.count_in_guild(call.tx, guild_id),
        storage_bytes=read_guild_usage(call.tx, guild_id).total_bytes,
    )


def resolve_owner_quota(call: Call, user_id: int) -> int | None:
    """Return the storage quota of a user or bot in bytes, or None if it has no limit."""
    own_quota = store.find_quota(call.tx, user_id)
    return own_quota if own_quota is not None else call.config.storage.account_bytes_max


def resolve_guild_quota(call: Call, guild_id: int) -> int | None:
    """Return the storage quota of a guild in bytes, or None if it has no limit."""
    own_quota = store.find_quota(call.tx, guild_id)
    return own_quota if own_quota is not None else call.config.storage.guild_bytes_max


def _require_quotas(call: Call, channel: ChannelRef, row: MessageRow, new_bytes: int) -> None:
    if row.webhook_id is None and (quota_bytes := resolve_owner_quota(call, row.author_id)) is not None:
        used_bytes = store.read_owner_usage(call.tx, row.author_id).total_bytes
        if used_bytes + new_bytes > quota_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE(
                message=f"Your files would exceed your storage of {format_bytes(quota_bytes)}, of which {format_bytes(used_bytes)} "
                "are in use. Delete messages with files, or send a smaller file."
            )
    if channel.guild_id is not None and (quota_bytes := resolve_guild_quota(call, channel.guild_id)) is not None:
        used_bytes = store.read_guild_usage(call.tx, channel.guild_id).total_bytes
        if used_bytes + new_bytes > quota_bytes:
            raise errors.REQUEST_ENTITY_TOO_LARGE(
                message=f"The files of this guild would exceed its storage of {format_bytes(quota_bytes)}, of which "
                f"{format_bytes(used_bytes)} are in use. Delete messages with files, or send a smaller file."
            )
