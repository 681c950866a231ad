"""Members, and the moderation of users who left, in the archive of a guild."""

from typing import Final

from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    OPTIONAL_IMAGE,
    OPTIONAL_TIME,
    TIME,
    USER,
    ArchiveTable,
    number,
    optional_text,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="members",
        key=("user_id",),
        columns={
            "guild_id": GUILD,
            "user_id": USER,
            "nick": optional_text(100),
            "avatar": OPTIONAL_IMAGE,
            "banner": OPTIONAL_IMAGE,
            "bio": text(default=""),
            "joined_ms": TIME,
            "premium_since_ms": OPTIONAL_TIME,
            "deaf": FLAG,
            "mute": FLAG,
            "pending": FLAG,
            "flags": number(),
            "timed_out_until_ms": number(),
            "temporary": FLAG,
        },
    ),
    ArchiveTable(
        name="departed_members",
        key=("user_id",),
        columns={"guild_id": GUILD, "user_id": USER, "timed_out_until_ms": number(), "mute": FLAG, "deaf": FLAG},
    ),
)
