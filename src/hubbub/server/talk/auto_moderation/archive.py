"""Auto moderation rules in the archive of a guild."""

from typing import Final

from hubbub.protocol.ids import ChannelId, RoleId
from hubbub.protocol.resources.auto_moderation import Action, TriggerMetadata
from hubbub.server.core.archives import FLAG, GUILD, ID, USER, ArchiveTable, json, number, text

ARCHIVE: Final = (
    ArchiveTable(
        name="auto_moderation_rules",
        key=("id",),
        columns={
            "guild_id": GUILD,
            "id": ID,
            "name": text(100),
            "creator_id": USER,
            "event_type": number(3),
            "trigger_type": number(6),
            "trigger_metadata": json(TriggerMetadata),
            "actions": json(list[Action]),
            "enabled": FLAG,
            "exempt_roles": json(list[RoleId]),
            "exempt_channels": json(list[ChannelId]),
        },
    ),
)
