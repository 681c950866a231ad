"""The tag in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import GUILD, OPTIONAL_IMAGE, ArchiveTable, text

ARCHIVE: Final = (
    ArchiveTable(
        name="guild_tags", key=("guild_id",), columns={"guild_id": GUILD, "tag": text(16), "badge": OPTIONAL_IMAGE}
    ),
)
