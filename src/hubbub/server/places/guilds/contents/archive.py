"""The guild in its archive."""

from typing import Final

from hubbub.protocol.resources.guilds import GUILD_NAME_MAX, IncidentsData
from hubbub.server.core.archives import (
    FLAG,
    ID,
    OPTIONAL_IMAGE,
    OPTIONAL_REFERENCE,
    USER,
    ArchiveTable,
    json,
    number,
    optional_json,
    optional_text,
    text,
)

ARCHIVE: Final = (
    ArchiveTable(
        name="guilds",
        guild_column="id",
        key=("id",),
        # The application, the vanity URL, the number of members and a suspension belong to the server, not to the archive.
        columns={
            "id": ID,
            "name": text(GUILD_NAME_MAX),
            "owner_id": USER,
            "icon": OPTIONAL_IMAGE,
            "splash": OPTIONAL_IMAGE,
            "discovery_splash": OPTIONAL_IMAGE,
            "banner": OPTIONAL_IMAGE,
            "description": optional_text(300),
            "afk_channel_id": OPTIONAL_REFERENCE,
            "afk_timeout": number(3600, default=300),
            "verification_level": number(4),
            "default_message_notifications": number(1),
            "explicit_content_filter": number(2),
            "mfa_level": number(1),
            "nsfw_level": number(3),
            "system_channel_id": OPTIONAL_REFERENCE,
            "system_channel_flags": number(1 << 30),
            "rules_channel_id": OPTIONAL_REFERENCE,
            "public_updates_channel_id": OPTIONAL_REFERENCE,
            "safety_alerts_channel_id": OPTIONAL_REFERENCE,
            "preferred_locale": text(16, default="en-US"),
            "premium_tier": number(3),
            "premium_subscription_count": number(1 << 30),
            "premium_progress_bar_enabled": FLAG,
            "features": json(list[str]),
            "widget_enabled": FLAG,
            "widget_channel_id": OPTIONAL_REFERENCE,
            "incidents": optional_json(IncidentsData),
            "moderated": number(3),
        },
    ),
)
