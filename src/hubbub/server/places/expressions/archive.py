"""Emojis, stickers and sounds in the archive of a guild."""

from typing import Final

from hubbub.protocol.ids import RoleId
from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    ID,
    OPTIONAL_IMAGE,
    OPTIONAL_REFERENCE,
    REAL,
    SOUND,
    USER,
    ArchiveTable,
    json,
    number,
    optional_text,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="emojis",
        key=("id",),
        columns={
            "id": ID,
            "guild_id": GUILD,
            "user_id": USER,
            "name": text(32),
            "image": OPTIONAL_IMAGE,
            "animated": FLAG,
            "roles": json(list[RoleId]),
        },
    ),
    ArchiveTable(
        name="stickers",
        key=("id",),
        columns={
            "id": ID,
            "guild_id": GUILD,
            "user_id": USER,
            "name": text(30),
            "description": optional_text(100),
            "tags": text(200),
            "format_type": number(4),
            "image": OPTIONAL_IMAGE,
        },
    ),
    ArchiveTable(
        name="sounds",
        key=("id",),
        columns={
            "id": ID,
            "guild_id": GUILD,
            "user_id": USER,
            "name": text(32),
            "volume": REAL,
            "emoji_id": OPTIONAL_REFERENCE,
            "emoji_name": optional_text(64),
            "file": SOUND,
        },
    ),
)
