"""Bans in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import GUILD, TIME, USER, ArchiveTable, optional_text

ARCHIVE: Final = (
    ArchiveTable(
        name="bans",
        key=("user_id",),
        columns={"guild_id": GUILD, "user_id": USER, "reason": optional_text(), "created_ms": TIME},
    ),
)
