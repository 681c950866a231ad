"""The form for new members in the archive of a guild."""

from typing import Final

from hubbub.protocol.resources.join_requests import FormField
from hubbub.server.core.archives import GUILD, TIME, ArchiveTable, json, optional_text

ARCHIVE: Final = (
    ArchiveTable(
        name="member_verification_forms",
        key=("guild_id",),
        columns={
            "guild_id": GUILD,
            "version_ms": TIME,
            "description": optional_text(),
            "fields": json(list[FormField]),
        },
    ),
)
