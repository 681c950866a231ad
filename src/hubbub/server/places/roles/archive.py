"""Roles and their assignments in the archive of a guild."""

from typing import Final

from hubbub.protocol.resources.roles import RoleTags
from hubbub.server.core.archives import (
    FLAG,
    GUILD,
    ID,
    OPTIONAL_IMAGE,
    REFERENCE,
    USER,
    ArchiveTable,
    number,
    optional_json,
    optional_number,
    optional_text,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="roles",
        key=("id",),
        columns={
            "id": ID,
            "guild_id": GUILD,
            "name": text(100),
            "permissions": number(),
            "position": number(1 << 30),
            "color": number(0xFFFFFF),
            "secondary_color": optional_number(0xFFFFFF),
            "tertiary_color": optional_number(0xFFFFFF),
            "hoist": FLAG,
            "icon": OPTIONAL_IMAGE,
            "unicode_emoji": optional_text(100),
            "managed": FLAG,
            "mentionable": FLAG,
            "flags": number(1 << 30),
            "tags": optional_json(RoleTags),
        },
    ),
    ArchiveTable(
        name="member_roles",
        key=("user_id", "role_id"),
        columns={"guild_id": GUILD, "user_id": USER, "role_id": REFERENCE},
    ),
)
