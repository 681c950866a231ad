"""Invites in the archive of a guild. An archive contains them only on request."""

from typing import Final

from hubbub.protocol.ids import RoleId
from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    OPTIONAL_TIME,
    OPTIONAL_USER,
    REFERENCE,
    TIME,
    ArchiveTable,
    json,
    number,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="invites",
        key=("code",),
        is_optional=True,
        # The targets of an invite (a stream, an application or users) are left out: they belong to the server.
        columns={
            "code": text(64),
            "guild_id": GUILD,
            "channel_id": REFERENCE,
            "inviter_id": OPTIONAL_USER,
            "created_ms": TIME,
            "expires_ms": OPTIONAL_TIME,
            "max_age": number(1 << 30),
            "max_uses": number(1 << 30),
            "uses": number(1 << 30),
            "temporary": FLAG,
            "flags": number(1 << 30),
            "role_ids": json(list[RoleId]),
        },
    ),
)
