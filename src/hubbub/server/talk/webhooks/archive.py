"""Webhooks, without their tokens, in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import (
    GUILD,
    ID,
    OPTIONAL_IMAGE,
    OPTIONAL_REFERENCE,
    OPTIONAL_USER,
    REFERENCE,
    ArchiveTable,
    number,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="webhooks",
        key=("id",),
        # The salt is not archived, so an imported webhook has no token.
        columns={
            "id": ID,
            "type": number(2, default=1),
            "guild_id": GUILD,
            "channel_id": REFERENCE,
            "user_id": OPTIONAL_USER,
            "name": text(100),
            "avatar": OPTIONAL_IMAGE,
            "source_channel_id": OPTIONAL_REFERENCE,
        },
    ),
)
