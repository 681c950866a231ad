"""Onboarding and the responses of members in the archive of a guild."""

from typing import Final

from hubbub.protocol.ids import ChannelId, Snowflake
from hubbub.protocol.resources.onboarding import OnboardingPrompt
from hubbub.server.core.archives import FLAG, GUILD, USER, ArchiveTable, json, number

ARCHIVE: Final = (
    ArchiveTable(
        name="onboardings",
        key=("guild_id",),
        columns={
            "guild_id": GUILD,
            "enabled": FLAG,
            "mode": number(1),
            "default_channel_ids": json(list[ChannelId]),
            "prompts": json(list[OnboardingPrompt]),
        },
    ),
    ArchiveTable(
        name="onboarding_answers",
        key=("user_id",),
        columns={"guild_id": GUILD, "user_id": USER, "option_ids": json(list[Snowflake])},
    ),
)
