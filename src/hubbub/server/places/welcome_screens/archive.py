"""The welcome screen and the new member guide in the archive of a guild."""

from typing import Final

from hubbub.protocol.resources.welcome_screens import SetNewMemberWelcome, WelcomeChannel
from hubbub.server.core.archives import GUILD, ArchiveTable, json, optional_text

ARCHIVE: Final = (
    ArchiveTable(
        name="welcome_screens",
        key=("guild_id",),
        columns={"guild_id": GUILD, "description": optional_text(), "channels": json(list[WelcomeChannel])},
    ),
    ArchiveTable(
        name="guild_homes",
        key=("guild_id",),
        columns={"guild_id": GUILD, "settings": json(SetNewMemberWelcome)},
    ),
)
