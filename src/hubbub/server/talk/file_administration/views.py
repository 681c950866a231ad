"""Build the wire models of files and storage for operators."""

from collections.abc import Mapping, Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import AttachmentId, ChannelId, GuildId, MessageId, Snowflake, UserId
from hubbub.protocol.resources import file_administration as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.talk.messages import files
from hubbub.server.talk.messages.files import FileRow, OwnerUsage, Usage


def storage_summary(call: Call) -> wire.StorageSummary:
    """Build the number and size of all files, the default quotas, and the largest accounts and guilds."""
    total_usage = files.read_total_usage(call.tx)
    owners = files.list_largest_owners(call.tx, wire.STORAGE_OWNERS_MAX)
    guild_usages = files.list_largest_guilds(call.tx, wire.STORAGE_OWNERS_MAX)
    users_by_id = users.find_many(call.tx, [owner.owner_id for owner in owners])
    guilds_by_id = guilds.find_many(call.tx, [guild.owner_id for guild in guild_usages])
    return wire.StorageSummary(
        file_count=total_usage.file_count,
        bytes=total_usage.total_bytes,
        account_bytes_max=call.config.storage.account_bytes_max,
        guild_bytes_max=call.config.storage.guild_bytes_max,
        accounts=_storage_owners(owners, {user_id: row.username for user_id, row in users_by_id.items()}),
        guilds=_storage_owners(guild_usages, {guild_id: row.name for guild_id, row in guilds_by_id.items()}),
    )


def user_storage(call: Call, user_id: int) -> wire.StorageUsage:
    """Build the number and size of the files of an account, with its quota."""
    return _storage_usage(
        call, user_id, files.read_owner_usage(call.tx, user_id), files.resolve_owner_quota(call, user_id)
    )


def guild_storage(call: Call, guild_id: int) -> wire.StorageUsage:
    """Build the number and size of the files in a guild, with its quota."""
    return _storage_usage(
        call, guild_id, files.read_guild_usage(call.tx, guild_id), files.resolve_guild_quota(call, guild_id)
    )


def file_list(call: Call, rows: Sequence[FileRow]) -> list[wire.AdministeredFile]:
    """Build the wire models of a page of files."""
    owners_by_id = users.find_many(call.tx, [row.owner_id for row in rows])
    return [
        wire.AdministeredFile(
            id=AttachmentId(row.id),
            filename=row.filename,
            size=row.size,
            owner_id=UserId(row.owner_id),
            owner_name=owners_by_id[row.owner_id].username if row.owner_id in owners_by_id else None,
            channel_id=ChannelId(row.channel_id),
            message_id=MessageId(row.message_id),
            guild_id=None if row.guild_id is None else GuildId(row.guild_id),
            created_at=codec.timestamp(Snowflake(row.id).created_ms),
        )
        for row in rows
    ]


def _storage_owners(usages: Sequence[OwnerUsage], names_by_owner: Mapping[int, str]) -> list[wire.StorageOwner]:
    return [
        wire.StorageOwner(
            id=Snowflake(usage.owner_id),
            name=names_by_owner.get(usage.owner_id),
            file_count=usage.file_count,
            bytes=usage.total_bytes,
        )
        for usage in usages
    ]


def _storage_usage(call: Call, owner_id: int, usage: Usage, quota_bytes: int | None) -> wire.StorageUsage:
    return wire.StorageUsage(
        file_count=usage.file_count,
        bytes=usage.total_bytes,
        quota_bytes=quota_bytes,
        has_own_quota=files.find_quota(call.tx, owner_id) is not None,
    )
