"""Reactions in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import (
    FLAG,
    OPTIONAL_ID,
    REFERENCE,
    TIME,
    USER,
    ArchiveTable,
    markdown,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="reactions",
        parent="messages",
        parent_column="message_id",
        key=("message_id", "emoji", "user_id", "burst"),
        columns={
            "message_id": REFERENCE,
            # The ID of a custom emoji, or the emoji itself.
            "emoji": markdown(100),
            "user_id": USER,
            "burst": FLAG,
            "emoji_id": OPTIONAL_ID,
            "emoji_name": text(100),
            "animated": FLAG,
            "created_ms": TIME,
        },
    ),
)
