"""Administration of uploaded files and storage quotas by operators. The public API does not have these routes."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import AttachmentId, ChannelId, GuildId, MessageId, Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import (
    PAGE_LIMIT_DEFAULT,
    READ_LIMIT,
    SEARCH_TEXT_MAX,
    WRITE_LIMIT,
    PageLimit,
    Reason,
)
from hubbub.protocol.resources.messages import MESSAGE_UPDATE

STORAGE_OWNERS_MAX: Final = 20
"""Maximum number of accounts and of guilds in the summary of the storage."""
QUOTA_BYTES_MAX: Final = 2**50
"""Maximum storage quota in bytes."""

QuotaBytes = Annotated[int, Meta(ge=0, le=QUOTA_BYTES_MAX)]


class StorageOwner(Struct, kw_only=True):
    """Storage of an account or guild."""

    id: Snowflake
    """ID of the user, bot, webhook or guild."""
    name: str | None
    """Username, or name of the guild; null if it does not exist anymore, and for webhooks."""
    file_count: int
    """Number of uploaded files."""
    bytes: int
    """Size of all uploaded files in bytes."""


class StorageSummary(Struct, kw_only=True):
    """Storage of the whole server."""

    file_count: int
    """Number of uploaded files in stored messages."""
    bytes: int
    """Size of all uploaded files in stored messages, in bytes."""
    account_bytes_max: int | None
    """Default quota of accounts in bytes; null for no limit."""
    guild_bytes_max: int | None
    """Default quota of guilds in bytes; null for no limit."""
    accounts: list[StorageOwner]
    """Users, bots and webhooks with the largest files in total, largest first."""
    guilds: list[StorageOwner]
    """Guilds with the largest files in total, largest first."""


class StorageUsage(Struct, kw_only=True):
    """Storage of an account or guild, and its quota."""

    file_count: int
    """Number of uploaded files."""
    bytes: int
    """Size of all uploaded files in bytes."""
    quota_bytes: int | None
    """Maximum size of all files in bytes; null for no limit."""
    has_own_quota: bool
    """Whether an operator set the quota; otherwise it is the default."""


class AdministeredFile(Struct, kw_only=True):
    """An uploaded file of a message."""

    id: AttachmentId
    """ID of the attachment."""
    filename: str
    """Name of the file."""
    size: int
    """Size in bytes."""
    owner_id: UserId
    """ID of the user, bot or webhook that uploaded the file."""
    owner_name: str | None
    """Username of the user or bot; null for webhooks and deleted accounts."""
    channel_id: ChannelId
    """ID of the channel of the message."""
    message_id: MessageId
    """ID of the message."""
    guild_id: GuildId | None
    """ID of the guild; null in private channels."""
    created_at: Timestamp
    """Time of the upload."""


class ListFiles(Struct, kw_only=True):
    """Query of the largest files."""

    name: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] = ""
    """Part of the name of the file, in upper or lower case; empty for all files."""
    guild_id: GuildId | None = None
    """Return files of this guild only."""
    owner_id: UserId | None = None
    """Return only files that this user, bot or webhook uploaded."""
    after: Snowflake | None = None
    """ID of the last file of the previous page."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of files, 1 to 100."""


class DeleteFile(Struct, kw_only=True):
    """Request body for deleting a file."""

    reason: Reason
    """Reason for the audit log."""


class SetQuota(Struct, kw_only=True):
    """Request body for setting the storage quota of an account or guild."""

    bytes: QuotaBytes | None
    """Maximum size of all files in bytes, 0 for no uploads; null for the default of the server."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)

GET_STORAGE = Operation(
    "GET",
    "/admin/storage",
    result=StorageSummary,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

LIST_FILES = Operation(
    "GET",
    "/admin/files",
    query=ListFiles,
    result=list[AdministeredFile],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

ADMINISTRATIVELY_DELETE_FILE = Operation(
    "POST",
    "/admin/files/{attachment_id}/delete",
    body=DeleteFile,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    emits=(MESSAGE_UPDATE,),
    limit=WRITE_LIMIT,
)

GET_USER_STORAGE = Operation(
    "GET",
    "/admin/users/{user_id}/storage",
    result=StorageUsage,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=(*_RAISES, errors.UNKNOWN_USER),
    limit=READ_LIMIT,
)

SET_USER_QUOTA = Operation(
    "PUT",
    "/admin/users/{user_id}/storage",
    body=SetQuota,
    result=StorageUsage,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.UNKNOWN_USER),
    limit=WRITE_LIMIT,
)

GET_GUILD_STORAGE = Operation(
    "GET",
    "/admin/guilds/{guild_id}/storage",
    result=StorageUsage,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=(*_RAISES, errors.UNKNOWN_GUILD),
    limit=READ_LIMIT,
)

SET_GUILD_QUOTA = Operation(
    "PUT",
    "/admin/guilds/{guild_id}/storage",
    body=SetQuota,
    result=StorageUsage,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.UNKNOWN_GUILD),
    limit=WRITE_LIMIT,
)
